"""The engine protocol: requests in, completions out.

An engine loads a model and runs it. It knows nothing of samples, verdicts or runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from magistrate.messages import Completion, Request

PREFERRED_BATCH = 256
"""Enough to sort by length or to keep a server busy, little enough to lose nothing by."""


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """What an engine says of itself and of the model it runs."""

    engine: str
    model: str
    weights_hash: str | None = None
    """SHA-256 of the weights file, where there is one."""
    context_tokens: int | None = None
    """Longest prompt plus completion, in tokens; None when unknown."""
    scores: bool = False
    """Whether completions carry the outputs of a head (a score, or log-probabilities of labels)
    instead of text."""
    images: bool = False
    """Whether it shows the model the images of a prompt."""
    exact_choices: bool = False
    """Whether the engine answers :attr:`Request.choices` with exact log-probabilities."""
    logprobs: bool = False
    """Whether written tokens come with log-probabilities when a request asks for them."""
    price: tuple[float, float] | None = None
    """US dollars for a million prompt tokens and a million written tokens; None when free, or when
    ``price_unknown``."""
    price_unknown: bool = False
    """Whether the model costs money and nobody said how much: its costs are then not 0, but
    unknown, and no limit of cost can be kept."""
    batch_dependent: bool = False
    """Whether the last digits of an output depend on what else is in the batch (floating point).
    Such engines are always given the same whole chunk, so that a resumed run repeats exactly."""
    keeps_answers: bool = True
    """Whether answers are dear enough to be kept in the response cache."""
    preferred_batch: int = PREFERRED_BATCH
    """How many requests to hand over at once so that the engine can sort and batch them."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Whatever changes the output: precision, quantisation, decoding defaults."""


@runtime_checkable
class ChecksItself(Protocol):
    """An engine that knows beforehand when every request would fail, such as for want of a key."""

    def check(self) -> None:
        """Look whether requests can be made; ask nobody.

        Raises:
            EngineError: They cannot.
        """
        ...


@runtime_checkable
class PlaysJudges(Protocol):
    """An engine without a model, which must be told how a judge of a family replies."""

    def playing(self, family: Any) -> Engine:
        """Return the engine as a judge of the family."""
        ...


@runtime_checkable
class Engine(Protocol):
    """Runs one model."""

    @property
    def info(self) -> EngineInfo:
        """What the engine and its model are."""
        ...

    def count_tokens(self, text: str) -> int:
        """Return how many tokens ``text`` takes, encoded as plain text."""
        ...

    def complete(self, requests: Sequence[Request]) -> Iterator[Completion]:
        """Answer every request once, in any order.

        A request that fails comes back as a completion with ``error`` set; the others go on.

        Raises:
            EngineError: The engine as a whole cannot go on.
        """
        ...

    def close(self) -> None:
        """Free the model. Calling it twice is harmless."""
        ...
