"""Groups of samples that must not be parted: by question, near-duplicates, category, field."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from magistrate.errors import InputError
from magistrate.ids import canonical_json
from magistrate.records import Sample

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from magistrate.data.checks.near import NearPairs

    Places = NDArray[np.int64]


def field_of(by: str) -> Callable[[Sample], str | None]:
    """Return what gives a sample's value of ``category``, ``language`` or a field of ``meta``.

    >>> field_of("category")(Sample(question="?", answers=({"text": ""},), category="maths"))
    'maths'
    """
    if by in ("category", "language", "source_id"):
        return lambda sample: getattr(sample, by)
    return lambda sample: None if by not in sample.meta else canonical_json(sample.meta[by])


def connected(
    questions: int, near: NearPairs | None, question_of: Sequence[int], values: Sequence[int] | None
) -> Places:
    """Return the group of every question.

    Args:
        questions: How many different ones there are.
        near: Near-duplicates, as places of questions.
        question_of: Shape (samples,): the place of each sample's question.
        values: Shape (samples,): the number of its field's value, where samples with one value
            must stay together.

    Returns:
        Shape (questions,): numbers from 0; equal numbers are one group.
    """
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    one, other = [np.arange(0)], [np.arange(0)]
    nodes = questions
    if near is not None:
        one.append(near.one)
        other.append(near.other)
    if values is not None:
        numbers = np.asarray(values, dtype=np.int64)
        one.append(np.asarray(question_of, dtype=np.int64))
        other.append(questions + numbers)
        nodes += int(numbers.max(initial=-1)) + 1
    rows, columns = np.concatenate(one), np.concatenate(other)
    graph = coo_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(nodes, nodes))
    _, labels = connected_components(graph, directed=False)
    groups: Places = labels[:questions].astype(np.int64)
    return groups


def place_of(key: str, seed: int) -> float:
    """Return a key's place in [0, 1): uniform over keys, the same everywhere for one seed.

    >>> 0 <= place_of("a question", 0) < 1
    True
    """
    data = f"{seed}\n{key}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big") / 2**64


def group_places(keys: Sequence[str], groups: Places, seed: int) -> NDArray[np.float64]:
    """Return the place in [0, 1) of every group, by the content of its members alone.

    The member with the least hash stands for its group, so that a new member seldom moves it; its
    hash is hashed again, since the least of several is not uniform.

    Args:
        keys: Shape (members,): a text each.
        groups: Shape (members,): their groups, numbered from 0.
        seed: Another seed gives other places.
    """
    import numpy as np

    count = int(groups.max(initial=-1)) + 1
    least: list[str | None] = [None] * count
    for key, group in zip(keys, groups, strict=True):
        data = key.encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(data, digest_size=12).hexdigest()
        known = least[group]
        if known is None or digest < known:
            least[group] = digest
    return np.array([place_of(digest or "", seed) for digest in least])


def read_shares(text: str) -> dict[str, float]:
    """Return ``train=0.9,dev=0.1`` as shares by name.

    Raises:
        InputError: It has another form, a name cannot be a file's, or they do not add up to 1.
    """
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, equals, number = part.partition("=")
        name = name.strip()
        try:
            share = float(number)
        except ValueError:
            share = -1.0
        if not equals or not 0 < share <= 1:
            raise InputError(
                f"'{part}' is not NAME=SHARE with a share between 0 and 1, such as "
                f"train=0.9,dev=0.1"
            )
        if not name.replace("-", "").replace("_", "").isalnum() or name in ("dropped", "split"):
            raise InputError(
                f"'{name}' cannot name a split; use letters, digits, - and _ (and not 'dropped' or "
                f"'split', which name other files)"
            )
        if name in shares:
            raise InputError(f"split '{name}' is given twice")
        shares[name] = share
    total = sum(shares.values())
    if abs(total - 1) > 1e-6:
        raise InputError(f"the shares add up to {total:g}; they must add up to 1")
    return shares
