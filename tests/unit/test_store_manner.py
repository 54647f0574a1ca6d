"""``mg.judge`` with modes, engine options, long prompts and a limit of costs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from judging_help import pair, say, word_judge, words

import magistrate as mg
from magistrate.errors import (
    CostLimitError,
    EngineError,
    InputError,
    MagistrateError,
    RunMismatchError,
)
from magistrate.judging.resolve import load_judge
from magistrate.messages import Completion, Request
from magistrate.records import Sample, to_json_line
from magistrate.store.manifest import read_manifest


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "run"


def samples(count: int) -> list[Sample]:
    return [pair(f"question {i}") for i in range(count)]


# Modes and engine options.


def test_a_run_in_another_mode_is_another_run(out: Path) -> None:
    run = mg.judge(samples(2), "scripted:longer", out, mode="score")
    assert run.manifest.judge.settings["mode"] == "score"
    assert run.manifest.settings.mode == "score"
    with pytest.raises(RunMismatchError, match="mode: the run has 'score', now 'reason'"):
        mg.judge(samples(2), "scripted:longer", out)
    assert mg.judge(samples(3), "scripted:longer", out, mode="score").manifest.judged == 6


def test_the_default_mode_is_reason(out: Path) -> None:
    mg.judge(samples(1), "scripted:longer", out)
    run = mg.judge(samples(1), "scripted:longer", out, mode="reason")
    assert run.manifest.judge.settings["mode"] == "reason"


def test_a_scoring_head_takes_any_mode_and_says_that_it_has_no_reasons(out: Path) -> None:
    judge, engine = word_judge(scores=True)
    engine.reply = lambda request: Completion(request.key, text="8 5")
    assert judge.mode is None
    mg.judge(samples(1), judge, out, mode="score")
    told: list[Any] = []
    run = mg.judge(samples(1), judge, out, mode="reason", on_notice=told.append)
    assert [notice.kind for notice in told] == ["no-reasons"]
    assert "no reasons" in told[0].message
    assert [notice.kind for notice in run.notices()] == ["no-reasons"]


def test_a_loaded_judge_keeps_its_mode_and_options(out: Path) -> None:
    with load_judge("scripted:longer", mode="score") as judge:
        mg.judge(samples(1), judge, out, mode="score")
        with pytest.raises(MagistrateError, match="is loaded in mode 'score'"):
            mg.judge(samples(1), judge, out, mode="reason")
        with pytest.raises(MagistrateError, match=r"engine options cannot be set \(threads\)"):
            mg.judge(samples(1), judge, out, engine_options={"threads": "1"})


def test_a_wrong_engine_option_lists_what_there_is(out: Path) -> None:
    with pytest.raises(EngineError, match="no option 'speed'; options: none"):
        mg.judge(samples(1), "scripted:longer", out, engine_options={"speed": "1"})
    with pytest.raises(EngineError, match="no option 'speed'; options: threads"):
        mg.judge(samples(1), "mini", out, engine_options={"speed": 1})  # type: ignore[dict-item]
    assert not out.exists()


def test_engine_options_stand_in_the_run(out: Path) -> None:
    run = mg.judge(samples(1), "mini", out, engine_options={"threads": 1})  # type: ignore[dict-item]
    assert run.manifest.settings.engine_options == {"threads": "1"}
    mg.judge(samples(2), "mini", out)  # threads change no answer


@pytest.mark.parametrize(
    ("setting", "value", "takes"),
    [
        ("mode", "fast", "'reason' or 'score'"),
        ("on_overflow", "cut", "'truncate', 'skip' or 'error'"),
        ("max_cost", -1, "US dollars from 0"),
        ("engine_options", ["a"], "a dict of options"),
    ],
)
def test_wrong_settings_say_what_they_take(out: Path, setting: str, value: Any, takes: str) -> None:
    with pytest.raises(MagistrateError, match=f"{setting} is .*it takes {takes}"):
        mg.judge(samples(1), "scripted:longer", out, **{setting: value})


# Prompts that are too long.

LONG = pair("a long one", first=words(900), second=words(20))


def test_skipped_samples_are_judged_when_they_may_be_cut(out: Path) -> None:
    judge, engine = word_judge(context_tokens=400)
    run = mg.judge([*samples(2), LONG], judge, out, on_overflow="skip")
    assert run.manifest.judgments == {
        "ok": 4, "truncated": 2, "unparsed": 0, "refused": 0, "error": 0
    }  # fmt: skip
    assert [d.status for d in run.decisions()] == ["ok", "ok", "truncated"]
    seen = len(engine.seen)
    run = mg.judge([*samples(2), LONG], judge, out)
    assert len(engine.seen) == seen + 2
    last = list(run.decisions())[2]
    assert (last.status, last.truncated) == ("ok", True)
    assert mg.verify_run(out).ok


def test_an_error_names_file_row_and_tokens_before_anything_is_judged(
    out: Path, tmp_path: Path
) -> None:
    judge, engine = word_judge(context_tokens=400)
    file = tmp_path / "in.jsonl"
    lines = [b'{"bad": 1}', *map(to_json_line, [*samples(3), LONG, *samples(1)])]
    file.write_bytes(b"\n".join(lines))
    words_ = r"in\.jsonl, row 5: too_long: the prompt takes 9\d\d tokens.* --on-overflow truncate"
    with pytest.raises(InputError, match=words_):
        mg.judge(file, judge, out, on_overflow="error")
    assert engine.seen == []
    assert not out.exists()
    with pytest.raises(InputError, match="sample 4: too_long"):
        mg.judge([*samples(3), LONG], judge, out, on_overflow="error")
    assert mg.judge(samples(3), judge, out, on_overflow="error").manifest.state == "complete"


def test_error_on_a_resume_changes_nothing(out: Path) -> None:
    judge, _ = word_judge(context_tokens=400)
    mg.judge(samples(3), judge, out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    with pytest.raises(InputError, match="sample 4: too_long"):
        mg.judge([*samples(3), LONG], judge, out, on_overflow="error")
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_the_bundled_judge_can_be_strict_about_length_too(out: Path) -> None:
    with pytest.raises(InputError, match=r"the model reads .* would have to shorten answer by"):
        mg.judge([LONG], "mini", out, on_overflow="error")
    run = mg.judge([pair()], "mini", out, on_overflow="error")
    assert run.manifest.judged == 1


# Costs.


def dear(request: Request) -> Completion:
    return replace(say("8 5")(request), cost=0.05)


def test_a_limit_of_costs_leaves_a_run_that_goes_on(out: Path) -> None:
    judge, engine = word_judge(dear, price=(1000.0, 1000.0), max_tokens=4)
    told: list[Any] = []
    with pytest.raises(CostLimitError, match=r"cost limit of \$1: .* give a higher --max-cost"):
        mg.judge(samples(20), judge, out, max_cost=1, cache=False, on_notice=told.append)
    manifest = read_manifest(out / "run.json")
    assert manifest.state == "stopped"
    assert 0.8 < manifest.cost <= 1.0
    assert manifest.judged == len(engine.seen) < 20 * 2
    assert f"{manifest.judged} of 40 readings are judged and safe" in told[0].message
    with pytest.raises(CostLimitError):  # what was spent before counts
        mg.judge(samples(20), judge, out, max_cost=1, cache=False)
    run = mg.judge(samples(20), judge, out, max_cost=10, cache=False)
    assert (run.manifest.state, run.manifest.judged) == ("complete", 40)
    assert len(engine.seen) == 40
    mg.judge(samples(20), judge, out, max_cost=1, cache=False)  # nothing is left to pay for


def test_without_a_price_no_limit_is_promised(out: Path) -> None:
    judge, _ = word_judge(price_unknown=True)
    with pytest.raises(EngineError, match="price of 'w' is not known"):
        mg.judge(samples(1), judge, out, max_cost=1)
    assert not out.exists()


# Repeats.


def test_repeats_measure_the_flip_rate(out: Path) -> None:
    run = mg.judge(samples(40), "scripted:random", out, repeats=3, orders="given")
    flips = mg.summarise(run).flips
    assert flips is not None
    assert flips.n == 40
    assert flips.value is not None
    assert flips.value > 0.5
    assert "flips" in str(mg.summarise(run))
    steady = mg.judge(samples(5), "scripted:longer", out.with_name("b"), repeats=2)
    assert mg.summarise(steady).flips == mg.summarise(steady).flips
    assert mg.summarise(steady).flips.value == 0  # type: ignore[union-attr]
    once = mg.judge(samples(5), "scripted:longer", out.with_name("c"))
    assert mg.summarise(once).flips is None
