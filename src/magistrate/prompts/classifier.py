"""The family of judges that classify a pair: first, second or tie, from one reading of both."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, Self

from pydantic import Field, field_validator

from magistrate.ids import content_id
from magistrate.messages import Choices, Completion, Message, Sampling
from magistrate.prompts.base import Verdict
from magistrate.prompts.schema import validate
from magistrate.prompts.slots import answers_shown, answers_values, sample_name, sample_values
from magistrate.prompts.template import MessageTemplate, Template
from magistrate.prompts.untrusted import UNTRUSTED_VERSION, DataRules
from magistrate.records import Preference, Probabilities, Record, Sample

LABELS: tuple[Preference, ...] = ("first", "second", "tie")
"""What the head says, in the sequence of its outputs."""


class ClassifierSection(Record):
    """``[family]`` of a ``judge.toml``: what the classifying head reads."""

    kind: Literal["classifier"]
    template: str
    """Jinja2 with ``{{ question }}``, ``{{ answer_1 }}`` and ``{{ answer_2 }}``; it may show
    ``{{ reference }}``, ``{{ rubric }}`` and ``context`` too."""
    labels: tuple[Preference, ...] = LABELS
    """Meaning of each output of the head; ``tie`` may be missing."""
    empty_answer: str = ""
    """Shown for an empty answer; empty when the engine has its own sign for it."""
    markers: tuple[str, ...] = ()
    """Section markers of the template that data could forge; control tokens are safe already."""

    @field_validator("labels")
    @classmethod
    def _labels_differ(cls, labels: tuple[Preference, ...]) -> tuple[Preference, ...]:
        if len(set(labels)) != len(labels) or not {"first", "second"} <= set(labels):
            raise ValueError("must be first, second and perhaps tie, each once")
        return labels


class ClassifierVerdictSection(Record):
    """``[verdict]`` of a ``judge.toml``: how outputs become probabilities."""

    temperature: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    """P(label) is the softmax of the outputs over the temperature."""


class ClassifierFamily:
    """A :class:`~magistrate.prompts.base.Family` for engines that return label probabilities."""

    min_answers = 2
    max_answers: int | None = 2
    reads_alone = False
    sampling = Sampling(max_tokens=0)
    """Nothing is written."""

    def __init__(
        self, name: str, section: ClassifierSection, verdict: ClassifierVerdictSection
    ) -> None:
        """Compile the template.

        Raises:
            FamilyError: The template is wrong.
        """
        self.name = name
        self.section = section
        self.verdict = verdict
        self._rules = DataRules(markers=section.markers, empty_answer=section.empty_answer)
        where = f"judge.toml of '{name}', family.template"
        self._template = Template(name, [MessageTemplate("text", section.template, where)])
        self._template.require("question", "answer_1", "answer_2")

    @classmethod
    def from_sections(
        cls, name: str, family: Mapping[str, Any], verdict: Mapping[str, Any]
    ) -> Self:
        """Make the family from the sections ``[family]`` and ``[verdict]`` of a ``judge.toml``.

        Raises:
            FamilyError: A key is missing, unknown or wrong, or the template is.
        """
        where = f"judge.toml of '{name}'"
        return cls(
            name,
            validate(ClassifierSection, family, where=f"{where}, section [family]"),
            validate(ClassifierVerdictSection, verdict, where=f"{where}, section [verdict]"),
        )

    @cached_property
    def prompt_hash(self) -> str:
        """Content id of the template, the rules for data and the verdict's constants."""
        return content_id(
            {
                "family": self.section.model_dump(mode="json"),
                "verdict": self.verdict.model_dump(mode="json"),
                "untrusted": UNTRUSTED_VERSION,
            }
        )

    @property
    def shows_reference(self) -> bool:
        """Whether prompts show the sample's reference where it has one."""
        return "reference" in self._template.variables

    def prompts(self, sample: Sample, order: Sequence[int]) -> tuple[tuple[Message, ...], ...]:
        """Return the one prompt, with slots ``question``, ``answer_1`` and ``answer_2``.

        Raises:
            MissingVariablesError: The template needs fields that the sample lacks.
        """
        shared = sample_values(sample, self._rules)
        values = shared | answers_values(shared, answers_shown(sample, order), self._rules)
        return (self._template.render(values, sample=sample_name(sample)),)

    def choices(self, count: int) -> Choices | None:
        """Return None: the engine knows the labels of its head."""

    def read(
        self, completions: Sequence[Completion], sample: Sample, order: Sequence[int]
    ) -> Verdict:
        """Turn log-probabilities of the labels into a verdict."""
        (completion,) = completions
        if completion.error is not None or completion.finish_reason == "error":
            return Verdict(status="error", error=completion.error or "the engine reported an error")
        found, due = completion.choices, self.section.labels
        if len(found) != len(due) or not any(math.isfinite(value) for value in found):
            return Verdict(
                status="error",
                error=f"no_probabilities: the engine returned {list(found)}, one logarithm for "
                f"each of {', '.join(due)} is due",
            )
        shares = dict(zip(due, _softmax(found, self.verdict.temperature), strict=True))
        first, second = shares["first"], shares["second"]
        tie = max(0.0, 1.0 - first - second) if "tie" in shares else 0.0
        probabilities = Probabilities(first=first, tie=tie, second=second)
        return Verdict(
            status="ok", preference=probabilities.preference, probabilities=probabilities
        )


def _softmax(logits: Sequence[float], temperature: float) -> list[float]:
    """Return shares that add up to 1.

    >>> _softmax([0.0, math.log(3)], 1.0)
    [0.25, 0.75]
    """
    top = max(logits)
    weights = [math.exp((value - top) / temperature) for value in logits]
    whole = math.fsum(weights)
    return [weight / whole for weight in weights]
