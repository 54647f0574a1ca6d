"""Which earlier answers stand for new ones. What keeps them is handed in; no file is known here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from magistrate.ids import content_id
from magistrate.messages import Completion, Request
from magistrate.records import Usage


class ResponseCache(Protocol):
    """Keeps completions. It never fails: what it cannot do it leaves undone."""

    hits: int
    """Answers taken from it so far."""

    def find(self, keys: Sequence[str]) -> Mapping[str, Completion]:
        """Return what is kept under these keys."""
        ...

    def keep(self, items: Iterable[tuple[str, Completion]]) -> None:
        """Keep completions under their keys."""
        ...


class CachedChunk:
    """The cache as one chunk of requests sees it.

    A key is the hash of all that can change an answer. With engines whose last digits depend on
    what else is in the batch, that is the whole batch; and there, one missing answer means that all
    are computed.
    """

    def __init__(
        self,
        cache: ResponseCache,
        judge_id: str,
        requests: Sequence[tuple[Request, int]],
        *,
        batch_dependent: bool,
    ) -> None:
        """Take the requests, each with the number of its repeat."""
        self._cache = cache
        keys = {
            request.key: response_key(judge_id, request, repeat)
            for request, repeat in requests
            if not _shows_a_file(request)
        }
        if batch_dependent:
            batch = content_id(list(keys.values()))
            keys = {key: content_id([batch, own]) for key, own in keys.items()}
        self._keys = keys
        found = cache.find(list(keys.values()))
        if batch_dependent and len(found) < len(requests):
            found = {}
        self.hits: dict[str, Completion] = {
            key: as_hit(found[own], key) for key, own in keys.items() if own in found
        }
        """By key of the request."""
        cache.hits += len(self.hits)

    def keep(self, completions: Iterable[Completion]) -> None:
        """Keep the completions of a reading whose judgment is ``ok``."""
        self._cache.keep(
            (self._keys[completion.key], completion)
            for completion in completions
            if completion.key in self._keys and completion.key not in self.hits
        )


def response_key(judge_id: str, request: Request, repeat: int) -> str:
    """Return the hash of all that can change the answer to a request.

    Args:
        judge_id: :attr:`JudgeSpec.id`: engine, model, weights, family and settings, not the name.
        request: Its messages with their slots, sampling and choices count; its key does not.
        repeat: Which reading of the same prompt it is: repeats are asked each on its own.
    """
    sampling, choices = request.sampling, request.choices
    return content_id(
        [
            judge_id,
            [
                [
                    message.role,
                    [[part.text, part.slot] for part in message.parts],
                    list(message.images),
                ]
                for message in request.messages
            ],
            [
                sampling.max_tokens,
                sampling.temperature,
                sampling.top_p,
                list(sampling.stop),
                sampling.seed,
                sampling.top_logprobs,
            ],
            choices and [list(choices.options), choices.separator, choices.count],
            repeat,
        ]
    )


def as_hit(kept: Completion, key: str) -> Completion:
    """Return a kept completion as the answer to a request: it costs nothing now."""
    tokens = kept.usage.prompt_tokens
    return replace(
        kept,
        key=key,
        usage=Usage(prompt_tokens=tokens, cached_tokens=tokens),
        cost=0.0,
        seconds=0.0,
    )


def _shows_a_file(request: Request) -> bool:
    """Whether an image is a file here: what is in it may change, and its name would not tell."""
    return any(
        not image.startswith(("http://", "https://", "data:"))
        for message in request.messages
        for image in message.images
    )
