"""Vicuna-bench: questions, answers, and reviews with a pair of scores."""

from __future__ import annotations

from magistrate.formats.base import Item
from magistrate.formats.readers.dialogue import (
    known_question,
    question_field,
    user_turns,
    without_questions,
)
from magistrate.formats.readers.fields import Fields, RowReader
from magistrate.formats.readers.judgelm import is_judgelm_review
from magistrate.formats.readers.values import after_scores, plain_id, preferred, show, usable
from magistrate.records import Answer, Sample


def _question(f: Fields) -> Item:
    f.text("text")
    return f.item()


def _answer(f: Fields) -> Item:
    if not f.options.questions:
        return without_questions(f)
    ident = f.id("question_id")
    question = known_question(f, ident)
    category = question_field(question, "category")
    return f.item(
        Sample(
            question=user_turns(question)[0],
            answers=(Answer(text=f.text("text"), model=f.optional_text("model_id")),),
            category=category if isinstance(category, str) else None,
            source_id=ident,
            meta=f.meta("answer_id"),
        )
    )


def _review(f: Fields) -> Item:
    """Read a review by its ``score``: some texts do not begin with the scores."""
    scores = usable(f.numbers("score", 2))
    text = f.optional_text("text")
    judgment = f.judgment(
        judge=_reviewer(f),
        order=(0, 1),
        ident=":".join(plain_id(f.get(k)) for k in ("question_id", "answer1_id", "answer2_id")),
        status="ok" if scores else "unparsed",
        preference=preferred(scores),
        scores=scores,
        reasons=after_scores(text) if text else None,
        raw=text,
        error=None if scores else f"the score is {show(f.get('score'))}",
    )
    return f.item(judgments=[judgment])


def _reviewer(f: Fields) -> str:
    name = f.id("reviewer_id")
    return f"reviewer {name or 'unknown'}" if name is None or name.isdecimal() else name


READERS = (
    RowReader(
        name="vicuna-reviews",
        summary="Vicuna-bench reviews: question_id, answer1_id, answer2_id, text, score",
        parse=_review,
        keys=("question_id", "answer1_id", "answer2_id", "score"),
        without=("question_body",),
        when=lambda row, _file: not is_judgelm_review(row),
    ),
    RowReader(
        name="vicuna-answers",
        summary="Vicuna-bench answers: question_id, text, model_id, answer_id (needs --questions)",
        parse=_answer,
        keys=("question_id", "text", "answer_id", "model_id"),
        without=("question_body", "review_id"),
    ),
    RowReader(
        name="vicuna-questions",
        summary="Vicuna-bench questions: question_id, text, category",
        parse=_question,
        keys=("question_id", "text", "category"),
        without=("answer_id", "review_id", "question_body", "answer1_id"),
    ),
)
