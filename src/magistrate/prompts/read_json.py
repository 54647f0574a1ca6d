r"""A verdict in a JSON object, among whatever prose.

>>> rules = JsonRules(ScoreRules(count=2, low=1, high=10), ("scores",), reasons="why")
>>> read_json('```json\n{"why": "50\\% hold", "scores": [8, 9,],}\n```', rules, is_cut=False)
Found(value=(8.0, 9.0), reasons='50\\% hold')
>>> read_json('{"why": "so", "scores": [8, 1', rules, is_cut=False).reason
'broken_json'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from magistrate.prompts.jsonish import REPEATED, UNCLOSED, Piece, find_json, stands_alone
from magistrate.prompts.read_choice import choice_of
from magistrate.prompts.read_ranking import ranking_of_value
from magistrate.prompts.read_scores import check_scores
from magistrate.prompts.rules import (
    ChoiceRules,
    Failure,
    Found,
    JsonRules,
    Reason,
    ScoreRules,
    cut,
    show,
)
from magistrate.prompts.scores import Score, read_score_line

_MISSING = object()


def read_json(text: str, rules: JsonRules, *, is_cut: bool) -> Found | Failure:
    """Read the first or last object of a reply that holds a key of the verdict."""
    pieces = list(find_json(text, "{"))
    if rules.place == "last":
        pieces.reverse()
    for piece in pieces:
        if not stands_alone(text, piece):
            continue
        if piece.trouble is not None:
            if any(_name(key) in text[piece.start : piece.end] for key in rules.keys):
                return _trouble(text, piece, is_cut=is_cut)
            continue
        values = [_get(piece.value, key) for key in rules.keys]
        if all(value is _MISSING for value in values):
            continue
        if is_cut and rules.place == "last" and text[piece.end :].strip(" \t\r\n`"):
            return cut("the reply")
        return _read_object(text, piece, values, rules)
    if is_cut:
        return cut("the verdict")
    keys = ", ".join(f"'{key}'" for key in rules.keys)
    return Failure("no_verdict", f"no JSON object with {keys} in {show(text)}")


def _trouble(text: str, piece: Piece, *, is_cut: bool) -> Failure:
    shown = show(text[piece.start : piece.end])
    if piece.trouble == REPEATED:
        return Failure("repeated_key", f"the key '{piece.detail}' stands there twice in {shown}")
    if piece.trouble == UNCLOSED:
        if is_cut:
            return cut("the JSON object")
        return Failure("broken_json", f"the JSON object is not closed: {shown}")
    return Failure("broken_json", f"not JSON ({piece.detail}): {shown}")


def _read_object(
    text: str, piece: Piece, values: Sequence[Any], rules: JsonRules
) -> Found | Failure:
    shown = text[piece.start : piece.end]
    missing = [
        key for key, value in zip(rules.keys, values, strict=True) if value in (_MISSING, None)
    ]
    if missing:
        return Failure("missing_key", f"no value for '{missing[0]}' in {show(shown)}")
    outcome = _read_values(values, shown, rules)
    if isinstance(outcome, Failure):
        return outcome
    reasons = _get(piece.value, rules.reasons) if rules.reasons else _MISSING
    return Found(outcome.value, reasons if isinstance(reasons, str) else "")


def _read_values(values: Sequence[Any], shown: str, rules: JsonRules) -> Found | Failure:
    if isinstance(rules.holds, ScoreRules):
        return _scores(values, shown, rules.holds)
    if isinstance(rules.holds, ChoiceRules):
        return choice_of(values[0], rules.holds)
    return ranking_of_value(values[0], rules.holds)


def _scores(values: Sequence[Any], shown: str, rules: ScoreRules) -> Found | Failure:
    if len(values) == 1 and isinstance(values[0], list):
        values = values[0]
    scores: list[Score] = []
    for value in values:
        score = _score(value)
        if score is None:
            reason: Reason = "not_a_number"
            return Failure(reason, f"{show(str(value))} is no score, in {show(shown)}")
        scores.append(score)
    return check_scores(scores, shown, rules, reasons="")


def _score(value: Any) -> Score | None:
    """Return a number, or a text that is one score (``"8/10"``)."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return Score(float(value))
    scanned = read_score_line(value) if isinstance(value, str) else None
    if scanned is None or len(scanned.scores) != 1 or scanned.rest:
        return None
    return Score(scanned.scores[0].value, scanned.scores[0].out_of)


def _get(value: Any, key: str) -> Any:
    for name in key.split("."):
        if not isinstance(value, dict) or name not in value:
            return _MISSING
        value = value[name]
    return value


def _name(key: str) -> str:
    """Return the last name of a key, as it must stand in the text."""
    return key.rpartition(".")[2]
