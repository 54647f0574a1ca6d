"""Families whose judges write: a folder with ``family.toml`` becomes prompts and verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

from magistrate.errors import FamilyError
from magistrate.ids import content_id
from magistrate.messages import Completion, Message, Sampling
from magistrate.prompts.base import Verdict
from magistrate.prompts.outcome import verdict_from_scores
from magistrate.prompts.parse import PARSER_VERSION, VerdictRules, parse
from magistrate.prompts.schema import FAMILY_FILE, FamilyFile, read_family_file
from magistrate.prompts.slots import (
    answer_value,
    answers_shown,
    answers_values,
    sample_name,
    sample_values,
)
from magistrate.prompts.template import MessageTemplate, Template
from magistrate.prompts.untrusted import ANY_NUMBER, UNTRUSTED_VERSION, DataRules
from magistrate.records import Sample

Mode: TypeAlias = Literal["reason", "score"]
"""``reason``: the judge also explains. ``score``: the reply stops after the scores."""


class TextFamily:
    """A :class:`~magistrate.prompts.base.Family` described by a ``family.toml``."""

    def __init__(self, file: FamilyFile, *, where: str, mode: Mode = "reason") -> None:
        """Compile the templates and check that they show what is to be judged.

        Args:
            file: The checked contents of ``family.toml``.
            where: Path of the file, for error messages.
            mode: Whether the judge explains its scores.

        Raises:
            FamilyError: A template is wrong, or the family has no such mode.
        """
        self.file = file
        self.where = where
        self.mode: Mode = mode
        if mode == "score" and file.score_mode is None:
            raise FamilyError(
                f"family '{file.name}' has no score mode: its scores come after the reasons; "
                f"use reason mode, or a family with scores first"
            )
        self._rules = DataRules(markers=file.markers, empty_answer=file.empty_answer)
        self._template = Template(
            file.name,
            [
                MessageTemplate(
                    message.role, message.text or "", f"{where}, message {place} ({message.role})"
                )
                for place, message in enumerate(file.messages, 1)
            ],
        )
        _check_slots(file, self._template, where)
        _check_markers(file, where)

    @classmethod
    def from_folder(cls, folder: Path, *, mode: Mode = "reason") -> Self:
        """Load a family folder.

        Raises:
            FamilyError: The folder does not hold a usable family; the message names file and key.
        """
        return cls(read_family_file(folder), where=str(folder / FAMILY_FILE), mode=mode)

    def in_mode(self, mode: Mode) -> TextFamily:
        """Return the same family in another mode.

        Raises:
            FamilyError: The family's scores come last, so it cannot stop after them.
        """
        return TextFamily(self.file, where=self.where, mode=mode)

    @property
    def name(self) -> str:
        """Name under which the catalog knows the family."""
        return self.file.name

    @cached_property
    def prompt_hash(self) -> str:
        """Content id of the templates, the verdict's rules and the versions of their readers."""
        shaping = self.file.model_dump(
            mode="json", exclude={"description", "source", "sampling", "score_mode"}
        )
        return content_id(
            {"family": shaping, "parser": PARSER_VERSION, "untrusted": UNTRUSTED_VERSION}
        )

    @property
    def min_answers(self) -> int:
        """Fewest answers that a sample must have."""
        return self.file.min_answers

    @property
    def max_answers(self) -> int | None:
        """Most answers that a sample may have; None for any number."""
        return self.file.max_answers

    @property
    def reads_alone(self) -> bool:
        """Whether each answer is read alone, one prompt each."""
        return self.file.reads_alone

    @property
    def sampling(self) -> Sampling:
        """How replies are written in the family's mode."""
        section = self.file.score_mode if self.mode == "score" else self.file.sampling
        return (section or self.file.sampling).to_sampling()

    def prompts(self, sample: Sample, order: Sequence[int]) -> tuple[tuple[Message, ...], ...]:
        """Return one prompt, or one per shown answer if the family reads each alone.

        Raises:
            MissingVariablesError: The template needs fields that the sample lacks.
            FamilyError: The template fails on this sample.
        """
        shared = {
            **sample_values(sample, self._rules),
            "lowest": f"{self.file.verdict.low:g}",
            "highest": f"{self.file.verdict.high:g}",
        }
        shown = answers_shown(sample, order)
        variants: list[dict[str, Any]]
        if self.reads_alone:
            variants = [answer_value(answer, self._rules) for answer in shown]
        else:
            variants = [answers_values(shown, self._rules)]
        return tuple(
            self._template.render(shared | own, sample=sample_name(sample)) for own in variants
        )

    def read(
        self, completions: Sequence[Completion], sample: Sample, order: Sequence[int]
    ) -> Verdict:
        """Read the replies; where each answer was read alone, their scores are compared."""
        if not self.reads_alone:
            return self._read_one(completions[0], count=len(order))
        verdicts = [self._read_one(completion, count=1) for completion in completions]
        for place, verdict in enumerate(verdicts, 1):
            if verdict.status != "ok":
                which = f" (answer {place})" if len(verdicts) > 1 else ""
                return Verdict(status=verdict.status, error=f"{verdict.error}{which}")
        scores = [score for verdict in verdicts for score in verdict.scores or ()]
        reasons = [verdict.reasons for verdict in verdicts if verdict.reasons]
        return verdict_from_scores(
            scores, tie_gap=self.file.verdict.tie_gap, reasons="\n\n".join(reasons) or None
        )

    def _read_one(self, completion: Completion, *, count: int) -> Verdict:
        if completion.error is not None or completion.finish_reason == "error":
            return Verdict(status="error", error=completion.error or "the engine reported an error")
        verdict = self.file.verdict
        rules = VerdictRules(
            count=count,
            low=verdict.low,
            high=verdict.high,
            place=verdict.place,
            tie_gap=verdict.tie_gap,
        )
        return parse(completion.text, rules, completion.finish_reason)


def _check_slots(file: FamilyFile, template: Template, where: str) -> None:
    """Refuse a template that leaves out the question or an answer."""
    numbered = [f"answer_{place}" for place in range(1, file.min_answers + 1)]
    fixed_count = file.max_answers == file.min_answers
    if file.reads_alone:
        template.require("question", "answer")
    elif fixed_count and set(numbered) & template.variables:
        template.require("question", *numbered)
    else:
        template.require("question", "answers")
    alone = {"answer"} & template.variables
    together = {name for name in template.variables if name.startswith("answer")} - alone
    if forbidden := together if file.reads_alone else alone:
        kind = "reads each answer alone" if file.reads_alone else "reads all answers together"
        raise FamilyError(f"{where}: the family {kind}; do not use {', '.join(sorted(forbidden))}")


def _check_markers(file: FamilyFile, where: str) -> None:
    """Refuse a marker that no message writes: it was mistyped, or protects nothing."""
    wording = "\n".join(message.text or "" for message in file.messages)
    for marker in file.markers:
        if marker.partition(ANY_NUMBER)[0] not in wording:
            raise FamilyError(f"{where}: no message holds the marker '{marker}'; mend one of them")
