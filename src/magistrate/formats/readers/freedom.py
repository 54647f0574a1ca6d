"""LLMZoo reviews (any number of answers, ranked) and the judgement-bias pairs."""

from __future__ import annotations

from magistrate.formats.base import Item, RowError
from magistrate.formats.readers.fields import Fields, RowReader
from magistrate.formats.readers.values import as_numbers, folders, show
from magistrate.records import Answer, Preference, Sample

_BY_RANK: dict[int, Preference] = {-1: "first", 0: "tie", 1: "second"}


def _review(f: Fields) -> Item:
    inside = f.object("metadata")
    texts, models = inside.get("answers"), inside.get("model_ids")
    if not isinstance(texts, list) or not texts:
        raise RowError(f"'answers' is {show(texts)}; a list of text is needed")
    if not isinstance(models, list) or len(models) != len(texts):
        models = [None] * len(texts)
    ranking = _ranking(f, len(texts))
    aspect = next(iter(folders(f.where.file)[-1:]), None)
    sample = Sample(
        question=inside.text("question"),
        answers=tuple(
            Answer(text=f.as_text(text, f"answer {i + 1}"), model=m if isinstance(m, str) else None)
            for i, (text, m) in enumerate(zip(texts, models, strict=True))
        ),
        category=f.optional_text("category"),
        language=f.optional_text("lang"),
        source_id=f.id("question_id"),
        meta={"aspect": aspect} if aspect else {},
    )
    judgment = f.judgment(
        judge="/".join(part for part in (f.id("reviewer_id") or "reviewer", aspect) if part),
        order=range(len(texts)),
        ident=f.id("question_id"),
        sample=sample,
        status="ok" if ranking else "unparsed",
        ranking=ranking,
        preference=_preference(ranking),
        reasons=f.optional_text("text"),
        raw=f.optional_text("text"),
        error=None if ranking else f"the order is {show(f.get('order'))}",
    )
    return f.item(sample, [judgment])


def _ranking(f: Fields, count: int) -> tuple[int, ...] | None:
    """Return the ranks of the answers, 1 is best; None where the file has none or -1."""
    if not f.has("order"):
        return None
    ranks = as_numbers(f.get("order"), "'order'", count)
    if any(rank < 1 for rank in ranks):
        return None
    if any(not rank.is_integer() for rank in ranks):
        raise RowError(f"'order' is {show(f.get('order'))}; whole ranks are needed")
    return tuple(int(rank) for rank in ranks)


def _preference(ranking: tuple[int, ...] | None) -> Preference | None:
    if ranking is None or len(ranking) != 2:
        return None
    return _BY_RANK[(ranking[0] > ranking[1]) - (ranking[0] < ranking[1])]


def _bias(f: Fields) -> Item:
    """Read a pair of which one answer may have been given an error or a fake reference."""
    pair = f.object("answers")
    sides = [pair.object(name) for name in ("answer1", "answer2")]
    model = f.optional_text("model_id")
    perturbed = [side.optional_text("perturb") or "" for side in sides]
    return f.item(
        Sample(
            question=f.text("question"),
            answers=tuple(Answer(text=side.text("answer"), model=model) for side in sides),
            category=f.optional_text("level"),
            source_id=f.id("question_id"),
            meta={"perturb": perturbed} if any(perturbed) else {},
        )
    )


READERS = (
    RowReader(
        name="llmzoo-reviews",
        summary="LLMZoo reviews: metadata with question, answers and model_ids, order (ranks)",
        parse=_review,
        keys=("review_id", "metadata", "order"),
    ),
    RowReader(
        name="judgement-bias",
        summary="Judgement-bias pairs: question, answers with answer1 and answer2, no votes",
        parse=_bias,
        keys=("question", "answers"),
        when=lambda row, _file: (
            isinstance(row["answers"], dict) and {"answer1", "answer2"} <= row["answers"].keys()
        ),
    ),
)
