"""The general table format: columns, labels, cells that are no text."""

from __future__ import annotations

from typing import Any

import pytest

from magistrate.formats.base import Item, ReadOptions, RowError, Where
from magistrate.formats.columns import plan_for
from magistrate.formats.labels import LABELS, read_label
from magistrate.formats.tabular import TabularReader
from magistrate.records import Gold, Sample, Turn

PAIR = {"question": "q", "answer1": "a", "answer2": "b"}


def read(row: Any, columns: dict[str, str] | None = None, **options: Any) -> Item:
    return TabularReader().read(row, Where("f", 1), ReadOptions(columns=columns or {}, **options))


def sample(row: Any, columns: dict[str, str] | None = None, **options: Any) -> Sample:
    found = read(row, columns, **options).sample
    assert found is not None
    return found


def gold(**cells: Any) -> Gold | None:
    found = sample({**PAIR, **cells}).gold
    return found[0] if found else None


def test_all_columns() -> None:
    row = {
        "id": 7,
        **PAIR,
        "answer3": "c",
        "model1": "m1",
        "model2": "m2",
        "model3": "",
        "reference": "r",
        "rubric": "be brief",
        "context": ["p1", "p2"],
        "images": "x.png",
        "label": 3,
        "score1": 1,
        "score2": "2.5",
        "score3": 9.0,
        "annotator": "ann",
        "category": "maths",
        "language": "en",
        "extra": [1],
    }
    found = sample(row)
    assert [answer.text for answer in found.answers] == ["a", "b", "c"]
    assert [answer.model for answer in found.answers] == ["m1", "m2", None]
    assert (found.source_id, found.question, found.reference) == ("7", "q", "r")
    assert (found.rubric, found.context, found.images) == ("be brief", ("p1", "p2"), ("x.png",))
    assert (found.category, found.language, found.meta) == ("maths", "en", {"extra": [1]})
    assert found.gold == (Gold(annotator="ann", ranking=(2, 2, 1), scores=(1, 2.5, 9)),)


def test_single_answer_with_any_label() -> None:
    found = sample({"question": "q", "answer": "a", "model": "m", "label": "yes", "score": 4})
    assert (found.answers[0].text, found.answers[0].model) == ("a", "m")
    assert found.gold == (Gold(label="yes", scores=(4,)),)


def test_lists_of_answers_and_models() -> None:
    found = sample({"question": "q", "answers": ["a", "b", ""], "models": ["x", None, "z"]})
    assert [(a.text, a.model) for a in found.answers] == [("a", "x"), ("b", None), ("", "z")]


def test_spelling_of_column_names() -> None:
    found = sample({"Question": "q", "Answer 1": "a", "ANSWER_2": "b", "Model-1": "m"})
    assert [(a.text, a.model) for a in found.answers] == [("a", "m"), ("b", None)]
    assert found.meta == {}


@pytest.mark.parametrize(
    ("labels", "meaning"),
    [
        ((1, 1.0, "1", "1.0", " 1 ", "A", "a", "first", "First", "answer_1", "model_a"), "first"),
        ((2, 2.0, "2", "2.0", "B", "B>A", "second", "Answer 2", "model_b", "[[B]]"), "second"),
        ((0, 0.0, "0", 1.5, "1.5", "tie", "Tie", "A=B", "equal", "tie (bothbad)"), "tie"),
        ((3, -1, "-1", "maybe", True, 1.2, "tie?", "garbage"), None),
    ],
)
def test_labels_of_pairs(labels: tuple[Any, ...], meaning: str | None) -> None:
    for label in labels:
        assert read_label(label) == meaning, label


def test_true_is_no_label_even_after_one_was_read() -> None:
    assert [read_label(label) for label in (1, True, 1.0, "1")] == ["first", None, "first", "first"]


def test_every_known_label_is_known_in_capitals() -> None:
    for word, meaning in LABELS.items():
        assert read_label(word.upper()) == meaning


def test_unknown_label_is_told_and_the_row_kept() -> None:
    item = read({**PAIR, "label": "garbage"})
    assert item.sample is not None
    assert item.sample.gold == ()
    assert [notice.kind for notice in item.notices] == ["unknown-label"]
    assert "'garbage'" in item.notices[0].message


@pytest.mark.parametrize("label", [None, "", "  "])
def test_no_label(label: Any) -> None:
    item = read({**PAIR, "label": label})
    assert item.sample is not None
    assert (item.sample.gold, item.notices) == ((), ())


def test_scores_give_the_label_where_there_is_none() -> None:
    assert gold(score1=8, score2=9) == Gold(preference="second", scores=(8, 9))
    assert gold(score1=5, score2="5.0") == Gold(preference="tie", scores=(5, 5))
    assert gold(score1=8, score2=9, label=1) == Gold(preference="first", scores=(8, 9))
    assert gold(score1="", score2=None) is None


@pytest.mark.parametrize("cells", [{"score1": 1, "score2": ""}, {"score1": "x", "score2": 2}])
def test_scores_that_cannot_be_used(cells: dict[str, Any]) -> None:
    with pytest.raises(RowError, match="score"):
        gold(**cells)


def test_number_of_the_best_of_many() -> None:
    many = {"question": "q", "answers": ["a", "b", "c"]}
    assert sample({**many, "label": 2}).gold == (Gold(ranking=(2, 1, 2)),)
    assert sample({**many, "label": 4}).gold == ()


