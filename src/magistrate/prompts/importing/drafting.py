"""Recipe and texts become the files of a family folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from magistrate.errors import FamilyError
from magistrate.prompts.importing.markers import DATA, NUMBER, SHORTEST, markers_of
from magistrate.prompts.importing.recipe import (
    CHOSEN,
    Code,
    Expression,
    Piece,
    Recipe,
    Ref,
)
from magistrate.prompts.importing.texts import Text, prompts_among
from magistrate.prompts.importing.wording import (
    Field,
    Wording,
    field_names,
    filled,
    joined,
    to_jinja,
)
from magistrate.prompts.untrusted import ANY_NUMBER

EMPTY_ANSWER = "(no answer was given)"
_CODE = "code:"
_DEEPEST = 6
_MOST_SHOWN = 20
_CHATML_OPENS, _CHATML_CLOSES = "<|im_start|>", "<|im_end|>"
_ROLES = ("system", "user", "assistant")


@dataclass(slots=True)
class Draft:
    """A family folder before it is written."""

    family: dict[str, Any]
    """The contents of ``family.toml``."""
    templates: dict[str, str]
    """The other files: name and text."""
    slots: dict[str, str]
    """Each place of the peer's that shows data, and our variable in it."""
    texts: list[Text] = field(default_factory=list)
    """The texts that were used."""


def draft(recipe: Recipe, texts: Sequence[Text], *, prompt: str | None = None) -> Draft:
    """Put a family together.

    Args:
        recipe: How.
        texts: What was found in the peer's files.
        prompt: Name of the peer's prompt, if not the recipe's own.

    Raises:
        FamilyError: A text is missing or there are several of its name, a place is unknown, or
            question or answers have no place; the message lists what was found.
    """
    maker = _Maker(recipe, texts, prompt or recipe.prompt)
    plans = [(plan.role, maker.wording(plan.pieces)) for plan in recipe.messages]
    messages = _from_chatml(plans[0][1]) if recipe.chatml else plans
    messages = [(role, maker.expand(wording)) for role, wording in messages]
    maker.check()
    templates = {
        f"{number}-{role}.jinja": to_jinja(wording, maker.fill_of(wording))
        for number, (role, wording) in enumerate(messages, 1)
    }
    family = {
        "name": recipe.family,
        "version": "1",
        "description": recipe.description,
        "reads_alone": recipe.reads_alone,
        "min_answers": recipe.min_answers,
        "max_answers": recipe.max_answers,
        "empty_answer": EMPTY_ANSWER,
        "markers": _held_by(
            templates.values(), markers_of([maker.flattened(wording) for _, wording in messages])
        ),
        "messages": [
            {"role": role, "file": name}
            for (role, _), name in zip(messages, templates, strict=True)
        ],
        "verdict": recipe.verdict,
        "sampling": recipe.sampling,
        "score_mode": recipe.score_mode,
        "prefill": recipe.prefill,
    }
    return Draft(family, templates, maker.slots, maker.used)


