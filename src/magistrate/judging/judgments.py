"""Completions of one reading become its judgment, in the sample's own answer order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from magistrate.judging.asking import Asked
from magistrate.judging.judge import Judge
from magistrate.judging.orders import (
    preference_in_own_order,
    probabilities_in_own_order,
    to_own_order,
)
from magistrate.judging.window import TOO_LONG
from magistrate.messages import Completion
from magistrate.prompts.base import Verdict
from magistrate.records import Judgment


def judgment_of(judge: Judge, asked: Asked) -> Judgment:
    """Read the completions of an answered reading.

    Usage, cost and time are those of all its requests, of replies that were asked for once more
    too.
    """
    reading, order = asked.reading, asked.reading.order
    completions = [known for known in asked.completions if known is not None]
    verdict = _verdict(judge, asked, completions)
    cuts = _cuts(asked, completions)
    texts = [known.text for known in completions if known.text]
    return Judgment(
        key=reading.key,
        sample_id=reading.sample.text_id,
        judge=judge.spec.name,
        order=order,
        repeat=reading.repeat,
        status=verdict.status,
        preference=preference_in_own_order(verdict.preference, order)
        if verdict.preference
        else None,
        scores=to_own_order(verdict.scores, order) if verdict.scores else None,
        ranking=to_own_order(verdict.ranking, order) if verdict.ranking else None,
        probabilities=probabilities_in_own_order(verdict.probabilities, order)
        if verdict.probabilities
        else None,
        approximate=verdict.approximate,
        mass=verdict.mass,
        entropy=verdict.entropy,
        verdict_logprob=verdict.verdict_logprob,
        reasons=verdict.reasons,
        raw="\n\n".join(texts) if texts else None,
        error=verdict.error,
        finish_reason=completions[-1].finish_reason,
        truncated_tokens=_cut_from_answers(cuts, order, alone=judge.family.reads_alone),
        truncated_question_tokens=max(map(_cut_from_the_rest, cuts), default=0),
        usage=sum((known.usage for known in completions), asked.usage_before),
        cost=sum((known.cost for known in completions), asked.cost_before),
        seconds=sum((known.seconds for known in completions), asked.seconds_before),
    )


def was_cut_short(judgment: Judgment) -> bool:
    """Whether a reply ended before its verdict; not that its prompt was too long."""
    return judgment.status == "truncated" and not (judgment.error or "").startswith(TOO_LONG)


def _verdict(judge: Judge, asked: Asked, completions: Sequence[Completion]) -> Verdict:
    failed = next((known for known in completions if known.error is not None), None)
    if failed is not None and failed.error is not None:
        # A server may find a prompt too long that was thought to fit.
        is_too_long = failed.error.startswith(TOO_LONG)
        return Verdict(status="truncated" if is_too_long else "error", error=failed.error)
    return judge.family.read(completions, asked.reading.sample, asked.reading.order)


def _cuts(asked: Asked, completions: Sequence[Completion]) -> list[Mapping[str, int]]:
    """Return what was cut from each prompt: here, and by an engine that had to cut more."""
    return [
        {
            slot: cut.get(slot, 0) + known.truncated.get(slot, 0)
            for slot in cut.keys() | known.truncated.keys()
        }
        for cut, known in zip(asked.cuts, completions, strict=True)
    ]


def _cut_from_answers(
    cuts: Sequence[Mapping[str, int]], order: tuple[int, ...], *, alone: bool
) -> tuple[int, ...]:
    """Return the tokens cut from each answer in own order; empty when nothing was cut."""
    if alone:
        shown = [cut.get("answer", 0) for cut in cuts]
    else:
        shown = [cuts[0].get(f"answer_{place + 1}", 0) for place in range(len(order))]
    return to_own_order(shown, order) if any(shown) else ()


def _cut_from_the_rest(cut: Mapping[str, int]) -> int:
    """Return the tokens cut from the question and from what stands with it."""
    return sum(
        tokens
        for slot, tokens in cut.items()
        if slot != "answer" and not slot.startswith("answer_")
    )
