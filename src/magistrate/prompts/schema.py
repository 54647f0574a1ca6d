"""What ``family.toml`` may hold, checked with messages that name the file and the key."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import Field, ValidationError, field_validator, model_validator

from magistrate.errors import FamilyError
from magistrate.messages import MessageRole, Sampling
from magistrate.prompts.parse import Place
from magistrate.prompts.untrusted import ANY_NUMBER
from magistrate.records import Record

FAMILY_FILE = "family.toml"
_SHORTEST_MARKER = 3

R = TypeVar("R", bound=Record)


class MessageSection(Record):
    """One ``[[messages]]``: who speaks, and the Jinja2 template of what is said."""

    role: MessageRole
    """``text`` for a completion-style prompt; otherwise ``system``, ``user`` or ``assistant``."""
    text: str | None = None
    """The template itself."""
    file: str | None = Field(default=None, pattern=r"^[\w.-]+$")
    """Or a file in the family's folder that holds it."""

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if (self.text is None) == (self.file is None):
            raise ValueError("give either 'text' or 'file'")
        return self


class VerdictSection(Record):
    """``[verdict]``: what the reply must hold."""

    place: Place
    """``first``: on the first line, before the reasons. ``last``: at the end, after them."""
    low: float = Field(allow_inf_nan=False)
    high: float = Field(allow_inf_nan=False)
    """Ends of the scale, both allowed."""
    tie_gap: float = Field(default=0.0, ge=0)
    """Scores at most this far apart are a tie."""

    @model_validator(mode="after")
    def _scale_ascends(self) -> Self:
        if not self.low < self.high:
            raise ValueError(f"'low' ({self.low:g}) must be below 'high' ({self.high:g})")
        return self


class SamplingSection(Record):
    """``[sampling]`` or ``[score_mode]``: how the reply is written and where it stops."""

    max_tokens: int = Field(gt=0)
    temperature: float = Field(default=0.0, ge=0)
    top_p: float = Field(default=1.0, gt=0, le=1)
    stop: tuple[str, ...] = ()

    def to_sampling(self) -> Sampling:
        """Return what engines take."""
        return Sampling(**self.model_dump())


class SourceSection(Record):
    """``[source]``: where wording that is not the package's own came from."""

    name: str
    url: str | None = None
    licence: str | None = None


class FamilyFile(Record):
    """The contents of ``family.toml``."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    version: str
    description: str
    reads_alone: bool = False
    """Whether each answer gets a prompt of its own."""
    min_answers: int = Field(default=1, ge=1)
    max_answers: int | None = Field(default=None, ge=1)
    markers: tuple[str, ...]
    """What opens and closes the sections that hold data; ``{n}`` stands for any number."""
    empty_answer: str = Field(pattern=r"\S")
    """Shown in place of an answer that is empty."""
    messages: tuple[MessageSection, ...] = Field(min_length=1)
    verdict: VerdictSection
    sampling: SamplingSection
    score_mode: SamplingSection | None = None
    """How to stop after the scores; only where these come first."""
    source: SourceSection | None = None

    @field_validator("markers")
    @classmethod
    def _markers_are_distinct_from_words(cls, markers: tuple[str, ...]) -> tuple[str, ...]:
        for marker in markers:
            if len(marker.replace(ANY_NUMBER, "").strip()) < _SHORTEST_MARKER:
                raise ValueError(f"'{marker}' is too short: it would be found in honest text")
            if marker != marker.strip() or marker.startswith(ANY_NUMBER):
                raise ValueError(f"'{marker}' must start and end with visible characters")
        return markers

    @model_validator(mode="after")
    def _parts_fit_together(self) -> Self:
        if self.max_answers is not None and self.max_answers < self.min_answers:
            raise ValueError("'max_answers' must not be below 'min_answers'")
        if self.verdict.place == "last" and self.score_mode is not None:
            raise ValueError("'score_mode' needs the scores first: verdict.place is 'last'")
        roles = [message.role for message in self.messages]
        if "text" in roles and len(roles) > 1:
            raise ValueError("a message with role 'text' must be the only one")
        if "system" in roles[1:]:
            raise ValueError("only the first message may have role 'system'")
        return self


def read_family_file(folder: Path) -> FamilyFile:
    """Read and check a family folder; templates in files of their own are read into ``text``.

    Raises:
        FamilyError: A file is missing or unreadable, or a key is missing, unknown or wrong.
    """
    path = folder / FAMILY_FILE
    try:
        data = tomllib.loads(_read(path))
    except tomllib.TOMLDecodeError as error:
        raise FamilyError(f"{path}: not valid TOML: {error}") from error
    file = validate(FamilyFile, data, where=str(path))
    messages = tuple(
        message
        if message.file is None
        else MessageSection(role=message.role, text=_read(folder / message.file))
        for message in file.messages
    )
    return file.model_copy(update={"messages": messages})


def validate(kind: type[R], data: Any, *, where: str) -> R:
    """Return ``data`` as a record.

    Raises:
        FamilyError: Names the file and every key that is missing, unknown or wrong.
    """
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        problems = "; ".join(_describe(problem) for problem in error.errors())
        raise FamilyError(f"{where}: {problems} (see docs/families.md)") from error


def _describe(problem: Any) -> str:
    key = ".".join(map(str, problem["loc"]))
    if problem["type"] == "missing":
        return f"key '{key}' is missing"
    if problem["type"] == "extra_forbidden":
        return f"unknown key '{key}'"
    message = problem["msg"].removeprefix("Value error, ")
    message = message[:1].lower() + message[1:]
    return f"key '{key}': {message}" if key else message


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise FamilyError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise FamilyError(f"{path}: not UTF-8 ({error.reason} at byte {error.start})") from error
