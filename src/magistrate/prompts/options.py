"""All that a reply can say: the options of an exact distribution, and what each means."""

from __future__ import annotations

from dataclasses import dataclass

from magistrate.messages import Choices
from magistrate.prompts.rules import VERDICT
from magistrate.prompts.verdict_section import ChoiceSection, ScoresSection, VerdictSection
from magistrate.records import Preference

MOST_VERDICTS = 1000
"""More than so many are not asked for: three scores from 1 to 10."""

_OPENING_SIGNS = "([{<\"'*_`"


@dataclass(frozen=True, slots=True)
class Options:
    """The verdicts that a reply can begin with."""

    choices: Choices
    scale: tuple[float, ...] = ()
    """The score that each option stands for, where options are scores."""
    meanings: tuple[Preference, ...] = ()
    """The meaning of each option, where options are labels."""


def options_of(section: VerdictSection, count: int, start: str) -> Options | None:
    """Return the options; None where they are not a few, or where reasons stand before them.

    Args:
        section: The family's verdict.
        count: How many scores are due, those of the fixed start not included.
        start: The fixed start of the reply.

    >>> section = ScoresSection(place="first", low=1, high=3)
    >>> options_of(section, 2, "").choices
    Choices(options=('1', '2', '3'), separator=' ', count=2)
    >>> options_of(section, 1, "3").choices.options
    (' 1', ' 2', ' 3')
    """
    if isinstance(section, ScoresSection | ChoiceSection):
        before = _before_verdict(section, start)
        if before is not None:
            if isinstance(section, ScoresSection):
                return _scores(section, count, before)
            labels = section.labels.by_label
            after = section.frames[0].partition(VERDICT)[2] if not start else ""
            return Options(
                Choices(tuple(before + label + after for label, _ in labels)),
                meanings=tuple(meaning for _, meaning in labels),
            )
    return None


def _scores(section: ScoresSection, count: int, before: str) -> Options | None:
    low, high = section.low, section.high
    if low != int(low) or high != int(high) or before.strip():
        return None
    size = int(high) - int(low) + 1
    if size > MOST_VERDICTS or size**count > MOST_VERDICTS:
        return None
    scale = range(int(low), int(high) + 1)
    # With a blank before the first score, each score brings its own.
    options = Choices(
        tuple(f"{before}{score}" for score in scale), separator="" if before else " ", count=count
    )
    return Options(options, scale=tuple(map(float, scale)))


def _before_verdict(section: ScoresSection | ChoiceSection, start: str) -> str | None:
    """Return what a reply still says before the verdict; None where reasons come first."""
    frame = section.frames[0].partition(VERDICT)[0]
    if not start:
        return frame if section.place == "first" else None
    if not start.rstrip().endswith(frame.rstrip()):
        return None
    ends_open = start[-1].isspace() or start[-1] in _OPENING_SIGNS
    return "" if ends_open else " "
