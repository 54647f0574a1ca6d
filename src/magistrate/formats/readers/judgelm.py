"""JudgeLM: judge samples, answers, training records, judgements and ground truth; MM-Vet.

Scores are from 1 to 10 and higher is better; ``[-1, -1]`` marks a judgement nobody could read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from pydantic import ValidationError

from magistrate.errors import what_is_needed
from magistrate.formats.base import KEY_FIELD, VALUE_FIELD, Item, RowError
from magistrate.formats.readers.dialogue import (
    as_answer,
    as_question,
    known_question,
    messages,
    question_field,
    user_turns,
    without_questions,
)
from magistrate.formats.readers.fields import Fields, RowReader
from magistrate.formats.readers.values import (
    after_scores,
    preferred,
    ranked,
    score_gold,
    score_line,
    show,
    stem,
    usable,
)
from magistrate.records import Answer, Gold, Sample, Turn

_TEACHER = "gpt-4"
_REVERSED = re.compile(r"revers", re.IGNORECASE)
_MM_VET_KEY = re.compile(r"v\d+_\d+")
_META = ("review_id", "answer1_metadata", "answer2_metadata")


def _sample(
    f: Fields, order: Sequence[int] | None = None, gold: tuple[Gold, ...] | None = None
) -> Sample:
    """Read question and answers.

    Args:
        f: The row.
        order: How the bodies are stored; names of models are always stored in the own order.
        gold: What annotators said; None to read what our writer noted.
    """
    bodies = [f.text(key) for key in _body_keys(f)]
    order = order or range(len(bodies))
    texts = {own: bodies[place] for place, own in enumerate(order)}
    answers = [
        Answer(text=texts[i], model=f.optional_text(f"answer{i + 1}_model_id") or None)
        for i in range(len(bodies))
    ]
    return Sample(
        question=f.text("question_body"),
        answers=tuple(answers),
        reference=_reference(f),
        gold=_noted_gold(f) if gold is None else gold,
        category=f.optional_text("category"),
        source_id=f.id("question_id"),
        meta=f.meta(*_META),
    )


def _noted_gold(f: Fields) -> tuple[Gold, ...]:
    """Read the labels that our writer notes in ``gold``; they are in the own order."""
    noted = f.get("gold")
    if noted is None:
        return ()
    if not isinstance(noted, list) or not all(isinstance(one, Mapping) for one in noted):
        f.notice("unknown-label", f"'gold' is {show(noted)} and no list of labels; it is left out")
        return ()
    try:
        return tuple(Gold.model_validate(one) for one in noted)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise RowError(
            f"'gold': {place}: {what_is_needed(first)}, found {show(first['input'])}"
        ) from error


def _body_keys(f: Fields) -> list[str]:
    keys: list[str] = []
    for number in count(1):
        if f"answer{number}_body" not in f.row:
            break
        keys.append(f"answer{number}_body")
    if not keys:
        raise RowError("'answer1_body' is missing; text is needed")
    return keys


def _reference(f: Fields) -> str | None:
    """Read a reference that is text, or an object with text."""
    if isinstance(f.get("reference"), Mapping):
        return f.object("reference").optional_text("text") or None
    return f.optional_text("reference") or None


def _training(f: Fields) -> Item:
    gold = [_teacher_gold(f, "annotator", _TEACHER, ("text", "score"))]
    if f.has("text_w_reference") or f.has("score_w_reference"):
        keys = ("text_w_reference", "score_w_reference")
        told = _teacher_gold(f, "annotator_w_reference", f"{_TEACHER} with reference", keys)
        gold[0] = gold[0].model_copy(update={"with_reference": False})
        gold.append(told.model_copy(update={"with_reference": True}))
    return f.item(_sample(f, gold=tuple(gold)))


def _teacher_gold(f: Fields, name_key: str, teacher: str, keys: tuple[str, str]) -> Gold:
    """Read what a teacher said; our writer notes its name, JudgeLM's own teacher is GPT-4."""
    text = f.optional_text(keys[0])
    scores = f.numbers(keys[1], 2)
    noted = f.get("metadata")
    name = noted.get(name_key) if isinstance(noted, Mapping) else None
    annotator = name if isinstance(name, str) and name else teacher
    return score_gold(annotator, scores, after_scores(text) if text else None)


def _judgement(f: Fields) -> Item:
    """Read a judgement; a file with 'reverse' in its name holds the first two bodies swapped."""
    places = len(_body_keys(f))
    order = list(range(places))
    if places > 1 and _REVERSED.search(stem(f.where.file)):
        order[:2] = [1, 0]
    sample = _sample(f, order)
    raw = f.text("pred_text")
    shown = usable(score_line(raw, places))
    scores = _own_order(shown, order) if shown else None
    judgment = f.judgment(
        judge=f.optional_text("pred_model_id") or stem(f.where.file),
        order=order,
        ident=f.id("question_id"),
        sample=sample,
        status="ok" if scores else "unparsed",
        preference=preferred(scores),
        scores=scores,
        ranking=ranked(scores) if scores and places > 2 else None,
        reasons=after_scores(raw) if scores else None,
        raw=raw,
        error=None if scores else f"the first line of pred_text does not hold {places} scores",
    )
    return f.item(sample, [judgment])


