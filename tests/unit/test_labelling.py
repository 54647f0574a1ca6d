"""Labels by teachers: merged, in the sample's order, with and without the reference."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import magistrate as mg
from magistrate.cli.main import main
from magistrate.data.merging import Label, consistent_scores, disagreement, merged_gold, shares_of
from magistrate.data.teacher_labels import label_of
from magistrate.data.teachers import plan_passes
from magistrate.errors import FamilyError, InputError, JudgeNotFoundError, MagistrateError
from magistrate.judging.merge import merge_judgments
from magistrate.messages import Completion
from magistrate.metrics.gold import annotator_vote
from magistrate.prompts.catalog import load_family
from magistrate.records import Answer, Gold, Judgment, Sample

PASS = plan_passes(["t=scripted:longer"], "named")[0][0]


def pair(number: int = 0, **more: object) -> Sample:
    answers = (Answer(text="long " * (3 + number), model="x"), Answer(text="short", model="y"))
    return Sample(question=f"question {number}", answers=answers, **more)  # type: ignore[arg-type]


def pairs(count: int) -> list[Sample]:
    """Every other one has a reference, every third a human's label."""
    return [
        pair(
            i,
            reference="known" if i % 2 == 0 else None,
            gold=(Gold(annotator="Ann", preference="second"),) if i % 3 == 0 else (),
        )
        for i in range(count)
    ]


def read(path: Path) -> list[Sample]:
    return list(mg.read_samples(path))


# --- Reading a teacher ---------------------------------------------------------------------------


def read_as(order: tuple[int, int], reply: str) -> Judgment:
    """A judgment of the family judgelm from a reply about the answers as shown in an order."""
    sample = pair()
    verdict = load_family("judgelm").read([Completion("k", text=reply)], sample, order)
    is_shown = order == (0, 1)
    scores = verdict.scores
    turned = {"first": "second", "second": "first"}
    return Judgment(
        key=f"k{order}",
        sample_id=sample.text_id,
        judge="t",
        order=order,
        status=verdict.status,
        preference=verdict.preference  # type: ignore[arg-type]
        if is_shown or verdict.preference is None
        else turned.get(verdict.preference, "tie"),
        scores=scores if is_shown or scores is None else scores[::-1],
        reasons=verdict.reasons,
        error=verdict.error,
        raw=reply,
    )


def labelled(*judgments: Judgment) -> Gold | None:
    decision = merge_judgments(0, pair(), judgments)
    return label_of(PASS, pair(), judgments, decision)


@pytest.mark.parametrize(
    "reply",
    ["8, 7\nAssistant 1 wins.", "\n8 7\nAssistant 1 wins.", "8 7\n\nAssistant 1 wins."],
)
def test_what_upstream_swaps_wrongly_is_read_right_in_both_orders(reply: str) -> None:
    # JudgeLM's own swap makes `7 8,` of `8, 7`, and leaves a reply with a leading newline as it is.
    for order, scores, winner in (((0, 1), (8, 7), "1"), ((1, 0), (7, 8), "2")):
        gold = labelled(read_as(order, reply))
        assert gold is not None
        assert gold.scores == scores
        assert gold.preference == ("first" if winner == "1" else "second")
        assert gold.reasons == f"Assistant {winner} wins."


def test_three_scores_never_become_a_label() -> None:
    assert labelled(read_as((0, 1), "8 7 6\nAssistant 1 wins.")) is None
    assert labelled(read_as((0, 1), "8 7\nfine"), read_as((1, 0), "8 7 6\nno")) is None


def test_reasons_of_the_reversed_order_are_told_in_the_samples_own() -> None:
    # The given order says tie, the reversed one that the shown first (own second) wins.
    votes = (
        read_as((0, 1), "7 8\nAssistant 2 wins."),
        read_as((1, 0), "9 7\nThe first answer wins."),
    )
    gold = labelled(*votes)
    assert gold is not None
    assert gold.preference == "second"
    assert gold.reasons == "Assistant 2 wins."
    gold = labelled(votes[1])
    assert gold is not None
    assert gold.reasons == "The second answer wins."


