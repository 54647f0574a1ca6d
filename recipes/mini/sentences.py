"""Cut a text into sentences, roughly."""

from __future__ import annotations

import re

SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def sentences(text: str) -> list[str]:
    """Split at sentence ends and line breaks; never an empty piece."""
    return [piece for piece in SENTENCE.split(text) if piece and piece.strip()]
