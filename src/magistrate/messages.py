"""What goes to an engine and what comes back. Nothing here knows of judging.

A prompt is a sequence of parts. A part *without* a slot is the template's own wording and may hold
a model's control tokens; a part *with* a slot came from data (a question, an answer) and must be
encoded as plain text by every engine, whatever it contains. Engines that cut long prompts cut
slots, never the template.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from magistrate.records import Usage

FinishReason = Literal["stop", "length", "content_filter", "error"]
MessageRole = Literal["system", "user", "assistant", "text"]


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a prompt."""

    text: str
    slot: str | None = None
    """Name of the sample field that the text came from (``question``, ``answer_1``, ...)."""
    characters: int | None = field(default=None, compare=False)
    """Of an answer: how many characters of its own it has as it was written. The text may have
    more: words for an empty answer, names of roles, marks that keep data apart from the template.
    """


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a prompt; the role ``text`` marks a completion-style prompt."""

    role: MessageRole
    parts: tuple[Part, ...]
    images: tuple[str, ...] = ()
    """URLs or paths; shown before the text, by engines that can show them (``openai``)."""

    @property
    def text(self) -> str:
        """All parts joined."""
        return "".join(part.text for part in self.parts)


@dataclass(frozen=True, slots=True)
class Sampling:
    """How an engine should write."""

    max_tokens: int = 512
    temperature: float = 0.0
    top_p: float = 1.0
    stop: tuple[str, ...] = ()
    seed: int = 0
    top_logprobs: int = 0
    """How many alternatives per written token to return; 0 for none."""


@dataclass(frozen=True, slots=True)
class Choices:
    """All that a verdict can say: ``count`` options in a row, a separator between them.

    For two scores from 1 to 10 these are ``("1", ..., "10")``, ``" "`` and 2.
    """

    options: tuple[str, ...]
    separator: str = " "
    count: int = 1

    @property
    def total(self) -> int:
        """How many verdicts there are."""
        return int(len(self.options) ** self.count)


@dataclass(frozen=True, slots=True)
class Request:
    """One call of a model."""

    key: str
    """Comes back with the completion."""
    messages: tuple[Message, ...]
    sampling: Sampling = field(default_factory=Sampling)
    choices: Choices | None = None
    """When set, nothing is written: the engine returns how probable each verdict is."""


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """A written token with its log-probability (natural logarithm) and the alternatives."""

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model returned for one request."""

    key: str
    text: str = ""
    score: float | None = None
    """Scalar output of a scoring head; None for models that write."""
    finish_reason: FinishReason = "stop"
    logprobs: tuple[TokenLogprob, ...] = ()
    choices: tuple[float, ...] = ()
    """Where the request had choices: the log-probability (natural logarithm) that the reply begins
    with each verdict and does not go on to a longer option. The last place varies fastest. Not
    normalised: what is missing to 1 is the probability of any other beginning. Of a classifying
    head: the log-probability of each of its labels."""
    usage: Usage = field(default_factory=Usage)
    cost: float = 0.0
    seconds: float = 0.0
    """The request's share of its batch's wall time."""
    truncated: dict[str, int] = field(default_factory=dict)
    """Tokens cut from each slot to fit the model's window."""
    error: str | None = None
    """Set when the call failed; then nothing else means anything."""
    meta: dict[str, Any] = field(default_factory=dict)