def test_orders_that_contradict_each_other_give_no_reasons_and_no_contrary_scores() -> None:
    gold = labelled(read_as((0, 1), "9 7\nAssistant 1."), read_as((1, 0), "8 7\nAssistant 1."))
    assert gold is not None
    assert (gold.preference, gold.scores, gold.reasons) == ("tie", None, None)


# --- Merging -------------------------------------------------------------------------------------

golds = st.builds(
    lambda scores, way: Gold(
        annotator="t",
        preference=annotator_vote(Gold(scores=scores)),
        scores=scores,
        reasons=f"said {annotator_vote(Gold(scores=scores))}",
        with_reference=way,
    ),
    st.tuples(st.integers(1, 10), st.integers(1, 10)),
    st.booleans(),
)


@given(st.lists(golds, min_size=1, max_size=5), st.data())
def test_a_merged_label_never_contradicts_itself(found: list[Gold], data: st.DataObject) -> None:
    labels = [Label(str(i), gold, (1, 10)) for i, gold in enumerate(found)]
    first = data.draw(st.floats(0, 1))
    second = data.draw(st.floats(0, 1 - first))
    merged = merged_gold(labels, (first, 1 - first - second, second), "mean", lambda _: 0.5)
    assert merged is not None
    if merged.scores is not None:
        assert annotator_vote(Gold(scores=merged.scores)) == merged.preference
    if merged.reasons is not None:
        assert merged.reasons == f"said {merged.preference}"
    assert merged.with_reference == (
        found[0].with_reference if len({gold.with_reference for gold in found}) == 1 else None
    )


def test_scores_of_another_scale_are_not_averaged() -> None:
    labels = [
        Label("a", Gold(preference="first", scores=(8, 6)), (1, 10)),
        Label("b", Gold(preference="first", scores=(4, 2)), (1, 5)),
        Label("c", Gold(preference="first", scores=(10, 7)), (1, 10)),
        Label("d", Gold(preference="first", scores=(0.3, -2.0)), None),
    ]
    merged = merged_gold(labels, (1, 0, 0), "mean", lambda _: 0.5)
    assert merged is not None
    assert merged.scores == (9, 6.5)


def test_three_answers_are_merged_by_scores_and_ranks() -> None:
    labels = [
        Label("a", Gold(scores=(8, 6, 4), ranking=(1, 2, 3)), (1, 10)),
        Label("b", Gold(scores=(9, 10, 2), ranking=(2, 1, 3)), (1, 10)),
        Label("c", Gold(scores=(7, 5, 3), ranking=(1, 2, 3)), (1, 10)),
    ]
    merged = merged_gold(labels, None, "agreement", lambda _: float("nan"))
    assert merged is not None
    assert (merged.annotator, merged.scores, merged.ranking) == (
        "merged:mean",
        (8, 7, 3),
        (1, 2, 3),
    )


def test_disagreement_is_measured() -> None:
    labels = [
        Label("a", Gold(annotator="a", preference="first", scores=(8, 6), with_reference=False)),
        Label("a", Gold(annotator="a", preference="second", scores=(5, 6), with_reference=True)),
        Label("h", Gold(annotator="h", preference="first"), is_teacher=False),
        Label("i", Gold(annotator="i", preference="tie"), is_teacher=False),
    ]
    labels = [Label(one.column, one.gold, (1, 10), one.is_teacher) for one in labels]
    found = disagreement(labels, [True, False, None])
    assert found["votes"] == {"first": 2, "tie": 1, "second": 1}
    assert found["entropy"] == pytest.approx(1.5)
    assert found["scores"] == pytest.approx(1.5)  # differences 2 and -1
    assert (found["orders"], found["reference"]) == (1, True)


def test_soft_labels_are_distributions() -> None:
    assert shares_of(Gold(preference="second", probability_second=0.75)) == (0.25, 0, 0.75)
    assert shares_of(Gold(scores=(3, 3))) == (0, 1, 0)
    assert shares_of(Gold(label="yes")) is None
    assert consistent_scores((7.5, 7), "tie") is None


