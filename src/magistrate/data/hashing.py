"""The hash of labelled data: by what it says, whatever the sequence of its rows or its file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from pydantic_core import PydanticSerializationError

from magistrate.ids import canonical_json
from magistrate.records import Sample

_LEFT_OUT = {"meta", "source_id"}


class DataHasher:
    """Hashes samples one by one."""

    def __init__(self) -> None:
        self._digests: list[bytes] = []

    def add(self, sample: Sample) -> None:
        """Add one sample."""
        self._digests.append(sample_digest(sample))

    def result(self) -> str:
        """Return the hash of all so far: 64 hex digits."""
        return hash_of_digests(self._digests)


def sample_digest(sample: Sample) -> bytes:
    """Return the SHA-256 of what one sample says."""
    return hashlib.sha256(_content(sample)).digest()


def hash_of_digests(digests: Iterable[bytes]) -> str:
    """Return the hash of the data whose samples have these digests: 64 hex digits."""
    return hashlib.sha256(b"".join(sorted(digests))).hexdigest()


def data_hash(samples: Iterable[Sample]) -> str:
    """Return the SHA-256 of what samples say, in hex.

    It is the hash of the sorted hashes of the samples: their sequence does not matter, how often
    one stands there does. Left out are what the file only kept for itself (``meta`` and
    ``source_id``); labels, models, references, categories and languages belong to the content.

    >>> one = Sample(question="Why?", answers=({"text": "So."}, {"text": "Not so."}))
    >>> other = Sample(question="Who?", answers=({"text": "Me."}, {"text": "You."}))
    >>> data_hash([one, other]) == data_hash([other, one])
    True
    """
    hasher = DataHasher()
    for sample in samples:
        hasher.add(sample)
    return hasher.result()


def _content(sample: Sample) -> bytes:
    # Fields that a later version adds have defaults: what is known today keeps its hash.
    try:
        return sample.model_dump_json(exclude=_LEFT_OUT, exclude_defaults=True).encode()
    except PydanticSerializationError:  # a lone surrogate
        value = sample.model_dump(exclude=_LEFT_OUT, exclude_defaults=True)
        return canonical_json(value).encode("utf-8", "surrogatepass")
