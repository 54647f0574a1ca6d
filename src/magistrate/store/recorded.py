"""Answers that stand in a file take the place of an engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace

from magistrate.engines.base import Engine, EngineInfo
from magistrate.judging.asking import part_of, reading_key_of
from magistrate.messages import Completion, Request
from magistrate.store.index import JournalIndex, JudgmentReader


class RecordedEngine:
    """Answers with what is at hand, and only that."""

    def __init__(self, engine: Engine, answers: Mapping[str, Completion]) -> None:
        """Take the engine that the answers stand for, and the answers by the request's key."""
        self._engine = engine
        self._answers = answers

    @property
    def info(self) -> EngineInfo:
        """That of the engine; what comes from a file does not depend on what is beside it."""
        return replace(self._engine.info, batch_dependent=False)

    def count_tokens(self, text: str) -> int:
        """Count as the engine does."""
        return self._engine.count_tokens(text)

    def complete(self, requests: Sequence[Request]) -> Iterator[Completion]:
        """Answer the requests whose answers are there."""
        for request in requests:
            if request.key in self._answers:
                yield self._answers[request.key]

    def close(self) -> None:
        """Nothing to free; the engine itself belongs to another."""


def add_answer(answers: dict[str, Completion], completion: Completion) -> None:
    """Put an answer among the others; of several to one request a good one stands."""
    known = answers.get(completion.key)
    if known is None or known.error is not None:
        answers[completion.key] = completion


def status_of(index: JournalIndex, request_key: str) -> str | None:
    """Return the status of the reading that a request belongs to; None for one that is not there.

    Args:
        index: Of the run's judgments.
        request_key: From a file, so it may be anything.
    """
    try:
        return index.status_of(bytes.fromhex(reading_key_of(request_key)))
    except ValueError:
        return None


def without_known(
    answers: Mapping[str, Completion], reader: JudgmentReader, index: JournalIndex
) -> dict[str, Completion]:
    """Leave out answers that the run read before and found wanting.

    A file may be collected twice; what failed would fail again, and be paid for twice on paper.
    """
    by_reading: dict[str, list[str]] = {}
    for key in answers:
        if status_of(index, key) not in (None, "ok"):
            by_reading.setdefault(reading_key_of(key), []).append(key)
    known: set[str] = set()
    with closing(reader):
        for reading_key, keys in by_reading.items():
            judgment = reader.get(reading_key)
            replies = [answers[key] for key in sorted(keys, key=part_of)]
            texts = "\n\n".join(reply.text for reply in replies if reply.text)
            if (
                judgment is not None
                and (judgment.raw or "") == texts
                and judgment.finish_reason == replies[-1].finish_reason
            ):
                known.update(keys)
    return {key: completion for key, completion in answers.items() if key not in known}
