"""Compact columns: what a metric keeps of each sample while it streams over a run.

A few bytes a sample, whatever the length of the texts, so that a metric over a million decisions
needs some tens of megabytes.
"""

from __future__ import annotations

import hashlib

from magistrate.records import Answer, Preference, Sample

PREFERENCE_CODES: dict[Preference, int] = {"first": 1, "tie": 0, "second": -1}
"""Outcome of a pair as a number: swapping the answers changes its sign."""


def hash64(text: str) -> int:
    """Return a 64-bit hash of a text, the same on every machine (lone surrogates included)."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def question_cluster(sample: Sample) -> int:
    """Return the cluster of a sample: samples with one question share it."""
    return hash64(sample.question_text)


def answer_length(answer: Answer) -> int:
    """Return the length of an answer in characters, over all its assistant turns."""
    if answer.turns:
        return sum(len(turn.text) for turn in answer.turns if turn.role == "assistant")
    return len(answer.text)


def sign(number: float) -> int:
    """Return -1, 0 or 1."""
    return (number > 0) - (number < 0)