def _own_order(shown: Sequence[float], order: Sequence[int]) -> tuple[float, ...]:
    own = {answer: shown[place] for place, answer in enumerate(order)}
    return tuple(own[i] for i in range(len(shown)))


def _ground_truth(f: Fields) -> Item:
    """Read a teacher's review; its text decides, as in JudgeLM's own metric, then its score."""
    text = f.optional_text("text") or ""
    scores = usable(score_line(text, 2)) or usable(f.numbers("score", 2))
    judgment = f.judgment(
        judge=stem(f.where.file),
        order=(0, 1),
        ident=f.id("question_id", "review_id"),
        status="ok" if scores else "unparsed",
        preference=preferred(scores),
        scores=scores,
        reasons=after_scores(text) or None,
        raw=text,
        error=None if scores else f"the score is {show(f.get('score'))}",
    )
    return f.item(judgments=[judgment])


def _answers(f: Fields) -> Item:
    """Read an answer; our own files of answers also hold whole dialogues, and what became of it."""
    model = f.optional_text("model")
    answer = Answer(text=f.text("text"), model=model)
    if f.has("turns"):
        answer = as_answer(messages(f, f.get("turns"), "'turns'"), model, "'turns'")
    question: str | tuple[Turn, ...] = f.text("question_body")
    if f.has("question_turns"):
        question = as_question(messages(f, f.get("question_turns"), "'question_turns'"))
    return f.item(
        Sample(
            question=question,
            answers=(answer,),
            reference=_reference(f),
            category=f.optional_text("category"),
            language=f.optional_text("language"),
            source_id=f.id("question_id"),
            meta=f.meta("decoding_method", "status"),
        )
    )


def _mm_vet(f: Fields) -> Item:
    """Read a question about a picture; without answers of models there is nothing to judge."""
    if "answer1_body" not in f.row:
        f.text("question")
        return f.item()
    answers = [
        Answer(text=f.text(key), model=f.optional_text(key.replace("_body", "_model_id")))
        for key in _body_keys(f)
    ]
    return f.item(
        Sample(
            question=f.text("question"),
            answers=tuple(answers),
            reference=f.optional_text("answer"),
            images=(f.text("imagename"),),
            source_id=f.id("question_id", KEY_FIELD),
        )
    )


def _mm_vet_prediction(f: Fields) -> Item:
    if not f.options.questions:
        return without_questions(f)
    ident = f.id(KEY_FIELD)
    question = known_question(f, ident)
    picture = question_field(question, "imagename")
    reference = question_field(question, "answer")
    return f.item(
        Sample(
            question=user_turns(question)[0],
            answers=(Answer(text=f.text(VALUE_FIELD), model=stem(f.where.file)),),
            reference=reference if isinstance(reference, str) else None,
            images=(picture,) if isinstance(picture, str) else (),
            source_id=ident,
        )
    )


def is_judgelm_review(row: Any) -> bool:
    """Whether a review leaves the answers' ids empty, as JudgeLM's do and Vicuna-bench's do not."""
    return not row.get("answer1_id") and not row.get("answer2_id")


READERS = (
    RowReader(
        name="judgelm-judgements",
        summary="JudgeLM judgements: a judge sample with pred_text and pred_model_id",
        parse=_judgement,
        keys=("question_body", "answer1_body", "pred_text"),
    ),
    RowReader(
        name="judgelm-training",
        summary="JudgeLM training records: a pair with text, score and perhaps *_w_reference",
        parse=_training,
        keys=("question_body", "answer1_body", "answer2_body", "text", "score"),
        without=("pred_text",),
    ),
    RowReader(
        name="judgelm",
        summary="JudgeLM judge samples: question_body, answer1_body, answer2_body, ...",
        parse=lambda f: f.item(_sample(f)),
        keys=("question_body", "answer1_body"),
        without=("pred_text", "text"),
    ),
    RowReader(
        name="judgelm-answers",
        summary="JudgeLM answers of one model: question_id, question_body, text, model",
        parse=_answers,
        keys=("question_body", "text"),
        without=("answer1_body", "review_id"),
    ),
    RowReader(
        name="judgelm-ground-truth",
        summary="JudgeLM ground truth: review_id, question_id, text, score; no answers' texts",
        parse=_ground_truth,
        keys=("review_id", "text", "score"),
        without=("question_body",),
        when=lambda row, _file: is_judgelm_review(row),
    ),
    RowReader(
        name="mm-vet",
        summary="MM-Vet: imagename, question, answer (references), perhaps answer1_body",
        parse=_mm_vet,
        keys=("imagename", "question"),
    ),
    RowReader(
        name="mm-vet-predictions",
        summary="MM-Vet predictions: an object from v1_0, v1_1, ... to text",
        parse=_mm_vet_prediction,
        keys=(KEY_FIELD, VALUE_FIELD),
        when=lambda row, _file: (
            isinstance(row[KEY_FIELD], str) and _MM_VET_KEY.fullmatch(row[KEY_FIELD]) is not None
        ),
    ),
)
