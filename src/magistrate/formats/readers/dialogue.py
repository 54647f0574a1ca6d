"""Dialogues as they are stored in the wild, and questions that a file names by id only."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from magistrate.formats.base import Item, RowError
from magistrate.formats.readers.fields import Fields
from magistrate.formats.readers.values import show
from magistrate.records import Answer, Role, Turn

_ROLES: dict[str, Role] = {
    "system": "system",
    "user": "user",
    "human": "user",
    "prompter": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "chatbot": "assistant",
}
_HH_MARK = re.compile(r"(?:^|\n\n)(Human|Assistant):")
_QUESTION_FIELDS = ("turns", "text", "question", "question_body", "instruction", "prompt")


def is_messages(value: Any) -> bool:
    """Whether a value looks like a list of messages with roles."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(m, Mapping) and ("role" in m or "from" in m) for m in value)
    )


def messages(f: Fields, value: Any, name: str) -> tuple[Turn, ...]:
    """Return a list of ``{role, content}`` (or ``{from, value}``) as turns.

    Raises:
        RowError: It is no such list, or a role is unknown.
    """
    if not is_messages(value):
        raise RowError(f"{name} is {show(value)}; a list of messages with role and content needed")
    return tuple(_turn(f, message, f"{name}[{i}]") for i, message in enumerate(value))


def _turn(f: Fields, message: Mapping[str, Any], name: str) -> Turn:
    said = message.get("role", message.get("from"))
    role = _ROLES.get(said.strip().lower()) if isinstance(said, str) else None
    if role is None:
        raise RowError(f"{name} has role {show(said)}; needed: system, user or assistant")
    content = message.get("content", message.get("value"))
    if isinstance(content, list):
        content = "\n".join(_part(f, part, name) for part in content)
    return Turn(role=role, text=f.as_text(content, f"content of {name}"))


def _part(f: Fields, part: Any, name: str) -> str:
    """Return the text of one part of a message; pictures are left out, and told."""
    if isinstance(part, Mapping):
        if isinstance(part.get("text"), str):
            return f.as_text(part["text"], name)
        f.notice("not-text", "a message has a part that is no text (a picture?); it is left out")
        return ""
    return f.as_text(part, name)


def hh_turns(text: str, name: str) -> tuple[Turn, ...]:
    r"""Split a dialogue written as ``\n\nHuman: ...\n\nAssistant: ...``.

    >>> [turn.role for turn in hh_turns("\n\nHuman: Hi\n\nAssistant: Hello", "chosen")]
    ['user', 'assistant']

    Raises:
        RowError: The text does not begin with such a turn.
    """
    parts = _HH_MARK.split(text)
    if len(parts) < 3 or parts[0].strip():
        raise RowError(f"{name} is {show(text)}; a dialogue of 'Human:' and 'Assistant:' is needed")
    pairs = zip(parts[1::2], parts[2::2], strict=True)
    return tuple(Turn(role=_ROLES[who.lower()], text=said.strip()) for who, said in pairs)


def split_shared(dialogues: Sequence[tuple[Turn, ...]]) -> int:
    """Return how many leading turns all dialogues share, leaving at least one to each."""
    shortest = min(len(dialogue) for dialogue in dialogues) - 1
    shared = 0
    while shared < shortest and all(d[shared] == dialogues[0][shared] for d in dialogues):
        shared += 1
    return shared


def as_question(turns: tuple[Turn, ...]) -> str | tuple[Turn, ...]:
    """Return a dialogue as a question: plain text if it is one user turn."""
    return turns[0].text if len(turns) == 1 and turns[0].role == "user" else turns


def as_answer(turns: tuple[Turn, ...], model: str | None, name: str) -> Answer:
    """Return a continuation as an answer: plain text if it is one assistant turn.

    Raises:
        RowError: It does not end in a turn of the assistant.
    """
    if not turns or turns[-1].role != "assistant":
        last = turns[-1].role if turns else "nothing"
        raise RowError(f"{name} ends with a turn of {last}; it must end with the assistant's")
    return Answer(text=turns[-1].text, model=model, turns=turns if len(turns) > 1 else ())


def alternate(users: Sequence[str], answers: Sequence[str], model: str | None) -> Answer:
    """Return an answer over several turns; the first user turn is the question itself."""
    turns = [Turn(role="assistant", text=answers[0])]
    for user, answer in zip(users[1:], answers[1:], strict=False):
        turns += [Turn(role="user", text=user), Turn(role="assistant", text=answer)]
    return as_answer(tuple(turns), model, "the answer")


def without_questions(f: Fields) -> Item:
    """Return an item for an answer whose question nobody gave: it is counted, and not judged."""
    f.notice(
        "no-question",
        "names its question by id only; give the file of questions (--questions FILE) to judge it",
    )
    return f.item()


def known_question(f: Fields, ident: str | None) -> Any:
    """Return the question record with an id.

    Raises:
        RowError: The row has no id, or no question with it was given.
    """
    if ident is None:
        raise RowError("the row has no question_id, and its question is not in it either")
    if ident not in f.options.questions:
        raise RowError(f"the file of questions has no id {show(ident)}")
    return f.options.questions[ident]


def user_turns(question: Any) -> tuple[str, ...]:
    """Return what the user says in a question record: text, or a row with text or turns.

    Raises:
        RowError: There is no text in it.
    """
    found = question
    if isinstance(question, Mapping):
        found = next((question[key] for key in _QUESTION_FIELDS if question.get(key)), None)
    turns = found if isinstance(found, list | tuple) else (found,)
    if not turns or not all(isinstance(turn, str) for turn in turns):
        raise RowError(f"the question is {show(question)}; text or a list of turns is needed")
    return tuple(turns)


def question_field(question: Any, key: str) -> Any:
    """Return a field of a question record, None where it has none."""
    return question.get(key) if isinstance(question, Mapping) else None
