"""Labels, rankings and JSON: whatever judges write is read or named; distributions are exact."""

from __future__ import annotations

import itertools
import json
import math
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magistrate.messages import FinishReason
from magistrate.prompts.distribution import (
    LEAST_MASS,
    Distribution,
    distribution_of,
    verdict_from_alone,
    verdict_from_joint,
    verdict_from_labels,
)
from magistrate.prompts.jsonish import find_json
from magistrate.prompts.outcome import preference_of, ranking_of
from magistrate.prompts.parse import parse
from magistrate.prompts.rules import (
    ChoiceRules,
    JsonRules,
    RankingRules,
    Reason,
    Rules,
    ScoreRules,
    Value,
)
from magistrate.prompts.verdict_section import (
    ChoiceSection,
    JsonSection,
    Labels,
    RankingSection,
    ScoresSection,
    VerdictSection,
)
from magistrate.prompts.writing import write_verdict

PLACES = st.sampled_from(["first", "last"])
FRAMES = st.sampled_from(
    [("{verdict}",), ("[[{verdict}]]",), ("[RESULT] {verdict}",), ("final decision is {verdict}",)]
)
LABELS = (
    Labels(first=("A",), second=("B",), tie=("C",)),
    Labels(first=("1",), second=("2",), tie=("Tie",)),
    Labels(first=("Response 1",), second=("Response 2",)),
    Labels(first=("A>>B", "A>B"), second=("B>A", "B>>A"), tie=("A=B",)),
    Labels(first=("m",), second=("M",)),
    Labels(first=("Output (a)",), second=("Output (b)",)),
)
NAMES = ("Assistant {n}", "model_{n}", "{letter}", "{n}")

PIECES = (
    *(
        "A",
        "B",
        "C",
        "1",
        "2",
        "Tie",
        "tie",
        "Response 1",
        "A>>B",
        "m",
        "M",
        "Output (a)",
        "8",
        "9",
    ),
    *(
        " ",
        "\n",
        ".",
        ",",
        ":",
        " > ",
        " = ",
        ">",
        "<",
        "=",
        "-",
        "*",
        "**",
        "`",
        '"',
        "'",
        "”",
        "\\",
    ),
    *(
        "[[",
        "]]",
        "[RESULT] ",
        "final decision is ",
        "Verdict: ",
        "Ranking: ",
        "Answer ",
        "model_1",
    ),
    *("<think>", "</think>", "I cannot evaluate this", "1. ", "2) ", "```json\n", "Therefore, "),
    *('{"scores": ', "[8, 9]", "}", "{", "[", "]", '"rank": 1', '{"winner": "A"}', "null", "NaN"),
    *("\u200b", "\ud800", "\x00", "Ａ", "\u3000", "\r\n", "or", "and"),
)
ANY_REPLY = st.lists(
    st.one_of(st.sampled_from(PIECES), st.text(st.characters(exclude_categories=()), max_size=5)),
    max_size=14,
).map("".join)


def choices() -> st.SearchStrategy[ChoiceSection]:
    return st.builds(
        ChoiceSection,
        kind=st.just("choice"),
        labels=st.sampled_from(LABELS),
        place=PLACES,
        frames=FRAMES,
    )


def rankings() -> st.SearchStrategy[RankingSection]:
    return st.builds(
        RankingSection,
        kind=st.just("ranking"),
        names=st.sampled_from(NAMES),
        place=PLACES,
        frames=st.sampled_from([("{verdict}",), ("Order: {verdict}",)]),
        written=st.sampled_from(["chain", "list"]),
    )


SECTIONS: st.SearchStrategy[VerdictSection] = st.one_of(
    choices(),
    rankings(),
    st.builds(ScoresSection, low=st.just(1), high=st.just(10), place=PLACES, frames=FRAMES),
    st.builds(
        JsonSection,
        kind=st.just("json"),
        holds=st.just("scores"),
        keys=st.just(("scores",)),
        low=st.just(1),
        high=st.just(10),
        place=PLACES,
    ),
    st.builds(
        JsonSection,
        kind=st.just("json"),
        holds=st.just("choice"),
        keys=st.just(("winner",)),
        labels=st.sampled_from(LABELS),
        place=PLACES,
    ),
)


def held(rules: Rules) -> ScoreRules | ChoiceRules | RankingRules:
    return rules.holds if isinstance(rules, JsonRules) else rules


