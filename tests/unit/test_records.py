"""The records: what identifies them, what they refuse, and how they are written."""

from __future__ import annotations

import datetime
import json
import math
from typing import Any

import pytest
from pydantic import ValidationError

from magistrate.records import (
    DEEPEST_META,
    Answer,
    Decision,
    Gold,
    JudgeSpec,
    Judgment,
    Probabilities,
    Record,
    Sample,
    Turn,
    Usage,
    from_json_line,
    to_json_line,
)

BASE: dict[str, Any] = {
    "question": "What is 2 + 2?",
    "answers": (Answer(text="4", model="cedar"), Answer(text="5", model="birch")),
    "reference": "4",
    "rubric": "Is the number right?",
    "context": ("Two and two make four.",),
    "images": ("sum.png",),
    "source_id": "q1",
}


def sample(**changes: Any) -> Sample:
    return Sample(**{**BASE, **changes})


def judgment(**changes: Any) -> Judgment:
    fields: dict[str, Any] = {
        "key": "k",
        "sample_id": "s",
        "judge": "j",
        "order": (0, 1),
        "status": "ok",
    }
    return Judgment(**{**fields, **changes})


# Identity

VISIBLE: dict[str, dict[str, Any]] = {
    "question": {"question": "What is 2 + 3?"},
    "question-as-turn": {"question": (Turn(role="user", text="What is 2 + 2?"),)},
    "role": {"question": (Turn(role="system", text="What is 2 + 2?"),)},
    "answer": {"answers": (Answer(text="4."), Answer(text="5"))},
    "answers-swapped": {"answers": (Answer(text="5"), Answer(text="4"))},
    "answer-added": {"answers": (Answer(text="4"), Answer(text="5"), Answer(text=""))},
    "answer-turns": {
        "answers": (Answer(text="4", turns=(Turn(role="assistant", text="4"),)), Answer(text="5"))
    },
    "reference": {"reference": "four"},
    "no-reference": {"reference": None},
    "empty-reference": {"reference": ""},
    "rubric": {"rubric": None},
    "context": {"context": ()},
    "context-order": {"context": ("b", "a")},
    "images": {"images": ("other.png",)},
}


def test_equal_content_has_equal_ids() -> None:
    assert sample().text_id == sample().text_id
    assert sample().id == sample().id


def test_every_visible_change_changes_the_text_id() -> None:
    ids = [sample().text_id, *(sample(**change).text_id for change in VISIBLE.values())]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(
    "change",
    [
        {"gold": (Gold(preference="first"),)},
        {"gold": (Gold(annotator="a", scores=(1, 2)), Gold(annotator="b", ranking=(2, 1)))},
        {"category": "arithmetic"},
        {"language": "en"},
        {"meta": {"split": "test", "n": [1, {"deep": None}]}},
    ],
)
def test_labels_and_notes_change_no_id(change: dict[str, Any]) -> None:
    assert sample(**change).text_id == sample().text_id
    assert sample(**change).id == sample().id


def test_models_and_source_id_change_the_id_but_not_the_text_id() -> None:
    renamed = sample(answers=(Answer(text="4", model="alder"), Answer(text="5", model="birch")))
    elsewhere = sample(source_id="q2")
    assert renamed.text_id == elsewhere.text_id == sample().text_id
    assert len({sample().id, renamed.id, elsewhere.id}) == 3


def test_a_sample_with_a_lone_surrogate_has_ids() -> None:
    broken = sample(question="cut \ud83d here")
    assert broken.text_id != sample(question="cut \ufffd here").text_id
    assert len(broken.id) == len(sample().id)


def test_ids_do_not_depend_on_whether_they_were_asked_for_before() -> None:
    asked, fresh = sample(), sample()
    assert asked.id
    assert asked == fresh
    assert to_json_line(asked) == to_json_line(fresh)


