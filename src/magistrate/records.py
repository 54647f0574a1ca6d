"""The words of the package as records: one documented class per concept.

All are frozen pydantic models. What a record holds about a sample's answers is always in the
**sample's own answer order**, whatever order a judge saw them in; the order itself is a field.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_core import PydanticSerializationError, to_jsonable_python

from magistrate.ids import content_id

Preference = Literal["first", "second", "tie"]
"""Which of two answers is better, in the sample's own answer order."""

Status = Literal["ok", "unparsed", "refused", "truncated", "error"]
"""What became of one reading. Only ``ok`` votes; nothing else ever turns into a tie or a score."""

STATUSES: tuple[Status, ...] = ("ok", "unparsed", "refused", "truncated", "error")

Role = Literal["system", "user", "assistant"]


class Record(BaseModel):
    """Base of all records: frozen, no unknown fields."""

    # A NaN among the scores could be written but never read back, so it is refused here.
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        ser_json_inf_nan="null",
        ser_json_bytes="base64",
    )

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with other fields; ids that were computed before are computed anew."""
        copy = super().model_copy(update=update, deep=deep)
        for name in copy.__dict__.keys() - type(copy).model_fields.keys():
            del copy.__dict__[name]
        return copy


R = TypeVar("R", bound=Record)

DEEPEST_META = 200
"""Lists and objects of ``meta`` in each other; JSON writers and readers fail a little above."""


def _is_deeper(value: Any, limit: int) -> bool:
    """Whether lists and dicts stand in each other more than ``limit`` deep (or in a circle)."""
    level = [value]
    for _ in range(limit + 1):
        # By identity: an object that many lists share is looked at once.
        level = list(
            {
                id(child): child
                for parent in level
                for child in (parent.values() if isinstance(parent, dict) else parent)
                if isinstance(child, dict | list | tuple)
            }.values()
        )
        if not level:
            return False
    return True


def to_json_line(record: Record) -> bytes:
    r"""Return a record as one line of JSON in UTF-8, without the newline.

    Lone surrogates, which UTF-8 cannot hold, are written as ``\ud800`` escapes.

    Raises:
        ValueError: ``meta`` or ``settings`` holds an object that has no JSON form.

    >>> to_json_line(Turn(role="user", text="caf\u00e9"))
    b'{"role":"user","text":"caf\xc3\xa9"}'
    >>> to_json_line(Turn(role="user", text="\ud800"))
    b'{"role":"user","text":"\\ud800"}'
    """
    try:
        return record.model_dump_json().encode("utf-8")
    except PydanticSerializationError:
        return json.dumps(_jsonable(record.model_dump()), separators=(",", ":")).encode("ascii")


def from_json_line(cls: type[R], data: bytes) -> R:
    """Read what :func:`to_json_line` wrote; the record is equal to the one written.

    (What JSON lacks in ``meta`` comes back as JSON: a date as text, bytes as base64, a lone
    surrogate in a key as U+FFFD.)

    Raises:
        ValueError: ``data`` is not JSON, or not a record of ``cls``.
    """
    try:
        return cls.model_validate_json(data)
    except ValidationError as error:
        if error.errors(include_url=False, include_input=False)[0]["type"] != "json_invalid":
            raise
        # pydantic's own parser does not know lone surrogates; the standard library's does.
        try:
            value = json.loads(data)
        except RecursionError as too_deep:
            raise ValueError("nested too deeply") from too_deep
        return cls.model_validate(value)


class Turn(Record):
    """One message of a dialogue that is being judged."""

    role: Role
    text: str


class Answer(Record):
    """What one model answered."""

    text: str
    """The answer, as it was written; may be empty (an empty answer is judged as 'no response')."""
    model: str | None = None
    """Name of the model that wrote it."""
    turns: tuple[Turn, ...] = ()
    """The whole continuation where the answer spans several turns; then ``text`` is the last."""


class Gold(Record):
    """What one annotator (human or teacher) said of a sample."""

    annotator: str | None = None
    preference: Preference | None = None
    """For two answers."""
    probability_second: float | None = Field(default=None, ge=0, le=1)
    """Soft label of a pair: the annotator's probability that the second answer is better."""
    scores: tuple[float, ...] | None = None
    """A score per answer; the scale is the annotator's own."""
    ranking: tuple[int, ...] | None = None
    """A rank per answer, 1 is best, ties share a rank."""
    label: str | None = None
    """A named class of the whole sample, such as 'yes' for 'the answer hallucinates'."""
    reasons: str | None = None
    with_reference: bool | None = None
    """Whether the annotator saw the sample's reference; None where that is not known."""