@given(text=ANY_REPLY, section=SECTIONS, finish=st.sampled_from(get_args(FinishReason)))
@settings(max_examples=600, deadline=None)
def test_every_reply_is_read_or_named(
    text: str, section: VerdictSection, finish: FinishReason
) -> None:
    rules = section.rules(2)
    verdict = parse(text, rules, finish)
    if verdict.status != "ok":
        assert verdict.preference is verdict.scores is verdict.ranking is None
        assert (verdict.error or "").split(":")[0] in get_args(Reason)
        return
    kind = held(rules)
    if isinstance(kind, ChoiceRules):
        assert verdict.preference in {meaning for _, meaning in kind.labels}
    if isinstance(kind, ScoreRules):
        assert verdict.scores is not None
        assert all(kind.low <= score <= kind.high for score in verdict.scores)
    assert verdict.preference is not None


PROSE = st.lists(
    st.sampled_from(["It is right", " ", ". ", "\n", "3 of 4", "A errs", "Fine"]), max_size=5
).map("".join)


@st.composite
def written(draw: st.DrawFn) -> tuple[VerdictSection, Value, int]:
    section = draw(SECTIONS)
    kind = section.inner if isinstance(section, JsonSection) else section
    if isinstance(kind, ChoiceSection):
        meanings = [meaning for _, meaning in kind.labels.by_label]
        return section, draw(st.sampled_from(meanings)), 2
    if isinstance(kind, RankingSection):
        count = draw(st.integers(2, 5))
        scores = draw(st.lists(st.integers(1, 5), min_size=count, max_size=count))
        return section, ranking_of(scores), count
    count = draw(st.integers(1, 4))
    halves = draw(st.lists(st.integers(2, 20), min_size=count, max_size=count))
    return section, tuple(half / 2 for half in halves), count


@given(case=written(), prose=PROSE)
@settings(max_examples=400, deadline=None)
def test_what_is_written_is_read_back(case: tuple[VerdictSection, Value, int], prose: str) -> None:
    section, value, count = case
    line = write_verdict(section, value, lead="", reasons="So.")
    text = f"{line}\n{prose}" if section.place == "first" else f"{prose}\n{line}"
    verdict = parse(text, section.rules(count))
    assert verdict.status == "ok", (text, verdict.error)
    if isinstance(value, str):
        assert verdict.preference == value
    elif verdict.scores is not None:
        assert verdict.scores == value
    elif count == 2:
        assert verdict.preference == preference_of(-value[0], -value[1])
    else:
        assert verdict.ranking == value


@given(case=written(), prose=PROSE, data=st.data())
@settings(max_examples=300, deadline=None)
def test_a_cut_never_makes_another_verdict(
    case: tuple[VerdictSection, Value, int], prose: str, data: st.DataObject
) -> None:
    section, value, count = case
    line = write_verdict(section, value, lead="")
    text = f"{line}\n{prose}" if section.place == "first" else f"{prose}\n{line}"
    end = data.draw(st.integers(0, len(text)))
    whole = parse(text, section.rules(count))
    cut = parse(text[:end], section.rules(count), "length")
    if cut.status == "ok":
        assert (cut.preference, cut.scores, cut.ranking) == (
            whole.preference,
            whole.scores,
            whole.ranking,
        )
    else:
        assert cut.status == "truncated", cut


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(value=st.dictionaries(st.text(max_size=5), JSON_VALUES, min_size=1, max_size=4), prose=PROSE)
@settings(deadline=None)
def test_json_is_found_as_it_was_written(value: dict[str, object], prose: str) -> None:
    for ascii_only in (True, False):
        text = f"{prose}\n{json.dumps(value, ensure_ascii=ascii_only)}\n{prose}"
        assert [piece.value for piece in find_json(text, "{")] == [value]


PLAIN_TEXT = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=8)


@given(
    value=st.dictionaries(
        PLAIN_TEXT, PLAIN_TEXT | st.booleans() | st.none() | st.integers(-99, 99), min_size=1
    )
)
@settings(deadline=None)
def test_python_literals_are_found_as_they_were_written(value: dict[str, object]) -> None:
    assert [piece.value for piece in find_json(repr(value), "{")] == [value]


LOGS = st.floats(-30, 0)


def exact(weights: list[float]) -> tuple[list[float], float]:
    mass = math.fsum(weights)
    return [weight / mass for weight in weights], mass


