"""Chatbot-Arena: battles of two models with a vote, in its layouts over the years."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from magistrate.formats.base import Item, RowError
from magistrate.formats.readers.dialogue import as_answer, as_question, is_messages, messages
from magistrate.formats.readers.fields import Fields, RowReader
from magistrate.formats.readers.values import show
from magistrate.records import Answer, Gold, Preference, Sample, Turn

_WINNERS: dict[str, Preference] = {
    "model_a": "first",
    "model_b": "second",
    "tie": "tie",
    "tie (bothbad)": "tie",
    "both_bad": "tie",
    "bothbad": "tie",
}
_FLAGS: dict[str, Preference] = {
    "winner_model_a": "first",
    "winner_model_b": "second",
    "winner_tie": "tie",
}
_TEXTS = (("response_a", "response_b"), ("answer_a", "answer_b"), ("output_a", "output_b"))
_META = ("winner", "judge", "turn", "tstamp", "question_id", "anony", "language")


def _battle(f: Fields) -> Item:
    question, answers = _texts(f)
    winner = _winner(f)
    voter = f.id("judge", "judge_hash")
    return f.item(
        Sample(
            question=question,
            answers=answers,
            gold=(Gold(annotator=voter, preference=winner),) if winner else (),
            category=f.optional_text("category") if isinstance(f.get("category"), str) else None,
            language=f.optional_text("language"),
            source_id=f.id("id", "conversation_id", "question_id"),
            meta=f.meta(*_META),
        )
    )


def _winner(f: Fields) -> Preference | None:
    if f.has("winner"):
        return f.choice("winner", _WINNERS)
    won = [outcome for flag, outcome in _FLAGS.items() if f.number(flag)]
    if len(won) > 1:
        raise RowError(f"more than one of {', '.join(_FLAGS)} is set")
    return won[0] if won else None


def _texts(f: Fields) -> tuple[str | tuple[Turn, ...], tuple[Answer, ...]]:
    models = (f.optional_text("model_a"), f.optional_text("model_b"))
    if f.has("conversation_a") and f.has("conversation_b"):
        return _conversations(f, models)
    for keys in _TEXTS:
        if f.has(keys[0]) or f.has(keys[1]):
            return _responses(f, keys, models)
    f.notice("no-text", "a battle without texts: good for ranking by its votes, not for judging")
    return "", tuple(Answer(text="", model=model) for model in models)


def _conversations(
    f: Fields, models: tuple[str | None, str | None]
) -> tuple[str | tuple[Turn, ...], tuple[Answer, ...]]:
    """Take what stands before the first reply as the question, the rest as the answers."""
    talks = [messages(f, _parsed(f.get(k)), f"'{k}'") for k in ("conversation_a", "conversation_b")]
    starts = [next((i for i, t in enumerate(talk) if t.role == "assistant"), 0) for talk in talks]
    question = talks[0][: starts[0]]
    if not question or question != talks[1][: starts[1]]:
        raise RowError("the two conversations do not begin with the same turns of the user")
    answers = tuple(
        as_answer(talk[start:], model, "a conversation")
        for talk, start, model in zip(talks, starts, models, strict=True)
    )
    return as_question(question), answers


def _responses(
    f: Fields, keys: tuple[str, str], models: tuple[str | None, str | None]
) -> tuple[str, tuple[Answer, ...]]:
    """Read texts that are plain, or lists with a text for each turn (also written as JSON)."""
    prompts = _turn_texts(f, "prompt" if f.has("prompt") else "question")
    answers = []
    for key, model in zip(keys, models, strict=True):
        replies = _turn_texts(f, key)
        if len(replies) != len(prompts):
            raise RowError(f"'{key}' has {len(replies)} turns, the prompt {len(prompts)}")
        turns = [Turn(role="assistant", text=replies[0])]
        for prompt, reply in zip(prompts[1:], replies[1:], strict=True):
            turns += [Turn(role="user", text=prompt), Turn(role="assistant", text=reply)]
        answers.append(as_answer(tuple(turns), model, f"'{key}'"))
    return prompts[0], tuple(answers)


def _turn_texts(f: Fields, key: str) -> list[str]:
    value = _parsed(f.get(key))
    if isinstance(value, list):
        if not value:
            raise RowError(f"'{key}' is {show(value)}; text or a list of turns is needed")
        return ["" if part is None else f.as_text(part, f"a turn of '{key}'") for part in value]
    return [f.text(key)]


def _parsed(value: Any) -> Any:
    """Return the list that a text is JSON of; anything else as it stands."""
    if not isinstance(value, str) or not value.lstrip().startswith("["):
        return value
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return value
    whole = is_messages(found) or (
        isinstance(found, list) and all(isinstance(part, str | None) for part in found)
    )
    return found if whole else value


def _is_battle(row: Any, _file: str) -> bool:
    return isinstance(row, Mapping) and ("winner" in row or any(flag in row for flag in _FLAGS))


READERS = (
    RowReader(
        name="arena",
        summary="Chatbot-Arena battles: model_a, model_b, winner, conversation_a, conversation_b",
        parse=_battle,
        keys=("model_a", "model_b"),
        when=_is_battle,
    ),
)
