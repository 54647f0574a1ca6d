"""``docs/cli.md`` is current, and every example in the help of a command runs."""

from __future__ import annotations

import doctest
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import typer

from magistrate.cli import help as cli_help
from magistrate.cli.docs import page
from magistrate.cli.main import app, main


def commands(group: Any, *names: str) -> dict[tuple[str, ...], Any]:
    found: dict[tuple[str, ...], Any] = {}
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            found |= commands(command, *names, name)
        else:
            found[*names, name] = command
    return found


PLACEHOLDER = re.compile(r"[A-Z_]{3,}([.][a-z]+)?")
"""Stands for something of the user's own; such an example is not run."""

ROOT: Any = typer.main.get_command(app)
COMMANDS = commands(ROOT)


def examples(epilog: str) -> list[list[str]]:
    lines = [line.strip() for line in epilog.replace("\b", "").splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("magistrate ")]


def test_the_page_is_current(repo: Path) -> None:
    stored = (repo / "docs/cli.md").read_text("utf-8")
    assert stored == page(), "run: python -m magistrate.cli.docs > docs/cli.md"


def test_the_page_has_every_command() -> None:
    text = page()
    for names in COMMANDS:
        assert f"\n## magistrate {' '.join(names)}\n" in text


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_every_command_has_help_json_and_an_example_of_its_own(names: tuple[str, ...]) -> None:
    command = COMMANDS[names]
    assert command.help
    assert any("--json" in param.opts for param in command.params)
    assert any(words[: len(names)] == list(names) for words in examples(command.epilog))
    for param in command.params:
        assert getattr(param, "help", None), f"{' '.join(names)}: {param.name} has no help"


@pytest.mark.parametrize("names", [(), *COMMANDS], ids=lambda names: " ".join(names) or "root")
def test_examples_run(
    names: tuple[str, ...],
    repo: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(repo / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    for words in examples((COMMANDS[names] if names else ROOT).epilog):
        if any(PLACEHOLDER.fullmatch(word) for word in words):
            continue
        code = main(words)
        assert code == 0, f"magistrate {shlex.join(words)}\n{capsys.readouterr().err}"


@pytest.mark.parametrize("names", [(), *COMMANDS], ids=lambda names: " ".join(names) or "root")
def test_help_keeps_the_lines_of_examples(
    names: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*names, "--help"]) == 0
    text = capsys.readouterr().out
    epilog = (COMMANDS[names] if names else ROOT).epilog
    lines = [line for line in epilog.splitlines() if "magistrate " in line]
    assert lines
    for line in lines:
        assert f"  {line.strip()}\n" in text


@pytest.mark.parametrize("names", [(), *COMMANDS], ids=lambda names: " ".join(names) or "root")
def test_help_speaks_of_what_to_give_and_not_of_types(
    names: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    main([*names, "--help"])
    text = capsys.readouterr().out.split("Example")[0]
    for raw in ("list[", "<str>", "<int", "<path>", "<=", ">=", "{"):
        assert raw not in text


def test_a_number_out_of_range_is_still_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "examples/pairs.csv", "--limit", "0"]) == 2
    assert re.search(r"range|greater than", capsys.readouterr().err)


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(cli_help).failed == 0