class Sample(Record):
    """One thing to judge: a question, its answers, and whatever helps to judge them."""

    question: str | tuple[Turn, ...]
    """The instruction as text, or the dialogue up to the answers as turns."""
    answers: tuple[Answer, ...] = Field(min_length=1)
    reference: str | None = None
    """A known good answer; of a dialogue, perhaps one for each turn (:attr:`turn_references`)."""
    rubric: str | None = None
    """What to judge by, in words."""
    context: tuple[str, ...] = ()
    """Passages that a good answer should rest on."""
    images: tuple[str, ...] = ()
    """Paths or URLs."""
    gold: tuple[Gold, ...] = ()
    """One entry per annotator."""
    category: str | None = None
    language: str | None = None
    source_id: str | None = None
    """The id that the file gave, as text."""
    meta: dict[str, Any] = Field(default_factory=dict)
    """What the file said besides; never shown to a judge."""

    @field_validator("meta")
    @classmethod
    def _check_depth(cls, meta: dict[str, Any]) -> dict[str, Any]:
        if _is_deeper(meta, DEEPEST_META):
            raise ValueError(
                f"lists and objects more than {DEEPEST_META} deep in each other cannot be stored"
            )
        return meta

    @cached_property
    def text_id(self) -> str:
        """Hash of all that a judge can see (no model names, no labels): equal text, equal id."""
        return content_id(
            {
                "question": _plain(self.question),
                "answers": [_plain(a.turns) if a.turns else a.text for a in self.answers],
                "reference": self.reference,
                "rubric": self.rubric,
                "context": list(self.context),
                "images": list(self.images),
            }
        )

    @cached_property
    def id(self) -> str:
        """Content id of the sample: its text, the answers' models and the id in the file."""
        return content_id([self.text_id, [a.model for a in self.answers], self.source_id])

    @property
    def turn_references(self) -> tuple[str, ...]:
        """The reference turn by turn, as :func:`reference_of_turns` joined it; else all as one."""
        if self.reference is None:
            return ()
        pieces = _TURN_HEADING.split(self.reference)
        numbers = [int(number) for number in pieces[1::2]]
        if pieces[0] or len(numbers) < 2 or numbers != list(range(1, len(numbers) + 1)):
            return (self.reference,)
        return tuple(pieces[2::2])

    @property
    def question_text(self) -> str:
        """The question as one string; turns are joined with their roles named."""
        if isinstance(self.question, str):
            return self.question
        if len(self.question) == 1 and self.question[0].role == "user":
            return self.question[0].text
        return "\n\n".join(f"{turn.role.capitalize()}: {turn.text}" for turn in self.question)


_TURN_HEADING = re.compile(r"(?:\A|\n\n)Turn ([1-9][0-9]*): ")


def reference_of_turns(texts: Sequence[str]) -> str:
    r"""Return known good answers, one for each turn of a dialogue, as one reference.

    >>> reference_of_turns(["Yes.", "No."])
    'Turn 1: Yes.\n\nTurn 2: No.'
    """
    return "\n\n".join(f"Turn {number}: {text}" for number, text in enumerate(texts, 1))


