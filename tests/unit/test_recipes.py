"""Recipes: every command that they give is understood, with its options and settings.

A recipe runs whole, through bash, in an environment whose Python writes down what it is asked to do
and does nothing. So it is the commands as the shell makes them that are looked at.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from magistrate.cli.main import main
from magistrate.train.recipe import read_recipe, read_settings

ROOT = Path(__file__).parents[2]
RECIPES = ("end_to_end", "ablation")

_PYTHON = """#!/usr/bin/env bash
printf '%q ' "$@" >> "$ASKED"; echo >> "$ASKED"
# What a step would have written must be there for those that come after it.
while [ $# -gt 0 ]; do
  case $1 in --out | -o) mkdir -p "$(dirname "$2")"; [ -e "$2" ] || : > "$2" ;; esac
  shift
done
"""

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="recipes are for bash")


@dataclass(frozen=True)
class Asked:
    """What a recipe asked of Python: magistrate's commands, and scripts with their arguments."""

    commands: list[list[str]]
    scripts: list[list[str]]


@pytest.fixture(scope="module", params=RECIPES)
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Asked:
    folder = tmp_path_factory.mktemp(request.param)
    python = folder / "venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(_PYTHON, "utf-8")
    python.chmod(0o755)
    environment = {
        "ASKED": str(folder / "asked"),
        "OUT": str(folder / "out"),
        "VENV": str(folder / "venv"),
        "LLAMA_VENV": str(folder / "venv"),
        "MAGISTRATE_DATA": str(folder / "data"),
    }
    done = subprocess.run(
        ["bash", str(ROOT / f"recipes/{request.param}.sh")],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [shlex.split(line) for line in (folder / "asked").read_text("utf-8").splitlines()]
    return Asked(
        [words[2:] for words in lines if words[:2] == ["-m", "magistrate"]],
        [words for words in lines if words and words[0].endswith(".py")],
    )


def test_commands_of_recipes_are_understood(
    asked: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(asked.commands) > 10
    for args in asked.commands:
        # Each is parsed, and an unknown command or option refused, but nothing runs.
        code = main([*args, "--help"])
        assert code == 0, f"magistrate {shlex.join(args)}\n{capsys.readouterr().err}"


def test_settings_of_trainings_are_known(asked: Asked) -> None:
    trainings = [args for args in asked.commands if args[0] == "train"]
    assert trainings
    for args in trainings:
        given = [value for name, value in pairwise(args) if name == "--set"]
        recipe = read_recipe(ROOT / args[1], read_settings(given))
        assert recipe.optim.epochs > 0


def test_scripts_of_recipes_are_there_with_their_options(asked: Asked) -> None:
    assert asked.scripts
    for script, *args in asked.scripts:
        text = (ROOT / script).read_text("utf-8")
        for option in (word for word in args if word.startswith("-")):
            name = re.escape(option).replace("pandalm", r"(?:pandalm|\{name\})")
            name = name.replace("vicuna", r"(?:vicuna|\{name\})")
            assert re.search(rf'"{name}"', text), f"{script} knows no option {option}"
