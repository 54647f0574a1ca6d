"""Any record at all survives being written and read, and keeps its identity."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from magistrate.ids import canonical_json, content_id
from magistrate.records import (
    STATUSES,
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


def _as_json_has_it(text: str) -> str:
    """Join surrogate halves that stand side by side, as every JSON reader does."""
    joined: str = json.loads(json.dumps(text))
    return joined


# Surrogates and the characters that end lines are rare among all characters, so add some.
ODD = st.sampled_from('\ud800\udbff\udc00\udfff\udc80\0\r\n\u2028\ufeff"\\')
TEXT = st.text(st.characters() | ODD, max_size=30).map(_as_json_has_it)
KEY = st.text(st.characters(codec="utf-8"), max_size=10)
NAME = st.none() | TEXT
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
SHARE = st.floats(0, 1)
COUNT = st.integers(0, 2**40)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEY, inner, max_size=3),
    max_leaves=8,
)
NOTES = st.dictionaries(KEY, JSON, max_size=3)


def tuples(inner: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(inner, max_size=3).map(tuple)


ORDERS = st.integers(0, 5).flatmap(lambda n: st.permutations(range(n))).map(tuple)
TURNS = st.builds(Turn, role=st.sampled_from(["system", "user", "assistant"]), text=TEXT)
ANSWERS = st.builds(Answer, text=TEXT, model=NAME, turns=tuples(TURNS))
PREFERENCES = st.none() | st.sampled_from(["first", "second", "tie"])
SHARES = st.builds(Probabilities, first=SHARE, tie=SHARE, second=SHARE)
USAGE = st.builds(Usage, prompt_tokens=COUNT, completion_tokens=COUNT)
STATUS = st.sampled_from(STATUSES)
SCORES = st.none() | tuples(NUMBER)
RANKS = st.none() | tuples(st.integers(1, 9))

GOLD = st.builds(
    Gold,
    annotator=NAME,
    preference=PREFERENCES,
    probability_second=st.none() | SHARE,
    scores=SCORES,
    ranking=RANKS,
    label=NAME,
    reasons=NAME,
)
SAMPLES = st.builds(
    Sample,
    question=TEXT | tuples(TURNS),
    answers=st.lists(ANSWERS, min_size=1, max_size=3).map(tuple),
    reference=NAME,
    rubric=NAME,
    context=tuples(TEXT),
    images=tuples(TEXT),
    gold=tuples(GOLD),
    category=NAME,
    language=NAME,
    source_id=NAME,
    meta=NOTES,
)
JUDGMENTS = st.builds(
    Judgment,
    key=TEXT,
    sample_id=TEXT,
    judge=TEXT,
    order=ORDERS,
    repeat=COUNT,
    status=STATUS,
    preference=PREFERENCES,
    scores=SCORES,
    ranking=RANKS,
    probabilities=st.none() | SHARES,
    reasons=NAME,
    raw=NAME,
    error=NAME,
    finish_reason=NAME,
    truncated_tokens=tuples(COUNT),
    truncated_question_tokens=COUNT,
    usage=USAGE,
    cost=NUMBER,
    seconds=NUMBER,
)
DECISIONS = st.builds(
    Decision,
    row=COUNT,
    sample_id=TEXT,
    status=STATUS,
    preference=PREFERENCES,
    scores=SCORES,
    ranking=RANKS,
    probabilities=st.none() | SHARES,
    confidence=st.none() | NUMBER,
    consistent=st.none() | st.booleans(),
    truncated=st.booleans(),
    rule=TEXT,
    keys=tuples(TEXT),
)
SPECS = st.builds(
    JudgeSpec,
    name=TEXT,
    engine=TEXT,
    model=TEXT,
    family=TEXT,
    url=NAME,
    weights_hash=NAME,
    prompt_hash=NAME,
    settings=NOTES,
)


@given(SAMPLES | JUDGMENTS | DECISIONS | SPECS)
@settings(max_examples=300, deadline=None)
def test_writing_and_reading_gives_an_equal_record(record: Record) -> None:
    line = to_json_line(record)
    line.decode("utf-8")
    assert b"\n" not in line
    back = from_json_line(type(record), line)
    assert back == record
    assert to_json_line(back) == line


@given(SAMPLES)
@settings(max_examples=100, deadline=None)
def test_a_sample_keeps_its_ids_through_a_file(sample: Sample) -> None:
    back = from_json_line(Sample, to_json_line(sample))
    assert (back.id, back.text_id) == (sample.id, sample.text_id)


@given(SAMPLES, tuples(GOLD), NOTES, NAME)
@settings(max_examples=100, deadline=None)
def test_labels_and_notes_never_touch_the_ids(
    sample: Sample, gold: tuple[Gold, ...], notes: dict[str, object], category: str | None
) -> None:
    changed = sample.model_copy(update={"gold": gold, "meta": notes, "category": category})
    fresh = from_json_line(Sample, to_json_line(changed))
    assert (fresh.id, fresh.text_id) == (sample.id, sample.text_id)


@given(TEXT, TEXT)
def test_texts_share_an_id_only_if_equal(one: str, other: str) -> None:
    assert (content_id(one) == content_id(other)) == (one == other)


@given(JSON)
def test_canonical_json_means_the_same_value(value: object) -> None:
    assert json.loads(canonical_json(value)) == value


@given(st.dictionaries(TEXT, JSON, max_size=5), st.randoms())
def test_key_order_is_irrelevant(value: dict[str, object], random: object) -> None:
    keys = list(value)
    random.shuffle(keys)  # type: ignore[attr-defined]
    assert content_id({key: value[key] for key in keys}) == content_id(value)