def test_equal_specs_have_equal_ids_and_every_setting_counts() -> None:
    def spec(**changes: Any) -> JudgeSpec:
        fields: dict[str, Any] = {"name": "mini", "engine": "encoder", "model": "m", "family": "f"}
        return JudgeSpec(**{**fields, **changes})

    assert spec(settings={"a": 1, "b": 2}).id == spec(settings={"b": 2, "a": 1}).id
    assert spec().id == spec(name="maxi").id
    others = [
        spec(),
        spec(url="http://127.0.0.1:8080/v1"),
        spec(weights_hash="00"),
        spec(prompt_hash="00"),
        spec(settings={"temperature": 0.0}),
        spec(settings={"temperature": 0.7}),
    ]
    assert len({each.id for each in others}) == len(others)


# What a question looks like as one string


def test_question_text_names_roles_only_where_there_are_several_turns() -> None:
    assert sample().question_text == "What is 2 + 2?"
    assert sample(question=(Turn(role="user", text="Hi {x}"),)).question_text == "Hi {x}"
    turns = (
        Turn(role="system", text="Be brief."),
        Turn(role="user", text="2 + 2?"),
        Turn(role="assistant", text="4"),
        Turn(role="user", text="And 3?"),
    )
    joined = "System: Be brief.\n\nUser: 2 + 2?\n\nAssistant: 4\n\nUser: And 3?"
    assert sample(question=turns).question_text == joined


# What records refuse


def test_a_sample_needs_an_answer() -> None:
    with pytest.raises(ValidationError, match="at least 1 item"):
        sample(answers=())


def test_records_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        sample().question = "another"  # type: ignore[misc]


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(ValidationError, match="refrence"):
        Sample.model_validate({"question": "q", "answers": [{"text": "a"}], "refrence": "typo"})


@pytest.mark.parametrize("order", [(0, 0), (1, 2), (0, 2), (-1, 0)])
def test_an_order_is_a_permutation(order: tuple[int, ...]) -> None:
    with pytest.raises(ValidationError, match="not a permutation"):
        judgment(order=order)


def test_a_status_is_one_of_the_five() -> None:
    with pytest.raises(ValidationError, match="status"):
        judgment(status="tie")


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_must_be_finite(number: float) -> None:
    # JSON has no such numbers, so a run folder that held one could not be read again.
    with pytest.raises(ValidationError, match="finite"):
        judgment(scores=(1.0, number))
    with pytest.raises(ValidationError, match="finite"):
        judgment(seconds=number)


@pytest.mark.parametrize("number", [-0.01, 1.01])
def test_probabilities_lie_between_0_and_1(number: float) -> None:
    with pytest.raises(ValidationError):
        Probabilities(first=number, tie=0, second=0)
    with pytest.raises(ValidationError):
        Gold(probability_second=number)


# Small computations


@pytest.mark.parametrize(
    ("first", "tie", "second", "preference", "confidence"),
    [
        (0.7, 0.1, 0.2, "first", 0.7),
        (0.2, 0.1, 0.7, "second", 0.7),
        (0.3, 0.4, 0.3, "tie", 0.4),
        (0.4, 0.2, 0.4, "tie", 0.2),
        (0.4, 0.4, 0.2, "first", 0.4),
        (0.2, 0.4, 0.4, "second", 0.4),
    ],
)
def test_the_likeliest_outcome(
    first: float, tie: float, second: float, preference: str, confidence: float
) -> None:
    shares = Probabilities(first=first, tie=tie, second=second)
    assert (shares.preference, shares.confidence) == (preference, confidence)


def test_usage_adds_up() -> None:
    one = Usage(prompt_tokens=10, completion_tokens=2, cached_tokens=4, requests=1)
    two = Usage(prompt_tokens=1, completion_tokens=1, cached_tokens=1, requests=2)
    total = Usage(prompt_tokens=11, completion_tokens=3, cached_tokens=5, requests=3)
    assert one + two == total


def test_any_cut_counts_as_truncated() -> None:
    assert not judgment(truncated_tokens=(0, 0)).was_truncated
    assert judgment(truncated_tokens=(0, 3)).was_truncated
    assert judgment(truncated_question_tokens=1).was_truncated


# Writing and reading


def test_a_line_holds_no_line_break_and_keeps_letters() -> None:
    line = to_json_line(sample(question="größer\n\r\u2028行"))
    assert b"\n" not in line
    assert b"\r" not in line
    assert "größer".encode() in line
    assert from_json_line(Sample, line) == sample(question="größer\n\r\u2028行")


