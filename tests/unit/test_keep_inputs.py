"""No command writes its output over what it reads, or over what is no ordinary file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from magistrate.cli.main import main
from magistrate.errors import RunError
from magistrate.store.disk import write_atomically

COMMANDS = {
    "questions": ("data", "questions", "FILE", "-n", "1", "-o", "FILE"),
    "label": ("data", "label", "FILE", "--teacher", "scripted:longer", "-o", "FILE"),
    "references": ("data", "references", "FILE", "--engine", "scripted:echo", "-o", "FILE"),
    "translate": (
        *("data", "translate", "FILE", "--engine", "scripted:echo", "--to", "Dutch"),
        *("-o", "FILE"),
    ),
    "pairs": ("data", "pairs", "FILE", "-o", "FILE"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_input_stays(
    command: str, repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "same.jsonl"
    before = (repo / "examples/n-way.jsonl").read_bytes()
    if command == "label":
        before = (repo / "examples/pairs.jsonl").read_bytes()
    file.write_bytes(before)
    assert main([word.replace("FILE", str(file)) for word in COMMANDS[command]]) == 2
    assert "would replace the input" in capsys.readouterr().err
    assert file.read_bytes() == before


@pytest.mark.skipif(os.name == "nt", reason="no named pipes there")
def test_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(RunError, match="no ordinary file"):
        write_atomically(pipe, b"x")
    assert pipe.is_fifo()


def test_labels_of_other_samples_are_told(
    repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, pairs = str(tmp_path / "run"), str(repo / "examples/pairs.jsonl")
    assert main(["judge", pairs, "--judge", "scripted:longer", "--out", run, "-q"]) == 0
    other = tmp_path / "other.jsonl"
    other.write_text('{"question": "Q", "answer1": "a", "answer2": "b", "label": 1}\n', "utf-8")
    assert main(["estimate", run, "--labels", str(other)]) == 2
    assert "none of them was judged" in capsys.readouterr().err
