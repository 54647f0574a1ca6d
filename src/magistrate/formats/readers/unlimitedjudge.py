"""UnlimitedJudge: lists of scores without texts, in the order of some other file's rows."""

from __future__ import annotations

from typing import Any

from magistrate.formats.base import Item, RowError
from magistrate.formats.readers.fields import Fields, RowReader
from magistrate.formats.readers.values import as_number, as_numbers, preferred, show, stem, usable
from magistrate.records import Answer, Gold, Sample

_ASPECTS = ("Detailedness", "Relevence", "Creativity", "Depth", "Helpfulness", "Accuracy")


def _pair_of_scores(f: Fields) -> Item:
    """Read ``[s1, s2]``; ``[-1, -1]`` marks a judgement nobody could read."""
    return _scored(f, as_numbers(f.row, "the row", 2), None)


def _prediction(f: Fields) -> Item:
    """Read a parsed score; without a prediction it was made up (upstream puts a tie there)."""
    text = f.text("prediction")
    scores = f.get("score")
    pair = isinstance(scores, list)
    found = as_numbers(scores, "'score'") if pair else (as_number(scores, "'score'"),)
    if len(found) not in (1, 2):
        raise RowError(f"'score' is {show(scores)}; one or two numbers are needed")
    return _scored(f, found, text)


def _scored(f: Fields, found: tuple[float, ...], raw: str | None) -> Item:
    scores = usable(found) if raw is None or raw.strip() else None
    judgment = f.judgment(
        judge=stem(f.where.file),
        order=range(len(found)),
        ident=None,
        status="ok" if scores else "unparsed",
        preference=preferred(scores),
        scores=scores,
        raw=raw,
        error=None if scores else "the prediction is empty or the score is negative",
    )
    return f.item(judgments=[judgment])


def _rating(f: Fields) -> Item:
    return _scored(f, (as_number(f.row, "the row"),), None)


def _aspects(f: Fields) -> Item:
    gold = [
        Gold(annotator=aspect, scores=(score,))
        for aspect in _ASPECTS
        if (score := f.number(aspect)) is not None
    ]
    return f.item(
        Sample(
            question=f.text("question"),
            answers=(Answer(text=f.text("answer")),),
            gold=tuple(gold),
            source_id=f.id("id"),
        )
    )


def _confidences(f: Fields) -> Item:
    """Tell where lists of confidences belong: they say how sure a judge is, not of what."""
    raise RowError(
        "this is a list of confidences and holds no verdicts; give it beside the scores: "
        "magistrate cascade replay SCORES STRONG --confidence THIS_FILE"
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_numbers(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_number, value))


READERS = (
    RowReader(
        name="unlimitedjudge-reliability",
        summary="UnlimitedJudge confidences: lists Entropy, entropy_cali, ... (for --confidence)",
        parse=_confidences,
        when=lambda row, _file: (
            isinstance(row, dict) and bool(row) and all(map(_is_numbers, row.values()))
        ),
    ),
    RowReader(
        name="unlimitedjudge-aspects",
        summary="UnlimitedJudge aspect scores: question, answer, Detailedness, Creativity, ...",
        parse=_aspects,
        keys=("question", "answer", *_ASPECTS[:2]),
    ),
    RowReader(
        name="unlimitedjudge-predictions",
        summary="UnlimitedJudge predictions: score (one or two numbers), prediction",
        parse=_prediction,
        keys=("score", "prediction"),
        without=("question", "answer", "answer1"),
    ),
    RowReader(
        name="unlimitedjudge-scores",
        summary="UnlimitedJudge score pairs: each row is [s1, s2]",
        parse=_pair_of_scores,
        when=lambda row, _file: (
            isinstance(row, list) and len(row) == 2 and all(map(_is_number, row))
        ),
    ),
    RowReader(
        name="unlimitedjudge-ratings",
        summary="UnlimitedJudge ratings: each row is a number",
        parse=_rating,
        when=lambda row, _file: _is_number(row),
    ),
)
