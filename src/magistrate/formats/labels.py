"""Labels and scores of the general format, as gold."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

from magistrate.formats.base import Notice, RowError
from magistrate.formats.columns import squeeze
from magistrate.formats.readers.values import as_number, label_text, plain_id, preferred, show
from magistrate.records import Gold, Preference

_SIDES = {
    "first": "1 first a a>b a>>b [[a]] left answer1 answera model1 modela response1 responsea "
    "output1 outputa assistant1 assistanta",
    "second": "2 second b b>a b>>a [[b]] right answer2 answerb model2 modelb response2 responseb "
    "output2 outputb assistant2 assistantb",
    "tie": "0 1.5 tie tied ties draw equal same a=b c [[c]] both neither tie(bothbad) bothbad",
}
LABELS: dict[str, Preference] = {
    word: cast("Preference", side) for side, words in _SIDES.items() for word in words.split()
}
"""What a label of a pair may say, without blanks, hyphens, underscores and capitals."""

# Records are frozen, so the common case needs no new ones.
_PLAIN: dict[Preference, tuple[Gold, ...]] = {
    side: (Gold(preference=side),) for side in set(LABELS.values())
}


def read_label(label: Any) -> Preference | None:
    """Return what a label of a pair means, None if it is not known.

    >>> read_label(1), read_label("2.0"), read_label(1.5), read_label("Tie (bothbad)")
    ('first', 'second', 'tie', 'tie')
    >>> read_label("model_a"), read_label("maybe") is None
    ('first', True)
    """
    return _known(label) if isinstance(label, str | int | float) else None


@lru_cache(maxsize=1024, typed=True)
def _known(label: str | int | float) -> Preference | None:
    text = label_text(label)
    # In some codings -1 is the second answer, in others an unreadable verdict: no guess is made.
    if text is None or text.startswith("-"):
        return None
    return LABELS.get(text) or LABELS.get(squeeze(text))


def read_gold(
    label: Any,
    scores: Sequence[tuple[int, Any]],
    annotator: str | None,
    answers: int,
    notices: list[Notice],
) -> tuple[Gold, ...]:
    """Return what a row's label and scores say: nothing, or one gold.

    Args:
        label: The label's cell, None or empty for no label.
        scores: Places (from 1) and cells of the scores.
        annotator: Who gave them.
        answers: Number of answers.
        notices: Gets a notice if the label says nothing here.

    Raises:
        RowError: Some answers have a score and some have none, or a score is no number.
    """
    numbers = _numbers(scores, answers)
    if label is None or (isinstance(label, str) and not label.strip()):
        if numbers is None:
            return ()
        return (Gold(annotator=annotator, preference=preferred(numbers), scores=numbers),)
    if answers == 1:
        return (Gold(annotator=annotator, label=plain_id(label), scores=numbers),)
    preference = read_label(label) if answers == 2 else None
    ranking = _best_of(label, answers) if answers > 2 else None
    if preference is None and ranking is None:
        message = (
            f"label {show(label)} says nothing here and is left out; known: 1, 2, tie (also 0, "
            "1.5, first, second, A, B), or the number of the best of three and more answers"
        )
        notices.append(Notice(kind="unknown-label", message=message))
        if numbers is None:
            return ()
    if preference is not None and numbers is None and annotator is None:
        return _PLAIN[preference]
    gold = Gold(annotator=annotator, preference=preference, ranking=ranking, scores=numbers)
    return (gold,)


def _numbers(scores: Sequence[tuple[int, Any]], answers: int) -> tuple[float, ...] | None:
    found = [(place, value) for place, value in scores if value is not None and value != ""]
    if not found:
        return None
    if [place for place, _ in found] != list(range(1, answers + 1)):
        raise RowError(f"{len(found)} scores for {answers} answers; all or none are needed")
    return tuple(as_number(value, f"score{place}") for place, value in found)


def _best_of(label: Any, answers: int) -> tuple[int, ...] | None:
    text = label_text(label) or ""
    # Longer texts name no answer, and Python refuses to read numbers of thousands of digits.
    if not (text.isascii() and text.isdecimal()) or len(text) > 9 or not 1 <= int(text) <= answers:
        return None
    return tuple(1 if place == int(text) else 2 for place in range(1, answers + 1))
