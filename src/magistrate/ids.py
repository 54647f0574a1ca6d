"""Content hashes: the same content has the same id on every machine and in every run.

Hashes are BLAKE2b over canonical JSON (sorted keys, no spaces, UTF-8), written as lower-case hex.
Lone surrogates, which occur in scraped text and which UTF-8 cannot hold, are hashed through
their three-byte form, so that two texts that differ only there still differ in id. Two halves of
one character that stand side by side count as that character, as they do in JSON.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

ID_HEX_DIGITS = 24
"""Digits of a content id: 96 bits, so that 10^9 samples collide with probability below 10^-10."""

_FILE_BLOCK_BYTES = 1 << 20

_CANONICAL = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
)
"""Made once: ``json.dumps`` with options makes an encoder a call."""


def canonical_json(value: Any) -> str:
    """Return ``value`` as JSON text that depends on its content alone.

    Args:
        value: Anything that JSON can hold; numbers must be finite.

    Raises:
        ValueError: A number is NaN or infinite.
        TypeError: A value has no JSON form.

    >>> canonical_json({"b": 1, "a": "é"})
    '{"a":"é","b":1}'
    """
    return _CANONICAL.encode(value)


def content_id(value: Any) -> str:
    """Return the id of any JSON-able value: 24 hex digits.

    >>> content_id({"a": 1, "b": 2}) == content_id({"b": 2, "a": 1})
    True
    """
    text = canonical_json(value)
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        data = joined.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=ID_HEX_DIGITS // 2).hexdigest()


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes in hex, reading it in blocks of one MiB."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_FILE_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()
