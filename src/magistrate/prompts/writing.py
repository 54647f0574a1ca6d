r"""The reply that a gold label would make: what demonstrations show a judge. The parser's mirror.

>>> section = ScoresSection(place="last", low=1, high=10, frames=("Rating: [[{verdict}]]",))
>>> write_verdict(section, (8.0,), lead="")
'Rating: [[8]]'
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypeAlias, cast

from magistrate.prompts.outcome import preference_of, ranking_of
from magistrate.prompts.rules import VERDICT, Value
from magistrate.prompts.verdict_section import (
    ChoiceSection,
    JsonSection,
    RankingSection,
    ScoresSection,
    VerdictSection,
)
from magistrate.records import Gold, Preference, Sample

_BETTER, _EVEN, _WORSE = 0.8, 0.6, 0.4
"""Where on the scale, from 0 to 1, stand the scores of a pair of which only the better is known."""

# Unicode noncharacters, which no text holds: they stand for what a JSON object will hold.
_VERDICT_MARK, _REASONS_MARK = "\ufdd0", "\ufdd1"
_MARKED = re.compile(f'"({_VERDICT_MARK}[0-9]+|{_REASONS_MARK})"')

PartName: TypeAlias = Literal["verdict", "reasons", "other"]
"""What a piece of a reply is: the verdict itself, the reasons, or what stands around them."""


@dataclass(frozen=True, slots=True)
class ReplyPiece:
    """A piece of a judge's reply, as it is written."""

    text: str
    part: PartName


def gold_value(section: VerdictSection, sample: Sample, count: int) -> Value | None:
    """Return what the gold labels of a sample say in a family's terms; None where they do not.

    Args:
        section: The family's verdict.
        sample: A labelled sample.
        count: How many answers a prompt shows: all of the sample's, or one.
    """
    kind = section.inner if isinstance(section, JsonSection) else section
    if isinstance(kind, ScoresSection):
        return _gold_scores(kind, sample, count)
    if isinstance(kind, ChoiceSection):
        preference = preference_of_gold(sample)
        known = any(meaning == preference for _, meaning in kind.labels.by_label)
        return preference if known else None
    return _gold_ranks(sample)


def value_of_scores(section: VerdictSection, scores: Sequence[float], *, coin: bool) -> Value:
    """Return what a judge says in a family's terms that would score the shown answers so.

    Args:
        section: The family's verdict.
        scores: On a scale from 1 to 10; they are carried over to the family's own.
        coin: Whether the first answer is the better one where scores are even and the family knows
            no tie.

    >>> value_of_scores(ScoresSection(place="last", low=1, high=5), (8, 5), coin=True)
    (4.0, 3.0)
    """
    kind = section.inner if isinstance(section, JsonSection) else section
    if isinstance(kind, ScoresSection):
        step = (kind.high - kind.low) / 9
        carried = [kind.low + (score - 1) * step for score in scores]
        whole = kind.low == int(kind.low) and kind.high == int(kind.high)
        return tuple(float(round(score)) if whole else score for score in carried)
    if isinstance(kind, ChoiceSection):
        preference = preference_of(*scores)
        if preference == "tie" and not kind.labels.tie:
            return "first" if coin else "second"
        return preference
    return ranking_of(scores)


def preference_of_gold(sample: Sample) -> Preference | None:
    """Return the preference that more than half of the annotators share.

    An annotator who gave scores, or ranks, prefers the better of the two.

    >>> from magistrate.records import Answer
    >>> gold = (Gold(preference="tie"), Gold(scores=(8, 9)), Gold(ranking=(2, 1)))
    >>> preference_of_gold(Sample(question="", answers=(Answer(text="a"),) * 2, gold=gold))
    'second'
    """
    given = [preference for gold in sample.gold if (preference := _preference(gold))]
    for preference in set(given):
        if 2 * given.count(preference) > len(given):
            return preference
    return None


def write_verdict(section: VerdictSection, value: Value, *, lead: str, reasons: str = "") -> str:
    """Return a verdict as the family's judge should write it.

    Args:
        section: The family's verdict.
        value: Scores, an outcome or ranks, as :func:`gold_value` returns them.
        lead: What the family's replies say before a verdict that nothing frames (``Grades:``).
        reasons: Only a JSON object holds them; elsewhere they stand beside the verdict.
    """
    return "".join(p.text for p in verdict_pieces(section, value, lead=lead, reasons=reasons))


