"""What a judge learns to reply: the label of an example in the words of a family.

A reply is written as pieces, so that it is known which tokens are the verdict and which are
reasons. What is written is read back by the family's own parser; reasons that would make it read
another verdict (a reply that quotes ``[[B]]`` on its last line) are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from magistrate.errors import FamilyError
from magistrate.messages import Completion
from magistrate.metrics.gold import annotator_vote
from magistrate.prompts.outcome import preference_of, ranking_of
from magistrate.prompts.rules import Value
from magistrate.prompts.text_family import TextFamily
from magistrate.prompts.verdict_section import JsonSection, ScoresSection
from magistrate.prompts.writing import PartName, ReplyPiece, gold_value
from magistrate.records import Gold, Preference, Sample
from magistrate.train.examples import Example

__all__ = ["PartName", "ReplyPiece", "Target", "check_trainable", "readings_of", "target"]

_DECIMALS = 2
"""Scores that whole numbers would make equal are written with at most so many decimals."""


@dataclass(frozen=True, slots=True)
class Target:
    """The reply to one prompt.

    Attributes:
        pieces: The reply behind the fixed start that the prompt holds, without an end sign.
        shown: What the prompt shows, with the label in the order shown.
        value: What the reply says: scores, an outcome or ranks.
        reasons: The reasons in it, as they were before a JSON object took them up.
        reasons_left_out: Whether the label's reasons are left out, since the family's parser would
            not read the verdict beside them.
    """

    pieces: tuple[ReplyPiece, ...]
    shown: Sample
    value: Value
    reasons: str = ""
    reasons_left_out: bool = False

    @property
    def text(self) -> str:
        """The whole reply."""
        return "".join(piece.text for piece in self.pieces)


def check_trainable(family: TextFamily) -> None:
    """Check that a judge of the family can be trained here.

    Raises:
        FamilyError: It cannot; the message says why.
    """
    if family.shows_images:
        raise FamilyError(
            f"family '{family.name}' shows images, and training here reads text alone; choose a "
            f"family without images, such as 'pair'"
        )


def readings_of(family: TextFamily, sample: Sample) -> int:
    """Return how many prompts, each with its own reply, a sample makes: one, or one per answer."""
    return len(sample.answers) if family.reads_alone else 1


def target(example: Example, family: TextFamily, *, place: int = 0) -> tuple[ReplyPiece, ...]:
    """Return the reply that a judge of the family should give to an example.

    Args:
        example: Answers and label in the order shown.
        family: In the mode that is trained: in score mode there are no reasons.
        place: Of a family that reads each answer alone: which shown answer, from 0.

    Raises:
        FamilyError: The label says nothing in the family's terms, or the family cannot read what
            it would write.
    """
    return written_target(example, family, place=place).pieces


def written_target(example: Example, family: TextFamily, *, place: int = 0) -> Target:
    """Return :func:`target` with what it says, and whether reasons had to be left out.

    Raises:
        FamilyError: See :func:`target`.
    """
    shown = shown_alone(example, place) if family.reads_alone else example.sample
    value = label_value(family, shown)
    given = next((gold.reasons for gold in shown.gold if gold.reasons), "")
    reasons = family.cleaned(given) if gives_reasons(family) else ""
    for said in dict.fromkeys((reasons, "")):
        found = Target(family.reply_pieces(value, said), shown, value, said, said != reasons)
        if reads_back(family, found):
            return found
    raise FamilyError(
        f"family '{family.name}' would reply {found.text!r} and cannot read that back; such a "
        f"verdict cannot be learned"
    )


def gives_reasons(family: TextFamily) -> bool:
    """Whether replies of the family have reasons: not in score mode, nor after a stop at a line."""
    stops_first = family.file.verdict.place == "first" and "\n" in family.sampling.stop
    return family.mode == "reason" and not stops_first


def label_value(family: TextFamily, shown: Sample) -> Value:
    """Return what a label says in the family's terms.

    Scores on the family's scale are taken as they are, as whole numbers where its scale has whole
    ends (:func:`whole_scores`). Of a pair whose label has no scores, or scores that say another
    outcome than its stated preference, only the better is known: fixed scores stand for that.

    Raises:
        FamilyError: The label says nothing in these terms.
    """
    section = family.file.verdict
    kind = section.inner if isinstance(section, JsonSection) else section
    (gold,) = shown.gold
    only_soft = gold.preference is None and gold.scores is None and gold.ranking is None
    if only_soft or annotator_vote(gold) != annotator_vote(_scores_of(gold)):
        shown = shown.model_copy(update={"gold": (_plain_preference(gold),)})
    value = gold_value(section, shown, len(shown.answers))
    if value is None:
        # Without the sample's name: reasons are counted.
        if annotator_vote(gold) == "tie":
            raise FamilyError(
                f"the label is a tie, and family '{family.name}' knows only {section.words}; take "
                f"a family that knows ties, or leave ties out"
            )
        raise FamilyError(
            f"the label has no {section.words}, which family '{family.name}' learns; take another "
            f"family, or labels that say this"
        )
    if isinstance(kind, ScoresSection) and kind.low == int(kind.low):
        scores = cast(tuple[float, ...], value)
        return whole_scores(scores, low=kind.low, high=kind.high, tie_gap=kind.tie_gap)
    return value


def whole_scores(
    scores: Sequence[float], *, low: float, high: float, tie_gap: float = 0.0
) -> tuple[float, ...]:
    """Return scores as whole numbers that say the same outcome.

    Where rounding would make a tie of two answers, the better one gets a point more, or at the
    upper end of the scale the worse one a point less. Three answers and more keep as many decimals
    (at most two) as their ranking needs.

    >>> whole_scores((8.5, 8.0), low=1, high=10), whole_scores((9.6, 10.0), low=1, high=10)
    ((9.0, 8.0), (9.0, 10.0))
    """
    rounded = tuple(float(round(score)) for score in scores)
    if len(scores) == 2:
        outcome = preference_of(*scores, tie_gap=tie_gap)
        if preference_of(*rounded, tie_gap=tie_gap) == outcome:
            return rounded
        return _with_outcome(rounded, outcome, low=low, high=high, tie_gap=tie_gap)
    for decimals in range(_DECIMALS + 1):
        rounded = tuple(round(float(score), decimals) for score in scores)
        if ranking_of(rounded, tie_gap=tie_gap) == ranking_of(scores, tie_gap=tie_gap):
            break
    return rounded


def reads_back(family: TextFamily, target: Target) -> bool:
    """Whether the family's own parser reads a written reply as it was meant."""
    shown, value = target.shown, target.value
    verdict = family.read(
        (Completion(key="", text=target.text),), shown, tuple(range(len(shown.answers)))
    )
    if verdict.status != "ok":
        return False
    if isinstance(value, str):
        return verdict.preference == value
    section = family.file.verdict
    kind = section.inner if isinstance(section, JsonSection) else section
    if isinstance(kind, ScoresSection):
        return verdict.scores == value
    if len(value) == 2:
        return verdict.preference == preference_of(-value[0], -value[1])
    return verdict.ranking == value


