"""What a verdict looks like, and what comes of looking for one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from magistrate.records import Preference, Status

VERDICT = "{verdict}"
"""Stands in a frame for the verdict itself."""

ALONE: tuple[str, ...] = (VERDICT,)
"""The frame of a verdict that stands alone, or behind a label such as ``Verdict:``."""

Place: TypeAlias = Literal["first", "last"]
"""Where the verdict stands: on the first line (verdict first) or at the end (reasons first)."""

Reason: TypeAlias = Literal[
    "blank",
    "cut",
    "refused",
    "content_filter",
    "unclosed_thinking",
    "ambiguous_thinking",
    "no_verdict",
    "not_a_number",
    "too_few_scores",
    "too_many_scores",
    "out_of_scale",
    "wrong_scale",
    "mixed_names",
    "wrong_start",
    "unknown_label",
    "several_labels",
    "broken_json",
    "missing_key",
    "repeated_key",
]
"""Why a text is no verdict; the first word of :attr:`Verdict.error`."""

STATUS_OF: dict[Reason, Status] = {
    "blank": "error",
    "cut": "truncated",
    "refused": "refused",
    "content_filter": "refused",
}
"""The status of a reason; all others are ``unparsed``."""


@dataclass(frozen=True, slots=True)
class ScoreRules:
    """Scores on a scale, one for each answer."""

    count: int
    """How many scores are due, those of the fixed start included."""
    low: float
    high: float
    """Ends of the scale, both allowed."""
    place: Place = "first"
    tie_gap: float = 0.0
    """Scores at most this far apart are a tie."""
    frames: tuple[str, ...] = ALONE
    """What stands around the scores, such as ``[RESULT] {verdict}``."""
    fixed: tuple[float, ...] = ()
    """Scores that the fixed start of the reply gives; they must come first and are left out."""


@dataclass(frozen=True, slots=True)
class ChoiceRules:
    """One label of a few."""

    labels: tuple[tuple[str, Preference], ...]
    """Each label with its meaning. Letter case counts only where two labels differ by nothing
    else."""
    place: Place = "first"
    frames: tuple[str, ...] = ALONE


@dataclass(frozen=True, slots=True)
class RankingRules:
    """An order over the answers, best first."""

    names: tuple[str, ...]
    """The name of each shown answer, such as ``Assistant 1``."""
    place: Place = "first"
    frames: tuple[str, ...] = ALONE


@dataclass(frozen=True, slots=True)
class JsonRules:
    """A JSON object that holds one of the other kinds."""

    holds: ScoreRules | ChoiceRules | RankingRules
    keys: tuple[str, ...]
    """Where the verdict stands: one key, or one key for each score; ``a.b`` is key b of object
    a."""
    place: Place = "last"
    """Which object counts where several hold the keys."""
    reasons: str | None = None
    """Key of the reasons."""


Rules: TypeAlias = ScoreRules | ChoiceRules | RankingRules | JsonRules

Value: TypeAlias = tuple[float, ...] | Preference | tuple[int, ...]
"""What was read: scores, an outcome, or a rank for each answer."""


@dataclass(frozen=True, slots=True)
class Found:
    """A verdict, and what the judge said besides."""

    value: Value
    reasons: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no verdict."""

    reason: Reason
    words: str


_SHOWN_CHARACTERS = 80


def show(text: str) -> str:
    r"""Return the beginning of a text as it stands in messages.

    >>> show("Both are\n fine.")
    "'Both are fine.'"
    """
    shown = " ".join(text.split())
    if len(shown) > _SHOWN_CHARACTERS:
        shown = shown[:_SHOWN_CHARACTERS] + "…"
    return f"'{shown}'"


def cut(what: str) -> Failure:
    """Return the failure of a reply that ends too early."""
    return Failure("cut", f"the token limit cut the reply before the end of {what}")
