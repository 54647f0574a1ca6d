"""Templates: a family's own words with named places for data, rendered to parts.

Templates are Jinja2 in a sandbox. Data never passes through Jinja: each variable that holds data is
rendered as a private mark, and the marks are split out afterwards. So braces and Jinja syntax in
questions and answers stay verbatim, filters cannot touch data, and every piece of data comes out as
a :class:`~magistrate.messages.Part` that names its slot. Nothing is HTML-escaped: prompts are not
HTML, and the judge must read ``a < b`` as it was written.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jinja2
import jinja2.meta
from jinja2.sandbox import ImmutableSandboxedEnvironment

from magistrate.errors import FamilyError, MissingVariablesError
from magistrate.messages import Message, MessageRole, Part

VARIABLES: Mapping[str, str] = {
    "question": "the question; a dialogue has its roles named",
    "answer": "the answer, in families that read each answer alone",
    "answers": "all answers in the order shown",
    "turns": "the question's turns, each with a role and a text",
    "dialogue": "the turns of question and answer, where each answer is read alone",
    "dialogues": "the turns of question and answer, for every answer in the order shown",
    "reference": "a known good answer",
    "references": "a known good answer for each turn of a dialogue",
    "rubric": "what to judge by",
    "context": "passages that a good answer rests on; may be empty",
    "count": "how many answers are shown",
    "lowest": "lowest score of the scale",
    "highest": "highest score of the scale",
}
"""What a template may use, besides ``answer_1``, ``answer_2``, ... for the answers shown, and
``dialogue_1``, ``dialogue_2``, ... for these with all that was said before."""

# Unicode noncharacters: never valid in text, so that a template can be refused for holding one.
_OPEN, _CLOSE, _MISSING_OPEN, _MISSING_CLOSE = "\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3"
_MARKS = re.compile("[\ufdd0-\ufdd3]")
_MARK = re.compile(f"{_OPEN}([0-9]+){_CLOSE}")
_MISSING_MARK = re.compile(f"{_MISSING_OPEN}(.*?){_MISSING_CLOSE}")
_NUMBERED = re.compile(r"(?:answer|dialogue)_[1-9][0-9]*")


class _Datum:
    """Stands for a piece of data inside a template; can be printed and nothing else."""

    __slots__ = ("_index",)

    def __init__(self, index: int) -> None:
        self._index = index

    def __str__(self) -> str:
        raise TypeError("data cannot pass through filters or be joined to text; print it as it is")

    @property
    def _mark(self) -> str:
        return f"{_OPEN}{self._index}{_CLOSE}"


class _Missing(jinja2.StrictUndefined):
    """A field that the sample lacks: false in a condition, named when printed."""

    __slots__ = ()

    def __bool__(self) -> bool:  # type: ignore[override]  # absent is false, not an error
        return False

    def __getitem__(self, key: Any) -> _Missing:  # type: ignore[override]
        """Return itself: of a list that is not there, the list is what is missing."""
        return self

    @property
    def _mark(self) -> str:
        if self._undefined_obj is not jinja2.utils.missing:
            return str(self)  # an attribute that no variable has: raises, with Jinja's own message
        return f"{_MISSING_OPEN}{self._undefined_name}{_MISSING_CLOSE}"


def _print(value: Any) -> str | int:
    """Turn what a template prints into text."""
    if isinstance(value, _Datum | _Missing):
        return value._mark
    if isinstance(value, str | int) and not isinstance(value, bool):
        return value
    raise TypeError(f"a template cannot print a {type(value).__name__}; name one piece of data")


@dataclass(frozen=True, slots=True)
class MessageTemplate:
    """The source of one message."""

    role: MessageRole
    source: str
    where: str
    """File and place, for error messages."""


class Template:
    """The messages of a family, compiled and checked."""

    def __init__(self, family: str, messages: Sequence[MessageTemplate]) -> None:
        """Compile every message.

        Args:
            family: Name of the family, for error messages.
            messages: In the order in which the model reads them.

        Raises:
            FamilyError: A template is not valid Jinja2 or uses a variable that nothing fills.
        """
        self.family = family
        self._environment = _environment()
        self.variables: frozenset[str] = frozenset().union(*map(self._variables, messages))
        """Every variable that some message names."""
        self._compiled = [
            (message, self._environment.from_string(message.source)) for message in messages
        ]

    def render(self, values: Mapping[str, Any], *, sample: str) -> tuple[Message, ...]:
        """Fill the templates.

        Args:
            values: By variable: a :class:`Part` with a slot for data; text or numbers for what is
                the family's own; sequences and mappings of these. Fields that the sample lacks are
                left out.
            sample: Name of the sample, for error messages.

        Raises:
            MissingVariablesError: The branches taken print fields that are not in ``values``.
            FamilyError: A template fails.
        """
        data: list[Part] = []
        shown = {name: _wrap(value, data) for name, value in values.items()}
        texts = [self._fill(message, template, shown) for message, template in self._compiled]
        missing = [name for text in texts for name in _MISSING_MARK.findall(text)]
        if missing:
            raise MissingVariablesError(self.family, list(dict.fromkeys(missing)), sample)
        return tuple(
            Message(message.role, _split(text, data, message.where))
            for (message, _), text in zip(self._compiled, texts, strict=True)
        )

    def require(self, *names: str) -> None:
        """Check that the messages show what is to be judged.

        Raises:
            FamilyError: A variable is named nowhere.
        """
        unused = [name for name in names if name not in self.variables]
        if unused:
            shown = ", ".join(f"{{{{ {name} }}}}" for name in unused)
            raise FamilyError(f"{self._compiled[0][0].where}: the template never shows {shown}")

    def _variables(self, message: MessageTemplate) -> set[str]:
        if _MARKS.search(message.source):
            raise FamilyError(
                f"{message.where}: the template holds a character from U+FDD0 to U+FDD3, which "
                f"Unicode keeps from being text; remove it"
            )
        try:
            tree = self._environment.parse(message.source)
        except jinja2.TemplateSyntaxError as error:
            raise FamilyError(
                f"{message.where}, line {error.lineno}: not valid Jinja2: {error.message}"
            ) from error
        names = jinja2.meta.find_undeclared_variables(tree)
        unknown = sorted(
            name for name in names if name not in VARIABLES and not _NUMBERED.fullmatch(name)
        )
        if unknown:
            raise FamilyError(f"{message.where}: {_describe_unknown(unknown)}")
        return names

    def _fill(
        self, message: MessageTemplate, template: jinja2.Template, values: Mapping[str, Any]
    ) -> str:
        try:
            return template.render(values)
        except (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise FamilyError(f"{message.where}: the template fails: {error}") from error


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        undefined=_Missing,
        finalize=_print,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals.clear()  # no helper of Jinja's own is needed to lay out a prompt
    return environment


def _wrap(value: Any, data: list[Part]) -> Any:
    """Replace every part by a datum, and remember the part under the datum's index."""
    if isinstance(value, Part):
        data.append(value)
        return _Datum(len(data) - 1)
    if isinstance(value, Mapping):
        return {key: _wrap(item, data) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return tuple(_wrap(item, data) for item in value)
    return value


def _split(text: str, data: Sequence[Part], where: str) -> tuple[Part, ...]:
    """Split rendered text at the marks: own words without a slot, data with its slot."""
    parts: list[Part] = []
    for place, piece in enumerate(_MARK.split(text)):
        if place % 2:
            if int(piece) >= len(data):
                raise FamilyError(f"{where}: the template forges a mark of data")
            parts.append(data[int(piece)])
        elif _MARKS.search(piece):
            raise FamilyError(f"{where}: a filter of the template tears data apart")
        elif piece:
            parts.append(Part(piece))
    return tuple(parts)


def _describe_unknown(unknown: Sequence[str]) -> str:
    described = []
    for name in unknown:
        near = difflib.get_close_matches(name, VARIABLES, n=1)
        described.append(f"{name} (did you mean {near[0]}?)" if near else name)
    plural = "s" if len(unknown) > 1 else ""
    return (
        f"unknown variable{plural} {', '.join(described)}; a template may use "
        f"{', '.join(VARIABLES)} and answer_1, answer_2, ..., dialogue_1, dialogue_2, ..."
    )
