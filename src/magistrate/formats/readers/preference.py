"""Chosen and rejected: Hugging Face preference sets, RewardBench, RM-Bench, hh-rlhf, HHH.

The chosen answer comes first in the sample, as in the file (except in the HHH evaluations, whose
prompt lettered the answers): judge both orders, or the place gives the label away.
"""

from __future__ import annotations

from typing import Any

from magistrate.formats.base import Item, RowError
from magistrate.formats.readers.dialogue import (
    as_answer,
    as_question,
    hh_turns,
    is_messages,
    messages,
    split_shared,
)
from magistrate.formats.readers.fields import Fields, RowReader
from magistrate.formats.readers.values import label_text, show
from magistrate.records import Answer, Gold, Preference, Sample, Turn

_SIDES = ("chosen", "rejected")
_LETTERS: dict[str, Preference] = {"(a)": "first", "(b)": "second"}
_META = (
    "subset",
    "source",
    "dataset",
    "prompt_id",
    "chosen_score",
    "rejected_score",
    "score_chosen",
    "score_rejected",
    "error_key",
    "error",
)


def _preference(f: Fields) -> Item:
    if any(is_messages(f.get(side)) for side in _SIDES):
        question, answers = _from_messages(f)
    else:
        question, answers = _needed_prompt(f), tuple(_text_answer(f, side) for side in _SIDES)
    return f.item(
        Sample(
            question=question,
            answers=answers,
            gold=(Gold(preference="first"),),
            category=f.optional_text("subset"),
            source_id=f.id("id", "prompt_id"),
            meta=f.meta(*_META),
        )
    )


def _text_answer(f: Fields, side: str) -> Answer:
    return Answer(text=f.text(side), model=_model(f, side))


def _model(f: Fields, side: str) -> str | None:
    return f.optional_text(f"{side}_model") or f.optional_text(f"{side}-model")


def _prompt(f: Fields) -> str | tuple[Turn, ...] | None:
    if is_messages(f.get("prompt")):
        return as_question(messages(f, f.get("prompt"), "prompt"))
    return f.optional_text("prompt")


def _needed_prompt(f: Fields) -> str | tuple[Turn, ...]:
    prompt = _prompt(f)
    if prompt is None:
        raise RowError("'prompt' is missing; text or messages are needed")
    return prompt


def _from_messages(f: Fields) -> tuple[str | tuple[Turn, ...], tuple[Answer, ...]]:
    """Take the messages that both sides share as the dialogue, and the rest as the answers."""
    dialogues = [messages(f, f.get(side), f"'{side}'") for side in _SIDES]
    shared = split_shared(dialogues)
    answers = tuple(
        as_answer(dialogue[shared:], _model(f, side), f"'{side}'")
        for dialogue, side in zip(dialogues, _SIDES, strict=True)
    )
    before = dialogues[0][:shared]
    prompt = _prompt(f)
    if isinstance(prompt, tuple) and before[: len(prompt)] != prompt:
        before = prompt + before
    if before:
        return as_question(before), answers
    if prompt is None:
        raise RowError("'chosen' and 'rejected' share no message and there is no 'prompt'")
    return prompt, answers


def _many(f: Fields) -> Item:
    """Read several chosen and several rejected answers as one sample with a ranking."""
    answers: list[Answer] = []
    ranks: list[int] = []
    for rank, side in enumerate(_SIDES, start=1):
        texts = f.get(side)
        if not isinstance(texts, list) or not texts:
            raise RowError(f"'{side}' is {show(texts)}; a list of answers is needed")
        names = f.get(f"{side}_model")
        for i, text in enumerate(texts):
            model = names[i] if isinstance(names, list) and len(names) == len(texts) else names
            answers.append(
                Answer(
                    text=f.as_text(text, f"'{side}'[{i}]"),
                    model=model if isinstance(model, str) else None,
                )
            )
            ranks.append(rank)
    return f.item(
        Sample(
            question=_needed_prompt(f),
            answers=tuple(answers),
            gold=(Gold(ranking=tuple(ranks)),),
            category=f.optional_text("subset"),
            source_id=f.id("id"),
            meta=f.meta(*_META),
        )
    )


def _hh(f: Fields) -> Item:
    dialogues = [hh_turns(f.text(side), f"'{side}'") for side in _SIDES]
    question, answers = _split(dialogues)
    gold = Gold(preference="first")
    return f.item(Sample(question=question, answers=answers, gold=(gold,), source_id=f.id("id")))


def _hhh(f: Fields) -> Item:
    """Read an HHH evaluation; its answers are in the order in which its prompt lettered them."""
    corrects = f.get("corrects")
    letter = label_text(corrects[0]) if isinstance(corrects, list) and len(corrects) == 1 else None
    if letter not in _LETTERS:
        raise RowError(f'\'corrects\' is {show(corrects)}; needed: [" (A)"] or [" (B)"]')
    keys = ["text_correct", "text_incorrect"]
    if _LETTERS[letter] == "second":
        keys.reverse()
    question, answers = _split([hh_turns(f.text(key), f"'{key}'") for key in keys])
    gold = Gold(preference=_LETTERS[letter])
    return f.item(Sample(question=question, answers=answers, gold=(gold,), source_id=f.id("id")))


def _split(
    dialogues: list[tuple[Turn, ...]],
) -> tuple[str | tuple[Turn, ...], tuple[Answer, ...]]:
    shared = split_shared(dialogues)
    if shared == 0:
        raise RowError("the two dialogues share no turn, so there is no question")
    answers = tuple(as_answer(d[shared:], None, "the dialogue") for d in dialogues)
    return as_question(dialogues[0][:shared]), answers


def _is_hh(row: Any, _file: str) -> bool:
    return all(
        isinstance(row[side], str) and row[side].lstrip("\n").startswith("Human:")
        for side in _SIDES
    )


def _is_many(row: Any, _file: str) -> bool:
    return all(
        isinstance(row[side], list) and row[side] and isinstance(row[side][0], str)
        for side in _SIDES
    )


def _is_pair(row: Any, file: str) -> bool:
    return not _is_many(row, file) and not ("prompt" not in row and _is_hh(row, file))


READERS = (
    RowReader(
        name="hhh-constitutional",
        summary="HHH evaluations: prompt, corrects, text_correct, text_incorrect (dialogues)",
        parse=_hhh,
        keys=("corrects", "text_correct", "text_incorrect"),
    ),
    RowReader(
        name="hh-rlhf",
        summary="hh-rlhf: chosen and rejected dialogues of 'Human:' and 'Assistant:' turns",
        parse=_hh,
        keys=_SIDES,
        without=("prompt",),
        when=_is_hh,
    ),
    RowReader(
        name="rm-bench",
        summary="RM-Bench, RewardBench 2: prompt, lists of chosen and rejected answers",
        parse=_many,
        keys=_SIDES,
        when=_is_many,
    ),
    RowReader(
        name="preference",
        summary="RewardBench and Hugging Face preference: prompt, chosen, rejected",
        parse=_preference,
        keys=_SIDES,
        when=_is_pair,
    ),
)
