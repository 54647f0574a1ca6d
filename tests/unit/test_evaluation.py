"""A judge evaluated: the record, the table, the command."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import magistrate as mg
from magistrate.cli.main import main
from magistrate.errors import InputError
from magistrate.metrics.breakdown import question_type
from magistrate.metrics.intervals import NO_RATE
from magistrate.records import Answer, Gold, Preference, Sample, Turn
from magistrate.report.evaluation import Evaluation, evaluate
from magistrate.report.evaluation_table import evaluation_table
from magistrate.report.table import plain_text

SIDES: tuple[Preference, ...] = ("first", "second")


def pair(k: int, **values: Any) -> Sample:
    """A pair whose longer answer is better by two annotators of three, tie every fifth."""
    long, short = "a long answer with many words", "short"
    first_is_long = k % 2 == 0
    better = SIDES[0] if first_is_long else SIDES[1]
    says: list[Preference] = [better, better, "tie"] if k % 5 else ["tie", "tie", better]
    given: dict[str, Any] = {
        "question": f"What is {k}?" if k % 3 else f"Write {k}",
        "answers": (
            Answer(text=long if first_is_long else short, model="m1"),
            Answer(text=short if first_is_long else long, model="m2"),
        ),
        "gold": tuple(Gold(annotator=f"h{j}", preference=say) for j, say in enumerate(says, 1)),
        "category": ("maths", "prose")[k % 2],
        "language": "en",
        "source_id": str(k),
    }
    return Sample(**(given | values))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    pairs = [pair(k) for k in range(60)]
    mg.judge(pairs, "scripted:longer", folder / "longer")
    mg.judge(pairs, "scripted:first", folder / "first")
    mg.judge(pairs, "scripted:longer,nonsense=0.3", folder / "nonsense")
    mg.judge([pair(k, gold=()) for k in range(10)], "scripted:longer", folder / "bare")
    return folder


def test_agreement_baselines_and_labels(runs: Path) -> None:
    found = evaluate(runs / "longer").pairs
    assert found is not None
    assert found.agreement is not None
    # Right wherever the label decides; the twelve labelled ties are all missed.
    assert found.agreement.accuracy.value == pytest.approx(48 / 60)
    assert found.agreement.decisive.value == 1
    assert found.agreement.confusion[1] == (6, 0, 6, 0)
    rows = {row.name: row for row in found.baselines}
    assert rows["judge"].accuracy == rows["longer wins"].accuracy
    assert rows["random"].decisive.value == 0.5
    assert rows["majority class"].accuracy.value == pytest.approx(24 / 60)
    assert found.more_labels is not None
    assert found.gold["tie"].value == pytest.approx(12 / 60)


def test_a_judge_of_places_is_found_out(runs: Path) -> None:
    found = evaluate(runs / "first").pairs
    assert found is not None
    assert found.position is not None
    assert found.position.toward_first.value == 1
    assert found.position.delta_bias.value == 1


def test_not_ok_is_shown_and_never_becomes_a_verdict(runs: Path) -> None:
    found = evaluate(runs / "nonsense").pairs
    assert found is not None
    assert found.agreement is not None
    lost = found.statuses["unparsed"]
    assert 0 < lost < 60
    assert found.not_ok.value == pytest.approx(lost / 60)
    assert sum(row[3] for row in found.agreement.confusion) == lost
    assert found.agreement.accuracy.n == 60 - lost
    assert found.agreement.accuracy_of_all.n == 60
    assert sum(model.wins + model.ties + model.losses for model in found.models) == 2 * (60 - lost)


def test_parts_add_up(runs: Path) -> None:
    by = ("category", "language", "model", "length", "length-gap", "question-type")
    found = evaluate(runs / "longer", by=by).pairs
    assert found is not None
    assert set(found.breakdowns) == set(by)
    for name in ("category", "language", "length", "length-gap", "question-type"):
        assert sum(part.pairs for part in found.breakdowns[name]) == 60, name
    assert [part.part for part in found.breakdowns["category"]] == ["maths", "prose"]
    # A pair counts for both of its models.
    assert [part.pairs for part in found.breakdowns["model"]] == [60, 60]
    gaps = {part.part: part for part in found.breakdowns["length-gap"]}
    assert gaps["the longer answer is better"].accuracy.value == 1
    assert gaps["labelled a tie"].accuracy.value == 0
    kinds = {part.part: part.pairs for part in found.breakdowns["question-type"]}
    assert kinds == {"instruction": 20, "question": 40}


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What is it", "question"),
        ("Tell me, is it?", "question"),
        ("Write a poem", "instruction"),
        ("Write it in Python", "code"),
        ("Fix:\n```\nx\n```", "code"),
        ((Turn(role="user", text="a"), Turn(role="assistant", text="b")) * 2, "dialogue"),
        ((Turn(role="user", text="Why?"),), "question"),
    ],
)
def test_question_types(question: Any, kind: str) -> None:
    assert question_type(Sample(question=question, answers=(Answer(text="x"),))) == kind


def test_annotators_among_themselves_and_the_judge_with_each(runs: Path) -> None:
    found = evaluate(runs / "longer").pairs
    assert found is not None
    assert found.annotators is not None
    assert found.annotators.labels == {"first": 24, "tie": 12, "second": 24, "no majority": 0}
    first_two = found.annotators.between[0]
    assert (first_two.one, first_two.other) == ("h1", "h2")
    assert first_two.agreement.value == 1
    assert [one.agreement.value for one in found.with_each_annotator] == [0.8, 0.8, 0.2]


def test_one_annotator_as_the_truth_with_a_second_judge(runs: Path) -> None:
    found = evaluate(runs / "longer", against=runs / "first")
    assert set(found.against) == {"h1", "h2", "h3"}
    rows = found.against["h1"]
    assert [row.kind for row in rows] == ["judge", "second judge", "annotator", "annotator"]
    assert [row.name for row in rows] == ["scripted:longer", "scripted:first", "h2", "h3"]
    assert rows[0].agreement.value == pytest.approx(48 / 60)
    # A judge that always takes the first says tie over both orders.
    assert rows[1].agreement.value == pytest.approx(12 / 60)
    assert len({row.n for row in rows}) == 1
    alone = evaluate(runs / "longer")
    assert [row.kind for row in alone.against["h1"]] == ["judge", "annotator", "annotator"]


def test_a_second_judge_of_other_samples_is_refused(runs: Path, tmp_path: Path) -> None:
    others = [pair(k, question=f"another {k}", source_id=f"x{k}") for k in range(3)]
    mg.judge(others, "scripted:longer", tmp_path / "others")
    with pytest.raises(InputError, match="no pair in common"):
        evaluate(runs / "longer", against=tmp_path / "others")


def test_without_labels_there_is_no_agreement(runs: Path) -> None:
    found = evaluate(runs / "bare").pairs
    assert found is not None
    assert found.agreement is None
    assert found.baselines == ()
    assert found.annotators is None
    assert "Agreement" not in str(evaluate(runs / "bare"))


def test_an_opened_run_is_evaluated_like_its_folder(runs: Path) -> None:
    assert evaluate(mg.open_run(runs / "longer")) == evaluate(runs / "longer")


def test_the_result_is_the_same_when_it_is_read_back(runs: Path) -> None:
    found = evaluate(runs / "nonsense", by=["category"], rule="judgelm")
    assert Evaluation.model_validate_json(found.model_dump_json()) == found


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_the_table_keeps_within_its_width(runs: Path, width: int) -> None:
    found = evaluate(
        runs / "nonsense",
        by=["category", "length", "model"],
        rule="llmbar",
        against=runs / "first",
    )
    lines = plain_text(evaluation_table(found), width).splitlines()
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    assert "not ok" in text
    assert "LLMBar" in text


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_word_is_broken_and_no_number_lost(runs: Path, width: int) -> None:
    found = evaluate(runs / "nonsense", by=["category", "length-gap"], rule="pandalm")
    text = plain_text(evaluation_table(found), width)
    words = set(re.split(r"[\s,()]+", text))
    for word in ("precision", "recall", "decisive", "labelled", "human_lose", "agreement"):
        assert word in words or word.capitalize() in words, word
    whole = plain_text(evaluation_table(found), 400)
    assert sorted(re.findall(r"\d+[.]\d+", whole)) == sorted(re.findall(r"\d+[.]\d+", text))


def test_columns_without_a_value_are_left_out_and_the_others_are_explained(runs: Path) -> None:
    both = str(evaluate(runs / "longer", by=["category"]))
    assert "same: one outcome in both orders" in both
    found = evaluate(runs / "longer", by=["category"])
    assert found.pairs is not None
    one_order = tuple(
        part.model_copy(update={"consistent": NO_RATE})
        for part in found.pairs.breakdowns["category"]
    )
    pairs = found.pairs.model_copy(update={"breakdowns": {"category": one_order}})
    text = str(found.model_copy(update={"pairs": pairs}))
    assert "By category (decisive: right where labels decide)" in text
    assert "same" not in text[text.index("By category") :]


def test_models_are_listed_where_there_are_models_and_their_total_is_explained(
    runs: Path, tmp_path: Path
) -> None:
    assert "total: sum of its scores" in str(evaluate(runs / "longer"))
    bare = [pair(k, answers=(Answer(text="a long answer"), Answer(text="short"))) for k in range(4)]
    mg.judge(bare, "scripted:longer", tmp_path / "bare")
    text = str(evaluate(tmp_path / "bare"))
    assert "first answer" not in text
    assert "of the models" not in text


def test_what_a_class_lacks_is_shown_as_undefined(runs: Path) -> None:
    lines = str(evaluate(runs / "longer")).splitlines()
    tie = next(line for line in lines if line.startswith("labelled tie"))
    assert tie.split()[-5:] == ["–", "0.0", "%", "0.0", "%"]


def test_numbers_of_a_rule_have_as_many_digits(runs: Path) -> None:
    text = str(evaluate(runs / "nonsense", rule="judgelm"))
    rule = text[text.index("By the rule of") :]
    keys = ("agreement", "precision", "recall", "f1", "consistency", "total_bias")
    for key in keys:
        (value,) = re.findall(rf"^{key} +(\S+)$", rule, re.MULTILINE)
        assert re.fullmatch(r"\d+[.]\d\d", value), (key, value)
    assert re.search(r"^total_num +60$", rule, re.MULTILINE)


def test_names_from_data_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    bad = "\x1b[31mred\x1b[0m [bold]x[/bold]"
    samples = [pair(k, category=bad) for k in range(4)]
    run = mg.judge(samples, "scripted:longer", tmp_path / "run")
    text = str(evaluate(run, by=["category"]))
    assert "\x1b" not in text
    assert "[bold]x[/bold]" in text


# Single answers and rankings.


def single(k: int, score: float | None = None, label: str | None = None) -> Sample:
    return Sample(
        question=f"q{k}",
        answers=(Answer(text="word " * (k % 7 + 1), model=f"m{k % 2}"),),
        gold=(Gold(scores=None if score is None else (score,), label=label),),
        category=("a", "b")[k % 2],
    )


def write_singles(path: Path, scores: list[float], models: list[str]) -> Path:
    rows = [
        {"question_id": k, "model": model, "judge": ["j", "v1"], "score": score, "judgment": ""}
        for k, (score, model) in enumerate(zip(scores, models, strict=True))
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_single_answers_by_model_with_unusable_scores_left_out(tmp_path: Path) -> None:
    path = write_singles(tmp_path / "single.jsonl", [8, -1, 6, 4], ["a", "a", "a", "b"])
    found = evaluate(path).singles
    assert found is not None
    assert found.not_ok.value == 0.25
    best = found.models[0]
    assert (best.part, best.samples, best.mean_score.value, best.total_score) == ("a", 3, 7, 14)


def test_single_answers_against_gold_scores_and_labels(tmp_path: Path) -> None:
    run = mg.judge([single(k, score=float(k % 7)) for k in range(40)], "mini", tmp_path / "scores")
    found = evaluate(run, by=["category", "length"]).singles
    assert found is not None
    assert found.gold_scores == 40
    assert found.correlations is not None
    assert found.correlations.spearman.n == 40
    assert [part.part for part in found.breakdowns["category"]] == ["a", "b"]
    labelled = [single(k, label="yes" if k % 3 else "no") for k in range(30)]
    run = mg.judge(labelled, "mini", tmp_path / "labels")
    binary = evaluate(run).singles
    assert binary is not None
    assert binary.binary is not None
    assert (binary.binary.positive, binary.binary.positives) == ("no", 10)
    turned = evaluate(run, good_label="yes").singles
    assert turned is not None
    assert turned.binary is not None
    assert binary.binary.auroc.value is not None
    assert turned.binary.auroc.value == pytest.approx(1 - binary.binary.auroc.value)
    assert "AUROC" in str(evaluate(run))


def test_rankings_against_gold_ranks(tmp_path: Path) -> None:
    reviews = [
        {
            "review_id": k,
            "question_id": k,
            "metadata": {
                "question": f"q{k}",
                "answers": ["a", "b", "c"],
                "model_ids": ["m1", "m2", "m3"],
            },
            "order": order,
            "text": "",
        }
        for k, order in enumerate([[1, 2, 3], [1, 1, 3], [-1, -1, -1]])
    ]
    path = tmp_path / "review.jsonl"
    path.write_text("\n".join(map(json.dumps, reviews)), encoding="utf-8")
    gold = [
        Sample(
            question=f"q{k}",
            answers=tuple(Answer(text=text, model=f"m{j}") for j, text in enumerate("abc", 1)),
            gold=(Gold(ranking=(2, 1, 3)),),
        )
        for k in range(3)
    ]
    labels = tmp_path / "gold.jsonl"
    mg.write_samples(gold, labels, to="samples")
    found = evaluate(path, labels=labels).ranked
    assert found is not None
    assert (found.samples, found.gold) == (3, 2)
    assert found.not_ok.value == pytest.approx(1 / 3)
    models = {model.model: model for model in found.models}
    assert models["m2"].order.value == 1.5
    assert models["m2"].score.value == pytest.approx((5 + 10) / 2)
    # m2 is best by gold: the first ranking has m1 alone in front, the second m1 and m2.
    assert found.best_is_best.value == 0.5
    # m1-m2 wrong then a tie (half), the four other pairs right.
    assert found.pairs_agree.value == pytest.approx((0 + 0.5 + 4) / 6)


# The command.


@pytest.fixture
def call(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    shutil.copytree(runs, tmp_path / "runs")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(("evaluate", *arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_the_command_prints_tables_or_json(call: Any) -> None:
    code, out, err = call("runs/longer", "--by", "category,length", "--by", "language")
    assert (code, err) == (0, "")
    for text in ("Agreement with the labels", "longer wins", "By category", "By language"):
        assert text in out
    code, out, _ = call("runs/longer", "--by", "category", "--rule", "judgelm", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["rule"]["values"]["agreement"] == 80
    assert found["pairs"]["agreement"]["accuracy"].keys() == {"value", "n", "low", "high"}
    assert list(found["pairs"]["breakdowns"]) == ["category"]


def test_no_rule_is_applied_that_was_not_named(call: Any) -> None:
    assert json.loads(call("runs/longer", "--json")[1])["rule"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("runs/none",), "runs/none"),
        (("runs/longer", "--by", "colour"), "'colour' is unknown; known: category"),
        (("runs/longer", "--rule", "elo"), "there is no rule 'elo'; known: judgelm"),
        (("runs/bare", "--rule", "pandalm"), "give the test set with --labels"),
        (("runs/longer", "--labels", "nope.json"), "there is no file nope.json"),
    ],
)
def test_mistakes_are_told_in_words(call: Any, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = call(*arguments)
    assert code in (2, 4)
    assert out == ""
    assert message in err
    assert "Traceback" not in err


def test_a_good_label_that_no_sample_has_is_a_mistake(tmp_path: Path) -> None:
    single = [
        Sample(question=f"q{n}", answers=(Answer(text="a" * n),), gold=(Gold(label=label),))
        for n, label in enumerate(("safe", "unsafe") * 5, 1)
    ]
    run = mg.judge(single, "scripted:longer#single", tmp_path / "run")
    assert mg.evaluate(run, good_label="safe").singles is not None
    with pytest.raises(InputError, match=r"no label 'zzz'.*'safe', 'unsafe'"):
        mg.evaluate(run, good_label="zzz")
