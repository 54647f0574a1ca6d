"""LLMBar: data sets (one output is better, never a tie) and the results of its evaluators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from magistrate.formats.base import Item, RowError
from magistrate.formats.readers.fields import Fields, RowReader
from magistrate.formats.readers.values import decode, folders, last_number, pair, show, stem
from magistrate.records import Gold, Judgment, Preference, Sample

_LABELS: dict[str, Preference] = {"1": "first", "2": "second"}
_ORDERS = {"swap = False": (0, 1), "swap = True": (1, 0)}


def _sample(f: Fields) -> Sample:
    subset = _subset(f.where.file)
    label = f.choice("label", _LABELS)
    return Sample(
        question=f.text("input"),
        answers=pair(f.text("output_1"), f.text("output_2")),
        gold=(Gold(preference=label),) if label else (),
        category=subset,
        source_id=f.id("id", "idx"),
        meta={"subset": subset} if subset else {},
    )


def _results(f: Fields) -> Item:
    sample = _sample(f)
    rounds = f.get("results")
    if not isinstance(rounds, list) or not rounds or not isinstance(rounds[-1], Mapping):
        raise RowError(f"'results' is {show(rounds)}; a list of rounds is needed")
    last = rounds[-1]
    found = [_judgment(f, sample, last, name) for name in _ORDERS if name in last]
    if not found:
        raise RowError(f"the last of 'results' has neither {' nor '.join(map(repr, _ORDERS))}")
    return f.item(sample, found)


def _judgment(f: Fields, sample: Sample, last: Mapping[str, Any], name: str) -> Judgment:
    """Read one order of the last round; winners are already in the data set's own order."""
    game = last[name]
    if not isinstance(game, Mapping):
        raise RowError(f"'{name}' is {show(game)}; an object with 'winner' is needed")
    winner = game.get("winner")
    preference = None if winner is None else decode(winner, f"winner of '{name}'", _LABELS)
    text, finish = _completion(game.get("completion"))
    return f.judgment(
        judge=_evaluator(f.where.file),
        order=_ORDERS[name],
        ident=f.id("id", "idx"),
        sample=sample,
        status="unparsed" if preference is None else "ok",
        preference=preference,
        scores=_ratings(last),
        raw=text,
        finish_reason=finish,
        error="the file has no winner (null)" if preference is None else None,
    )


def _completion(value: Any) -> tuple[str | None, str | None]:
    """Return text and reason of ``[text, finish_reason]``."""
    if not isinstance(value, list) or not value or not isinstance(value[0], str):
        return None, None
    finish = value[1] if len(value) > 1 and isinstance(value[1], str) else None
    return value[0], finish or None


def _ratings(last: Mapping[str, Any]) -> tuple[float, ...] | None:
    """Return the scores of a rating evaluator, which rates each output alone."""
    scores = [last_number(_completion(last.get(f"score_{i}"))[0]) for i in (1, 2)]
    return None if scores[0] is None or scores[1] is None else (scores[0], scores[1])


def _subset(file: str) -> str | None:
    """Return the subset that the folders name: ``.../Adversarial/Neighbor/dataset.json``."""
    path = folders(file)
    if "evaluators" in path:
        path = path[: path.index("evaluators")]
    elif stem(file) != "dataset":
        return None
    return path[-1] if path else None


def _evaluator(file: str) -> str:
    """Return ``LLM/strategy`` of ``evaluators/LLM/strategy/result.json``."""
    path = folders(file)
    inside = path[path.index("evaluators") + 1 :] if "evaluators" in path else []
    return "/".join(inside) or stem(file)


READERS = (
    RowReader(
        name="llmbar-result",
        summary="LLMBar evaluator result.json: the data's rows with results, a list of rounds",
        parse=_results,
        keys=("input", "output_1", "output_2", "results"),
    ),
    RowReader(
        name="llmbar",
        summary="LLMBar dataset.json: input, output_1, output_2, label (1 or 2 is better)",
        parse=lambda f: f.item(_sample(f)),
        keys=("input", "output_1", "output_2"),
        without=("results", "instruction"),
    ),
)