class _Maker:
    """Follows a recipe's references and keeps count of what was used and what is missing."""

    def __init__(self, recipe: Recipe, texts: Sequence[Text], prompt: str) -> None:
        self.recipe = recipe
        self.texts = texts
        self.prompt = prompt
        self.used: list[Text] = []
        self.slots: dict[str, str] = {}
        self.unknown: dict[str, None] = {}

    def wording(self, pieces: Sequence[Piece]) -> Wording:
        """Return the wording that pieces make, their places still the peer's."""
        found: list[str | Field] = []
        for piece in pieces:
            if isinstance(piece, str):
                found.append(piece)
            elif isinstance(piece, Code):
                found.append(Field(_CODE + piece.jinja))
            else:
                found.extend(self._referred(piece))
        return joined(found)

    def expand(self, wording: Wording, depth: int = 0) -> Wording:
        """Fill places that stand for other texts; what is left shows data or is code."""
        values: dict[str, Wording] = {}
        for name in field_names(wording):
            if name.startswith(_CODE):
                continue
            fill = self.recipe.fill.get(name)
            if fill is None:
                self.unknown[name] = None
            elif isinstance(fill, Expression):
                if fill.is_data:
                    self.slots[name] = fill.jinja
            elif depth < _DEEPEST:
                self._note_data(name, fill)
                values[name] = self.expand(self.wording(fill), depth + 1)
            else:
                raise FamilyError(f"the place '{name}' is filled by itself")
        return filled(wording, values)

    def check(self) -> None:
        """Refuse a prompt with unknown places, or without a place for what is judged."""
        if self.unknown:
            raise FamilyError(
                f"{self._which} has places that nothing here fills: {_listed(self.unknown)}; "
                f"known are {_listed(self.recipe.fill)}. Say what they show with --slot, such as "
                f"--slot THEIRS=question, or choose another prompt with --prompt"
            )
        for what, variables in _needed(self.recipe):
            if not any(re.search(rf"\b{variables}\b", shown) for shown in self.slots.values()):
                raise FamilyError(f"{self._which} has no place for {what}; {self._found}")

    def fill_of(self, wording: Wording) -> dict[str, str]:
        """Return the piece of template for every place that is left."""
        return {name: self._jinja(name) for name in field_names(wording)}

    def flattened(self, wording: Wording) -> str:
        """Return the wording as one text in which markers can be looked for."""
        return "".join(self._flat(piece) for piece in wording)

    @property
    def _which(self) -> str:
        return f"{self.recipe.peer}'s prompt '{self.prompt}'"

    @property
    def _found(self) -> str:
        return f"its places are {_listed(self.slots)}" if self.slots else "it has no places"

    def _note_data(self, name: str, fill: tuple[Piece, ...]) -> None:
        """Count a place as one of data where code alone fills it, such as a loop over passages."""
        code = " ".join(piece.jinja for piece in fill if isinstance(piece, Code))
        if "context" in code and not any(isinstance(piece, Ref) for piece in fill):
            self.slots[name] = "context"

    def _jinja(self, name: str) -> str:
        if name.startswith(_CODE):
            return name.removeprefix(_CODE)
        fill = self.recipe.fill[name]
        if not isinstance(fill, Expression):
            raise FamilyError(f"the place '{name}' is filled by itself")
        return f"{{{{ {fill.jinja} }}}}"

    def _flat(self, piece: str | Field) -> str:
        if isinstance(piece, str):
            return piece.replace(DATA, "").replace(NUMBER, "")
        if piece.name.startswith(_CODE):
            code = piece.name.removeprefix(_CODE)
            # Of code that prints, only numbers and whole passages occur in recipes.
            return DATA if "{{ passage }}" in code else NUMBER if "{{" in code else "\n"
        fill = self.recipe.fill[piece.name]
        return DATA if isinstance(fill, Expression) and fill.is_data else NUMBER

    def _referred(self, ref: Ref) -> Wording:
        text = self._text(ref)
        if text not in self.used:
            self.used.append(text)
        wording = text.read(ref.notation)
        if ref.without_end:
            last = wording[-1] if wording else ""
            if not isinstance(last, str) or not last.endswith(ref.without_end):
                raise FamilyError(f"{text.where}: it should end with '{ref.without_end}'")
            wording = joined((*wording[:-1], last.removesuffix(ref.without_end)))
        for mark, name in ref.marks:
            wording = _marked(wording, mark, name, text)
        return wording

    def _text(self, ref: Ref) -> Text:
        name = ref.name.replace(CHOSEN, self.prompt)
        named = [t for t in self.texts if t.name == name or t.name.endswith(f".{name}")]
        fitting = {
            text.wording: text
            for text in named
            if set(ref.has) <= set(field_names(text.wording))
            and not set(ref.lacks) & set(field_names(text.wording))
        }
        if len(fitting) == 1:
            return next(iter(fitting.values()))
        if fitting:
            places = "; ".join(text.where for text in fitting.values())
            raise FamilyError(
                f"'{name}' stands there {len(fitting)} times with different words: {places}. "
                f"Give the file that has the one you mean"
            )
        raise FamilyError(self._missing(name, named))

    def _choices(self) -> Iterable[str]:
        """Return what may be given as the name of the prompt: names of texts with places."""
        inside = next(
            (
                piece.name.removeprefix(CHOSEN)
                for plan in self.recipe.messages
                for piece in plan.pieces
                if isinstance(piece, Ref) and CHOSEN in piece.name and piece.notation != "literal"
            ),
            "",
        )
        for text in prompts_among(tuple(self.texts)):
            if text.name.endswith(inside):
                yield text.name.removesuffix(inside)

    def _missing(self, name: str, named: Sequence[Text]) -> str:
        files = ", ".join(dict.fromkeys(str(text.file) for text in self.texts)) or "the files"
        if named:
            return f"'{name}' of {files} does not have the places that {self.recipe.peer}'s had"
        prompts = dict.fromkeys(self._choices())
        told = f"prompts there: {_listed(prompts)}" if prompts else "no prompt is there"
        return (
            f"no text '{name}' in {files}; {told}. Choose one with --prompt, or give the file of "
            f"{self.recipe.peer} ({self.recipe.files[0]})"
        )


