"""Demonstrations from Python: drawn for a run, kept with it, and what is said of wrong ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import magistrate as mg
from magistrate.errors import InputError, MagistrateError
from magistrate.judging.resolve import load_judge
from magistrate.records import Answer, Gold, Preference, Sample

JUDGE = "scripted:longer#pandalm"


def labelled(count: int, *, start: int = 0) -> list[Sample]:
    outcomes: tuple[Preference, ...] = ("first", "second", "tie")
    return [
        Sample(
            question=f"Question {i}?",
            answers=(Answer(text=f"One {i}."), Answer(text=f"Number two {i}.")),
            gold=(Gold(preference=outcomes[i % 3]),),
            source_id=str(i),
        )
        for i in range(start, start + count)
    ]


def shown(run: mg.Run) -> set[str | None]:
    text = run.folder.demonstrations.read_text("utf-8")
    return {Sample.model_validate_json(line).source_id for line in text.splitlines()}


def test_they_are_drawn_for_lists_and_for_streams(tmp_path: Path) -> None:
    options: dict[str, Any] = {"demonstrations": labelled(12), "per_outcome": 2}
    run = mg.judge(labelled(3), JUDGE, tmp_path / "list", **options)
    assert run.manifest.judgments["ok"] == 6
    assert len(shown(run)) == 6
    assert not shown(run) & {"0", "1", "2"}
    stream = mg.judge(iter(labelled(3)), JUDGE, tmp_path / "stream", **options)
    assert shown(stream) == shown(run)
    assert stream.manifest.judge_id == run.manifest.judge_id
    endless = (sample for _ in range(10**9) for sample in labelled(3))
    bounded = mg.judge(endless, JUDGE, tmp_path / "bounded", limit=3, **options)
    assert shown(bounded) == shown(run)
    settings = run.manifest.settings.demonstrations
    assert settings is not None
    assert (settings.per_outcome, settings.seed) == (2, 0)
    assert mg.verify_run(run.path).ok


def test_a_resume_makes_nothing_twice_and_another_draw_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "run"
    mg.judge(labelled(3), JUDGE, out, demonstrations=labelled(12))
    again = mg.judge(labelled(3), JUDGE, out, demonstrations=labelled(12))
    assert again.manifest.lines == 6
    with pytest.raises(mg.MagistrateError, match=r"judge.settings.demonstrations: the run has \["):
        mg.judge(labelled(3), JUDGE, out, demonstrations=labelled(12), demonstrations_seed=1)
    # A sample that comes to be judged leaves the draw, and then the judge is another one.
    drawn = [sample for sample in labelled(12) if sample.source_id in shown(again)]
    with pytest.raises(mg.MagistrateError, match="holds another run"):
        mg.judge([*labelled(3), *drawn], JUDGE, out, demonstrations=labelled(12))


def test_a_batch_and_a_dry_run_show_them_too(tmp_path: Path) -> None:
    found = mg.dry_run(labelled(3), JUDGE, demonstrations=labelled(12), demonstrations_seed=4)
    run = mg.judge(
        labelled(3),
        JUDGE,
        tmp_path / "run",
        demonstrations=labelled(12),
        demonstrations_seed=4,
    )
    assert {sample.source_id for sample in found.demonstrations} == shown(run)
    batch = tmp_path / "requests.jsonl"
    judge = "openai:m@http://127.0.0.1:9/v1#pandalm"
    options = {"context_tokens": "8000"}
    mg.emit_batch(
        labelled(3),
        judge,
        batch,
        tmp_path / "batch",
        engine_options=options,
        demonstrations=labelled(12),
    )
    assert batch.read_text("utf-8").count("### Evaluation:") == 6 * (1 + 3)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"per_outcome": 0}, "per_outcome is 0; it takes a whole number from 1"),
        ({"per_outcome": "2"}, "per_outcome is '2'"),
        ({"demonstrations_seed": 1.5}, "demonstrations_seed is 1.5"),
    ],
)
def test_wrong_numbers_are_told(tmp_path: Path, given: dict[str, Any], words: str) -> None:
    with pytest.raises(MagistrateError, match=words):
        mg.judge(labelled(3), JUDGE, tmp_path / "run", demonstrations=labelled(9), **given)
    assert not (tmp_path / "run").exists()


def test_what_is_no_sample_or_too_few_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there are 1 of 'first'"):
        mg.judge(labelled(3), JUDGE, tmp_path / "run", demonstrations=labelled(6), per_outcome=2)
    with pytest.raises(InputError, match="must be a Sample"):
        mg.judge(labelled(3), JUDGE, tmp_path / "run", demonstrations=[1, 2])  # type: ignore[list-item]


def test_a_judge_that_is_loaded_has_its_own(tmp_path: Path) -> None:
    with load_judge(JUDGE, demonstrations=labelled(3, start=20)) as judge:
        assert judge.spec.settings["demonstrations"]
        with pytest.raises(MagistrateError, match="give them to load_judge"):
            mg.judge(labelled(3), judge, tmp_path / "run", demonstrations=labelled(12))
        run = mg.judge(labelled(3), judge, tmp_path / "run")
        assert run.manifest.judgments["ok"] == 6
