"""What engines with heads make of a head's output."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from magistrate.engines.slots import Reading
from magistrate.messages import Completion
from magistrate.records import Usage


def log_softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return log-probabilities [B, labels] (natural logarithm) of logits [B, labels].

    >>> log_softmax(np.zeros((1, 2), np.float32)).round(3).tolist()
    [[-0.6930000185966492, -0.6930000185966492]]
    """
    shifted = logits - logits.max(axis=1, keepdims=True)
    found: NDArray[np.float32] = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return found


def completion_of(
    key: str,
    reading: Reading,
    output: float | Sequence[float],
    seconds: float,
    *,
    cached: bool = False,
) -> Completion:
    """Return the completion of one reading.

    Args:
        key: That of the request.
        reading: What was read.
        output: A score, or the log-probabilities of a classifier's labels.
        seconds: The reading's share of the time.
        cached: Whether the same reading was computed for another request.
    """
    tokens = len(reading.ids)
    usage = Usage(prompt_tokens=tokens, cached_tokens=tokens if cached else 0, requests=1)
    values = [output] if isinstance(output, float) else list(output)
    # Minus infinity is a label that cannot be; anything else that is not finite is a fault.
    if not all(
        math.isfinite(value) or (len(values) > 1 and value == -math.inf) for value in values
    ):
        return Completion(
            key=key,
            finish_reason="error",
            usage=usage,
            seconds=seconds,
            truncated=reading.truncated,
            error=f"the model returned {output}, not numbers to compare",
        )
    return Completion(
        key=key,
        score=output if isinstance(output, float) else None,
        choices=() if isinstance(output, float) else tuple(values),
        usage=usage,
        seconds=seconds,
        truncated=reading.truncated,
    )
