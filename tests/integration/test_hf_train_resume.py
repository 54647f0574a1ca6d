"""A training that is killed goes on to the very weights of one that was not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the extra [train] is not installed: no torch")
pytest.importorskip("peft", reason="the extra [train] is not installed: no peft")

from safetensors.torch import load_file  # noqa: E402

from magistrate.prompts.importing.toml import dumps  # noqa: E402
from magistrate.train.logs import read_rows  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent.parent / "unit"))
from train_help import toy_recipe  # noqa: E402

SETTINGS: dict[str, Any] = {
    "optim__epochs": 5,
    "optim__batch": 8,
    "run__threads": 1,
    "run__log_each": 1,
    "run__save_each": 3,
    "run__best_by": "loss",
    "adapter__kind": "lora",
    "adapter__dropout": 0.2,  # chance that must be the same the second time
}


def start(folder: Path, out: str, *more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "magistrate", "train", str(folder / "recipe.toml")]
    return subprocess.Popen(
        [*command, "-o", str(folder / out), *more],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
    )


def wait_for_step(process: subprocess.Popen[bytes], log: Path, step: int) -> None:
    """Wait until a training has taken a step."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        rows = read_rows(log)
        if rows and int(rows[-1]["step"]) >= step:
            return
        if process.poll() is not None:
            _, told = process.communicate()
            raise AssertionError(f"ended before step {step}: {told.decode()}")
        time.sleep(0.01)
    raise AssertionError(f"step {step} never came")


def finish(process: subprocess.Popen[bytes]) -> str:
    _, told = process.communicate(timeout=400)
    assert process.returncode == 0, told.decode()
    return told.decode()


def weights(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = load_file(str(folder / "adapter_model.safetensors"))
    return found


@pytest.mark.slow
def test_killed_and_stopped_trainings_end_with_the_same_weights(tmp_path: Path) -> None:
    recipe = toy_recipe(tmp_path, **SETTINGS)
    text = dumps(recipe.model_dump(mode="json", exclude_none=True))
    (tmp_path / "recipe.toml").write_text(text, "utf-8")
    finish(start(tmp_path, "whole"))
    wanted = weights(tmp_path / "whole")

    # Killed in the middle of an epoch, between checkpoints (of steps 9 and 12).
    process = start(tmp_path, "killed")
    wait_for_step(process, tmp_path / "killed/training/log.csv", 11)
    process.kill()
    process.communicate()
    checkpoints = tmp_path / "killed/training/checkpoints"
    assert len(list(checkpoints.glob("checkpoint-*"))) <= 3
    assert not (tmp_path / "killed/judge.toml").exists()

    # Stopped on request: saved at once, and told how to go on.
    process = start(tmp_path, "killed", "--resume")
    wait_for_step(process, tmp_path / "killed/training/log.csv", 20)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=300)
    assert process.returncode == 130, told.decode()
    assert b"with --resume goes on" in told

    # What shapes the weights may not change in between.
    process = start(tmp_path, "killed", "--resume", "--set", "optim.lr=0.5")
    _, told = process.communicate(timeout=300)
    assert process.returncode == 4
    assert b"optim.lr = 0.003 (now 0.5)" in told

    finish(start(tmp_path, "killed", "--resume"))
    found = weights(tmp_path / "killed")
    assert found.keys() == wanted.keys()
    for name, weight in wanted.items():
        torch.testing.assert_close(found[name], weight, rtol=1e-5, atol=1e-7)
    for table in ("log.csv", "evaluation.csv"):
        one, other = (
            read_rows(tmp_path / folder / "training" / table) for folder in ("whole", "killed")
        )
        assert [row["step"] for row in one] == [row["step"] for row in other]
        assert [row["loss"] for row in one] == [row["loss"] for row in other]


@pytest.mark.slow
def test_two_processes_learn_what_one_does(tmp_path: Path) -> None:
    """A step is the same whether one process computes it or two share it, uneven steps included."""
    settings = {**SETTINGS, "adapter__dropout": 0.0, "optim__epochs": 1, "optim__batch": 9}
    recipe = toy_recipe(tmp_path, count=37, dev=8, **settings)
    text = dumps(recipe.model_dump(mode="json", exclude_none=True))
    (tmp_path / "recipe.toml").write_text(text, "utf-8")
    finish(start(tmp_path, "one"))
    several = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    command = [sys.executable, *several, "-m", "magistrate", "train"]
    done = subprocess.run(
        [*command, str(tmp_path / "recipe.toml"), "-o", str(tmp_path / "two")],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    one, two = weights(tmp_path / "one"), weights(tmp_path / "two")
    for name, weight in one.items():
        torch.testing.assert_close(two[name], weight, rtol=1e-3, atol=1e-5)
    logs = [read_rows(tmp_path / name / "training/log.csv") for name in ("one", "two")]
    for row, other in zip(*logs, strict=True):
        assert float(row["loss"]) == pytest.approx(float(other["loss"]), rel=1e-4)
        assert float(row["verdict"]) == pytest.approx(float(other["verdict"]), rel=1e-4)
