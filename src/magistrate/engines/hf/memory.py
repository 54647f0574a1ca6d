"""What is done when memory runs out: it is noticed, what can be freed is freed."""

from __future__ import annotations

import gc

import torch

_WORDS = ("out of memory", "can't allocate memory", "not enough memory", "failed to allocate")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that there was not enough memory, on whatever device."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(word in str(error).lower() for word in _WORDS)


def free_memory() -> None:
    """Give back what is not in use."""
    if torch.cuda.is_available():
        gc.collect()
        torch.cuda.empty_cache()
