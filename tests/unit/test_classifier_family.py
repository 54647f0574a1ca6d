"""The family of classifying heads, constants of verdicts, tables in cards; all without torch."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from magistrate.errors import FamilyError
from magistrate.messages import Completion
from magistrate.prompts.classifier import ClassifierFamily
from magistrate.prompts.outcome import tie_band_probabilities
from magistrate.records import Answer, Preference, Sample
from magistrate.report.judge_card import put_measured, table_of_training
from magistrate.train.fitting_verdicts import fit_temperature, fit_tie_band

TEMPLATE = (
    "Q: {{ question }}\n{% if reference %}R: {{ reference }}\n{% endif %}"
    "1: {{ answer_1 }}\n2: {{ answer_2 }}"
)
SAMPLE = Sample(question="Why?", answers=(Answer(text="one"), Answer(text="{{ two }}")))


def family(verdict: dict[str, Any] | None = None, **changes: Any) -> ClassifierFamily:
    section = {"kind": "classifier", "template": TEMPLATE, **changes}
    return ClassifierFamily.from_sections("mine", section, verdict or {})


def read(found: tuple[float, ...], **verdict: Any) -> Any:
    return family(verdict).read([Completion("a", choices=found)], SAMPLE, (0, 1))


def test_the_prompt_shows_both_answers_in_the_order_shown() -> None:
    ((message,),) = family().prompts(SAMPLE, (1, 0))
    assert message.text == "Q: Why?\n1: {{ two }}\n2: one"
    assert [part.slot for part in message.parts if part.slot] == [
        "question",
        "answer_1",
        "answer_2",
    ]


def test_log_probabilities_become_a_verdict() -> None:
    verdict = read((math.log(0.2), math.log(0.5), math.log(0.3)))
    assert verdict.preference == "second"
    assert verdict.probabilities.tie == pytest.approx(0.3)
    assert read(
        (math.log(0.2), math.log(0.5), math.log(0.3)), temperature=100
    ).probabilities.first == (pytest.approx(1 / 3, abs=0.01))


@pytest.mark.parametrize("found", [(), (0.0, 0.0), (math.nan,) * 3, (-math.inf,) * 3])
def test_what_is_no_distribution_is_an_error(found: tuple[float, ...]) -> None:
    verdict = read(found)
    assert verdict.status == "error"
    assert "no_probabilities" in verdict.error


def test_an_engine_error_stays_one() -> None:
    done = Completion("a", error="out of memory", finish_reason="error")
    assert family().read([done], SAMPLE, (0, 1)).error == "out of memory"


def test_a_head_without_ties() -> None:
    two = family(labels=["second", "first"])
    verdict = two.read([Completion("a", choices=(math.log(0.7), math.log(0.3)))], SAMPLE, (0, 1))
    assert verdict.preference == "second"
    assert verdict.probabilities is not None
    assert verdict.probabilities.tie == 0


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"labels": ["first", "tie"]}, "must be first, second and perhaps tie"),
        ({"template": "{{ question }} {{ answer_1 }}"}, "never shows {{ answer_2 }}"),
        ({"kind": "scorer"}, "kind"),
        ({"templat": "x"}, "templat"),
    ],
)
def test_wrong_sections(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(FamilyError) as caught:
        family(**changes)
    assert says in str(caught.value)


def test_another_temperature_is_another_judge() -> None:
    assert family().prompt_hash == family().prompt_hash
    assert family().prompt_hash != family({"temperature": 2.0}).prompt_hash


def test_temperature_and_tie_band_are_found_again() -> None:
    draw = random.Random(1)
    pairs: list[tuple[float, Preference]] = []
    for _ in range(4000):
        difference = draw.gauss(0, 3)
        shares = tie_band_probabilities(difference, temperature=2.0, tie_band=1.5)
        names: list[Preference] = ["first", "tie", "second"]
        weights = [shares.first, shares.tie, shares.second]
        pairs.append((difference, draw.choices(names, weights)[0]))
    fitted = fit_tie_band(pairs)
    assert fitted["temperature"] == pytest.approx(2.0, rel=0.15)
    assert fitted["tie_band"] == pytest.approx(1.5, rel=0.15)
    decisive = [pair for pair in pairs if pair[1] != "tie"]
    assert fit_tie_band(decisive)["tie_band"] == 0.0


def test_the_temperature_of_classes_is_found_again() -> None:
    draw = random.Random(2)
    readings: list[tuple[tuple[float, float, float], Preference]] = []
    for _ in range(4000):
        logits = [draw.gauss(0, 2) for _ in range(3)]
        names: list[Preference] = ["first", "tie", "second"]
        label = draw.choices(names, [math.exp(value / 2.5) for value in logits])[0]
        whole = sum(math.exp(value) for value in logits)
        first, tie, second = (math.exp(value) / whole for value in logits)
        readings.append(((first, tie, second), label))
    assert fit_temperature(readings) == pytest.approx(2.5, rel=0.1)


def test_tables_in_cards_are_added_and_replaced() -> None:
    card = "# mine\n\nWords.\n\n## Measured\n\n### dev\n\nold\n\n## Data\n\nmore\n"
    card = put_measured(card, "test.jsonl", ["| a |"])
    card = put_measured(card, "dev", ["new"])
    assert card == (
        "# mine\n\nWords.\n\n## Measured\n\n### test.jsonl\n\n| a |\n\n### dev\n\nnew\n\n"
        "## Data\n\nmore\n"
    )
    assert put_measured(card, "dev", ["new"]) == card


def test_the_table_of_a_training_has_intervals() -> None:
    row = {"agreement": 0.7, "agreement_low": 0.6, "agreement_high": 0.8, "pairs": 90, "not_ok": 0}
    table = "\n".join(table_of_training(row))
    assert "| 70.0 | 60.0 to 80.0 |" in table
    assert "pairs 90, not ok 0" in table
    assert table_of_training({}) == []
