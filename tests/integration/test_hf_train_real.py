"""Training a real small model: from a GGUF file to a judge folder that judges."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hf_real import gguf_file

from magistrate.cli.main import main

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / "recipes/train/smollm2-cpu.toml"


@pytest.fixture
def pairs(tmp_path: Path) -> tuple[Path, Path]:
    """Return a file to learn from and one to evaluate on, of PandaLM's labelled pairs."""
    folder = os.environ.get("MAGISTRATE_DATA")
    if folder is None or not (Path(folder) / "pandalm/testset-v1.json").is_file():
        pytest.skip("MAGISTRATE_DATA does not name a folder with pandalm/testset-v1.json")
    rows = json.loads((Path(folder) / "pandalm/testset-v1.json").read_text("utf-8"))
    agreed = [row for row in rows if row["annotator1"] == row["annotator2"] == row["annotator3"]]
    decided = [row for row in agreed if row["annotator1"] in (1, 2)]  # the family has no tie
    answers = [(row["response1"], row["response2"]) for row in decided]
    short = [
        row
        for row, both in zip(decided, answers, strict=True)
        if all(isinstance(text, str) for text in both) and sum(map(len, both)) < 400
    ]
    paths = (tmp_path / "train.json", tmp_path / "dev.json")
    for path, some in zip(paths, (short[:16], short[16:24]), strict=True):
        path.write_text(json.dumps(some), "utf-8")
    return paths


def run(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, Any]:
    code = main([*args, "--json", "--quiet"])
    out = capsys.readouterr()
    assert code == 0, out.err
    found: dict[str, Any] = json.loads(out.out)
    return found


@pytest.mark.data
@pytest.mark.slow
def test_the_recipe_for_processors_runs(
    pairs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train, dev = map(str, pairs)
    given = ["--base", str(gguf_file()), "--data", train, "--dev", dev]
    dry = run(capsys, "train", str(RECIPE), *given, "--dry-run")
    assert dry["samples"] == 16
    assert dry["weights"] > 130e6
    assert 0 < dry["weights_trained"] < 10e6
    assert dry["shown"][0].endswith(("⟦A<|im_end|>⟧", "⟦B<|im_end|>⟧"))
    judge = tmp_path / "judge"
    steps = ["--set", "optim.steps=2", "--set", "optim.batch=4"]
    trained = run(capsys, "train", str(RECIPE), *given, *steps, "-o", str(judge))
    assert trained["steps"] == 2
    assert trained["weights_trained"] == dry["weights_trained"]
    assert trained["measured"]["not_ok"] == 0
    assert (judge / "adapter_model.safetensors").stat().st_size < 40e6
    judged = run(capsys, "judge", dev, "--judge", str(judge), "--out", str(tmp_path / "run"))
    assert judged
