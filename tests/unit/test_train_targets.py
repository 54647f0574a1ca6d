"""What a judge learns to reply: written so that the family's own parser reads it back."""

from __future__ import annotations

from functools import cache
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magistrate.errors import FamilyError
from magistrate.messages import Completion
from magistrate.prompts.base import Verdict
from magistrate.prompts.catalog import bundled_names, load_family
from magistrate.prompts.outcome import preference_of, ranking_of
from magistrate.prompts.schema import FamilyFile
from magistrate.prompts.text_family import TextFamily
from magistrate.prompts.verdict_section import ScoresSection
from magistrate.prompts.writing import PartName
from magistrate.records import Answer, Gold, Sample
from magistrate.train.encoding import mirrored
from magistrate.train.examples import Augmentation, Example, make_example
from magistrate.train.targets import (
    check_trainable,
    readings_of,
    target,
    whole_scores,
    written_target,
)

IMAGES = {name for name in bundled_names() if load_family(name).shows_images}
TRAINABLE = tuple(name for name in bundled_names() if name not in IMAGES)
PLAIN = Augmentation(swap=0, drop_reference=0)
REASONS = st.lists(
    st.sampled_from(
        [
            "Assistant 1 is right.",
            "Scores: 3 4",
            "[[B]]",
            "[RESULT] 2",
            "</think>",
            "\n",
            "Tie",
            '"}',
        ]
    ),
    max_size=4,
).map(" ".join)

JSON_FAMILY = """
name = "in-json"
version = "1"
description = "For tests."
markers = []
empty_answer = "(none)"
min_answers = 2
max_answers = 2
[[messages]]
role = "user"
text = "{{ question }} {{ answer_1 }} {{ answer_2 }}"
[verdict]
kind = "json"
place = "last"
holds = "scores"
keys = ["first.score", "second.score"]
reasons = "why"
low = 1
high = 10
[sampling]
max_tokens = 99
"""


def json_family() -> TextFamily:
    """A family whose replies are JSON objects with reasons."""
    import tomllib

    return TextFamily(FamilyFile.model_validate(tomllib.loads(JSON_FAMILY)), where="here")


def a_sample(count: int, gold: Gold) -> Sample:
    """A sample of so many answers that has whatever a template may need."""
    return Sample(
        question="Why?",
        answers=tuple(Answer(text=f"answer {place}") for place in range(count)),
        reference="Turn 1: so\n\nTurn 2: yes",
        rubric="truth",
        gold=(gold,),
    )


def shown(sample: Sample) -> Example:
    """A sample as it is."""
    return make_example(sample, augmentation=PLAIN, seed=0, epoch=0, index=0)


def read(family: TextFamily, text: str, count: int) -> Verdict:
    """What the family reads in a reply to so many answers."""
    sample = a_sample(count, Gold())
    return family.read((Completion(key="", text=text),), sample, tuple(range(count)))


@cache
def modes_of(name: str) -> list[TextFamily]:
    """A family in each mode that it has."""
    family = load_family(name)
    return [family] + ([family.in_mode("score")] if family.file.score_mode else [])


@settings(max_examples=8, deadline=None)
@pytest.mark.parametrize("name", TRAINABLE)
@given(
    scores=st.lists(st.integers(2, 10), min_size=4, max_size=4),
    reasons=REASONS,
    extra=st.integers(0, 2),
)
def test_every_family_reads_back_what_is_learned(
    name: str, scores: list[int], reasons: str, extra: int
) -> None:
    for family in modes_of(name):
        most = family.max_answers or family.min_answers + extra
        count = 1 if most == 1 else max(family.min_answers, min(most, 2 + extra))
        section = family.file.verdict
        scale = section.scale or (1, 10)
        given = tuple(min(float(score), scale[1]) for score in scores[:count])
        if family.file.verdict.kind == "choice" and count == 2 and given[0] == given[1]:
            continue  # not every choice knows ties; see below
        sample = a_sample(count, Gold(scores=given, reasons=reasons))
        for place in range(readings_of(family, sample)):
            learned = written_target(shown(sample), family, place=place)
            alone = family.reads_alone
            verdict = read(family, learned.text, 1 if alone else count)
            assert verdict.status == "ok", (family.mode, learned.text)
            if isinstance(section, ScoresSection):
                assert verdict.scores == ((given[place],) if alone else given)
            elif count == 2:
                assert verdict.preference == preference_of(*given)
            else:
                assert verdict.ranking == ranking_of(given)
            parts = [piece.part for piece in learned.pieces]
            assert "verdict" in parts
            assert set(parts) <= set(get_args(PartName))
            if family.mode == "score" or not reasons.strip():
                assert "reasons" not in parts


@pytest.mark.parametrize("name", sorted(IMAGES))
def test_families_that_show_images_cannot_be_trained_and_it_is_said(name: str) -> None:
    with pytest.raises(FamilyError, match="shows images, and training here reads text alone"):
        check_trainable(load_family(name))


@pytest.mark.parametrize("name", TRAINABLE)
def test_all_others_can(name: str) -> None:
    check_trainable(load_family(name))


