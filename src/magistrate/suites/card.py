"""What a judge's folder says of its training: which data sets it has seen, and how much of them.

``[made]`` of ``judge.toml`` may name, by their names in the manifest, the sets ``trained_on`` (the
judge may have seen these very samples) and those ``in_domain`` (samples of the same kind, held
out), and how much there was of training: ``training_pairs``, ``training_samples``, ``pairs``,
``samples`` or ``tokens``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from magistrate.judging.folder import read_judge_file
from magistrate.judging.resolve import find_judge_folder
from magistrate.records import Record

SIZE_KEYS = ("training_pairs", "training_samples", "pairs", "samples", "tokens")
"""Keys of ``[made]`` that say how much there was to learn from; the first that is there counts."""


class Card(Record):
    """The training of a judge, as far as its folder says."""

    folder: str | None = None
    """None for a judge without a folder."""
    trained_on: tuple[str, ...] = ()
    in_domain: tuple[str, ...] = ()
    size: float | None = None
    unit: str | None = None
    """What ``size`` counts: pairs, samples or tokens."""


def read_card(name: str) -> Card:
    """Return what the folder of a judge says; an empty card for a judge without one.

    Raises:
        JudgeNotFoundError: The folder's ``judge.toml`` cannot be read.
    """
    folder = find_judge_folder(name)
    if folder is None:
        return Card()
    made = read_judge_file(folder).made
    key = next((key for key in SIZE_KEYS if _is_number(made.get(key))), None)
    return Card(
        folder=str(Path(folder)),
        trained_on=_names(made.get("trained_on")),
        in_domain=_names(made.get("in_domain")),
        size=None if key is None else float(made[key]),
        unit=None if key is None else key.removeprefix("training_"),
    )


def _names(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