def shown_alone(example: Example, place: int) -> Sample:
    """Return a sample with one of the shown answers alone, and what its label says of that one.

    Reasons that speak of several answers are not about one of them, and are left out.
    """
    sample, gold = example.sample, example.gold
    if len(sample.answers) == 1:
        return sample
    changes = {
        "scores": None if gold.scores is None else (gold.scores[place],),
        "preference": None,
        "probability_second": None,
        "ranking": None,
        "reasons": None,
    }
    return sample.model_copy(
        update={
            "answers": (sample.answers[place],),
            "gold": (gold.model_copy(update=changes),),
        }
    )


def _scores_of(gold: Gold) -> Gold:
    """Return what a label's scores say by themselves, or its ranking where there are none."""
    if gold.scores is None:
        return gold
    return gold.model_copy(update={"preference": None, "probability_second": None})


def _plain_preference(gold: Gold) -> Gold:
    return gold.model_copy(update={"preference": annotator_vote(gold), "scores": None})


def _with_outcome(
    scores: tuple[float, ...], outcome: Preference, *, low: float, high: float, tie_gap: float
) -> tuple[float, ...]:
    """Return whole scores near the given ones that say an outcome."""
    first, second = scores
    if outcome == "tie":
        return first, first
    better, worse = (first, second) if outcome == "first" else (second, first)
    while better - worse <= tie_gap:
        if better < high:
            better += 1
        elif worse > low:
            worse -= 1
        else:
            break
    return (better, worse) if outcome == "first" else (worse, better)