@given(
    logs=st.lists(LOGS, min_size=25, max_size=25),
    gap=st.sampled_from([0.0, 0.5, 1.0, 2.0]),
    shift=st.floats(0, 3),
)
def test_two_scores_against_every_pair(logs: list[float], gap: float, shift: float) -> None:
    weights = [math.exp(value) for value in logs]
    top = math.log(math.fsum(weights)) + shift
    logs = [value - top for value in logs]
    shares, mass = exact([math.exp(value) for value in logs])
    found = distribution_of(logs, 25)
    if mass < LEAST_MASS:
        assert not isinstance(found, Distribution)
        return
    assert isinstance(found, Distribution)
    assert found.mass == pytest.approx(min(mass, 1), abs=1e-9)
    scale = (1.0, 2.0, 3.0, 4.0, 5.0)
    verdict = verdict_from_joint(found, scale, 2, tie_gap=gap)
    outcomes = dict.fromkeys(("first", "second", "tie"), 0.0)
    expected = [0.0, 0.0]
    for (one, two), share in zip(itertools.product(scale, repeat=2), shares, strict=True):
        outcomes[preference_of(one, two, tie_gap=gap)] += share
        expected[0] += share * one
        expected[1] += share * two
    assert verdict.probabilities is not None
    for name, share in outcomes.items():
        assert getattr(verdict.probabilities, name) == pytest.approx(share, abs=1e-9)
    assert verdict.scores == pytest.approx(expected)
    if verdict.preference == "tie" and outcomes["first"] == pytest.approx(outcomes["second"]):
        return  # as likely for either side: nobody is better
    assert outcomes[verdict.preference or ""] >= max(outcomes.values()) - 1e-9


@given(logs=st.lists(LOGS, min_size=27, max_size=27))
def test_three_scores_against_every_triple(logs: list[float]) -> None:
    shares, _ = exact([math.exp(value) for value in logs])
    scale = (1.0, 5.0, 10.0)
    verdict = verdict_from_joint(Distribution(tuple(shares), 1.0), scale, 3)
    expected = [0.0, 0.0, 0.0]
    for triple, share in zip(itertools.product(scale, repeat=3), shares, strict=True):
        for place, score in enumerate(triple):
            expected[place] += share * score
    assert verdict.scores == pytest.approx(expected)
    assert verdict.ranking is not None
    assert verdict.scores is not None
    assert verdict.ranking.index(1) == verdict.scores.index(max(verdict.scores))


@given(
    one=st.lists(LOGS, min_size=5, max_size=5),
    two=st.lists(LOGS, min_size=5, max_size=5),
    gap=st.sampled_from([0.0, 1.0]),
)
def test_answers_alone_are_the_joint_of_their_product(
    one: list[float], two: list[float], gap: float
) -> None:
    first, _ = exact([math.exp(value) for value in one])
    second, _ = exact([math.exp(value) for value in two])
    scale = (1.0, 2.0, 3.0, 4.0, 5.0)
    alone = verdict_from_alone(
        [Distribution(tuple(first), 0.7), Distribution(tuple(second), 0.9)], scale, tie_gap=gap
    )
    joint = verdict_from_joint(
        Distribution(tuple(p * q for p in first for q in second), 1.0), scale, 2, tie_gap=gap
    )
    assert alone.scores == pytest.approx(joint.scores)
    assert alone.mass == 0.7
    assert alone.probabilities is not None
    assert joint.probabilities is not None
    for name in ("first", "tie", "second"):
        assert getattr(alone.probabilities, name) == pytest.approx(
            getattr(joint.probabilities, name), abs=1e-9
        )


@given(
    logs=st.lists(LOGS, min_size=5, max_size=5),
    meanings=st.permutations(["first", "first", "tie", "second", "second"]),
)
def test_labels_against_their_sums(logs: list[float], meanings: list[str]) -> None:
    shares, _ = exact([math.exp(value) for value in logs])
    verdict = verdict_from_labels(Distribution(tuple(shares), 1.0), meanings)  # type: ignore[arg-type]
    assert verdict.probabilities is not None
    for name in ("first", "tie", "second"):
        total = math.fsum(
            share for share, meaning in zip(shares, meanings, strict=True) if meaning == name
        )
        assert getattr(verdict.probabilities, name) == pytest.approx(total, abs=1e-9)