@pytest.mark.parametrize("text", ["\ud83d", "a\udc80b", "\udfff\ud800", "x\0\ud800\x7f"])
def test_lone_surrogates_survive(text: str) -> None:
    written = sample(
        question=text, answers=(Answer(text=text, model=text),), meta={"k": {text: text}}
    )
    line = to_json_line(written)
    line.decode("ascii")
    back = from_json_line(Sample, line)
    assert back == written
    assert back.id == written.id


def test_a_pair_of_surrogates_comes_back_as_one_character_with_the_same_id() -> None:
    written = sample(question="\ud83d\ude00")
    back = from_json_line(Sample, to_json_line(written))
    assert back.question == "\U0001f600"
    assert back.text_id == written.text_id


def test_notes_that_json_lacks_are_written_in_its_words() -> None:
    meta = {"day": datetime.date(2024, 2, 29), "bytes": b"abc", "number": math.nan}
    line = to_json_line(sample(meta=meta))
    expected = {"day": "2024-02-29", "bytes": "YWJj", "number": None}
    assert from_json_line(Sample, line).meta == expected
    with_surrogate = to_json_line(sample(meta=meta, rubric="\ud800"))
    assert from_json_line(Sample, with_surrogate).meta == expected


def test_an_object_without_a_json_form_is_refused_in_writing() -> None:
    with pytest.raises(ValueError, match="serialize"):
        to_json_line(sample(meta={"thing": object()}))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b'{"role":"user","te',
        b'{"role":"user"}',
        b'{"role":"nobody","text":"a"}',
        b'{"role":"user","text":"\\ud800","more":1}',
        b"[1, 2]",
        b"\xff\xfe",
    ],
)
def test_a_damaged_line_is_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - several kinds, all of them ValueErrors
        from_json_line(Turn, data)


def test_defaults_are_written_so_that_files_explain_themselves() -> None:
    written = json.loads(to_json_line(judgment()))
    assert set(written) == set(Judgment.model_fields)


@pytest.mark.parametrize("kind", [Sample, Judgment, Decision, JudgeSpec, Gold, Answer, Usage])
def test_every_record_says_what_it_is(kind: type[Record]) -> None:
    assert kind.__doc__
    assert kind.model_config["frozen"]
    assert kind.model_config["extra"] == "forbid"


def test_meta_in_a_circle_or_too_deep_is_refused() -> None:
    circle: list[Any] = []
    circle.extend([circle, circle])
    deep: list[Any] = []
    for _ in range(DEEPEST_META):
        deep = [deep]
    for meta in ({"x": circle}, {"x": deep}):
        with pytest.raises(ValidationError, match="deep in each other"):
            sample(meta=meta)
    kept = sample(meta={"x": deep[0]})
    assert from_json_line(Sample, to_json_line(kept)) == kept


def test_a_line_nested_too_deeply_is_no_record() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        from_json_line(Sample, 100_000 * b"[")


def test_a_copy_with_another_text_has_another_id() -> None:
    sample = Sample(question="q", answers=(Answer(text="a"), Answer(text="b")))
    ids = sample.text_id, sample.id
    copy = sample.model_copy(update={"question": "other"})
    assert copy.text_id != ids[0]
    assert copy.id != ids[1]
    assert copy == Sample(question="other", answers=sample.answers)
    assert (sample.text_id, sample.id) == ids


@pytest.mark.parametrize(
    ("reference", "turns"),
    [
        (None, ()),
        ("One.", ("One.",)),
        ("Turn 1: a", ("Turn 1: a",)),
        ("Turn 1: a\n\nTurn 2: b\n\nmore of b", ("a", "b\n\nmore of b")),
        ("Turn 1: a\n\nTurn 3: b", ("Turn 1: a\n\nTurn 3: b",)),
        ("See Turn 1: a\n\nTurn 2: b", ("See Turn 1: a\n\nTurn 2: b",)),
        ("Turn 1: \n\nTurn 2: ", ("", "")),
    ],
)
def test_a_reference_is_read_turn_by_turn(reference: str | None, turns: tuple[str, ...]) -> None:
    sample = Sample(question="q", answers=(Answer(text="a"),), reference=reference)
    assert sample.turn_references == turns