def _needed(recipe: Recipe) -> Iterable[tuple[str, str]]:
    """Return what a prompt must show, and the variables of ours that show it."""
    yield "the question", r"(?:question|turns|dialogue(?:_\d+)?)"
    if recipe.reads_alone:
        yield "the answer", "(?:answer|dialogue)"
        return
    for place in (1, 2):
        yield f"answer {place}", rf"(?:(?:answer|dialogue)_{place}|answers|dialogues)"


def _marked(wording: Wording, mark: str, name: str, text: Text) -> Wording:
    """Return the wording with every occurrence of a piece made a place."""
    pieces: list[str | Field] = []
    for piece in wording:
        if isinstance(piece, Field):
            pieces.append(piece)
            continue
        first, *others = piece.split(mark)
        pieces.append(first)
        for other in others:
            pieces += (Field(name), other)
    if name not in field_names(tuple(pieces)):
        raise FamilyError(f"{text.where}: it should hold '{mark}', where numbers are put in")
    return joined(pieces)


def _from_chatml(wording: Wording) -> list[tuple[str, Wording]]:
    """Return the messages of a ChatML text; one message of role ``text`` where it is none."""
    text = "".join(piece if isinstance(piece, str) else DATA for piece in wording)
    if _CHATML_OPENS not in text:
        return [("text", wording)]
    fields = iter([piece for piece in wording if isinstance(piece, Field)])
    before, *parts = text.split(_CHATML_OPENS)
    messages: list[tuple[str, Wording]] = []
    for part in parts:
        role, _, rest = part.partition("\n")
        said, _, after = rest.partition(_CHATML_CLOSES)
        if role.strip() not in _ROLES or DATA in before + after:
            raise FamilyError(f"the ChatML role '{role.strip()}' is not one of {', '.join(_ROLES)}")
        pieces: list[str | Field] = []
        for place, piece in enumerate(said.strip().split(DATA)):
            pieces += (next(fields), piece) if place else (piece,)
        messages.append((role.strip(), joined(pieces)))
    return [(role, said) for role, said in messages if said]


def _held_by(templates: Iterable[str], markers: Sequence[str]) -> list[str]:
    """Return the markers as templates hold them: the schema looks for their beginning there.

    A brace or carriage return stands otherwise in a template; the longest piece without one guards
    the section as well.
    """
    sources = "\n".join(templates)
    held: dict[str, None] = {}
    for marker in markers:
        pieces = re.split(r"\{(?!n\})|(?<!\{n)\}|\r", marker)
        for piece in sorted((piece.strip() for piece in pieces), key=len, reverse=True):
            if len(piece) >= SHORTEST and piece.partition(ANY_NUMBER)[0] in sources:
                held[piece] = None
                break
    return list(held)


def _listed(names: Any) -> str:
    listed = list(names)
    shown = ", ".join(f"'{name}'" for name in listed[:_MOST_SHOWN])
    more = len(listed) - _MOST_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
