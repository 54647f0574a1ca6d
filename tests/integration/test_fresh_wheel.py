"""The wheel that users install: built from this tree, looked into, installed and run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/magistrate"
MAX_MEGABYTES = 100

pytestmark = pytest.mark.slow


def run(*command: str, folder: Path, **variables: str) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), folder=ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the package as installed, and nothing else."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def test_every_file_of_the_package_is_in_the_wheel(names: set[str]) -> None:
    files = {
        str(Path("magistrate") / path.relative_to(SOURCE))
        for path in SOURCE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert files - names == set()


def test_the_judges_in_the_wheel_are_whole(names: set[str]) -> None:
    files = [name for name in names if name.startswith("magistrate/bundled/")]
    assert "magistrate/bundled/mini/judge.toml" in files
    for name in files:
        if not name.endswith("/judge.toml"):
            continue
        folder = name.removesuffix("judge.toml")
        judge = tomllib.loads((ROOT / "src" / name).read_text("utf-8"))
        for needed in (judge["model"]["file"], "tokenizer.json", "CARD.md"):
            assert folder + needed in files


def test_nothing_else_is_in_the_wheel(names: set[str]) -> None:
    roots = {name.split("/")[0] for name in names}
    assert {root for root in roots if not root.endswith(".dist-info")} == {"magistrate"}
    assert not [name for name in names if "__pycache__" in name or name.endswith((".pyc", ".tmp"))]


def test_licence_and_types_come_along(names: set[str]) -> None:
    endings = ("licenses/LICENSE", "licenses/NOTICE", "magistrate/py.typed", "entry_points.txt")
    for ending in endings:
        assert any(name.endswith(ending) for name in names), f"the wheel has no {ending}"


def test_the_wheel_is_small_enough(wheel: Path) -> None:
    assert wheel.stat().st_size < MAX_MEGABYTES * 1e6


def test_the_installed_package_judges_the_examples(installed: Path, tmp_path: Path) -> None:
    where = "import magistrate; print(magistrate.__file__)"
    path = {"PYTHONPATH": str(installed)}
    assert str(installed) in run(sys.executable, "-c", where, folder=tmp_path, **path)
    command = (sys.executable, "-m", "magistrate", "judge", str(ROOT / "examples/pairs.csv"))
    options = ("--judge", "mini", "--out", "runs/first", "--limit", "4", "--json")
    printed = run(*command, *options, folder=tmp_path, **path)
    assert isinstance(json.loads(printed), dict)
    assert (tmp_path / "runs/first/judgments.jsonl").stat().st_size > 0
