"""``conversations.jsonl``: what a judge was asked about its judgments, and what it replied."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from magistrate.records import Record, Usage
from magistrate.store.disk import writing
from magistrate.store.lines import read_records, to_line


class FollowUp(Record):
    """A question to a judge about one of its judgments, and the reply."""

    time: datetime
    row: int
    """Place of the sample in the run, from 1."""
    sample_id: str
    key: str
    """Of the judgment that was asked about."""
    order: tuple[int, ...]
    answer: int | None = None
    """The answer, from 0, that the judge had read alone; None where it read all together."""
    turn: int
    """From 0; the questions of one call build on each other."""
    question: str
    reply: str
    finish_reason: str
    usage: Usage
    """Of the first question also what it took to ask the judge for its reply anew, where none was
    stored; so is ``cost``."""
    cost: float
    """In US dollars."""
    seconds: float


class Asked(Record):
    """What the questions to a run's judge took, all together."""

    questions: int = 0
    cost: float = 0.0
    """In US dollars; not part of the cost of the judgments, but of what ``max_cost`` limits."""


def append_follow_up(path: Path, follow_up: FollowUp) -> None:
    """Add a line in one write, so that two processes cannot mix theirs.

    Raises:
        RunError: The file cannot be written.
    """
    with writing(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            os.write(descriptor, to_line(follow_up))
        finally:
            os.close(descriptor)


def asked_of(path: Path) -> Asked:
    """Return what the questions in a file took; nothing where there is none.

    Raises:
        RunDamagedError: A line is no question.
    """
    questions, cost = 0, 0.0
    for follow_up in read_records(FollowUp, path):
        questions += 1
        cost += follow_up.cost
    return Asked(questions=questions, cost=cost)
