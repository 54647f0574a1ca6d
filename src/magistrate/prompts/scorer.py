"""The family of judges with a scoring head: a number per answer, compared with a tie band."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, Self

from pydantic import Field

from magistrate.ids import content_id
from magistrate.messages import Choices, Completion, Message, Sampling
from magistrate.prompts.base import Verdict
from magistrate.prompts.outcome import ranking_of, tie_band_probabilities
from magistrate.prompts.schema import validate
from magistrate.prompts.slots import answer_value, answers_shown, sample_name, sample_values
from magistrate.prompts.template import MessageTemplate, Template
from magistrate.prompts.untrusted import UNTRUSTED_VERSION, DataRules
from magistrate.records import Answer, Record, Sample


class ScorerSection(Record):
    """``[family]`` of a ``judge.toml``: what the scoring head reads."""

    kind: Literal["scorer"]
    template: str
    """Jinja2 with ``{{ question }}`` and ``{{ answer }}``."""
    empty_answer: str = ""
    """Shown for an empty answer; empty when the engine has its own sign for it."""
    markers: tuple[str, ...] = ()
    """Section markers of the template that data could forge; control tokens are safe already."""


class ScorerVerdictSection(Record):
    """``[verdict]`` of a ``judge.toml``: how scores become an outcome."""

    temperature: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    tie_band: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Answers whose scores differ by less are more likely a tie than the better one's win."""
    length_coefficient: float = Field(default=0.0, allow_inf_nan=False)
    """Times log(1 + characters of the answer), added to its score."""


class ScorerFamily:
    """A :class:`~magistrate.prompts.base.Family` for engines that return a scalar per prompt."""

    min_answers = 1
    max_answers: int | None = None
    reads_alone = True
    sampling = Sampling(max_tokens=0)
    """Nothing is written."""

    def __init__(self, name: str, section: ScorerSection, verdict: ScorerVerdictSection) -> None:
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
        self._template.require("question", "answer")

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
            validate(ScorerSection, family, where=f"{where}, section [family]"),
            validate(ScorerVerdictSection, verdict, where=f"{where}, section [verdict]"),
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
        """Return one prompt per shown answer, with slots ``question`` and ``answer``.

        Raises:
            MissingVariablesError: The template needs fields that the sample lacks.
        """
        shared = sample_values(sample, self._rules)
        return tuple(
            self._template.render(
                shared | answer_value(shared, answer, self._rules), sample=sample_name(sample)
            )
            for answer in answers_shown(sample, order)
        )

    def choices(self, count: int) -> Choices | None:
        """Return None: nothing is written that could be one of a few verdicts."""
        return None

    def read(
        self, completions: Sequence[Completion], sample: Sample, order: Sequence[int]
    ) -> Verdict:
        """Compare the scores of the shown answers, length term included.

        For a pair: the distribution of the tie-band model and its likeliest outcome. For more:
        a ranking, where answers within the tie band of a group's best share its rank.
        """
        shown = answers_shown(sample, order)
        scores: list[float] = []
        for place, (completion, answer) in enumerate(zip(completions, shown, strict=True), 1):
            if completion.error is not None or completion.finish_reason == "error":
                error = completion.error or "the engine reported an error"
                return Verdict(status="error", error=f"{error} (answer {place})")
            if completion.score is None or not math.isfinite(completion.score):
                return Verdict(
                    status="error",
                    error=f"no_score: answer {place} got {completion.score} from the engine, "
                    f"a finite number is due",
                )
            scores.append(completion.score + self._length_term(answer))
        return self._outcome(scores)

    def _length_term(self, answer: Answer) -> float:
        return self.verdict.length_coefficient * math.log1p(answer_characters(answer))

    def _outcome(self, scores: Sequence[float]) -> Verdict:
        kept = tuple(scores)
        band = self.verdict.tie_band
        if len(kept) != 2:
            ranking = ranking_of(kept, tie_gap=band) if len(kept) > 2 else None
            return Verdict(status="ok", scores=kept, ranking=ranking)
        probabilities = tie_band_probabilities(
            kept[0] - kept[1], temperature=self.verdict.temperature, tie_band=band
        )
        return Verdict(
            status="ok",
            preference=probabilities.preference,
            scores=kept,
            probabilities=probabilities,
        )


def answer_characters(answer: Answer) -> int:
    """Return the characters of an answer as it was written; of all its own turns if it has several.

    >>> answer_characters(Answer(text="four"))
    4
    """
    if answer.turns:
        return sum(len(turn.text) for turn in answer.turns if turn.role == "assistant")
    return len(answer.text)
