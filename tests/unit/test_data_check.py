"""What ``data check`` says of data with planted faults, and of real data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from data_help import checked, finding, pair, question, write

from magistrate.cli.main import main
from magistrate.data.checks.check import check_data
from magistrate.data.checks.near import Nearness
from magistrate.data.hashing import data_hash
from magistrate.data.teacher_labels import FailedLabel
from magistrate.errors import InputError
from magistrate.records import Gold, Sample, to_json_line

pytest.importorskip("rensa")

LONG = "This is a longer answer that goes on for a while and says this and that about it."


def test_a_pair_that_stands_there_twice_is_found_also_exchanged(tmp_path: Path) -> None:
    samples = [
        pair("Why?", "So.", "Because.", "first"),
        pair(" why ", "so", "BECAUSE", "first"),
        pair("Why?", "Because.", "So.", "second"),
        pair("Why not?", "So.", "Because.", "first"),
    ]
    report = checked(tmp_path, samples)
    found = finding(report, "duplicate-samples")
    assert found is not None
    assert (found.severity, found.count) == ("warning", 2)
    assert found.values["with_answers_exchanged"] == 1
    assert [(e.row, e.other_row) for e in found.examples] == [(2, 1), (3, 1)]
    assert finding(report, "contradicting-duplicates") is None


def test_the_same_pair_with_contradicting_labels_is_an_error_of_its_own(tmp_path: Path) -> None:
    samples = [
        pair("Why?", "So.", "Because.", "first"),
        pair("Why?", "Because.", "So.", "first"),
        pair("Who?", "Me.", "You.", "tie"),
        pair("Who?", "Me.", "You.", "second"),
    ]
    found = finding(checked(tmp_path, samples), "contradicting-duplicates")
    assert found is not None
    assert (found.severity, found.count) == ("error", 2)
    assert found.values == {"opposite": 1, "tie_in_one": 1}
    assert found.examples[0].note == "first against second, the answers as in the former"


def test_leaks_are_found_equal_contained_and_near(tmp_path: Path) -> None:
    tests = write(
        tmp_path / "test.jsonl",
        [
            pair("How do I make a good cup of tea?", LONG, "No."),
            pair("Name three rivers of Europe.", "a", "b"),
            pair("Explain in one sentence why the sky is blue in the daytime.", "a", "b"),
        ],
    )
    samples = [
        pair("how do i make a good cup of TEA", LONG.upper(), "Yes."),
        pair("Be brief. Name three rivers of Europe. Thanks!", "c", "d"),
        pair("Explain in one sentence why the sky is blue in the daytime please.", "c", "d"),
        pair("Explain in one sentence why the sky was blue in the daytime.", "c", "d"),
        pair("Something else entirely about violins", "c", "d"),
    ]
    report = checked(tmp_path, samples, against=[tests])
    found = finding(report, "leaked-questions")
    assert found is not None
    assert found.severity == "error"
    assert [(e.row, e.note) for e in found.examples] == [
        (1, "equal"),
        (2, "contains"),
        (3, "contains"),
        (4, "near"),
    ]
    assert found.examples[3].similarity is not None
    assert [e.other_row for e in found.examples] == [1, 2, 3, 3]
    answers = finding(report, "leaked-answers")
    assert answers is not None
    assert [(e.row, e.note) for e in answers.examples] == [(1, "equal")]
    without = checked(tmp_path, samples, against=[tests], near=None)
    assert len(finding(without, "leaked-questions").examples) == 3  # type: ignore[union-attr]
    assert without.settings["near"] is None


def balanced(n: int, label: str = "") -> list[Sample]:
    return [
        pair(question(k), f"one {k}", f"two {k}", label or ("first" if k % 2 else "second"))
        for k in range(n)
    ]


def test_a_label_that_follows_the_place_is_an_error(tmp_path: Path) -> None:
    found = finding(checked(tmp_path, balanced(40, "first")), "position-balance")
    assert found is not None
    assert found.severity == "error"
    assert found.values["first"]["value"] == 1.0
    fair = finding(checked(tmp_path, balanced(40)), "position-balance")
    assert fair is not None
    assert (fair.severity, fair.values["p_value"]) == ("note", 1.0)


def test_a_label_that_follows_length_is_warned_of(tmp_path: Path) -> None:
    samples = [
        pair(question(k), *(("x", LONG) if k % 2 else (LONG, "x")), "second" if k % 2 else "first")
        for k in range(40)
    ]
    found = finding(checked(tmp_path, samples), "length-label")
    assert found is not None
    assert found.severity == "warning"
    assert found.values["longer_wins"]["value"] == 1.0
    assert found.values["correlation"]["value"] == pytest.approx(1.0)
    shorter = [
        sample.model_copy(update={"gold": (Gold(preference="first" if k % 2 else "second"),)})
        for k, sample in enumerate(samples)
    ]
    told = finding(checked(tmp_path, shorter), "length-label")
    assert told is not None
    assert "the shorter wins" in told.do


def test_models_that_always_stand_first_or_always_win(tmp_path: Path) -> None:
    samples = [
        pair(question(k), f"a{k}", f"b{k}", "first", models=("good", f"other{k % 3}"))
        for k in range(60)
    ]
    report = checked(tmp_path, samples)
    first, wins = finding(report, "model-always-first"), finding(report, "model-always-wins")
    assert first is not None
    assert wins is not None
    assert first.values["models"] == wins.values["models"] == ["good"]
    assert finding(report, "model-always-second") is None
    assert finding(report, "model-always-loses") is not None


def test_samples_one_by_one(tmp_path: Path) -> None:
    unread = Gold(annotator="teacher", reasons="I cannot say.", with_reference=True)
    samples = [
        pair("Q one", "", "b", "first"),
        pair("Q two", "a", "b", gold=(unread,)),
        pair("Q three", "the reference", "b", "second", reference="the reference"),
        pair("Q four", "a", "b", "first", "second", "first", language="de"),
        pair("Q five", "same", "Same!", "first"),
        pair("Q six", "a", "b"),
    ]
    report = checked(tmp_path, samples)
    rows = {each.check: [e.row for e in each.examples] for each in report.findings}
    assert rows["empty-answers"] == [1]
    assert rows["unread-verdicts"] == [2]
    assert finding(report, "unread-verdicts").examples[0].text == "teacher: I cannot say."  # type: ignore[union-attr]
    assert rows["reference-lost"] == [2]
    assert rows["reference-is-answer"] == [3]
    assert rows["contradicting-annotators"] == [4]
    assert rows["equal-answers"] == [5]
    assert rows["unlabelled"] == [6]
    assert finding(report, "languages").values["languages"] == {"de": 1}  # type: ignore[union-attr]


def test_a_merged_label_counts_and_is_no_annotator(tmp_path: Path) -> None:
    gold = (
        Gold(annotator="merged:mean", preference="second"),
        Gold(annotator="one", preference="first"),
        Gold(annotator="two", preference="second"),
    )
    report = checked(tmp_path, [pair("Q", "a", "b", gold=gold)])
    labels = finding(report, "label-balance")
    assert labels is not None
    assert labels.values["second"] == 1
    agreed = finding(report, "contradicting-annotators")
    assert agreed is not None
    assert agreed.values["several"] == 1
    assert "merged" not in agreed.examples[0].note


def test_nothing_but_ties_is_a_warning_and_one_annotator_of_ties_is_told(tmp_path: Path) -> None:
    ties = [pair(question(k), f"a{k}", f"b{k}", "tie") for k in range(10)]
    labels = finding(checked(tmp_path, ties), "label-balance")
    assert labels is not None
    assert labels.severity == "warning"
    assert "95% or more are ties" in labels.do

    two = [pair(question(k), f"a{k}", f"b{k}", "tie", "first") for k in range(10)]
    agreed = finding(checked(tmp_path, two), "contradicting-annotators")
    assert agreed is not None
    assert agreed.says.startswith("in none of 10 pairs with several annotators does one say first")
    assert agreed.do.startswith("they agree less than by chance (one says tie where another")


def test_what_teachers_failed_to_label_is_told_with_their_words(tmp_path: Path) -> None:
    failed = FailedLabel(
        row=1,
        sample_id="x",
        source_id=None,
        annotator="teacher",
        with_reference=False,
        order=(0, 1),
        status="unparsed",
        reason="no verdict",
        raw="Both have merits.",
    )
    file = tmp_path / "data.teachers/failed.jsonl"
    file.parent.mkdir()
    file.write_bytes(to_json_line(failed) + b'\n{"half')
    found = finding(checked(tmp_path, balanced(3)), "failed-labels")
    assert found is not None
    assert (found.severity, found.count, found.values) == ("warning", 1, {"unparsed": 1})
    assert found.examples[0].text == "Both have merits."
    assert found.examples[0].note == "teacher: unparsed: no verdict"


def test_bad_rows_are_listed_and_good_ones_checked(tmp_path: Path) -> None:
    path = write(tmp_path / "data.jsonl", balanced(3))
    path.write_bytes(path.read_bytes() + b'{"question": \n' + b"[]\n")
    report = check_data(path)
    assert (report.samples, report.bad_count) == (3, 2)
    assert [row.row for row in report.bad] == [4, 5]
    assert finding(report, "bad-rows") is not None


def test_tiny_and_empty_inputs(tmp_path: Path) -> None:
    report = checked(tmp_path, [Sample(question="?", answers=({"text": "one"},))])  # type: ignore[arg-type]
    assert (report.samples, report.pairs, report.questions) == (1, 0, 1)
    (tmp_path / "empty.jsonl").write_bytes(b"")
    with pytest.raises(InputError, match="is empty"):
        check_data(tmp_path / "empty.jsonl")


def test_the_hash_is_of_what_is_said_not_of_the_file(tmp_path: Path) -> None:
    samples = balanced(5)
    tagged = [
        sample.model_copy(update={"meta": {"row": 1}, "source_id": "x"}) for sample in samples
    ]
    assert data_hash(samples) == data_hash(reversed(tagged))
    assert data_hash(samples) != data_hash(samples[1:])
    assert data_hash(samples) != data_hash([*samples, samples[0]])
    changed = samples[0].model_copy(update={"gold": (Gold(preference="tie"),)})
    assert data_hash([changed, *samples[1:]]) != data_hash(samples)
    odd = pair("\ud800", "a", "b")
    assert len(data_hash([odd])) == 64
    assert checked(tmp_path, samples).data_hash == data_hash(samples)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(write(tmp_path / "data.jsonl", balanced(40, "first")))
    out = tmp_path / "findings.jsonl"
    assert main(["data", "check", path, "-o", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["check"] for line in lines] == [each["check"] for each in told["findings"]]
    assert told["findings"][0]["severity"] == "error"
    assert main(["data", "check", path, "--strict"]) == 2
    shown = capsys.readouterr().out
    assert "position-balance" in shown
    assert "1 error" in shown
    fair = str(write(tmp_path / "fair.jsonl", balanced(40)))
    assert main(["data", "check", fair, "--strict", "--near", "0"]) == 0
    assert main(["data", "check", path, "--length-limit", "0.2"]) == 2
    assert main(["data", "check", path, "--near", "0.1"]) == 2


# Real data.


@pytest.mark.data
def test_the_leak_of_alpaca_eval_into_pandalm_is_found(data_folder: Path) -> None:
    """PandaLM's test set asks 170 different questions; AlpacaEval has 169 of them.

    168 are equal. One (the film told in emojis) lost its emojis in PandaLM and is contained. The
    170th, a bare "Truthfulness" without an instruction, stands nowhere. The 170 that the data's own
    page counts come about if PandaLM's bare instructions count as prompts too: "Answer the
    following question." is then contained in one more question, by accident.
    """
    report = check_data(
        data_folder / "alpaca_eval/results/alpaca-7b/alpaca_eval_gpt4/annotations.json",
        against=[data_folder / "pandalm/testset-v1.json"],
    )
    found = finding(report, "leaked-questions")
    assert found is not None
    assert found.severity == "error"
    assert found.values["equal"] == 168
    assert found.values["contains"] == 1
    assert found.values["near"] == found.values["contained"] == 0
    assert found.values["test_questions"] == 169
    assert found.values["test_questions_in_all"] == 170
    (film,) = [each for each in found.examples if each.note == "contains"]
    assert film.text.startswith("the story of a movie has been described using many emojis")
    first = finding(report, "model-always-first")
    assert first is not None
    assert first.severity == "warning"
    assert first.values["models"] == ["text_davinci_003"]


@pytest.mark.data
def test_in_ukp_the_longer_argument_wins(data_folder: Path) -> None:
    files = sorted((data_folder / "ukpconvarg1/UKPConvArg1Strict-CSV").glob("*"))
    found = finding(check_data(*files, near=Nearness(0.9)), "length-label")
    assert found is not None
    assert found.severity == "warning"
    # 0.771 with equal lengths as half a point; 0.776 of the pairs of unequal length.
    told, equal = found.values["longer_wins"], found.values["equal_lengths"]
    half = (told["value"] * told["n"] + equal / 2) / (told["n"] + equal)
    assert half == pytest.approx(0.771, abs=0.006)


@pytest.mark.data
def test_in_hh_the_first_is_always_better_and_llmbar_is_fine(data_folder: Path) -> None:
    files = sorted((data_folder / "hh-rlhf").rglob("*.jsonl*"))
    found = finding(check_data(*files, near=None), "position-balance")
    assert found is not None
    assert found.severity == "error"
    natural = check_data(data_folder / "llmbar/LLMBar/Natural/dataset.json")
    assert [each.check for each in natural.findings if each.severity != "note"] == []