# --- Ways of asking ------------------------------------------------------------------------------


def test_with_and_without_the_reference_are_siblings_of_a_family() -> None:
    passes, notes = plan_passes(["scripted:longer#judgelm", "mini"], "both")
    assert [(one.judge, one.shows_reference) for one in passes] == [
        ("scripted:longer#judgelm", False),
        ("scripted:longer#judgelm-reference", True),
        ("mini", False),
    ]
    assert "'mini'" in notes[0]
    assert {one.annotator for one in passes} == {"scripted:longer", "mini"}
    assert plan_passes(["small=mini"], "named")[0][0].annotator == "small"
    assert plan_passes(["scripted:longer#pair-reference"], "no")[0][0].judge.endswith("#pair")


def test_a_teacher_that_cannot_be_asked_so_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    with pytest.raises(FamilyError, match="'pandalm-reference' that shows the reference"):
        plan_passes(["scripted:longer#pandalm"], "yes")
    with pytest.raises(FamilyError, match="'mini' is a judge folder"):
        mg.label(pairs(2), ["scripted:longer", "mini"], tmp_path / "out.jsonl", reference="yes")
    with pytest.raises(JudgeNotFoundError, match="no judge 'nobody'"):
        mg.label(pairs(2), ["scripted:longer", "nobody"], tmp_path / "out.jsonl")
    with pytest.raises(MagistrateError, match="two teachers are called 'a'"):
        plan_passes(["a=scripted:longer", "a=scripted:tie"], "named")
    with pytest.raises(MagistrateError, match="merge is 'best'; it must be one of: mean"):
        mg.label(pairs(2), "mini", tmp_path / "out.jsonl", merge="best")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no samples"):
        mg.label([], "mini", tmp_path / "out.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_equal_models_asked_by_two_families_are_told_apart() -> None:
    passes, _ = plan_passes(["scripted:longer#pair", "scripted:longer#judgelm"], "named")
    assert [one.annotator for one in passes] == ["scripted:longer#pair", "scripted:longer#judgelm"]


# --- The whole -----------------------------------------------------------------------------------


def test_labels_of_teachers_and_humans_stand_behind_the_merged_ones(tmp_path: Path) -> None:
    out = tmp_path / "labelled.jsonl"
    report = mg.label(pairs(12), "t=scripted:longer", out, reference="both")
    samples = read(out)
    assert report.written == len(samples) == 12
    for i, sample in enumerate(samples):
        ways = (False, True) if i % 2 == 0 else (False,)
        names = [(gold.annotator, gold.with_reference) for gold in sample.gold]
        human = [("Ann", None)] if i % 3 == 0 else []
        assert names == [("merged:mean", w) for w in ways] + [("t", w) for w in ways] + human
        # One teacher for the first against one human for the second is no majority.
        assert sample.gold[0].preference == ("tie" if i % 3 == 0 else "first")
        assert sample.meta["disagreement"]["votes"]["first"] == len(ways)
    assert [one.asked for one in report.teachers] == [12, 6]
    assert report.failed == 0


def test_labelling_again_replaces_the_labels_of_the_same_teachers(tmp_path: Path) -> None:
    first, again = tmp_path / "first.jsonl", tmp_path / "again.jsonl"
    mg.label(pairs(6), ["t=scripted:longer", "u=scripted:shorter"], first)
    mg.label(first, "t=scripted:longer", again)
    for before, after in zip(read(first), read(again), strict=True):
        names = [gold.annotator for gold in after.gold]
        assert names[:3] == ["merged:mean", "t", "u"]
        assert sorted(names) == sorted(gold.annotator for gold in before.gold)
    # The labels of 'u' say whether it saw a reference: it is no human to measure by.
    report = mg.label(first, "t=scripted:longer", tmp_path / "third.jsonl")
    assert {one.annotator for one in report.measured.human} == {"t", "u", "merged"}


def test_failures_are_listed_and_never_labels(tmp_path: Path) -> None:
    out = tmp_path / "labelled.jsonl"
    teachers = ["bad=scripted:longer,nonsense=0.3", "worse=scripted:longer,fail=1"]
    report = mg.label(pairs(40), teachers, out)
    failed = [json.loads(line) for line in Path(report.failed_file).read_bytes().splitlines()]
    bad, worse = report.teachers
    assert bad.failed == {"unparsed": 40 - bad.labelled}
    assert 0 < bad.labelled < 40
    assert (worse.labelled, worse.failed) == (0, {"error": 40})
    assert len(failed) == report.failed == 80 - bad.labelled
    assert {one["status"] for one in failed} == {"unparsed", "error"}
    assert all(one["reason"] for one in failed)
    listed = {one["row"] for one in failed if one["annotator"] == "bad"}
    labels = [gold for sample in read(out) for gold in sample.gold if gold.annotator == "bad"]
    assert len(labels) == bad.labelled == 40 - len(listed)
    # Rows that nobody labelled, and no human either, are not in the output.
    nobody = [row for row in listed if row % 3]
    assert report.unlabelled == len(nobody)
    assert len(read(out)) == 40 - len(nobody)


def test_samples_that_a_teacher_cannot_read_are_listed_and_others_labelled(tmp_path: Path) -> None:
    three = Sample(question="q", answers=tuple(Answer(text="x" * i) for i in (1, 2, 3)))
    report = mg.label([pair(), three], "scripted:longer", tmp_path / "out.jsonl")
    assert report.written == 1
    failed = json.loads(Path(report.failed_file).read_text("utf-8"))
    assert (failed["row"], failed["reason"]) == (
        1,
        "not asked: family 'pair' reads 2 answers, the sample has 3",
    )
    report = mg.label([three], "scripted:longer#n-way", tmp_path / "three.jsonl")
    assert read(tmp_path / "three.jsonl")[0].gold[0].ranking == (2, 2, 1)


def test_weighing_by_agreement_follows_the_teacher_that_agrees_with_the_gold(
    tmp_path: Path,
) -> None:
    samples = [pair(i, gold=(Gold(preference="second"),) if i < 20 else ()) for i in range(40)]
    teachers = ["good=scripted:shorter", "bad=scripted:longer", "dull=scripted:tie"]
    report = mg.label(samples, teachers, tmp_path / "out.jsonl", merge="agreement")
    assert {sample.gold[0].preference for sample in read(tmp_path / "out.jsonl")} == {"second"}
    assert report.measured.skill["merged"]["good"] == pytest.approx(21 / 22)
    assert report.measured.skill["merged"]["bad"] == pytest.approx(1 / 22)
    by_name = {one.annotator: one.agreement.value for one in report.measured.human}
    assert by_name == {"good": 1, "bad": 0, "dull": 0, "merged": 1}


def test_dawid_skene_says_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    with monkeypatch.context() as patch:
        patch.setattr(importlib.util, "find_spec", lambda name: None)
        with pytest.raises(mg.MagistrateError, match=r"pip install 'magistrate\[crowd\]'"):
            mg.label(pairs(2), "mini", tmp_path / "out.jsonl", merge="dawid-skene")
    assert list(tmp_path.iterdir()) == []


def test_dawid_skene_merges_teachers(tmp_path: Path) -> None:
    pytest.importorskip("crowdkit", reason="needs the extra 'crowd'")
    teachers = ["a=scripted:longer", "b=scripted:longer,nonsense=0.1", "c=scripted:random"]
    samples = [pair(i) for i in range(60)]
    for i in range(0, 60, 2):  # so that the longer answer is not always the first
        samples[i] = samples[i].model_copy(update={"answers": samples[i].answers[::-1]})
    report = mg.label(samples, teachers, tmp_path / "out.jsonl", merge="dawid-skene")
    merged = [sample.gold[0] for sample in read(tmp_path / "out.jsonl")]
    assert {gold.annotator for gold in merged} == {"merged:dawid-skene"}
    assert report.measured.skill["merged"]["a"] > 0.9


def test_judgelm_training_records_are_read_back_equal(tmp_path: Path) -> None:
    own, theirs = tmp_path / "own.jsonl", tmp_path / "theirs.jsonl"
    samples = [sample.model_copy(update={"gold": ()}) for sample in pairs(8)]
    teachers = ["a=scripted:longer#judgelm", "b=scripted:longer#judgelm"]
    mg.label(samples, teachers, own, reference="both")
    report = mg.label(samples, teachers, theirs, reference="both", to="judgelm")
    assert report.to == "judgelm-training"
    raw = [json.loads(line) for line in theirs.read_bytes().splitlines()]
    assert [("text_w_reference" in row) for row in raw] == [True, False] * 4
    for ours, row, back in zip(read(own), raw, read(theirs), strict=True):
        merged = [gold for gold in ours.gold if gold.annotator == "merged:mean"]
        assert len(back.gold) == len(merged)
        for gold, read_gold in zip(merged, back.gold, strict=True):
            assert (read_gold.scores, read_gold.reasons) == (gold.scores, gold.reasons)
            assert (read_gold.annotator, read_gold.preference) == ("merged:mean", gold.preference)
            assert read_gold.with_reference == (gold.with_reference if len(merged) > 1 else None)
        first_line = row["text"].split("\n")[0]
        assert [float(score) for score in first_line.split(" ")] == row["score"]
        assert [answer.text for answer in back.answers] == [answer.text for answer in ours.answers]
        assert back.reference == ours.reference


def test_the_command_prints_a_table_or_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / "labelled.jsonl"
    mg.write_samples(pairs(9), source)
    command = ["data", "label", str(source), "--teacher", "a=scripted:longer", "-o", str(out)]
    command += ["--teacher", "b=scripted:longer,nonsense=0.4"]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "teacher" in shown
    assert "unparsed" in shown
    assert "9 samples to" in shown
    assert main([*command, "--json", "--quiet"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["written"] == 9
    assert [one["annotator"] for one in told["teachers"]] == ["a", "b"]
    assert told["already_judged"] >= 18
    assert main([*command, "--reference", "yes", "--with-and-without-reference"]) == 2
    assert main(["data", "label", str(source)]) == 2
    assert "--teacher" in capsys.readouterr().err


@pytest.mark.slow
def test_real_pairs_labelled_by_a_bundled_judge_and_stored_verdicts(
    data_folder: Path, tmp_path: Path
) -> None:
    folder = data_folder / "pandalm"
    stored = json.loads((folder / "pandalm-7b-testset-v1.json").read_text("utf-8"))
    said = {str(row["idx"]): row["pandalm_result"] for row in stored}
    codes = {0: "tie", 1: "first", 2: "second"}
    samples = []
    for _, sample in zip(range(60), mg.read_samples(folder / "testset-v1.json"), strict=False):
        verdict = codes[said[str(sample.source_id)]]
        gold = Gold(annotator="PandaLM-7B", preference=verdict, with_reference=False)  # type: ignore[arg-type]
        samples.append(sample.model_copy(update={"gold": (gold, *sample.gold)}))
    report = mg.label(
        samples, ["mini", "scripted:longer"], tmp_path / "out.jsonl", merge="agreement"
    )
    assert report.written == 60
    by_name = {one.annotator: one.agreement for one in report.measured.human}
    assert set(by_name) == {"mini", "scripted:longer", "PandaLM-7B", "merged"}
    assert all(rate.n == 60 for rate in by_name.values())
    # Worked out from the stored files alone: how often PandaLM-7B says what most annotators say.
    agrees = 0
    for sample in samples:
        votes = [gold.preference for gold in sample.gold[1:]]
        agrees += sample.gold[0].preference == max(set(votes), key=votes.count)
    assert by_name["PandaLM-7B"].value == pytest.approx(agrees / 60)
    for before, after in zip(samples, read(tmp_path / "out.jsonl"), strict=True):
        assert [gold.annotator for gold in after.gold[:3]] == [
            "merged:agreement",
            "mini",
            "scripted:longer",
        ]
        assert after.gold[3:] == before.gold
