"""Perturbations: what they add, what they leave as it is, and when they do not apply."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magistrate.probes import perturbations as p
from magistrate.records import Answer, Sample, Turn

TEXT = "Canberra is the capital. It was founded in 1913! Why? Two cities had quarrelled."
ALL = (p.padded, p.trimmed, p.as_markdown, p.with_emoji, p.cited, p.confident, p.hedged)


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


@pytest.mark.parametrize("change", ALL)
@given(text=st.text(max_size=300), seed=st.integers(0, 9))
def test_changes_are_pure_and_never_fail(change: p.Perturbation, text: str, seed: int) -> None:
    changed = change(text, seed)
    assert changed == change(text, seed)
    assert changed is None or isinstance(changed, str)


@pytest.mark.parametrize("change", [p.padded, p.cited])
def test_what_is_added_stands_behind_the_answer(change: p.Perturbation) -> None:
    changed = change(TEXT, 0)
    assert changed is not None
    assert changed.startswith(TEXT)


def test_padding_is_long_enough_and_says_the_answer_s_own_sentences() -> None:
    changed = p.padded(TEXT, 3)
    assert changed is not None
    assert len(changed) >= p.PADDED_RATIO * len(TEXT)
    assert any(one in changed[len(TEXT) :] for one in p.sentences(TEXT))


def test_trimming_keeps_a_beginning_and_at_least_a_sentence() -> None:
    changed = p.trimmed(TEXT, 0)
    assert changed == "Canberra is the capital. It was founded in 1913!"
    assert p.trimmed("One sentence alone.", 0) is None


@pytest.mark.parametrize("change", [p.as_markdown, p.with_emoji])
def test_format_leaves_the_words(change: p.Perturbation) -> None:
    changed = change(TEXT, 0)
    assert changed is not None
    assert changed != TEXT
    assert words(changed) == words(TEXT)


def test_what_has_markdown_already_is_left_out() -> None:
    assert p.as_markdown("# Heading\n\n- one\n- two", 0) is None
    assert p.as_markdown("Run this:\n```\nx\n```", 0) is None


def test_citations_name_no_two_equal_sources_and_differ_between_answers() -> None:
    lines = (p.cited(TEXT, 0) or "").splitlines()[-2:]
    assert len(set(lines)) == 2
    assert p.cited(TEXT, 0) != p.cited(TEXT + " ", 0)


def test_an_answer_of_several_turns_is_changed_in_its_last() -> None:
    turns = (Turn(role="assistant", text="a"), Turn(role="user", text="b"))
    answer = Answer(text="It is. So.", turns=(*turns, Turn(role="assistant", text="It is. So.")))
    changed = p.changed_answer(answer, p.trimmed, 0)
    assert changed is not None
    assert [turn.text for turn in changed.turns] == ["a", "b", "It is."]
    assert changed.text == "It is."


def test_a_changed_sample_has_a_content_id_of_its_own() -> None:
    sample = Sample(question="q", answers=(Answer(text="a"), Answer(text="b")))
    before = sample.text_id
    changed = p.with_answer(sample, 1, Answer(text="c"))
    assert changed.text_id != before
    assert changed.text_id == Sample(question="q", answers=changed.answers).text_id


def test_controls_are_about_as_long_as_what_they_control() -> None:
    for change, control in ((p.cited, p.noted), (p.confident, p.opened), (p.hedged, p.opened)):
        changed, neutral = change(TEXT, 1), control(TEXT, 1)
        assert changed is not None
        assert neutral is not None
        assert TEXT in neutral
        assert abs(len(changed) - len(neutral)) <= 45
