"""HaluEval: answers with and without things made up, in general and for three tasks.

The sets of the tasks pair a right answer with a made-up one; copies of them are also passed around
with one of the two a row, and whether it is made up.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from magistrate.formats.base import Item
from magistrate.formats.readers.dialogue import as_question
from magistrate.formats.readers.fields import Fields, RowReader
from magistrate.formats.readers.values import pair
from magistrate.records import Answer, Gold, Role, Sample, Turn

_YES_NO = {"yes": "yes", "no": "no"}
_RIGHT_FIRST = (Gold(preference="first"),)
_SUMMARISE = "Summarise the document."
_SPEAKER = re.compile(r"\[(Human|Assistant)\]:\s*")
_ROLES: dict[str, Role] = {"Human": "user", "Assistant": "assistant"}

_Asked = tuple[str | tuple[Turn, ...], str | None]
"""What was asked, and the passage that a good answer rests on."""


def _general(f: Fields) -> Item:
    return f.item(
        Sample(
            question=f.text("user_query"),
            answers=(Answer(text=f.text("chatgpt_response"), model="chatgpt"),),
            gold=_label(f),
            source_id=f.id("ID", "id"),
            meta=f.meta("hallucination_spans"),
        )
    )


def _label(f: Fields) -> tuple[Gold, ...]:
    label = f.choice("hallucination", _YES_NO)
    return (Gold(label=label),) if label else ()


def _qa(f: Fields) -> _Asked:
    return f.text("question"), f.optional_text("knowledge")


def _dialogue(f: Fields) -> _Asked:
    return _history(f.text("dialogue_history")), f.optional_text("knowledge")


def _summarization(f: Fields) -> _Asked:
    return _SUMMARISE, f.text("document")


def _history(text: str) -> str | tuple[Turn, ...]:
    """Return a dialogue written as ``[Human]: ... [Assistant]: ...``, other text as it is.

    >>> [turn.role for turn in _history("[Human]: Hi [Assistant]: Yes? [Human]: Well?")]
    ['user', 'assistant', 'user']
    """
    parts = _SPEAKER.split(text)
    if len(parts) < 3 or parts[0].strip():
        return text
    turns = zip(parts[1::2], parts[2::2], strict=True)
    return as_question(tuple(Turn(role=_ROLES[who], text=said.strip()) for who, said in turns))


def _pair(f: Fields, task: str, asked: Callable[[Fields], _Asked], answer: str) -> Item:
    """Read a right and a made-up answer; the right one is first, as it is in the file."""
    question, passage = asked(f)
    return f.item(
        Sample(
            question=question,
            answers=pair(f.text(f"right_{answer}"), f.text(f"hallucinated_{answer}")),
            context=(passage,) if passage else (),
            gold=_RIGHT_FIRST,
            category=task,
        )
    )


def _single(f: Fields, task: str, asked: Callable[[Fields], _Asked], answer: str) -> Item:
    question, passage = asked(f)
    return f.item(
        Sample(
            question=question,
            answers=(Answer(text=f.text(answer)),),
            context=(passage,) if passage else (),
            gold=_label(f),
            category=task,
        )
    )


def _task(
    task: str, asked: Callable[[Fields], _Asked], source: str, answer: str
) -> tuple[RowReader, RowReader]:
    """Return the readers of one task.

    Args:
        task: Its name.
        asked: Reads what was asked.
        source: The field that holds it.
        answer: What the file calls an answer.
    """
    right, made_up = f"right_{answer}", f"hallucinated_{answer}"
    return (
        RowReader(
            name=f"halueval-{task}",
            summary=f"HaluEval {task}: {source}, {right}, {made_up}",
            parse=partial(_pair, task=task, asked=asked, answer=answer),
            keys=(source, right, made_up),
        ),
        RowReader(
            name=f"halueval-{task}-single",
            summary=f"HaluEval {task}, one answer a row: {source}, {answer}, hallucination, ...",
            parse=partial(_single, task=task, asked=asked, answer=answer),
            # 'question' and 'answer' alone are anybody's: their passage tells.
            keys=(
                source,
                answer,
                "hallucination",
                *(("knowledge",) if source != "document" else ()),
            ),
        ),
    )


READERS = (
    RowReader(
        name="halueval",
        summary="HaluEval general: user_query, chatgpt_response, hallucination yes or no",
        parse=_general,
        keys=("user_query", "chatgpt_response"),
    ),
    *_task("qa", _qa, "question", "answer"),
    *_task("dialogue", _dialogue, "dialogue_history", "response"),
    *_task("summarization", _summarization, "document", "summary"),
)
