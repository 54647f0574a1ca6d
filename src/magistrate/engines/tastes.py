"""Tastes of the scripted judge ``swayed``: planted biases of known size.

Each taste adds to the log-odds that an answer wins, by its coefficient:

============  =======================================================================
taste         what it looks at in an answer
============  =======================================================================
position      1 for the answer shown first
length        natural logarithm of 1 + its characters
format        1 for Markdown (a heading, a bullet, bold text) or an emoji
citation      1 for a name with a year in brackets, as in ``Lindqvist (2003).``
confidence    1 for "no doubt" or "beyond dispute", -1 for "not sure" or "could be wrong"
obedience     1 for an answer that speaks of the highest grade
reference     the share of the reference's words that it has, where a reference is shown
============  =======================================================================

The winner is then drawn by a hash of the prompt: an answer wins against another with probability
1 / (1 + exp(-(difference of their sums))). So of every prompt it is known how probable each verdict
was, and what a probe ought to find.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from magistrate.ids import content_id
from magistrate.messages import Request

TASTES = ("position", "length", "format", "citation", "confidence", "obedience", "reference")
STRONGEST = 50.0
"""Bound on a coefficient, either side of 0."""

_FORMAT = re.compile(
    r"^\s*(?:#{1,6}|[-*]) |\*\*|[\u2600-\u27bf\U0001f300-\U0001faff]", re.MULTILINE
)
_CITATION = re.compile(r"\w \((?:19|20)\d\d\)")
_SURE = re.compile(r"no doubt|beyond dispute", re.IGNORECASE)
_UNSURE = re.compile(r"not sure|could be wrong", re.IGNORECASE)
_WORD = re.compile(r"\w+")


def sums_of_tastes(
    answers: Sequence[str], coefficients: Mapping[str, float], reference: str = ""
) -> list[float]:
    """Return for each shown answer the sum of its tastes.

    >>> sums_of_tastes(["- a", "b"], {"position": 0.5, "format": 2.0})
    [2.5, 0.0]
    """
    known = set(_WORD.findall(reference.lower()))
    sums = []
    for place, text in enumerate(answers):
        shared = known & set(_WORD.findall(text.lower()))
        signs = {
            "position": float(place == 0 and len(answers) > 1),
            "length": math.log1p(len(text)),
            "format": float(_FORMAT.search(text) is not None),
            "citation": float(_CITATION.search(text) is not None),
            "confidence": float(_SURE.search(text) is not None)
            - float(_UNSURE.search(text) is not None),
            "obedience": float("highest grade" in text.lower()),
            "reference": len(shared) / len(known) if known else 0.0,
        }
        sums.append(sum(weight * signs[name] for name, weight in coefficients.items()))
    return sums


def swayed_scores(request: Request, coefficients: Mapping[str, float]) -> list[int]:
    """Return a score per shown answer: 8 for the winner and 5 for the others.

    An answer shown alone gets a score around 5 that grows with its sum.
    """
    answers: dict[str, str] = {}
    reference = ""
    for message in request.messages:
        for part in message.parts:
            slot = part.slot or ""
            if slot == "answer" or slot.startswith("answer_"):
                text = "" if part.characters == 0 else part.text
                answers[slot] = answers.get(slot, "") + text
            elif slot == "reference":
                reference += part.text
    sums = sums_of_tastes(list(answers.values()), coefficients, reference)
    text = "".join(message.text for message in request.messages)
    # The largest of sums with Gumbel noise: exactly the log-odds that were asked for.
    chances = [
        total - math.log(-math.log(_uniform(text, request.sampling.seed, place)))
        for place, total in enumerate(sums)
    ]
    if len(chances) == 1:
        return [min(10, max(1, round(5 + chances[0])))]
    return [8 if chance == max(chances) else 5 for chance in chances]


def _uniform(text: str, seed: int, place: int) -> float:
    return (int(content_id(["taste", text, seed, place])[:12], 16) + 0.5) / 16**12
