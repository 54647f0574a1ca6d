"""Values as they are written in the wild, each read under one rule everywhere."""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from magistrate.formats.base import RowError
from magistrate.records import Answer, Gold, Preference

T = TypeVar("T")

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 60
_SUFFIXES = re.compile(r"(\.(gz|json|jsonl|ndjson|csv|tsv|txt|xml|parquet))+$", re.IGNORECASE)
_FOLDERS = re.compile(r"[\\/]+")


def show(value: Any) -> str:
    """Return a short picture of a value for messages.

    >>> show(None), show([1, 2])
    ('null', '[1, 2]')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _SHORT.repr(value)


def plain_id(value: Any) -> str:
    """Return an id as text: ``7`` and ``7.0`` are "7".

    >>> plain_id(7.0), plain_id("q-1")
    ('7', 'q-1')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def as_number(value: Any, name: str) -> float:
    """Return a finite number, also one that is written as text.

    Raises:
        RowError: It is something else; true and false are no numbers.
    """
    number = math.nan
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            number = math.nan
    if not math.isfinite(number):
        raise RowError(f"{name} is {show(value)}; a number is needed")
    return number


def as_numbers(value: Any, name: str, count: int | None = None) -> tuple[float, ...]:
    """Return a list of finite numbers.

    Raises:
        RowError: It is no list, of another length than ``count``, or holds something else.
    """
    if not isinstance(value, list | tuple) or count not in (None, len(value)):
        needed = f"a list of {count} numbers" if count else "a list of numbers"
        raise RowError(f"{name} is {show(value)}; {needed} is needed")
    return tuple(as_number(part, f"{name}[{i}]") for i, part in enumerate(value))


def decode(value: Any, name: str, coding: Mapping[str, T]) -> T:
    """Return what a label means, whether it is an integer, a float or text.

    >>> decode(2.0, "label", {"1": "first", "2": "second"})
    'second'

    Raises:
        RowError: The label is not in the coding.
    """
    text = label_text(value)
    if text is None or text not in coding:
        raise RowError(f"{name} is {show(value)}; needed: {', '.join(coding)}")
    return coding[text]


def label_text(value: Any) -> str | None:
    """Return a label in one spelling: lower case, whole numbers without a point.

    >>> label_text(1.0), label_text(" Tie "), label_text("1.0"), label_text(True)
    ('1', 'tie', '1', None)
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        text = value.strip().lower()
        return text[:-2] if re.fullmatch(r"-?\d+\.0", text) else text
    if isinstance(value, int | float):
        return plain_id(value)
    return None


def swapped(preference: Preference) -> Preference:
    """Return a preference for the same pair in the other order."""
    other: dict[Preference, Preference] = {"first": "second", "second": "first", "tie": "tie"}
    return other[preference]


def preferred(scores: Sequence[float] | None) -> Preference | None:
    """Return which of two scores is higher; None unless there are two.

    >>> preferred((7.0, 9.0)), preferred((5.0,))
    ('second', None)
    """
    if scores is None or len(scores) != 2:
        return None
    if scores[0] == scores[1]:
        return "tie"
    return "first" if scores[0] > scores[1] else "second"


def usable(scores: Sequence[float] | None) -> tuple[float, ...] | None:
    """Return scores unless one is negative: a negative score marks a text that was unreadable."""
    return tuple(scores) if scores and all(score >= 0 for score in scores) else None


def score_line(text: str, count: int) -> tuple[float, ...] | None:
    r"""Return the scores on the first line of a judgement, None unless there are ``count``.

    >>> score_line("8, 7.5\nThe first answer ...", 2)
    (8.0, 7.5)
    >>> score_line("Both are good.", 2) is None
    True
    """
    lines = text.strip().split("\n", 1)
    parts = lines[0].replace(",", " ").split()
    if len(parts) != count:
        return None
    try:
        scores = tuple(float(part) for part in parts)
    except ValueError:
        return None
    return scores if all(math.isfinite(score) for score in scores) else None


def last_rating(text: str) -> float | None:
    """Return the number in the last ``[[x]]`` of a text.

    >>> last_rating("Like [[5]]: Rating: [[7.5]]")
    7.5
    """
    found = re.findall(r"\[\[(\d+(?:\.\d+)?)\]\]", text)
    return float(found[-1]) if found else None


def score_gold(annotator: str | None, scores: Sequence[float] | None, reasons: str | None) -> Gold:
    """Return a gold of scores; without usable scores it says only that the annotator was asked."""
    good = usable(scores)
    return Gold(annotator=annotator, preference=preferred(good), scores=good, reasons=reasons)


def pair(
    first: str, second: str, models: Sequence[str | None] = (None, None)
) -> tuple[Answer, ...]:
    """Return two answers."""
    return (Answer(text=first, model=models[0]), Answer(text=second, model=models[1]))


def with_input(instruction: str, given: str | None) -> str:
    """Return an instruction followed by the input that it is about, if there is any."""
    return f"{instruction}\n\n{given}" if given and given.strip() else instruction


def stem(file: str) -> str:
    """Return a file's name without folders and endings.

    >>> stem("a/gpt-3.5-turbo-testset-v1.json.gz")
    'gpt-3.5-turbo-testset-v1'
    """
    return _SUFFIXES.sub("", _FOLDERS.split(file)[-1])


def folders(file: str) -> list[str]:
    """Return the names of the folders on a file's path, nearest last."""
    return [part for part in _FOLDERS.split(file)[:-1] if part not in ("", ".", "..")]


def last_number(text: str | None) -> float | None:
    """Return the last number in a text.

    >>> last_number("I would give it 7"), last_number("none")
    (7.0, None)
    """
    found = re.findall(r"\d+(?:\.\d+)?", text or "")
    return float(found[-1]) if found else None


def after_scores(text: str) -> str:
    r"""Return a judgement without its first line, if that line holds scores and nothing else.

    >>> after_scores("8 7\nThe first answer is better.")
    'The first answer is better.'
    """
    first, _, rest = text.strip().partition("\n")
    return rest.strip() if re.fullmatch(r"[-\d.,\s]+", first) else text


def ranked(scores: Sequence[float]) -> tuple[int, ...]:
    """Return ranks from scores: 1 is best, ties share a rank.

    >>> ranked((7.0, 9.0, 7.0))
    (2, 1, 2)
    """
    return tuple(1 + sum(1 for other in scores if other > score) for score in scores)
