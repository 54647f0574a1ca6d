"""Judges with a scoring head: prompts, the tie band, the length term, and failures."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from magistrate.errors import FamilyError
from magistrate.messages import Completion, Message, Part
from magistrate.prompts.base import Family
from magistrate.prompts.outcome import ranking_of, tie_band_probabilities
from magistrate.prompts.scorer import ScorerFamily
from magistrate.records import Answer, Sample, Turn

SECTION = {
    "kind": "scorer",
    "template": "<|user|>{{ question }}<|end|>{{ answer }}<|end|>",
    "empty_answer": "(no response)",
}


def make(**verdict: Any) -> ScorerFamily:
    return ScorerFamily.from_sections("mini", SECTION, verdict)


def sample(*answers: str) -> Sample:
    return Sample(question="Why?", answers=tuple(Answer(text=text) for text in answers))


def scored(*scores: float | None) -> list[Completion]:
    return [Completion(key=str(place), score=score) for place, score in enumerate(scores)]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def test_each_shown_answer_has_a_prompt_with_slots() -> None:
    family = make()
    assert isinstance(family, Family)
    assert (family.reads_alone, family.min_answers, family.max_answers) == (True, 1, None)
    prompts = family.prompts(sample("One.", " ", "<|end|>"), (1, 0, 2))
    own = (Part("<|user|>"), Part("Why?", "question"), Part("<|end|>"))
    shown = ["(no response)", "One.", "<|end|>"]
    assert prompts == tuple(
        (Message("text", (*own, Part(text, "answer"), Part("<|end|>"))),) for text in shown
    )


def test_an_empty_answer_may_be_left_to_the_engine() -> None:
    section = {key: value for key, value in SECTION.items() if key != "empty_answer"}
    family = ScorerFamily.from_sections("mini", section, {})
    ((message,),) = family.prompts(sample(""), (0,))
    assert [part for part in message.parts if part.slot == "answer"] == [Part("", "answer")]


def test_a_pair_follows_the_tie_band_formula() -> None:
    verdict = make(temperature=2.0, tie_band=0.5).read(scored(1.7, 0.2), sample("a", "b"), (0, 1))
    assert verdict.status == "ok"
    assert verdict.scores == (1.7, 0.2)
    assert verdict.probabilities is not None
    assert verdict.probabilities.first == pytest.approx(sigmoid((1.5 - 0.5) / 2))
    assert verdict.probabilities.second == pytest.approx(sigmoid((-1.5 - 0.5) / 2))
    assert verdict.preference == "first"


@pytest.mark.parametrize(("gap", "preference"), [(0.0, "tie"), (2.0, "first"), (-2.0, "second")])
def test_preference_is_the_likeliest_outcome(gap: float, preference: str) -> None:
    verdict = make(tie_band=1.0).read(scored(gap, 0.0), sample("a", "b"), (0, 1))
    assert verdict.probabilities is not None
    assert verdict.preference == verdict.probabilities.preference == preference


def test_probabilities_add_up_and_mirror() -> None:
    for difference in (-1e6, -800.0, -3.0, 0.0, 1e-9, 3.0, 800.0, 1e6):
        one = tie_band_probabilities(difference, temperature=0.7, tie_band=0.3)
        two = tie_band_probabilities(-difference, temperature=0.7, tie_band=0.3)
        assert one.first + one.tie + one.second == pytest.approx(1)
        assert (one.first, one.tie, one.second) == (two.second, two.tie, two.first)


def test_the_length_term_follows_the_order_shown() -> None:
    family = make(length_coefficient=-0.5)
    verdict = family.read(scored(1.0, 1.0), sample("four", "x" * 99), (1, 0))
    assert verdict.scores == pytest.approx((1 - 0.5 * math.log(100), 1 - 0.5 * math.log(5)))
    assert verdict.preference == "second"


def test_the_length_of_an_answer_is_that_of_what_was_written() -> None:
    turns = (
        Turn(role="assistant", text="four"),
        Turn(role="user", text="And so?"),
        Turn(role="assistant", text="five5"),
    )
    asked = Sample(question="Q", answers=(Answer(text="five5", turns=turns), Answer(text="")))
    verdict = make(length_coefficient=1.0).read(scored(0.0, 0.0), asked, (0, 1))
    assert verdict.scores == pytest.approx((math.log(10), 0.0))


def test_more_answers_are_ranked_with_ties_inside_the_band() -> None:
    verdict = make(tie_band=0.2).read(scored(0.0, 1.0, 0.9, 0.75), sample(*"abcd"), (0, 1, 2, 3))
    assert verdict.ranking == (4, 1, 1, 3)
    assert verdict.preference is None
    assert verdict.probabilities is None


def test_one_answer_has_its_score_and_nothing_else() -> None:
    verdict = make().read(scored(0.25), sample("a"), (0,))
    assert (verdict.status, verdict.scores) == ("ok", (0.25,))
    assert (verdict.preference, verdict.ranking, verdict.probabilities) == (None, None, None)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (Completion(key="1", score=None), "answer 2 got None"),
        (Completion(key="1", score=math.nan), "answer 2 got nan"),
        (Completion(key="1", score=math.inf), "answer 2 got inf"),
        (Completion(key="1", score=1.0, error="out of memory"), r"out of memory \(answer 2\)"),
        (Completion(key="1", score=1.0, finish_reason="error"), r"an error \(answer 2\)"),
    ],
)
def test_a_missing_score_is_an_error_never_a_tie(bad: Completion, words: str) -> None:
    verdict = make().read([*scored(1.0), bad], sample("a", "b"), (0, 1))
    assert verdict.status == "error"
    assert verdict.preference is None
    assert re.search(words, verdict.error or "")


@pytest.mark.parametrize(
    ("family", "verdict", "message"),
    [
        ({**SECTION, "kind": "writer"}, {}, r"section \[family\]: key 'kind'"),
        ({"kind": "scorer"}, {}, r"section \[family\]: key 'template' is missing"),
        ({**SECTION, "templat": "x"}, {}, r"section \[family\]: unknown key 'templat'"),
        ({**SECTION, "template": "{{ question }}"}, {}, r"never shows \{\{ answer \}\}"),
        ({**SECTION, "template": "{{ q }}"}, {}, r"family.template: unknown variable q"),
        (SECTION, {"temperature": 0}, r"section \[verdict\]: key 'temperature'"),
        (SECTION, {"tie_band": -1}, r"section \[verdict\]: key 'tie_band'"),
        (SECTION, {"tie_bend": 1}, r"section \[verdict\]: unknown key 'tie_bend'"),
        (SECTION, {"length_coefficient": math.nan}, r"key 'length_coefficient'"),
    ],
)
def test_mistakes_in_judge_toml_name_section_and_key(
    family: dict[str, Any], verdict: dict[str, Any], message: str
) -> None:
    with pytest.raises(FamilyError, match=r"judge\.toml of 'mini'.*" + message):
        ScorerFamily.from_sections("mini", family, verdict)


def test_the_hash_follows_template_and_constants() -> None:
    assert make().prompt_hash == make().prompt_hash
    assert make(tie_band=0.1).prompt_hash != make().prompt_hash
    other = ScorerFamily.from_sections("mini", {**SECTION, "empty_answer": ""}, {})
    assert other.prompt_hash != make().prompt_hash


def test_ranks_count_the_answers_above() -> None:
    assert ranking_of([]) == ()
    assert ranking_of([1.0, 1.0, 1.0]) == (1, 1, 1)
    assert ranking_of([1.0, 3.0, 2.0]) == (3, 1, 2)
