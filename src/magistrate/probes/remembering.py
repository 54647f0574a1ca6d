"""An engine that scores equal prompts once, however many arms of an audit show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from magistrate.engines.base import Engine, EngineInfo
from magistrate.ids import content_id
from magistrate.messages import Completion, Request
from magistrate.records import Usage


@dataclass(frozen=True, slots=True)
class Remembering:
    """A scoring engine with a memory, for one process.

    The answer that an arm leaves as it was keeps its score to the last digit, so that no difference
    between arms comes from how prompts were batched.
    """

    engine: Engine
    _known: dict[str, Completion] = field(default_factory=dict, repr=False)

    @property
    def info(self) -> EngineInfo:
        """That of the engine."""
        return self.engine.info

    def count_tokens(self, text: str) -> int:
        """Return how many tokens a text takes."""
        return self.engine.count_tokens(text)

    def cuts(self, requests: Sequence[Request]) -> list[dict[str, int]]:
        """Return for each request how many tokens are cut from which slot."""
        cuts: list[dict[str, int]] = self.engine.cuts(requests)  # type: ignore[attr-defined]
        return cuts

    def complete(self, requests: Sequence[Request]) -> Iterator[Completion]:
        """Answer what is known at once, and ask the engine for the rest."""
        names = {request.key: _content(request) for request in requests}
        unknown = []
        for request in requests:
            known = self._known.get(names[request.key])
            if known is None:
                unknown.append(request)
                continue
            tokens = known.usage.prompt_tokens
            usage = Usage(prompt_tokens=tokens, cached_tokens=tokens)
            yield replace(known, key=request.key, usage=usage, cost=0.0, seconds=0.0)
        if not unknown:
            return
        for completion in self.engine.complete(unknown):
            if completion.error is None and completion.finish_reason != "error":
                self._known[names[completion.key]] = completion
            yield completion

    def close(self) -> None:
        """Free the model and the memory."""
        self._known.clear()
        self.engine.close()


def _content(request: Request) -> str:
    return content_id(
        [
            [message.role, [[part.text, part.slot] for part in message.parts]]
            for message in request.messages
        ]
    )
