"""Demonstrations: labelled samples that a judge sees solved before its own.

:func:`draw_demonstrations` chooses them; ``load_family(..., demonstrations=...)`` shows them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from magistrate.errors import InputError
from magistrate.ids import content_id
from magistrate.messages import Message
from magistrate.prompts.writing import preference_of_gold
from magistrate.records import Sample

_FEW_SCORES = 5
"""With more different scores than so many, single answers are drawn by thirds of the scores."""


def draw_demonstrations(
    samples: Iterable[Sample],
    *,
    per_outcome: int,
    seed: int = 0,
    judged: Iterable[Sample] = (),
) -> tuple[Sample, ...]:
    """Draw labelled samples, equally many of each outcome, in a mixed sequence.

    Outcomes are, for a pair: first, second, tie; for more answers: which is best, or tie; for one
    answer: its score, or where there are many, a low, middle or high one. The draw depends on the
    samples' texts and the seed alone, not on the sequence of the file. Samples without a gold label
    that says an outcome are passed over.

    Args:
        samples: Labelled samples, all with equally many answers.
        per_outcome: How many of each outcome that occurs.
        seed: Another seed draws others.
        judged: What is judged. None of these is ever drawn, whatever stands beside its question
            and answers (a reference, say), and in whatever sequence its answers stand.

    Raises:
        InputError: No sample says an outcome, or one outcome has fewer than ``per_outcome``.
    """
    if per_outcome < 1:
        return ()
    found: dict[str, dict[str, Sample]] = defaultdict(dict)
    taken = {content_of(sample) for sample in judged}
    labelled = {s.text_id: s for s in samples if s.gold and content_of(s) not in taken}
    for sample, outcome in _outcomes(list(labelled.values())):
        found[outcome][sample.text_id] = sample
    if not found:
        raise InputError(
            "no sample to demonstrate with: a labelled file is needed whose samples have a gold "
            "preference, scores or a ranking and are not the ones to judge"
        )
    drawn: list[str] = []
    for outcome, by_id in sorted(found.items()):
        if len(by_id) < per_outcome:
            counts = ", ".join(f"{name} {len(ids)}" for name, ids in sorted(found.items()))
            raise InputError(
                f"{per_outcome} demonstrations of each outcome are asked for, and there are "
                f"{len(by_id)} of '{outcome}' (found: {counts}); ask for fewer, or add samples"
            )
        drawn += sorted(by_id, key=lambda text_id: content_id(["draw", seed, text_id]))[
            :per_outcome
        ]
    drawn.sort(key=lambda text_id: content_id(["order", seed, text_id]))
    return tuple(labelled[text_id] for text_id in drawn)


def renamed(messages: Iterable[Message], number: int) -> tuple[Message, ...]:
    """Return messages whose slots tell that their data belong to a demonstration.

    >>> from magistrate.messages import Part
    >>> renamed([Message("user", (Part("Hi", "question"),))], 1)[0].parts[0].slot
    'demo_1_question'
    """
    return tuple(
        Message(
            message.role,
            tuple(
                part if part.slot is None else replace(part, slot=f"demo_{number}_{part.slot}")
                for part in message.parts
            ),
            message.images,
        )
        for message in messages
    )


def content_of(sample: Sample) -> str:
    """Return the hash of question and answers, in whatever sequence the answers stand."""
    question = sample.question
    if not isinstance(question, str):
        question = "\0".join(f"{turn.role}\0{turn.text}" for turn in question)
    answers = sorted(
        "\0".join([turn.text for turn in answer.turns] or [answer.text])
        for answer in sample.answers
    )
    return content_id([question, answers])


def _outcomes(samples: Sequence[Sample]) -> list[tuple[Sample, str]]:
    """Return the samples that say an outcome, with it."""
    scores = {s.text_id: score for s in samples if (score := _single_score(s)) is not None}
    values = sorted(set(scores.values()))
    outcomes: list[tuple[Sample, str]] = []
    for sample in samples:
        outcome: str | None
        if sample.text_id in scores:
            outcome = _score_class(scores[sample.text_id], values)
        elif len(sample.answers) == 2:
            outcome = preference_of_gold(sample)
        else:
            outcome = _best_of(sample)
        if outcome is not None:
            outcomes.append((sample, outcome))
    return outcomes


def _single_score(sample: Sample) -> float | None:
    if len(sample.answers) != 1:
        return None
    return next((gold.scores[0] for gold in sample.gold if gold.scores), None)


def _score_class(score: float, values: Sequence[float]) -> str:
    if len(values) <= _FEW_SCORES:
        return f"{score:g}"
    third = (values[-1] - values[0]) / 3
    if score < values[0] + third:
        return "low"
    return "middle" if score < values[-1] - third else "high"


def _best_of(sample: Sample) -> str | None:
    """Return which of several answers is the best: its place from 1, or a tie."""
    for gold in sample.gold:
        ranks: tuple[float, ...] = gold.ranking or tuple(-score for score in gold.scores or ())
        if len(ranks) == len(sample.answers) and len(ranks) > 1:
            best = [place for place, rank in enumerate(ranks, 1) if rank == min(ranks)]
            return f"answer {best[0]}" if len(best) == 1 else "tie"
    return None
