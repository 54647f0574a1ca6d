"""The documents: links lead somewhere, and the commands and code they show work."""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

import magistrate as mg
from magistrate.cli.main import main

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "NOTES.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]

_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_IMAGE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```([\w-]*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+\s+(.*)$", re.MULTILINE)

Command = tuple[str, tuple[str, ...]]
"""A page, and the arguments of a ``magistrate`` command that it shows."""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: str
    language: str
    text: str


def page_name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks_of(text: str, page: str) -> list[Block]:
    return [Block(page, language, body) for language, body in _FENCE.findall(text)]


def links_of(text: str) -> list[str]:
    prose = re.sub(r"`[^`\n]*`", "", _FENCE.sub("", text))
    return [*_LINK.findall(prose), *_IMAGE.findall(prose)]


def commands_of(blocks: list[Block]) -> list[Command]:
    """Return (page, arguments) of every ``magistrate`` command in the blocks of a page.

    Lines of output, other programs, and lines that stand for something (``...``) are no commands.
    """
    found = []
    for block in blocks:
        if block.language not in {"", "sh", "bash", "shell", "console"}:
            continue
        for line in block.text.replace("\\\n", " ").splitlines():
            words = line.strip().removeprefix("$ ")
            words = words.removeprefix("python -m ")
            if not words.startswith("magistrate ") or "..." in words:
                continue
            parts = shlex.split(words.split(" | ")[0], comments=True)
            found.append((block.page, tuple(parts[1:])))
    return found


def one_of_each(commands: list[Command]) -> list[Command]:
    """Leave out commands that differ from one before in the page and the run folder alone."""
    found: dict[tuple[str, ...], Command] = {}
    for page, args in commands:
        where = args.index("--out") if "--out" in args else len(args)
        found.setdefault((*args[:where], *args[where + 2 :]), (page, args))
    return list(found.values())


def anchor(heading: str) -> str:
    """Return the anchor that a Markdown viewer gives a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


TEXTS = {path: path.read_text("utf-8") for path in PAGES}
BLOCKS = [block for path, text in TEXTS.items() for block in blocks_of(text, page_name(path))]
COMMANDS = list(dict.fromkeys(commands_of(BLOCKS)))
ON_EXAMPLES = one_of_each(
    [(page, args) for page, args in COMMANDS if any("examples/" in arg for arg in args)]
)


def name_of(case: Command) -> str:
    page, args = case
    return f"{page}: {' '.join(args)}"


@pytest.mark.parametrize("path", PAGES, ids=page_name)
def test_relative_links_exist(path: Path) -> None:
    for link in links_of(TEXTS[path]):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, place = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        assert target.exists(), f"{page_name(path)} links to {link}, which does not exist"
        assert target.is_relative_to(ROOT), f"{page_name(path)} links out of the repository"
        if place and target.suffix == ".md":
            anchors = {anchor(heading) for heading in _HEADING.findall(target.read_text("utf-8"))}
            assert place in anchors, f"{page_name(path)} links to {link}; there is no such heading"


@pytest.mark.parametrize("path", PAGES, ids=page_name)
def test_pages_start_with_a_title_and_close_their_fences(path: Path) -> None:
    text = TEXTS[path]
    assert text.startswith("# ") or path.name == "README.md"
    assert len(re.findall(r"^```", text, re.MULTILINE)) % 2 == 0


def test_every_page_can_be_found_from_the_index() -> None:
    index = ROOT / "docs/index.md"
    linked = {
        (index.parent / link.partition("#")[0]).resolve()
        for link in links_of(index.read_text("utf-8"))
        if not re.match(r"[a-z]+:", link)
    }
    missing = [page_name(path) for path in PAGES if path not in linked | {index}]
    assert missing == []


def test_every_dependency_has_its_line() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    page = TEXTS[ROOT / "docs/dependencies.md"]
    extras = project["optional-dependencies"].values()
    for need in [*project["dependencies"], *(each for extra in extras for each in extra)]:
        name, version = re.fullmatch(r"([\w-]+)>=([\d.]+)(?:,.*)?", need).groups()  # type: ignore[union-attr]
        row = rf"^\| \[{name}\]\(\S+\) \| ≥ {re.escape(version)} \|"
        assert re.search(row, page, re.MULTILINE | re.IGNORECASE), (
            f"docs/dependencies.md has no row for {need}"
        )
    listed = re.findall(r"^\| \[([\w-]+)\]", page, re.MULTILINE)
    assert len(listed) == len(project["dependencies"]) + sum(map(len, extras))


def test_the_changelog_has_a_section_for_what_is_not_released() -> None:
    assert "\n## [Unreleased]\n" in TEXTS[ROOT / "CHANGELOG.md"]


@pytest.mark.parametrize(
    "block", [block for block in BLOCKS if block.language == "python"], ids=lambda b: b.page
)
def test_python_blocks_are_python(block: Block) -> None:
    ast.parse(block.text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "block",
    [block for block in BLOCKS if block.language == "python" and '"examples/' in block.text],
    ids=lambda b: b.page,
)
def test_python_blocks_on_the_examples_run(block: Block, tmp_path: Path) -> None:
    short_examples(tmp_path)
    done = run_python(("-c", block.text), tmp_path)
    assert done.returncode == 0, f"{block.page}\n{done.stderr}"


@pytest.mark.parametrize("case", COMMANDS, ids=name_of)
def test_commands_are_understood(case: Command, capsys: pytest.CaptureFixture[str]) -> None:
    # With --help a command is parsed, and an unknown command or option refused, but nothing runs.
    page, args = case
    code = main([*args, "--help"])
    assert code == 0, f"{page}: magistrate {shlex.join(args)}\n{capsys.readouterr().err}"


@pytest.mark.slow
@pytest.mark.parametrize("case", ON_EXAMPLES, ids=name_of)
def test_commands_on_the_examples_run(case: Command, tmp_path: Path) -> None:
    page, args = case
    short_examples(tmp_path)
    for run in runs_read_by(args):
        mg.judge(mg.read_samples(ROOT / "examples/pairs.jsonl"), "scripted:longer", tmp_path / run)
    done = run_python(("-m", "magistrate", *args), tmp_path)
    assert done.returncode == 0, f"{page}: magistrate {shlex.join(args)}\n{done.stderr}"
    assert "Traceback" not in done.stderr


def runs_read_by(args: tuple[str, ...]) -> list[str]:
    """Return the run folders that a command reads and does not make."""
    return [
        word
        for before, word in pairwise(args)
        if word.startswith("runs/") and before not in {"--out", "-o"}
    ]


def short_examples(folder: Path) -> None:
    """Copy the examples, with a few rows of the largest: what runs here is the documents."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    pairs = folder / "examples/pairs.jsonl"
    pairs.write_bytes(b"".join(pairs.read_bytes().splitlines(keepends=True)[:4]))


def run_python(args: tuple[str, ...], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *args],
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=240,
        check=False,
    )


