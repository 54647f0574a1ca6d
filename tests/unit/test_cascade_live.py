"""Live cascades with judges that do as told: who decides, why, at what cost, and what waits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from cascade_help import SureEngine, SureFamily, as_told, pairs, sure_judge

import magistrate as mg
from magistrate.cascade.live_folder import CascadeRun, is_cascade
from magistrate.cli.main import main
from magistrate.errors import EngineError, InputError, RunError, RunMismatchError
from magistrate.judging.judge import make_judge
from magistrate.messages import Completion
from magistrate.prompts.base import Verdict
from magistrate.records import Sample
from magistrate.report.summary import summarise

SURES = (0.9, 0.55, 0.7, 0.6, 0.95, 0.52)


def strong_says(question: str) -> str:
    return "0.99 shorter"


def ways(done: CascadeRun) -> list[tuple[int | None, str]]:
    return [(one.tier, one.why) for one in done.decisions()]


def sound(done: CascadeRun) -> None:
    for path in (done.path, *(done.path / one.folder for one in done.manifest.tiers)):
        report = mg.verify_run(path)
        assert report.ok, report.findings


def test_a_judge_settles_what_it_is_sure_of_and_the_next_gets_the_rest(tmp_path: Path) -> None:
    cheap, asked = sure_judge("cheap", as_told)
    strong, more = sure_judge("strong", strong_says)
    done = mg.run_cascade(pairs(*SURES), [cheap, strong], tmp_path / "c", thresholds=0.7)
    settled, up = (1, "confidence"), (2, "last")
    assert ways(done) == [settled, up, settled, up, settled, up]
    assert len(asked.seen) == 12
    assert sorted({one.split()[0] for one in more.seen}) == ["1", "3", "5"]
    first, second = list(done.decisions())[:2]
    assert (first.preference, first.confidence, first.threshold) == ("first", 0.9, 0.7)
    assert (second.preference, second.confidence, second.threshold) == ("second", 0.99, None)
    assert [one.judge for one in second.asked] == ["cheap", "strong"]
    assert done.manifest.state == "complete"
    cheaply, dearly = done.manifest.tiers
    assert (cheaply.asked, cheaply.decided, cheaply.share) == (6, 3, 0.5)
    assert (dearly.asked, dearly.decided, dearly.failed) == (3, 3, 0)
    assert cheaply.confidence == (0.7, 0.95)
    sound(done)


def test_a_cascade_reads_as_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cheap, _ = sure_judge("cheap", as_told)
    strong, _ = sure_judge("strong", strong_says)
    samples = pairs(*SURES, label=True, wrong=[1, 3])
    out = tmp_path / "c"
    done = mg.run_cascade(samples, [cheap, strong], out, thresholds=0.7)
    assert is_cascade(out)
    assert [one.preference for one in done.run.decisions()] == [
        one.preference for one in done.decisions()
    ]
    found = mg.evaluate(out)
    assert found.pairs is not None
    assert found.has_ok
    assert main(["runs", "show", str(out), "--json"]) == 0
    view = json.loads(capsys.readouterr().out)
    assert view["judge"] == "cheap > strong"
    assert view["decisions"]["ok"] == 6
    assert view["agreement"]["three_class"]["judge"]["value"] == pytest.approx(5 / 6)
    assert [tier["decided"] for tier in view["cascade"]["tiers"]] == [3, 3]
    assert main(["runs", "show", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "settled 6 of 6 pairs (fixed thresholds)" in shown
    assert main(["runs", "verify", str(out)]) == 0
    assert "tiers/2-strong: 6 judgments: sound" in capsys.readouterr().out
    for command in ("evaluate", "rank", "report"):
        assert main([command, str(out)]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    ("wanted", "up"),
    [
        ({"budget": 0.5}, [1, 3, 5]),
        ({"budget": 0.34}, [1, 5]),
        ({"budget": 0.0}, []),
        ({"budget": 1.0}, [0, 1, 2, 3, 4, 5]),
        ({"budget_calls": 3}, [5]),
        ({"budget": 0.5, "budget_calls": 4}, [1, 5]),
        ({"thresholds": 0.7, "budget": 0.34}, [1, 3]),
    ],
)
def test_a_budget_goes_to_the_unsurest(
    tmp_path: Path, wanted: dict[str, float], up: list[int]
) -> None:
    cheap, _ = sure_judge("cheap", as_told)
    strong, more = sure_judge("strong", strong_says)
    done = mg.run_cascade(pairs(*SURES), [cheap, strong], tmp_path / "c", **wanted)  # type: ignore[arg-type]
    assert sorted({int(one.split()[0]) for one in more.seen}) == up
    assert [one.row for one in done.decisions() if one.tier == 2] == up
    assert done.manifest.pending == 0
    assert len(more.seen) <= 2 * (done.manifest.policy.quota or 0)


def test_whoever_should_have_gone_up_says_that_the_budget_was_used_up(tmp_path: Path) -> None:
    cheap, _ = sure_judge("cheap", as_told)
    strong, _ = sure_judge("strong", strong_says)
    done = mg.run_cascade(
        pairs(*SURES), [cheap, strong], tmp_path / "c", thresholds=0.7, budget_calls=4
    )
    assert [one.row for one in done.decisions() if one.why == "budget"] == [5]
    assert done.manifest.tiers[0].by_budget == 1


def test_what_the_cheap_judge_cannot_read_goes_up_and_errors_wait(tmp_path: Path) -> None:
    said = {"0": "nonsense", "1": "fail", "2": "0.9 longer"}
    cheap, asked = sure_judge("cheap", lambda question: said[question[0]])
    strong, _ = sure_judge("strong", strong_says)
    out = tmp_path / "c"
    done = mg.run_cascade(pairs(0.5, 0.5, 0.5), [cheap, strong], out, thresholds=0.7)
    assert ways(done) == [(2, "last"), (None, "pending"), (1, "confidence")]
    assert done.manifest.pending == 1
    assert done.manifest.state == "stopped"
    (waiting,) = [one for one in done.decisions() if one.why == "pending"]
    assert waiting.reason == "cheap: error: told to fail"
    assert done.run.manifest.state == "stopped"
    sound(done)
    said["1"], before = "0.8 longer", len(asked.seen)
    done = mg.run_cascade(pairs(0.5, 0.5, 0.5), [cheap, strong], out, thresholds=0.7)
    assert ways(done) == [(2, "last"), (1, "confidence"), (1, "confidence")]
    assert len(asked.seen) == before + 2, "only what failed is asked again"
    assert done.manifest.state == "complete"
    sound(done)


@pytest.mark.parametrize("says", ["fail", "nonsense"])
def test_a_failing_strong_judge_leaves_its_pairs_waiting(tmp_path: Path, says: str) -> None:
    cheap, _ = sure_judge("cheap", as_told)
    bad, _ = sure_judge("strong", lambda question: says)
    out = tmp_path / "c"
    done = mg.run_cascade(pairs(*SURES), [cheap, bad], out, budget=0.5)
    assert [one.row for one in done.decisions() if one.why == "pending"] == [1, 3, 5]
    assert done.manifest.tiers[1].pending == 3
    assert sum(one.n for one in done.manifest.reasons) == 3
    assert not any(one.tier for one in done.decisions() if one.why == "pending")
    good, asked = sure_judge("strong", strong_says)
    done = mg.run_cascade(pairs(*SURES), [cheap, good], out, budget=0.5)
    assert done.manifest.pending == 0
    assert len(asked.seen) == 6


def test_the_cheap_judge_decides_in_its_place_only_when_told_to(tmp_path: Path) -> None:
    cheap, _ = sure_judge("cheap", as_told)
    bad, _ = sure_judge("strong", lambda question: "fail" if question[0] == "3" else "0.9 shorter")
    done = mg.run_cascade(pairs(*SURES), [cheap, bad], tmp_path / "c", budget=0.5, fallback="cheap")
    third = list(done.decisions())[3]
    assert (third.tier, third.why, third.preference) == (1, "fallback", "first")
    assert third.reason == "strong: error: told to fail"
    assert [one.status for one in third.asked] == ["ok", "error"]
    assert done.manifest.tiers[0].by_fallback == 1
    assert (done.manifest.pending, done.manifest.state) == (0, "complete")
    sound(done)


def test_a_judge_that_breaks_down_does_not_stop_the_others(tmp_path: Path) -> None:
    cheap, asked = sure_judge("cheap", as_told)
    bad, _ = sure_judge("strong", lambda question: "down")
    out = tmp_path / "c"
    with pytest.raises(EngineError, match=r"strong broke down: .*the same command goes on"):
        mg.run_cascade(pairs(*SURES), [cheap, bad], out, budget=0.5)
    assert len(asked.seen) == 12
    stored = CascadeRun(out)
    assert stored.manifest.pending == 3
    assert [one.tier for one in stored.decisions()] == [1, None, 1, None, 1, None]
    done = mg.run_cascade(pairs(*SURES), [cheap, bad], out, budget=0.5, fallback="cheap")
    assert [one.why for one in done.decisions() if one.tier == 1].count("fallback") == 3
    good, _ = sure_judge("strong", strong_says)
    done = mg.run_cascade(pairs(*SURES), [cheap, good], out, budget=0.5)
    assert done.manifest.state == "complete"
    assert len(asked.seen) == 12


def test_another_policy_asks_nothing_again_and_says_so(tmp_path: Path) -> None:
    cheap, asked = sure_judge("cheap", as_told)
    strong, more = sure_judge("strong", strong_says)
    out = tmp_path / "c"
    mg.run_cascade(pairs(*SURES), [cheap, strong], out, thresholds=0.7)
    said: list[str] = []

    def again(**policy: float) -> CascadeRun:
        return mg.run_cascade(
            pairs(*SURES),
            [cheap, strong],
            out,
            on_notice=lambda notice: said.append(notice.message),
            **policy,  # type: ignore[arg-type]
        )

    done = again(thresholds=0.58)
    assert (len(asked.seen), len(more.seen)) == (12, 6)
    assert [one.row for one in done.decisions() if one.tier == 2] == [1, 5]
    assert "nothing that was asked is asked again" in said[0]
    done = again(budget=1.0)
    assert (len(asked.seen), len(more.seen)) == (12, 12)
    said.clear()
    again(budget=1.0)
    assert (len(asked.seen), len(more.seen), said) == (12, 12, [])


def test_three_judges_with_thresholds_and_the_last_abstains(tmp_path: Path) -> None:
    cheap, _ = sure_judge("cheap", as_told)
    middle, between = sure_judge("middle", lambda q: f"{0.4 + float(q[0]) / 10:.2f} longer")
    strong, more = sure_judge("strong", lambda q: "0.6 shorter" if q[0] == "1" else "0.9 shorter")
    done = mg.run_cascade(
        pairs(*SURES), [cheap, middle, strong], tmp_path / "c", thresholds=[0.7, 0.8, 0.7]
    )
    assert ways(done) == [
        (1, "confidence"),
        (None, "abstained"),
        (1, "confidence"),
        (3, "confidence"),
        (1, "confidence"),
        (2, "confidence"),
    ]
    assert sorted({one[0] for one in between.seen}) == ["1", "3", "5"]
    assert sorted({one[0] for one in more.seen}) == ["1", "3"]
    assert done.manifest.abstained == 1
    assert done.manifest.state == "complete"
    abstained = list(done.run.decisions())[1]
    assert abstained.status == "refused", "nobody said anything, least of all a tie"
    sound(done)


def test_a_judge_without_probabilities_is_as_sure_as_its_readings_agree(tmp_path: Path) -> None:
    def by_place(question: str) -> str:
        return "1.0 longer" if question[0] in "024" else "1.0 a b"

    cheap, engine = sure_judge("cheap", by_place, has_probabilities=False)
    # On odd questions the reply names the place shown first: the two orders disagree.
    engine.rule = lambda q: "1.0 longer" if q[0] in "024" else "0.9a"
    strong, more = sure_judge("strong", strong_says)
    done = mg.run_cascade(pairs(*SURES), [cheap, strong], tmp_path / "c", thresholds=0.7)
    assert [one.confidence for one in done.decisions() if one.tier == 1] == [1.0, 1.0, 1.0]
    assert len(more.seen) == 6
    assert not done.manifest.tiers[0].gives_probabilities


def test_samples_of_one_text_are_asked_once(tmp_path: Path) -> None:
    cheap, asked = sure_judge("cheap", as_told)
    strong, more = sure_judge("strong", strong_says, cost=0.5)
    twice = [*pairs(0.6, 0.9), *pairs(0.6, 0.9)]
    done = mg.run_cascade(twice, [cheap, strong], tmp_path / "c", budget=0.5)
    assert (len(asked.seen), len(more.seen)) == (4, 2)
    assert ways(done) == [(2, "last"), (1, "confidence")] * 2
    assert [one.cost for one in done.decisions()] == [1.0, 0, 0, 0]
    assert (done.manifest.samples, done.manifest.pairs, done.manifest.cost) == (4, 2, 1.0)
    assert done.run.manifest.cost == 1.0
    sound(done)


def test_samples_added_behind_are_taken_up(tmp_path: Path) -> None:
    cheap, asked = sure_judge("cheap", as_told)
    strong, _ = sure_judge("strong", strong_says)
    out = tmp_path / "c"
    mg.run_cascade(pairs(*SURES[:3]), [cheap, strong], out, thresholds=0.7)
    done = mg.run_cascade(pairs(*SURES), [cheap, strong], out, thresholds=0.7)
    assert len(asked.seen) == 12
    assert done.manifest.pairs == 6
    sound(done)


def test_money_is_never_exceeded_and_the_rest_is_decided_below(tmp_path: Path) -> None:
    cheap, _ = sure_judge("cheap", as_told)
    strong, more = sure_judge("strong", strong_says, cost=0.1)
    done = mg.run_cascade(pairs(*SURES), [cheap, strong], tmp_path / "c", max_cost=0.65)
    assert [one[0] for one in more.seen] == ["5", "5", "1", "1", "3", "3"], "unsurest first"
    assert done.manifest.cost == pytest.approx(0.1 * len(more.seen))
    assert done.manifest.cost <= 0.65
    assert [one.row for one in done.decisions() if one.why == "budget"] == [0, 2, 4]
    assert [one.row for one in done.decisions() if one.why == "last"] == [1, 3, 5]
    assert done.manifest.state == "complete"
    done = mg.run_cascade(pairs(*SURES), [cheap, strong], tmp_path / "c", max_cost=5)
    assert len(more.seen) == 12
    assert all(one.why == "last" for one in done.decisions())


def labelled(count: int, wrong_below: float) -> list[Sample]:
    """Pairs on which a judge is right where it is surer than ``wrong_below``."""
    sures = [0.5 + 0.5 * (number * 37 % count) / count for number in range(count)]
    wrong = [number for number, sure in enumerate(sures) if sure < wrong_below]
    return pairs(*sures, label=True, wrong=wrong)


def test_a_target_is_promised_or_abstained_from(tmp_path: Path) -> None:
    cheap, _ = sure_judge("cheap", as_told)
    strong, _ = sure_judge("strong", lambda q: f"{as_told(q).split()[0]} longer")
    known = labelled(400, wrong_below=0.7)
    done = mg.run_cascade(
        pairs(0.95, 0.55, 0.85),
        [cheap, strong],
        tmp_path / "c",
        target_agreement=0.85,
        risk=0.1,
        calibrate_on=known,
    )
    assert done.manifest.guarantee is not None
    assert done.manifest.labels == 400
    assert "exchangeable" in (done.manifest.assumption or "")
    bar = done.manifest.policy.thresholds[0]
    assert bar is not None
    assert 0.6 < bar < 0.8
    assert ways(done) == [(1, "confidence"), (None, "abstained"), (1, "confidence")]
    assert (done.path / "calibration" / "1-cheap" / "run.json").exists()
    sound(done)


def test_without_a_risk_the_thresholds_are_estimates(tmp_path: Path) -> None:
    cheap, _ = sure_judge("cheap", as_told)
    strong, _ = sure_judge("strong", lambda q: "0.9 longer")
    done = mg.run_cascade(
        pairs(0.95, 0.55),
        [cheap, strong],
        tmp_path / "c",
        target_agreement=0.9,
        calibrate_on=labelled(60, wrong_below=0.6),
    )
    assert done.manifest.guarantee is None
    assert "without a promise" in (done.manifest.assumption or "")
    assert ways(done)[0] == (1, "confidence")


def test_too_few_labels_are_refused_with_how_many_would_do(tmp_path: Path) -> None:
    cheap, _ = sure_judge("cheap", as_told)
    strong, _ = sure_judge("strong", lambda q: f"{as_told(q).split()[0]} longer")
    with pytest.raises(InputError, match=r"cannot be promised .* about [\d,]+ would do"):
        mg.run_cascade(
            pairs(0.95),
            [cheap, strong],
            tmp_path / "c",
            target_agreement=0.85,
            risk=0.1,
            calibrate_on=labelled(40, wrong_below=0.6),
        )
    assert CascadeRun(tmp_path / "c").manifest.state == "stopped"


def test_confidences_that_left_those_of_the_labels_are_told(tmp_path: Path) -> None:
    cheap, _ = sure_judge("cheap", as_told)
    strong, _ = sure_judge("strong", lambda q: f"{as_told(q).split()[0]} longer")
    said: list[str] = []
    mg.run_cascade(
        pairs(*(0.5 + 0.1 * number / 60 for number in range(60))),
        [cheap, strong],
        tmp_path / "c",
        target_agreement=0.85,
        risk=0.1,
        calibrate_on=labelled(400, wrong_below=0.7),
        on_notice=lambda notice: said.append(notice.kind),
    )
    assert "confidence-drift" in said


BAD: list[tuple[dict[str, object], str]] = [
    ({}, "nothing says how pairs are routed"),
    ({"budget": 1.5}, "--budget is 1.5; it must be a number between 0 and 1"),
    ({"thresholds": [0.5, 0.6, 0.7]}, "--threshold is given 3 times for 2 judges"),
    ({"target_agreement": 0.9}, "needs labelled pairs"),
    ({"budget": 0.5, "risk": 0.1}, "--risk has no meaning without --target-agreement"),
    ({"thresholds": 0.5, "stream": 5}, "--stream estimates"),
    ({"budget": 0.5, "fallback": "strong"}, "fallback is 'strong'"),
    ({"target_agreement": 0.9, "thresholds": 0.5}, "do not go together"),
    ({"target_agreement": 0.9, "calibrate_on": pairs(0.5)}, "no labelled pair"),
]


@pytest.mark.parametrize(("wanted", "message"), BAD, ids=[message for _, message in BAD])
def test_what_does_not_fit_is_told_before_anything_is_asked(
    tmp_path: Path, wanted: dict[str, object], message: str
) -> None:
    cheap, asked = sure_judge("cheap", as_told)
    strong, _ = sure_judge("strong", strong_says)
    with pytest.raises(InputError, match=message):
        mg.run_cascade(pairs(0.5), [cheap, strong], tmp_path / "c", **wanted)  # type: ignore[arg-type]
    assert not asked.seen
    assert not (tmp_path / "c").exists()


def test_folders_and_judges_that_do_not_fit_are_told(tmp_path: Path) -> None:
    cheap, _ = sure_judge("cheap", as_told)
    strong, _ = sure_judge("strong", strong_says)
    other, _ = sure_judge("other", strong_says)
    run = mg.judge(pairs(0.5), cheap, tmp_path / "run")
    with pytest.raises(RunError, match="not of a cascade"):
        mg.run_cascade(pairs(0.5), [cheap, strong], run.path, budget=1)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    with pytest.raises(RunError, match=r"not empty \(it holds notes.txt\)"):
        mg.run_cascade(pairs(0.5), [cheap, strong], tmp_path / "full", budget=1)
    with pytest.raises(InputError, match="two judges or more"):
        mg.run_cascade(pairs(0.5), [cheap], tmp_path / "c", budget=1)
    with pytest.raises(InputError, match="the same judge"):
        mg.run_cascade(pairs(0.5), [cheap, cheap], tmp_path / "c", budget=1)
    mg.run_cascade(pairs(0.5), [cheap, strong], tmp_path / "c", budget=1)
    with pytest.raises(RunMismatchError, match="holds another run"):
        mg.run_cascade(pairs(0.5), [cheap, other], tmp_path / "c", budget=1)
    done = mg.run_cascade(pairs(0.5), [cheap, other], tmp_path / "c", budget=1, start_over=True)
    assert done.manifest.tiers[1].judge == "other"
    assert len(list(tmp_path.glob("c.before-*/tiers/*"))) == 2


def test_judges_are_at_work_at_the_same_time(tmp_path: Path) -> None:
    cheap, first = sure_judge("cheap", as_told, delay=0.01)
    strong, second = sure_judge("strong", strong_says, delay=0.01)
    sures = [0.5 + number % 2 / 3 for number in range(60)]
    mg.run_cascade(pairs(*sures), [cheap, strong], tmp_path / "c", thresholds=0.7)
    assert len(second.times) == 60
    together = sum(first.times[0] < moment < first.times[-1] for moment in second.times)
    assert together > 20, "the strong judge waited for the cheap one"


def test_the_command_ends_with_7_where_pairs_wait(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "in.jsonl"
    rows = [{"question": f"q{i}", "answer1": "a" * i, "answer2": "bb"} for i in range(8)]
    file.write_text("\n".join(map(json.dumps, rows)))
    command = ["cascade", str(file), "--judge", "scripted:longer", "--judge", "scripted:fail"]
    command += ["--threshold", "1", "--out", str(tmp_path / "c")]
    assert main([*command, "--json"]) == 0, "the scripted judge is sure of itself"
    capsys.readouterr()
    command[3] = "scripted:random,nonsense=0.5"
    assert main([*command[:-1], str(tmp_path / "d"), "--json"]) == 7
    caught = capsys.readouterr()
    view = json.loads(caught.out)
    assert view["pending"] == view["tiers"][1]["pending"] > 0
    assert "wait for a judge that failed" in caught.err
    assert main([*command[:-1], str(tmp_path / "d"), "--fallback", "cheap"]) in (0, 7)


def test_damage_to_a_judges_run_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cheap, _ = sure_judge("cheap", as_told)
    strong, _ = sure_judge("strong", strong_says)
    out = tmp_path / "c"
    mg.run_cascade(pairs(*SURES), [cheap, strong], out, budget=0.5)
    journal = out / "tiers" / "2-strong" / "judgments.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"second"', b'"first"', 1))
    assert main(["runs", "verify", str(out)]) == 4
    assert "tiers/2-strong/judgments.jsonl" in capsys.readouterr().out


class AloneFamily(SureFamily):
    """Reads each answer alone, so it is asked once, and scores on a scale of its own."""

    name = "alone"
    reads_alone = True

    def read(
        self, completions: Sequence[Completion], sample: Sample, order: Sequence[int]
    ) -> Verdict:
        return replace(super().read(completions, sample, order), scores=(80.0, 20.0))


def test_what_was_read_in_one_order_is_no_proof_of_consistency(tmp_path: Path) -> None:
    alone = make_judge("alone", AloneFamily(), SureEngine("alone", as_told))  # type: ignore[arg-type]
    strong, _ = sure_judge("strong", strong_says)
    done = mg.run_cascade(
        pairs(*SURES, label=True), [alone, strong], tmp_path / "c", thresholds=0.7
    )
    assert [one.tier for one in done.decisions()] == [1, 2, 1, 2, 1, 2]
    decisions = list(done.run.decisions())
    assert [one.consistent for one in decisions] == [None, True] * 3
    assert all(one.scores is None for one in decisions)
    assert summarise(done.run).consistency.consistent.n == 3
    found = mg.evaluate(done.path).pairs
    assert found is not None
    assert found.position is not None
    assert (found.position.pairs, found.position.not_ok) == (3, 3)
    sound(done)