def verdict_pieces(
    section: VerdictSection, value: Value, *, lead: str, reasons: str = ""
) -> tuple[ReplyPiece, ...]:
    """Return what :func:`write_verdict` writes, in pieces that say what they are.

    >>> section = ScoresSection(place="last", low=1, high=10, frames=("Rating: [[{verdict}]]",))
    >>> [(piece.text, piece.part) for piece in verdict_pieces(section, (8.0,), lead="")]
    [('Rating: [[', 'other'), ('8', 'verdict'), (']]', 'other')]
    """
    if isinstance(section, JsonSection):
        return _json(section, value, reasons)
    text = _text(section, value)
    before, _, after = section.frames[0].partition(VERDICT)
    if lead and isinstance(section, RankingSection) and text.startswith(lead.strip()):
        before = after = ""  # the start of a list is its own first bracket
    elif lead and lead.rstrip().endswith(before.rstrip()):
        before = lead if lead[-1] in " ([{" else lead + " "
    pieces = (
        ReplyPiece(before, "other"),
        ReplyPiece(text, "verdict"),
        ReplyPiece(after, "other"),
    )
    return tuple(piece for piece in pieces if piece.text)


def _gold_scores(section: ScoresSection, sample: Sample, count: int) -> tuple[float, ...] | None:
    for gold in sample.gold:
        scores = gold.scores
        if scores and len(scores) >= count and (count == 1 or len(scores) == count):
            shown = scores[:count]
            if all(section.low <= score <= section.high for score in shown):
                return tuple(shown)
    preference = preference_of_gold(sample) if count == 2 else None
    if preference is None:
        return None
    marks = {
        "first": (_BETTER, _WORSE),
        "second": (_WORSE, _BETTER),
        "tie": (_EVEN, _EVEN),
    }[preference]
    whole = section.low == int(section.low) and section.high == int(section.high)
    scores = tuple(section.low + mark * (section.high - section.low) for mark in marks)
    return tuple(float(round(score)) for score in scores) if whole else scores


def _gold_ranks(sample: Sample) -> tuple[int, ...] | None:
    for gold in sample.gold:
        if gold.ranking and len(gold.ranking) == len(sample.answers):
            return gold.ranking
        if gold.scores and len(gold.scores) == len(sample.answers):
            return ranking_of(gold.scores)
    preference = preference_of_gold(sample)
    if preference is None:
        return None
    return {"first": (1, 2), "second": (2, 1), "tie": (1, 1)}[preference]


def _preference(gold: Gold) -> Preference | None:
    if gold.preference is not None:
        return gold.preference
    if gold.scores is not None and len(gold.scores) == 2:
        return preference_of(*gold.scores)
    if gold.ranking is not None and len(gold.ranking) == 2:
        return preference_of(-gold.ranking[0], -gold.ranking[1])
    return None


def _text(section: VerdictSection, value: Value) -> str:
    if isinstance(section, ScoresSection):
        return " ".join(f"{score:g}" for score in cast(tuple[float, ...], value))
    if isinstance(section, ChoiceSection):
        return next(label for label, meaning in section.labels.by_label if meaning == value)
    return _ranking(cast(RankingSection, section), cast(tuple[int, ...], value))


def _ranking(section: RankingSection, ranks: Sequence[int]) -> str:
    names = section.names_of(len(ranks))
    best_first = sorted(range(len(ranks)), key=lambda place: ranks[place])
    if section.written == "list":
        return json.dumps([{"model": names[k], "rank": ranks[k]} for k in best_first])
    signs = [" = " if ranks[k] == ranks[m] else " > " for k, m in pairwise(best_first)]
    return names[best_first[0]] + "".join(
        sign + names[k] for sign, k in zip(signs, best_first[1:], strict=True)
    )


def _json(section: JsonSection, value: Value, reasons: str) -> tuple[ReplyPiece, ...]:
    held = section.inner
    made: dict[str, Any] = {}
    verdicts: list[Any] = []
    if section.reasons and reasons:
        _put(made, section.reasons, _REASONS_MARK)
    if isinstance(held, ScoresSection):
        scores = [int(s) if s == int(s) else s for s in cast(tuple[float, ...], value)]
        if len(section.keys) == 1:
            verdicts = [scores if len(scores) > 1 else scores[0]]
        else:
            verdicts = [score for _, score in zip(section.keys, scores, strict=False)]
    else:
        verdicts = [_text(held, value)]
    for place, key in enumerate(section.keys[: len(verdicts)]):
        _put(made, key, f"{_VERDICT_MARK}{place}")
    pieces: list[ReplyPiece] = []
    for place, text in enumerate(_MARKED.split(json.dumps(made, ensure_ascii=False))):
        if not place % 2:
            pieces.append(ReplyPiece(text, "other"))
        elif text == _REASONS_MARK:
            pieces.append(ReplyPiece(json.dumps(reasons, ensure_ascii=False), "reasons"))
        else:
            verdict = verdicts[int(text[1:])]
            pieces.append(ReplyPiece(json.dumps(verdict, ensure_ascii=False), "verdict"))
    return tuple(piece for piece in pieces if piece.text)


def _put(made: dict[str, Any], key: str, value: Any) -> None:
    *above, last = key.split(".")
    for name in above:
        made = made.setdefault(name, {})
    made[last] = value
