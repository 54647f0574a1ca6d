"""Judges compared: runs of scripted judges with planted differences, and files of other tools."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import magistrate as mg
from magistrate.cli.main import main
from magistrate.errors import InputError
from magistrate.metrics.columns import PairCollector, PairColumns
from magistrate.metrics.power import smallest_paired_effect, smallest_shift
from magistrate.metrics.two_judges import compare_judges
from magistrate.records import Answer, Decision, Gold, Preference, Sample
from magistrate.report.comparison import Compared, compare, conclusion
from magistrate.report.comparison_table import comparison_table
from magistrate.report.judged import read_judged
from magistrate.report.table import plain_text


def samples(count: int, *, right: float = 0.8, labelled: bool = True) -> list[Sample]:
    """Pairs in whose 80 % the longer answer is the better one."""
    rng = np.random.default_rng(1)
    made = []
    for place in range(count):
        longer_first = rng.random() < 0.5
        better_first = longer_first == (rng.random() < right)
        long, short = "a long answer with many words", "short"
        texts = (long, short) if longer_first else (short, long)
        gold = (Gold(preference="first" if better_first else "second"),) if labelled else ()
        made.append(
            Sample(
                question=f"question {place}",
                answers=(Answer(text=texts[0], model="m1"), Answer(text=texts[1], model="m2")),
                gold=gold,
                source_id=str(place),
            )
        )
    return made


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    everything = samples(120)
    mg.judge(everything, "scripted:longer", folder / "longer")
    mg.judge(everything, "scripted:shorter", folder / "shorter")
    mg.judge(everything[:70], "scripted:longer,nonsense=0.2", folder / "part")
    mg.judge(everything, "scripted:first", folder / "first")
    mg.judge(samples(30, labelled=False), "scripted:longer", folder / "bare")
    other = [Sample(question="other", answers=(Answer(text="x"), Answer(text="y")))]
    mg.judge(other, "scripted:longer", folder / "other")
    return folder


def test_the_better_judge_is_found_with_its_margin(runs: Path) -> None:
    comparison = compare(runs / "longer", runs / "shorter")
    (pair,) = comparison.pairs
    found = pair.result.decisive
    assert found is not None
    assert found.n == 120
    assert found.first == pytest.approx(1 - found.second)
    assert found.only_first + found.only_second == 120
    assert found.test == "exact McNemar"
    assert "scripted:longer agrees more" in pair.conclusion
    assert pair.result.verdicts.reversed == 120
    assert pair.result.verdicts.kappa.value == pytest.approx(-1, abs=0.2)
    assert comparison.correction.startswith("none")


def test_a_judge_without_decisions_by_place_is_told_from_a_consistent_one(runs: Path) -> None:
    (pair,) = compare(runs / "longer", runs / "first").pairs
    assert pair.result.consistency is not None
    assert (pair.result.consistency.first, pair.result.consistency.second) == (1.0, 0.0)


def test_what_only_one_was_given_and_what_is_not_ok_is_counted(runs: Path) -> None:
    (pair,) = compare(runs / "longer", runs / "part").pairs
    assert (pair.common, pair.only_first, pair.only_second) == (70, 50, 0)
    assert pair.second_not_ok > 0
    assert pair.result.n == 70 - pair.second_not_ok
    assert pair.result.decisive is not None
    assert pair.result.decisive.only_first == pair.result.decisive.only_second == 0
    assert "no difference was seen" in pair.conclusion


def test_three_judges_are_compared_two_by_two_and_corrected(runs: Path) -> None:
    comparison = compare(runs / "longer", runs / "shorter", runs / "first")
    assert len(comparison.pairs) == 3
    assert comparison.correction == "Holm"
    for pair in comparison.pairs:
        assert pair.p_adjusted is not None
        assert pair.result.decisive is not None
        assert pair.p_adjusted >= (pair.result.decisive.p or 0)


def test_without_labels_the_verdicts_and_win_rates_are_compared(runs: Path) -> None:
    (pair,) = compare(runs / "bare", runs / "bare").pairs
    assert pair.result.decisive is None
    assert pair.result.verdicts.same.value == 1.0
    assert [model.model for model in pair.result.models] == ["m1"]
    assert "Without labels" in pair.conclusion


def test_labels_of_one_run_serve_both(runs: Path) -> None:
    (pair,) = compare(runs / "longer", runs / "bare").pairs
    assert pair.result.decisive is not None
    assert pair.result.decisive.n == 30


def test_judges_of_other_inputs_are_refused_with_both_inputs_named(runs: Path) -> None:
    with pytest.raises(InputError, match="not one pair in common"):
        compare(runs / "longer", runs / "other")
    with pytest.raises(InputError, match="two judges"):
        compare(runs / "longer")


def test_random_judges_are_not_told_apart_and_found_by_the_ids_of_their_files(
    tmp_path: Path,
) -> None:
    made = samples(80)
    mg.judge(made, "scripted:random", tmp_path / "a")
    # Another text draws other scores; the id in the file is the same.
    mg.judge(
        [s.model_copy(update={"rubric": "."}) for s in made], "scripted:random", tmp_path / "b"
    )
    comparison = compare(tmp_path / "a", tmp_path / "b")
    (pair,) = comparison.pairs
    assert (pair.common, pair.joined_by) == (80, "source id")
    assert "cannot be told apart" in pair.conclusion
    assert "would have been seen in 80 %" in pair.conclusion
    assert len({judge.name for judge in comparison.judges}) == 2  # one name, two sources


def test_columns_of_other_length_are_a_fault_of_the_caller(runs: Path) -> None:
    pairs = read_judged(runs / "longer").pairs
    with pytest.raises(ValueError, match="cannot be compared"):
        compare_judges(pairs, pairs.take(np.arange(3)))


def test_the_command_prints_tables_and_json(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(runs / "longer"), str(runs / "part")]) == 0
    told = capsys.readouterr()
    assert "50 only scripted:longer was given" in told.out
    assert "judged different inputs" in told.err
    assert main(["compare", str(runs / "longer"), str(runs / "shorter"), "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["comparisons"][0]["decisive"]["difference"]["n"] == 120
    assert main(["compare", str(runs / "longer")]) == 2


def judged_columns(said: list[Preference], pairs_each: int = 1) -> PairColumns:
    """One judge of pairs whose first answer is the better one, some pairs to a question."""
    collector = PairCollector()
    for question, outcome in enumerate(said):
        for place in range(pairs_each):
            sample = Sample(
                question=f"question {question}",
                answers=(Answer(text=f"good {place}"), Answer(text="bad")),
                gold=(Gold(preference="first"),),
            )
            decision = Decision(
                row=0, sample_id=sample.id, status="ok", preference=outcome, rule="r"
            )
            collector.add(0, sample, [], decision)
    return collector.result()


def test_the_smallest_difference_follows_what_pairs_can_differ_by() -> None:
    right: list[Preference] = ["first"] * 150 + ["second"] * 50
    other: list[Preference] = ["first"] * 110 + ["second"] * 50 + ["first"] * 40
    ties: list[Preference] = ["tie"] * 200

    def smallest(first: list[Preference], second: list[Preference], each: int = 1) -> float:
        found = compare_judges(judged_columns(first, each), judged_columns(second, each))
        assert found.smallest_difference is not None
        return found.smallest_difference

    assert smallest(right, other) == smallest_paired_effect(200, 80 / 200)
    halves = np.repeat([0.5, -0.5], [150, 50])
    assert smallest(right, ties) == pytest.approx(smallest_shift(halves.std(ddof=1), 200))
    # More pairs of the same questions, all alike, say no more than one of each.
    assert smallest(right, ties, 4) == pytest.approx(smallest(right, ties))


def test_judges_who_never_differ_leave_the_smallest_difference_open() -> None:
    same: list[Preference] = ["first"] * 20
    for each in (1, 3):
        columns = judged_columns(same, each)
        assert compare_judges(columns, columns).smallest_difference is None


def compared(runs: Path, first: str, second: str) -> Compared:
    (pair,) = compare(runs / first, runs / second).pairs
    return pair


def test_a_finding_is_unlikely_to_be_noise_and_says_where_it_does_not_hold(runs: Path) -> None:
    pair = compared(runs, "longer", "shorter")
    assert "; unlikely to be noise." in pair.conclusion
    assert "it may be" not in pair.conclusion
    assert "left out" not in pair.conclusion
    three = pair.result.three_class
    assert three is not None
    weak = three.model_copy(update={"p": 0.1})
    result = pair.result.model_copy(update={"three_class": weak, "n": 110})
    said = conclusion(pair.model_copy(update={"result": result}))
    assert "Over all 120 labelled pairs, tie as a class, it may be (p = 0.1)." in said
    assert said.endswith("10 of 120 pairs are left out, not ok with one or both.")


def test_judges_that_are_right_equally_often_are_said_to_be(tmp_path: Path) -> None:
    made = [
        Sample(
            question=str(k),
            answers=(Answer(text="long answer" if k % 2 else "long"), Answer(text="an answer")),
            gold=(Gold(preference="first"),),
        )
        for k in range(4)
    ]
    mg.judge(made, "scripted:longer", tmp_path / "longer")
    mg.judge(made, "scripted:shorter", tmp_path / "shorter")
    pair = compared(tmp_path, "longer", "shorter")
    assert "are right equally often, 50.0 % of 4 decisive pairs" in pair.conclusion
    assert "noise" not in pair.conclusion


@pytest.mark.parametrize("width", [50, 80, 100])
def test_no_word_and_no_number_is_broken(runs: Path, width: int) -> None:
    comparison = compare(runs / "longer", runs / "part")
    text = plain_text(comparison_table(comparison), width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    words = {word for line in lines for word in line.replace(",", " ").split()}
    assert {"agreement", "decisive", "consistency"} <= words
    whole = plain_text(comparison_table(comparison), 300)
    wanted = set(re.findall(r"[+-]?[0-9]+[.][0-9]", whole))
    assert wanted <= set(re.findall(r"[+-]?[0-9]+[.][0-9]", text))


def test_judges_and_answers_are_told_apart_by_name(runs: Path) -> None:
    text = str(compare(runs / "longer", runs / "shorter"))
    assert "scripted:longer (A) and scripted:shorter (B)" in text
    assert "first answer / second answer" in text
    header = next(line for line in text.splitlines() if "A − B" in line)
    assert "first" not in header


def test_shares_and_kappa_of_few_questions_stay_within_their_bounds(runs: Path) -> None:
    few = read_judged(runs / "longer").pairs.take(np.arange(9))
    other = few.said.copy()
    other[0] = -other[0]
    verdicts = compare_judges(few, replace(few, said=other)).verdicts
    assert verdicts.same.value == pytest.approx(8 / 9)
    assert verdicts.same.high is not None
    assert verdicts.same.high <= 1
    assert verdicts.kappa.high is None or verdicts.kappa.high <= 1


def test_judges_of_whom_one_failed_throughout_end_with_a_code(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mg.judge(samples(120), "scripted:fail", runs / "fail")
    assert main(["compare", str(runs / "longer"), str(runs / "fail")]) == 5
    assert "not one pair has an ok decision" in capsys.readouterr().err
    assert main(["evaluate", str(runs / "fail")]) == 5
    told = capsys.readouterr()
    assert "no pair has an ok reading in both orders" in told.out
    assert "0.0 %" not in told.out.split("labelled first", 1)[1].split("annotators", 1)[0]
