"""What a judge family is: how a judge is asked, and how its reply is read.

Families speak in the **order shown** to the judge; :mod:`magistrate.judging` maps verdicts back to
the sample's own answer order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from magistrate.messages import Choices, Completion, Message, Sampling
from magistrate.records import Preference, Probabilities, Sample, Status


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a reply says, in the order shown, or why it says nothing."""

    status: Status
    preference: Preference | None = None
    """For two answers: which of the two *shown* answers is better."""
    scores: tuple[float, ...] | None = None
    """A score per shown answer."""
    ranking: tuple[int, ...] | None = None
    """For three answers and more: a rank per shown answer, 1 is best, ties share a rank."""
    probabilities: Probabilities | None = None
    approximate: bool = False
    """Whether ``probabilities`` come from the likeliest alternatives of written tokens alone, or
    from several replies, rather than from all verdicts there are."""
    mass: float | None = None
    """Where probabilities were read: how probable it was that the reply is a verdict at all; of
    several replies, the share that is one."""
    entropy: float | None = None
    """As :attr:`magistrate.records.Judgment.entropy`."""
    verdict_logprob: float | None = None
    """As :attr:`magistrate.records.Judgment.verdict_logprob`."""
    reasons: str | None = None
    error: str | None = None
    """Why the status is not ``ok``."""


@runtime_checkable
class Family(Protocol):
    """How a judge is asked and read."""

    @property
    def name(self) -> str:
        """Name under which the catalog knows the family."""
        ...

    @property
    def prompt_hash(self) -> str:
        """Content id of everything that shapes prompts and reading."""
        ...

    @property
    def min_answers(self) -> int:
        """Fewest answers that a sample must have."""
        ...

    @property
    def max_answers(self) -> int | None:
        """Most answers that a sample may have; None for any number."""
        ...

    @property
    def reads_alone(self) -> bool:
        """Whether each answer is read alone, one prompt each, so that order means nothing."""
        ...

    @property
    def sampling(self) -> Sampling:
        """How the family wants its replies written (length, stop strings)."""
        ...

    def prompts(self, sample: Sample, order: Sequence[int]) -> tuple[tuple[Message, ...], ...]:
        """Return the prompts of one reading: one, or one per shown answer if ``reads_alone``.

        A last message of role ``assistant`` is the start of the judge's reply, which the engine
        goes on with; in a completion-style prompt that start is the end of the text.

        Raises:
            MissingVariablesError: The template needs fields that the sample lacks.
        """
        ...

    def choices(self, count: int) -> Choices | None:
        """Return all that a reply can say in score mode; None where these are not a few.

        Args:
            count: How many answers a prompt shows.
        """
        ...

    def read(
        self, completions: Sequence[Completion], sample: Sample, order: Sequence[int]
    ) -> Verdict:
        """Read the replies to :meth:`prompts`, in the same sequence. Never raises on any text.

        Where completions have :attr:`~magistrate.messages.Completion.choices`, the verdict is their
        distribution.
        """
        ...
