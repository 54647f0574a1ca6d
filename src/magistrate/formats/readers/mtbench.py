"""MT-bench: questions, answers, and judgments of single answers and of pairs.

Answers name their question by id. Judgments hold no texts but in the prompt that the judge saw,
from which question and answers are read back if the prompt has one of MT-bench's own layouts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from magistrate.formats.base import Item, RowError
from magistrate.formats.readers import mtbench_prompts
from magistrate.formats.readers.dialogue import (
    alternate,
    known_question,
    question_field,
    user_turns,
    without_questions,
)
from magistrate.formats.readers.fields import Fields, RowReader
from magistrate.formats.readers.values import plain_id, show, usable
from magistrate.records import Judgment, Preference, Sample, reference_of_turns

_WINNERS: dict[str, Preference | None] = {
    "model_1": "first",
    "model_2": "second",
    "tie": "tie",
    "error": None,
}
_GAMES = (("g1", (0, 1)), ("g2", (1, 0)))


def _question(f: Fields) -> Item:
    user_turns(f.row)
    return f.item()


def _answer(f: Fields) -> Item:
    choices = f.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise RowError(f"'choices' is {show(choices)}; a list of objects with turns is needed")
    if len(choices) > 1:
        f.notice("more-choices", "has more than one choice; only the first is read")
    turns = choices[0].get("turns")
    if not isinstance(turns, list) or not turns:
        raise RowError(f"turns of the first choice are {show(turns)}; a list of text is needed")
    texts = [f.as_text(turn, f"turn {i}") for i, turn in enumerate(turns, start=1)]
    if not f.options.questions:
        return without_questions(f)
    ident = f.id("question_id")
    question = known_question(f, ident)
    users = user_turns(question)
    if len(users) < len(texts):
        raise RowError(f"{len(texts)} turns answer a question of {len(users)}")
    category = question_field(question, "category")
    return f.item(
        Sample(
            question=users[0],
            answers=(alternate(users, texts, f.optional_text("model_id")),),
            reference=_reference(question_field(question, "reference"), len(texts)),
            category=category if isinstance(category, str) else None,
            source_id=ident,
            meta=f.meta("answer_id"),
        )
    )


def _reference(given: object, turns: int) -> str | None:
    """Return the reference of a question, one text for each of its turns."""
    texts = [t for t in given if isinstance(t, str)] if isinstance(given, list) else []
    if len(texts) < 2 or turns < 2:
        return texts[0] if texts else None
    return reference_of_turns(texts)


def _single(f: Fields) -> Item:
    model = f.optional_text("model")
    ident = _ident(f, (model,))
    seen = mtbench_prompts.read_single(f.optional_text("user_prompt") or "", model)
    sample = _sample(f, seen, ident)
    score = f.number("score")
    scores = None if score is None else usable((score,))
    judgment = f.judgment(
        judge=_judge_name(f),
        order=(0,),
        ident=ident,
        sample=sample,
        status="ok" if scores else "unparsed",
        scores=scores,
        reasons=f.optional_text("judgment"),
        raw=f.optional_text("judgment"),
        error=None if scores else f"the score is {show(f.get('score'))}",
    )
    return f.item(sample, [judgment])


def _pair(f: Fields) -> Item:
    models = (f.optional_text("model_1"), f.optional_text("model_2"))
    ident = _ident(f, models)
    seen = mtbench_prompts.read_pair(f.optional_text("g1_user_prompt") or "", models)
    sample = _sample(f, seen, ident)
    games = [_game(f, game, order, ident, sample) for game, order in _GAMES if _has_game(f, game)]
    return f.item(sample, games)


def _has_game(f: Fields, game: str) -> bool:
    return f"{game}_winner" in f.row


def _game(
    f: Fields, game: str, order: tuple[int, int], ident: str, sample: Sample | None
) -> Judgment:
    """Read one game; winners are named by model, so they need no mapping back."""
    winner = f.choice(f"{game}_winner", _WINNERS)
    text = f.optional_text(f"{game}_judgment")
    return f.judgment(
        judge=_judge_name(f),
        order=order,
        ident=ident,
        sample=sample,
        status="ok" if winner else "unparsed",
        preference=winner,
        reasons=text,
        raw=text,
        error=None if winner else f"the winner is {show(f.get(f'{game}_winner'))}",
    )


def _sample(f: Fields, seen: mtbench_prompts.Seen | None, ident: str) -> Sample | None:
    if seen is None:
        return None
    return Sample(
        question=seen.question,
        answers=seen.answers,
        reference=seen.reference,
        source_id=ident,
        meta=f.meta("question_id", "turn"),
    )


def _ident(f: Fields, models: Sequence[str | None]) -> str:
    """Return what names a judged text: question, models and turn."""
    parts = [f.get("question_id"), *models, f.get("turn")]
    return ":".join(plain_id(part) for part in parts if part is not None)


def _judge_name(f: Fields) -> str:
    """Return ``model/prompt``; MT-bench keeps the two in a list."""
    judge = f.get("judge")
    if isinstance(judge, list):
        return "/".join(plain_id(part) for part in judge) or "judge"
    return f.id("judge") or "judge"


READERS = (
    RowReader(
        name="mt-bench-pair",
        summary="MT-bench pair judgments: model_1, model_2, g1_winner, g2_winner, judge, turn",
        parse=_pair,
        keys=("question_id", "model_1", "model_2", "g1_winner"),
    ),
    RowReader(
        name="mt-bench-single",
        summary="MT-bench single judgments: question_id, model, judge, judgment, score, turn",
        parse=_single,
        keys=("question_id", "model", "judge", "score"),
        without=("question_body",),
    ),
    RowReader(
        name="mt-bench-answers",
        summary="MT-bench answers and reference answers: question_id, model_id, choices",
        parse=_answer,
        keys=("question_id", "choices"),
    ),
    RowReader(
        name="mt-bench-questions",
        summary="MT-bench questions: question_id, category, turns, perhaps reference",
        parse=_question,
        keys=("question_id", "turns"),
        without=("choices",),
    ),
)
