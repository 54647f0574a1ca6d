"""Ctrl-C while data are checked or split: a plain word, exit code 130, nothing half written."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("rensa")


@pytest.fixture(scope="module")
def many_pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file that takes some seconds to read."""
    path = tmp_path_factory.mktemp("data") / "pairs.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for k in range(60_000):
            row = {"question": f"question {k}", "answer1": f"a {k}", "answer2": "b", "label": "1"}
            file.write(json.dumps(row) + "\n")
    return path


@pytest.mark.parametrize("command", ["check", "split"])
def test_ctrl_c(many_pairs: Path, tmp_path: Path, command: str) -> None:
    out = tmp_path / "out"
    process = subprocess.Popen(
        [sys.executable, "-m", "magistrate", "data", command, str(many_pairs), "-o", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    # When Python has started; the work itself takes seconds.
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    printed, said = process.communicate(timeout=120)
    assert process.returncode == 130, (printed, said)
    assert "Traceback" not in said
    assert "stopped" in said
    assert list(tmp_path.iterdir()) == []
