"""The next token of each reply, greedy or drawn.

Each reply draws from a stream of random numbers of its own, seeded by the request's seed and its
prompt. So a sampled reply does not depend on which other replies are written beside it, in which
sequence, or by which run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from magistrate.ids import content_id
from magistrate.messages import Sampling

_GREEDY_BELOW = 1e-5


class Drawer:
    """Chooses the tokens of one reply."""

    def __init__(self, sampling: Sampling, prompt: Sequence[int]) -> None:
        """Seed the stream of random numbers."""
        self._temperature = sampling.temperature
        self._top_p = sampling.top_p
        seed = int(content_id([sampling.seed, list(prompt)])[:32], 16)
        self._random = np.random.Generator(np.random.Philox(seed))

    def choose(self, logits: Any) -> int:
        """Return the next token.

        Args:
            logits: Of every token [vocabulary], float32.
        """
        if self._temperature < _GREEDY_BELOW:
            return int(logits.argmax())
        shares = torch.softmax(logits.double() / self._temperature, dim=0)
        ordered, tokens = shares.sort(descending=True, stable=True)
        reached = ordered.cumsum(0)
        # The smallest set of likeliest tokens that holds top_p; at least one.
        count = min(int((reached < self._top_p).sum()) + 1, len(ordered))
        mark = self._random.random() * float(reached[count - 1])
        place = int(torch.searchsorted(reached[:count], mark, right=True))
        return int(tokens[min(place, count - 1)])