# The tests above must see what they are there to see.


def test_links_in_code_are_no_links() -> None:
    text = "[a](b.md) `[c](d.md)` ![e](f.png)\n```\n[g](h.md)\n```\n[i](j.md#k)"
    assert links_of(text) == ["b.md", "j.md#k", "f.png"]


def test_commands_are_found() -> None:
    text = """```
$ magistrate inspect 'a b.csv'   # a comment
make demo
python -m magistrate judge examples/x.jsonl \\
    --judge mini
magistrate runs verify DIR --json | jq .
magistrate judge ...
  magistrate output that is no command?
```
```python
magistrate = 1
```
"""
    assert [args for _, args in commands_of(blocks_of(text, "p"))] == [
        ("inspect", "a b.csv"),
        ("judge", "examples/x.jsonl", "--judge", "mini"),
        ("runs", "verify", "DIR", "--json"),
        ("output", "that", "is", "no", "command?"),
    ]


@pytest.mark.parametrize("args", [["judg"], ["judge", "--jugde", "mini"], ["runs", "veryfi"]])
def test_a_misspelt_command_is_not_understood(
    args: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*args, "--help"]) != 0
    assert capsys.readouterr().err


def test_anchors() -> None:
    assert anchor("How far it can be trusted?") == "how-far-it-can-be-trusted"
    assert anchor("`magistrate judge`") == "magistrate-judge"