def test_json_true_and_numbers_are_read_as_text() -> None:
    item = read({"question": 5, "answer1": True, "answer2": 0.5})
    assert item.sample is not None
    assert (item.sample.question, *(a.text for a in item.sample.answers)) == ("5", "true", "0.5")
    assert [notice.kind for notice in item.notices] == ["not-text"] * 3


def test_empty_answer_is_an_answer_and_null_is_none() -> None:
    assert sample({**PAIR, "answer2": ""}).answers[1].text == ""
    with pytest.raises(RowError, match="answer2 is null"):
        read({**PAIR, "answer2": None})


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (5.0, "the row is 5.0"),
        (["a"], "the row is"),
        ({"question": "q"}, "no answer"),
        ({"question": None, "answer": "a"}, "question is null"),
        ({"answer": "a", "other": 1}, "no question; the columns are answer, other"),
        ({"question": "q", "answer1": "a", "answer3": "c"}, "answer3 but no answer2"),
        ({"question": "q", "answer1": "a", "label": 1}, "answer1 but no answer2"),
        ({"question": "q", "answer": ["a"]}, "answer is"),
        ({"question": [], "answer": "a"}, "messages is empty"),
        ({"question": [{"role": "robot", "content": "x"}], "answer": "a"}, "role and content"),
        ({"question": ["x"], "answer": "a"}, "role and content"),
        ({"question": "q", "answer": "a", "context": [1]}, "context is"),
    ],
)
def test_bad_rows_say_what_is_wrong(row: Any, message: str) -> None:
    with pytest.raises(RowError, match=message):
        read(row)


def test_trailing_nulls_are_answers_that_are_not_there() -> None:
    assert len(sample({**PAIR, "answer3": None, "answer4": None}).answers) == 2
    with pytest.raises(RowError, match="answer3 is null"):
        read({**PAIR, "answer3": None, "answer4": "d"})


def test_messages_as_question() -> None:
    messages = [{"role": "system", "content": "s"}, {"from": "human", "value": "h"}]
    found = sample({"question": messages, "answer": "a"})
    assert found.question == (Turn(role="system", text="s"), Turn(role="user", text="h"))


def test_mapped_columns() -> None:
    row = {"prompt": "q", "out_a": "a", "out_b": "b", "question": "no", "label": "2", "gold": "1"}
    columns = {"question": "prompt", "answer1": "out_a", "answer2": "out_b", "label": "gold"}
    found = sample(row, columns)
    assert (found.question, *(a.text for a in found.answers)) == ("q", "a", "b")
    assert found.gold == (Gold(preference="first"),)
    assert found.meta == {"question": "no", "label": "2"}


def test_one_column_may_fill_two_fields() -> None:
    found = sample({"text": "t", "question": "q"}, {"answer": "text", "reference": "text"})
    assert (found.answers[0].text, found.reference) == ("t", "t")


def test_mapped_column_that_a_row_lacks() -> None:
    found = sample({**PAIR}, {"reference": "ref"})
    assert found.reference is None
    with pytest.raises(RowError, match="no question"):
        read({"answer": "a"}, {"question": "prompt"})


def test_question_from_a_file_of_questions() -> None:
    questions = {"7": {"turns": ["hello"]}, "8": {"question_id": 8, "text": "t"}, "9": {"x": 1}}
    assert sample({"id": 7.0, "answer": "a"}, questions=questions).question == "hello"
    assert sample({"question_id": "8", "answer": "a"}, questions=questions).question == "t"
    with pytest.raises(RowError, match="no id 10"):
        read({"id": 10, "answer": "a"}, questions=questions)
    with pytest.raises(RowError, match="has no text"):
        read({"id": 9, "answer": "a"}, questions=questions)


def test_numbers_of_answers_are_ordered_as_numbers() -> None:
    row = {"question": "q", **{f"answer{n}": str(n) for n in range(12, 0, -1)}}
    assert [a.text for a in sample(row).answers] == [str(n) for n in range(1, 13)]


def test_plan_keeps_the_first_of_two_columns_with_one_meaning() -> None:
    plan = plan_for(("answer1", "Answer 1", "question"), ())
    assert plan.columns["answer1"] == "answer1"
    assert plan.rest == ("Answer 1",)


def test_matching() -> None:
    reader = TabularReader()
    assert reader.matches([{"x": 1}, 5, PAIR], "f")
    assert reader.matches([{"question": "q", "answers": ["a"]}], "f")
    assert not reader.matches([{"question": "q", "answers": {"a": 1}}], "f")
    assert not reader.matches([{"prompt": "q", "answer1": "a"}], "f")
    assert not reader.matches([5, [1, 2]], "f")


def test_columns_of_one_meaning_are_told() -> None:
    found = read({"question": "q", "Answer 1": "a", "answer_1": "x", "answer2": "b"})
    assert found.sample is not None
    assert [answer.text for answer in found.sample.answers] == ["a", "b"]
    assert found.sample.meta == {"answer_1": "x"}
    (notice,) = found.notices
    assert "columns 'Answer 1' and 'answer_1' are both answer1; 'Answer 1' is taken" in (
        notice.message
    )
    mapped = read({**PAIR, "Answer 1": "x"}, {"answer1": "Answer 1"})
    assert mapped.notices == ()


def test_a_label_of_thousands_of_digits_says_nothing() -> None:
    found = read({**PAIR, "answer3": "c", "label": "9" * 5000})
    assert found.sample is not None
    assert found.sample.gold == ()
    assert [notice.kind for notice in found.notices] == ["unknown-label"]
