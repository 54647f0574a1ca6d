"""``[verdict]`` of a family: what kind of verdict the reply must hold, and where."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, Literal, Self, TypeAlias, cast

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from magistrate.prompts.rules import (
    ALONE,
    VERDICT,
    ChoiceRules,
    JsonRules,
    Place,
    RankingRules,
    Rules,
    ScoreRules,
)
from magistrate.records import Preference, Record

LETTER = "{letter}"
NUMBER = "{n}"
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class _Section(Record):
    """What all kinds have."""

    place: Place
    """``first``: on the first line, before the reasons. ``last``: at the end, after them."""
    frames: tuple[str, ...] = ALONE
    """What stands around the verdict, such as ``[[{verdict}]]``; ``{verdict}`` by itself means
    alone on its line, or behind a label such as ``Verdict:``."""

    @property
    def scale(self) -> tuple[float, float] | None:
        """Lowest and highest score; None where the verdict has no scores."""
        return None

    @property
    def tie_width(self) -> float:
        """How far scores may be apart and still be a tie."""
        return 0.0

    @property
    @abstractmethod
    def words(self) -> str:
        """What the verdict is, for people."""

    @abstractmethod
    def rules(self, count: int, *, fixed: tuple[float, ...] = ()) -> Rules:
        """Return what the parser needs for so many shown answers.

        Args:
            count: How many answers are shown.
            fixed: Scores that the fixed start of the reply gives, before those due.
        """

    @field_validator("frames")
    @classmethod
    def _frames_hold_a_verdict(cls, frames: tuple[str, ...]) -> tuple[str, ...]:
        if not frames:
            raise ValueError(f"give at least one frame; '{VERDICT}' is that of a verdict alone")
        for frame in frames:
            if frame.count(VERDICT) != 1:
                raise ValueError(f"'{frame}' must hold {VERDICT} once")
            if frame != VERDICT and not frame.partition(VERDICT)[0].strip():
                raise ValueError(f"'{frame}' must begin with text, or be {VERDICT} alone")
        return frames


class ScoresSection(_Section):
    """A score for each answer."""

    kind: Literal["scores"] = "scores"
    low: float = Field(allow_inf_nan=False)
    high: float = Field(allow_inf_nan=False)
    """Ends of the scale, both allowed."""
    tie_gap: float = Field(default=0.0, ge=0)
    """Scores at most this far apart are a tie."""

    @property
    def scale(self) -> tuple[float, float]:
        """Lowest and highest score."""
        return self.low, self.high

    @property
    def tie_width(self) -> float:
        """How far scores may be apart and still be a tie."""
        return self.tie_gap

    @property
    def words(self) -> str:
        """What the verdict is, for people."""
        tie = f", a gap up to {self.tie_gap:g} is a tie" if self.tie_gap else ""
        return f"scores from {self.low:g} to {self.high:g}{tie}{_in_frames(self.frames)}"

    def rules(self, count: int, *, fixed: tuple[float, ...] = ()) -> ScoreRules:
        """Return what the parser needs for so many shown answers."""
        return ScoreRules(
            count=len(fixed) + count,
            low=self.low,
            high=self.high,
            place=self.place,
            tie_gap=self.tie_gap,
            frames=self.frames,
            fixed=fixed,
        )

    @model_validator(mode="after")
    def _scale_ascends(self) -> Self:
        if not self.low < self.high:
            raise ValueError(f"'low' ({self.low:g}) must be below 'high' ({self.high:g})")
        return self


class Labels(Record):
    """The labels of a choice by their meaning; the first of each is the one that is asked for."""

    first: tuple[str, ...] = Field(min_length=1)
    second: tuple[str, ...] = Field(min_length=1)
    tie: tuple[str, ...] = ()

    @property
    def by_label(self) -> tuple[tuple[str, Preference], ...]:
        """Each label with its meaning."""
        meanings: tuple[tuple[tuple[str, ...], Preference], ...] = (
            (self.first, "first"),
            (self.second, "second"),
            (self.tie, "tie"),
        )
        return tuple((label, meaning) for labels, meaning in meanings for label in labels)

    @model_validator(mode="after")
    def _labels_differ(self) -> Self:
        labels = [label for label, _ in self.by_label]
        if len(set(labels)) < len(labels):
            raise ValueError("a label stands there twice")
        if not all(any(sign.isalnum() for sign in label) for label in labels):
            raise ValueError("a label needs a letter or a digit")
        return self


class ChoiceSection(_Section):
    """One label for the better of two answers, or for a tie."""

    kind: Literal["choice"]
    labels: Labels

    @property
    def words(self) -> str:
        """What the verdict is, for people."""
        labels = ", ".join(f"{label} ({meaning})" for label, meaning in self.labels.by_label)
        return f"one of {labels}{_in_frames(self.frames)}"

    def rules(self, count: int, *, fixed: tuple[float, ...] = ()) -> ChoiceRules:
        """Return what the parser needs."""
        return ChoiceRules(self.labels.by_label, self.place, self.frames)


class RankingSection(_Section):
    """An order over the answers."""

    kind: Literal["ranking"]
    names: str
    """How the prompt names the answers: ``Assistant {n}``, ``model_{n}``, ``{letter}``."""
    written: Literal["chain", "list"] = "chain"
    """How demonstrations write it: ``A > B``, or a list of names with ranks. Both are read."""

    @property
    def words(self) -> str:
        """What the verdict is, for people."""
        return f"an order of the answers by name ({self.names}){_in_frames(self.frames)}"

    def rules(self, count: int, *, fixed: tuple[float, ...] = ()) -> RankingRules:
        """Return what the parser needs for so many shown answers."""
        return RankingRules(self.names_of(count), self.place, self.frames)

    def names_of(self, count: int) -> tuple[str, ...]:
        """Return the names of so many answers in the order shown; letters end at Z."""
        return tuple(
            self.names.replace(NUMBER, str(place + 1)).replace(
                LETTER, _LETTERS[place] if place < len(_LETTERS) else str(place + 1)
            )
            for place in range(count)
        )

    @field_validator("names")
    @classmethod
    def _names_differ(cls, names: str) -> str:
        if names.count(NUMBER) + names.count(LETTER) != 1:
            raise ValueError(f"'{names}' must hold {NUMBER} or {LETTER} once")
        return names


class JsonSection(_Section):
    """A JSON object that holds scores, a label or a ranking."""

    kind: Literal["json"]
    holds: Literal["scores", "choice", "ranking"]
    keys: tuple[str, ...] = Field(min_length=1)
    """Where the verdict stands: one key, or a key for each score."""
    reasons: str | None = None
    """Key of the reasons."""
    low: float | None = None
    high: float | None = None
    tie_gap: float = Field(default=0.0, ge=0)
    labels: Labels | None = None
    names: str | None = None

    @property
    def inner(self) -> ScoresSection | ChoiceSection | RankingSection:
        """What the object holds, as a section of its own."""
        # A record checks what it is given; the model validator has seen to it that it is there.
        shared: dict[str, Any] = {"place": self.place}
        if self.holds == "choice":
            return ChoiceSection(kind="choice", labels=cast(Labels, self.labels), **shared)
        if self.holds == "ranking":
            return RankingSection(kind="ranking", names=cast(str, self.names), **shared)
        low, high = cast(float, self.low), cast(float, self.high)
        return ScoresSection(low=low, high=high, tie_gap=self.tie_gap, **shared)

    @property
    def scale(self) -> tuple[float, float] | None:
        """Lowest and highest score; None where the object holds no scores."""
        return self.inner.scale

    @property
    def tie_width(self) -> float:
        """How far scores may be apart and still be a tie."""
        return self.tie_gap

    @property
    def words(self) -> str:
        """What the verdict is, for people."""
        return f"JSON with {', '.join(self.keys)}: {self.inner.words}"

    def rules(self, count: int, *, fixed: tuple[float, ...] = ()) -> JsonRules:
        """Return what the parser needs for so many shown answers."""
        return JsonRules(self.inner.rules(count), self.keys, self.place, self.reasons)

    @model_validator(mode="after")
    def _has_what_it_holds(self) -> Self:
        needed: dict[str, tuple[str, ...]] = {
            "scores": ("low", "high"),
            "choice": ("labels",),
            "ranking": ("names",),
        }
        missing = [name for name in needed[self.holds] if getattr(self, name) is None]
        if missing:
            raise ValueError(f"'holds' is '{self.holds}': give {' and '.join(missing)}")
        if self.frames != ALONE:
            raise ValueError("a JSON object has no 'frames'")
        if self.holds != "scores" and len(self.keys) > 1:
            raise ValueError(f"a {self.holds} stands under one key")
        self.inner  # noqa: B018 - checks the held section
        return self


def _in_frames(frames: tuple[str, ...]) -> str:
    shown = [frame for frame in frames if frame != VERDICT]
    return f", written as {' or '.join(shown)}" if shown else ""


KINDS = ("scores", "choice", "ranking", "json")


def _kind_of(section: Any) -> Any:
    if isinstance(section, dict):
        return section.get("kind", "scores")
    return getattr(section, "kind", None)


VerdictSection: TypeAlias = Annotated[
    Annotated[ScoresSection, Tag("scores")]
    | Annotated[ChoiceSection, Tag("choice")]
    | Annotated[RankingSection, Tag("ranking")]
    | Annotated[JsonSection, Tag("json")],
    Discriminator(_kind_of),
]
"""``[verdict]``; ``kind`` says which."""
