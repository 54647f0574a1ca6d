"""How a family is put together from a peer's texts, and how its judge's replies are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from magistrate.messages import MessageRole
from magistrate.prompts.importing.wording import Notation

CHOSEN = "{prompt}"
"""Stands in the name of a text for the name of the prompt that is imported."""


@dataclass(frozen=True, slots=True)
class Ref:
    """A text of the peer's."""

    name: str
    """Its name in the peer's files; the end of a name with dots is enough."""
    notation: Notation = "literal"
    has: tuple[str, ...] = ()
    """Places by which it is told from others of the same name."""
    lacks: tuple[str, ...] = ()
    marks: tuple[tuple[str, str], ...] = ()
    """Pieces of the text that become places: the piece, and the name of the place."""
    without_end: str = ""
    """What the text must end with, and is left out."""


@dataclass(frozen=True, slots=True)
class Code:
    """A piece of template, taken as it is."""

    jinja: str


@dataclass(frozen=True, slots=True)
class Expression:
    """What a place of the peer's shows: a variable of ours, with an index or attribute perhaps."""

    jinja: str
    is_data: bool = True
    """Whether it shows what came from a sample, not a number of ours."""


Piece: TypeAlias = str | Ref | Code
Fill: TypeAlias = Expression | tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class MessagePlan:
    """One message: who speaks, and the pieces that make up what is said."""

    role: MessageRole
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Recipe:
    """A family of a peer's."""

    family: str
    """Name under which it is imported."""
    description: str
    peer: str
    """The peer's name, for people."""
    url: str
    """Where the peer's project is found."""
    files: tuple[str, ...]
    """Where its texts are, from the top of the peer's repository."""
    prompt: str
    """Name of the peer's prompt."""
    messages: tuple[MessagePlan, ...]
    fill: Mapping[str, Fill]
    """The peer's places, and what fills them."""
    verdict: Mapping[str, Any]
    sampling: Mapping[str, Any]
    score_mode: Mapping[str, Any] | None = None
    prefill: Mapping[str, Any] | None = None
    min_answers: int = 2
    max_answers: int | None = 2
    reads_alone: bool = False
    judge: str = "hf:MODEL"
    """A judge that was trained on the wording, or what to name one by."""
    chatml: bool = False
    """Whether the one message is a text that holds several in ChatML marks."""
    notes: tuple[str, ...] = field(default=())
    """What the peer does besides, and an import cannot take over."""


QUESTION = Expression("question")
ANSWER = Expression("answer")
FIRST = Expression("answer_1")
SECOND = Expression("answer_2")
REFERENCE = Expression("reference")
RUBRIC = Expression("rubric")
PASSAGES: tuple[Piece, ...] = (
    Code("{%+ for passage in context +%}{{ passage }}{%+ if not loop.last +%}"),
    "\n\n",
    Code("{%+ endif +%}{%+ endfor +%}"),
)
"""All passages, with a blank line between them."""


def scores(place: str, low: float, high: float, *frames: str, tie_gap: float = 0) -> dict[str, Any]:
    """Return ``[verdict]`` for scores; without frames they stand alone."""
    section: dict[str, Any] = {
        "kind": "scores",
        "place": place,
        "low": low,
        "high": high,
        "tie_gap": tie_gap,
    }
    return section | ({"frames": frames} if frames else {})


def choice(
    place: str,
    first: tuple[str, ...],
    second: tuple[str, ...],
    tie: tuple[str, ...] = (),
    *,
    frames: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Return ``[verdict]`` for one label of a few; without frames it stands alone."""
    labels: dict[str, Any] = {"first": first, "second": second}
    section: dict[str, Any] = {
        "kind": "choice",
        "place": place,
        "labels": labels | ({"tie": tie} if tie else {}),
    }
    return section | ({"frames": frames} if frames else {})


def straight_to(start: str) -> dict[str, Any]:
    """Return ``[score_mode]`` for replies with reasons first: a start that leads to the verdict."""
    return {"prefill": start, "max_tokens": 8, "stop": ("\n",)}