class Usage(Record):
    """What a reading consumed."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    """Part of ``prompt_tokens`` that the engine did not have to compute again."""
    requests: int = 0

    def __add__(self, other: Usage) -> Usage:
        """Sum field by field."""
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            requests=self.requests + other.requests,
        )


class Probabilities(Record):
    """A judge's distribution over the outcome of a pair, in the sample's own answer order."""

    first: float = Field(ge=0, le=1)
    tie: float = Field(ge=0, le=1)
    second: float = Field(ge=0, le=1)

    @property
    def preference(self) -> Preference:
        """The likeliest outcome; equal sides without a likelier tie are a tie."""
        if self.first > self.second and self.first >= self.tie:
            return "first"
        if self.second > self.first and self.second >= self.tie:
            return "second"
        return "tie"

    @property
    def confidence(self) -> float:
        """Probability of the outcome named by :attr:`preference`."""
        return float(getattr(self, self.preference))


class Judgment(Record):
    """One judge's reading of one sample in one order."""

    key: str
    """Hash of (sample text, order, judge spec, prompt, sampling settings, repeat)."""
    sample_id: str
    """:attr:`Sample.text_id` of what was read: samples with equal text share their judgments."""
    judge: str
    """Name of the judge."""
    order: tuple[int, ...]
    """``order[k]`` is the sample's answer (from 0) that the judge saw at place ``k``."""
    repeat: int = 0
    order_read: bool = True
    """False in a cascade's run where a judge that reads each answer alone decided: its one reading
    stands for every order, and says nothing of consistency."""
    status: Status
    preference: Preference | None = None
    """For pairs, when ``ok``."""
    scores: tuple[float, ...] | None = None
    ranking: tuple[int, ...] | None = None
    """For three answers and more: a rank per answer, 1 is best, ties share a rank."""
    probabilities: Probabilities | None = None
    approximate: bool = False
    """Whether ``probabilities`` come from the likeliest alternatives of written tokens alone (then
    the preference is what the judge wrote, whatever they say), or are the shares of several replies
    (then the preference is the most frequent)."""
    mass: float | None = Field(default=None, ge=0, le=1)
    """Where probabilities were read: how probable it was that the reply is a verdict at all; of
    several replies, the share that is one."""
    entropy: float | None = Field(default=None, ge=0)
    """Entropy in nats of the distribution over all verdicts of a reply (of two scores: over pairs
    of scores), given that it is one. None where the judge has no such distribution; a scoring head
    has none but over outcomes (``probabilities``)."""
    verdict_logprob: float | None = Field(default=None, le=0)
    """Mean log-probability (natural logarithm) of what the verdict was written with: of written
    tokens each under the distribution that it was drawn from; where nothing is written, of the
    likeliest verdict that says the preference, divided by its number of places."""
    reasons: str | None = None
    raw: str | None = None
    """What the model wrote, unchanged."""
    error: str | None = None
    """Why the status is not ``ok``, in words."""
    finish_reason: str | None = None
    truncated_tokens: tuple[int, ...] = ()
    """Tokens cut from each answer so that the prompt fits; empty when nothing was cut."""
    truncated_question_tokens: int = 0
    usage: Usage = Usage()
    cost: float = 0.0
    """In US dollars, from the engine's price table; 0 for local engines."""
    seconds: float = 0.0
    """The reading's share of its batch's wall time."""

    @model_validator(mode="after")
    def _order_is_a_permutation(self) -> Judgment:
        if sorted(self.order) != list(range(len(self.order))):
            raise ValueError(f"order {self.order} is not a permutation of 0..{len(self.order) - 1}")
        return self

    @property
    def was_truncated(self) -> bool:
        """Whether the judge read a shortened question or answer."""
        return bool(self.truncated_question_tokens) or any(self.truncated_tokens)


class Decision(Record):
    """The judgments of one sample under one judge, merged by a named rule."""

    row: int
    """Place of the sample in the run's ``samples.jsonl``, from 0."""
    sample_id: str
    """:attr:`Sample.id`."""
    status: Status
    """``ok`` when every reading that the rule needs is ``ok``; else the first other status."""
    preference: Preference | None = None
    scores: tuple[float, ...] | None = None
    ranking: tuple[int, ...] | None = None
    probabilities: Probabilities | None = None
    confidence: float | None = None
    """Probability of ``preference``, or where the judge is calibrated how probable it is that this
    is right; None where the judge gives none."""
    calibrated: bool = False
    """Whether ``confidence`` is calibrated (the run's ``run.json`` says how); ``probabilities``
    always are the judge's own."""
    consistent: bool | None = None
    """Whether all orders gave the same outcome; None when fewer than two were read."""
    truncated: bool = False
    rule: str
    keys: tuple[str, ...] = ()
    """Keys of the judgments merged."""


class JudgeSpec(Record):
    """All that identifies a judge: two judges with equal specs answer alike."""

    name: str
    engine: str
    model: str
    family: str
    url: str | None = None
    weights_hash: str | None = None
    prompt_hash: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    """Whatever changes the answer: temperature, maximum tokens, tie band, precision, ..."""

    @cached_property
    def id(self) -> str:
        """Content id of all but the name: a judge keeps its id under another name."""
        return content_id(self.model_dump(mode="json", exclude={"name"}))


def _jsonable(value: Any) -> Any:
    """Do what pydantic does for JSON, except that lone surrogates stay."""
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _jsonable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(each) for each in value]
    # NumPy's and other arrays' single numbers, which pydantic does not know.
    if getattr(value, "shape", None) == () and callable(getattr(value, "item", None)):
        plain = value.item()
        if type(plain) is not type(value):
            return _jsonable(plain)
    return to_jsonable_python(value, bytes_mode="base64", inf_nan_mode="null")


def _plain(value: str | tuple[Turn, ...]) -> Any:
    if isinstance(value, str):
        return value
    return [[turn.role, turn.text] for turn in value]