def pieces(name: str, gold: Gold, mode: Any = "reason") -> list[tuple[str, str]]:
    """The reply to a pair, as (text, part)."""
    found = target(shown(a_sample(2, gold)), load_family(name, mode=mode))
    return [(piece.text, piece.part) for piece in found]


def test_scores_come_first_or_last_as_the_family_wants() -> None:
    gold = Gold(scores=(8, 7), reasons="It is right.")
    first = [("8 7", "verdict"), ("\n", "other"), ("It is right.", "reasons")]
    assert pieces("judgelm", gold) == first
    assert pieces("judgelm", gold, "score") == [("8 7", "verdict")]
    last = [("It is right.", "reasons"), ("\n", "other"), ("Scores: ", "other"), ("8 7", "verdict")]
    assert pieces("judgelm-reasons-first", gold) == last
    assert pieces("judgelm-reasons-first", gold, "score") == [(" ", "other"), ("8 7", "verdict")]
    assert pieces("mt-bench-pair", gold)[-3:] == [
        ("[[", "other"),
        ("A", "verdict"),
        ("]]", "other"),
    ]
    assert pieces("ab-token", gold) == [("A", "verdict")], "its replies stop at the first line"


def test_a_json_reply_holds_its_reasons_whatever_they_say() -> None:
    family = json_family()
    gold = Gold(scores=(8, 7), reasons='He said "no".\n{"first": 1}')
    learned = target(shown(a_sample(2, gold)), family)
    assert [(piece.text, piece.part) for piece in learned if piece.part != "other"] == [
        ('"He said \\"no\\".\\n{\\"first\\": 1}"', "reasons"), ("8", "verdict"), ("7", "verdict"),
    ]  # fmt: skip
    assert read(family, "".join(piece.text for piece in learned), 2).scores == (8, 7)


def test_reasons_beside_which_the_verdict_would_be_misread_are_left_out_and_told() -> None:
    gold = Gold(preference="first", reasons="The reply </think> was odd.")
    learned = written_target(shown(a_sample(2, gold)), load_family("judgelm-reasons-first"))
    verdict = read(load_family("judgelm-reasons-first"), learned.text, 2)
    assert verdict.preference == "first"
    quoted = Gold(preference="first", reasons="<think>")
    learned = written_target(shown(a_sample(2, quoted)), load_family("mt-bench-pair"))
    assert learned.reasons_left_out
    assert learned.text == "[[A]]"


def test_a_preference_alone_becomes_fixed_scores_and_stays_the_same() -> None:
    for preference in ("first", "second", "tie"):
        (verdict,) = pieces("judgelm", Gold(preference=preference))
        found = read(load_family("judgelm"), verdict[0], 2)
        assert found.preference == preference


def test_scores_that_gainsay_the_stated_preference_are_not_learned() -> None:
    (verdict,) = pieces("judgelm", Gold(preference="second", scores=(9, 2)))
    assert read(load_family("judgelm"), verdict[0], 2).preference == "second"
    (verdict,) = pieces("judgelm", Gold(preference="first", scores=(9, 2)))
    assert verdict[0] == "9 2"


def test_a_label_without_what_the_family_says_is_named() -> None:
    tie = shown(a_sample(2, Gold(preference="tie")))
    with pytest.raises(FamilyError, match=r"a tie, and family 'ab-token' knows only one of A"):
        target(tie, load_family("ab-token"))
    with pytest.raises(FamilyError, match="has no scores from 1 to 10, which family 'single'"):
        target(tie, load_family("single"))


def test_reasons_about_a_pair_are_not_taught_of_one_answer() -> None:
    pair = shown(a_sample(2, Gold(scores=(8, 7), reasons="The first answer is better.")))
    single = load_family("single")
    assert [piece.text for piece in target(pair, single, place=1)] == ["7"]
    one = shown(a_sample(1, Gold(scores=(8,), reasons="Well said.")))
    assert [piece.text for piece in target(one, single)] == ["8", "\n", "Well said."]


@given(
    scores=st.lists(st.integers(10, 100).map(lambda n: n / 10), min_size=2, max_size=2),
    gap=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_whole_scores_keep_the_outcome_and_stay_near(scores: list[float], gap: float) -> None:
    whole = whole_scores(scores, low=1, high=10, tie_gap=gap)
    assert preference_of(*whole, tie_gap=gap) == preference_of(*scores, tie_gap=gap)
    assert all(score == int(score) and 1 <= score <= 10 for score in whole)
    assert all(abs(a - b) <= 1.5 + gap for a, b in zip(whole, scores, strict=True))


def test_several_scores_keep_the_decimals_that_their_ranking_needs() -> None:
    assert whole_scores((8.5, 3.2, 5.0), low=1, high=10) == (8, 3, 5)
    assert whole_scores((8.4, 8.2, 5.0), low=1, high=10) == (8.4, 8.2, 5.0)


@given(st.sampled_from(["first", "second", "tie", (8.0, 7.0), (5.0, 5.0), (1, 2), (1, 2, 3)]))
def test_a_mirrored_verdict_mirrored_is_itself(value: Any) -> None:
    other = mirrored(value)
    assert other is None or (other != value and mirrored(other) == value)
