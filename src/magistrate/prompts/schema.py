"""What ``family.toml`` may hold, checked with messages that name the file and the key."""

from __future__ import annotations

import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import Field, ValidationError, field_validator, model_validator

from magistrate.errors import FamilyError, what_is_needed
from magistrate.messages import MessageRole, Sampling
from magistrate.prompts.rules import VERDICT
from magistrate.prompts.untrusted import ANY_NUMBER
from magistrate.prompts.verdict_section import KINDS, VerdictSection
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


class SamplingSection(Record):
    """``[sampling]`` or ``[score_mode]``: how the reply is written and where it stops."""

    max_tokens: int = Field(gt=0)
    temperature: float = Field(default=0.0, ge=0)
    top_p: float = Field(default=1.0, gt=0, le=1)
    stop: tuple[str, ...] = ()

    def to_sampling(self) -> Sampling:
        """Return what engines take."""
        return Sampling(
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            top_p=self.top_p,
            stop=self.stop,
        )


class ScoreModeSection(SamplingSection):
    """``[score_mode]``: how to stop after the verdict."""

    prefill: str | None = Field(default=None, pattern=r"\S")
    """How the reply begins in this mode, instead of ``[prefill]``: a start that leads a family with
    reasons first straight to its verdict."""


class PrefillSection(Record):
    """``[prefill]``: the beginning of every reply, which the judge does not write itself."""

    text: str = Field(pattern=r"\S")
    scores: tuple[float, ...] = ()
    """The scores that ``text`` gives; the judge's own follow them."""


class SourceSection(Record):
    """``[source]``: where wording that is not the package's own came from."""

    name: str
    url: str | None = None
    licence: str | None = None
    file: str | None = None
    """Path of the file inside its project; several have commas between."""
    sha256: str | None = None
    """Of the file's bytes, in the same sequence."""
    commit: str | None = None


class FamilyFile(Record):
    """The contents of ``family.toml``."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    version: str
    description: str
    reads_alone: bool = False
    """Whether each answer gets a prompt of its own."""
    shows_images: bool = False
    """Whether the judge sees the sample's images, before the text of the last message."""
    min_answers: int = Field(default=1, ge=1)
    max_answers: int | None = Field(default=None, ge=1)
    markers: tuple[str, ...]
    """What opens and closes the sections that hold data; ``{n}`` stands for any number."""
    empty_answer: str = Field(pattern=r"\S")
    """Shown in place of an answer that is empty."""
    messages: tuple[MessageSection, ...] = Field(min_length=1)
    verdict: VerdictSection
    sampling: SamplingSection
    prefill: PrefillSection | None = None
    """The fixed start of every reply."""
    score_mode: ScoreModeSection | None = None
    """How to stop after the verdict; only where it comes first, or a start leads to it."""
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
        if (
            self.verdict.place == "last"
            and self.score_mode is not None
            and self.score_mode.prefill is None
        ):
            raise ValueError(
                "'score_mode' needs the scores first: verdict.place is 'last'; or give it a "
                "'prefill' that leads straight to the verdict"
            )
        self._check_prefill()
        if self.verdict.kind == "choice" and (self.reads_alone or self.max_answers != 2):
            raise ValueError("a choice needs 'max_answers' 2 and both answers in one prompt")
        if self.verdict.kind == "ranking" and (self.reads_alone or self.min_answers < 2):
            raise ValueError("a ranking needs 'min_answers' 2 or more, all in one prompt")
        roles = [message.role for message in self.messages]
        if "text" in roles and len(roles) > 1:
            raise ValueError("a message with role 'text' must be the only one")
        if self.shows_images and "text" in roles:
            raise ValueError("'shows_images' needs messages of chat; role 'text' shows none")
        if "system" in roles[1:]:
            raise ValueError("only the first message may have role 'system'")
        if roles[-1] == "assistant":
            raise ValueError("the last message is the judge's own; put its start into 'prefill'")
        return self

    def _check_prefill(self) -> None:
        if self.prefill is None or not self.prefill.scores:
            return
        if self.verdict.kind != "scores" or self.verdict.place != "first":
            raise ValueError("'prefill.scores' needs a verdict of kind 'scores' at place 'first'")
        if self.score_mode is not None and self.score_mode.prefill is not None:
            raise ValueError("give either 'prefill.scores' or 'score_mode.prefill'")


_LATER_KEYS: dict[str, Any] = {"prefill": None, "shows_images": False}
_LATER_VERDICT_KEYS: dict[str, Any] = {"kind": "scores", "frames": [VERDICT]}


def shaping_keys(file: FamilyFile) -> dict[str, Any]:
    """Return all that shapes prompts and reading, for the hash.

    Keys that came later are left out where they say nothing, so that they change no old hash.
    """
    keys: dict[str, Any] = file.model_dump(
        mode="json", exclude={"description", "source", "sampling", "score_mode"}
    )
    for name, nothing in _LATER_KEYS.items():
        if keys[name] == nothing:
            del keys[name]
    for name, nothing in _LATER_VERDICT_KEYS.items():
        if keys["verdict"][name] == nothing:
            del keys["verdict"][name]
    return keys


def read_family_file(folder: Path, name: str = FAMILY_FILE) -> FamilyFile:
    """Read and check a family folder; templates in files of their own are read into ``text``.

    Args:
        folder: Where the family is.
        name: Of its file: judge folders may hold several families.

    Raises:
        FamilyError: A file is missing or unreadable, or a key is missing, unknown or wrong.
    """
    path = folder / name
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
    # pydantic names the kind of verdict as if it were a key.
    key = ".".join(
        str(name)
        for above, name in pairwise((None, *problem["loc"]))
        if not (above == "verdict" and name in KINDS)
    )
    if problem["type"] == "union_tag_invalid":
        return f"key '{key}.kind': must be one of {', '.join(KINDS)}"
    if problem["type"] == "missing":
        return f"key '{key}' is missing"
    if problem["type"] == "extra_forbidden":
        return f"unknown key '{key}'"
    message = what_is_needed(problem)
    return f"key '{key}': {message}" if key else message


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise FamilyError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise FamilyError(f"{path}: not UTF-8 ({error.reason} at byte {error.start})") from error
