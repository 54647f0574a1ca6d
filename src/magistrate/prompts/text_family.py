"""Families whose judges write: a folder with ``family.toml`` becomes prompts and verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

from magistrate.errors import FamilyError, MissingVariablesError
from magistrate.ids import content_id
from magistrate.messages import Choices, Completion, Message, Part, Sampling
from magistrate.prompts.approximate import (
    mean_logprob,
    score_marginals,
    with_marginals,
    with_probabilities,
)
from magistrate.prompts.assembly import with_demonstrations, with_images, with_start
from magistrate.prompts.base import Verdict
from magistrate.prompts.checks import check_markers, check_slots
from magistrate.prompts.demonstrations import renamed
from magistrate.prompts.distribution import (
    Distribution,
    distribution_of,
    verdict_from_alone,
    verdict_from_joint,
    verdict_from_labels,
)
from magistrate.prompts.options import Options, options_of
from magistrate.prompts.outcome import verdict_from_scores
from magistrate.prompts.parse import PARSER_VERSION, parse
from magistrate.prompts.rules import Rules, Value
from magistrate.prompts.sampled import (
    has_samples,
    replies_of,
    verdict_of_samples,
    verdict_of_samples_alone,
)
from magistrate.prompts.schema import FAMILY_FILE, FamilyFile, read_family_file, shaping_keys
from magistrate.prompts.slots import (
    answer_value,
    answers_shown,
    answers_values,
    sample_name,
    sample_values,
)
from magistrate.prompts.template import MessageTemplate, Template
from magistrate.prompts.untrusted import UNTRUSTED_VERSION, DataRules
from magistrate.prompts.writing import (
    ReplyPiece,
    gold_value,
    value_of_scores,
    verdict_pieces,
)
from magistrate.records import Answer, Sample

Mode: TypeAlias = Literal["reason", "score"]
"""``reason``: the judge also explains. ``score``: the reply stops after the verdict."""


class TextFamily:
    """A :class:`~magistrate.prompts.base.Family` described by a ``family.toml``."""

    def __init__(
        self,
        file: FamilyFile,
        *,
        where: str,
        mode: Mode = "reason",
        demonstrations: Sequence[Sample] = (),
    ) -> None:
        """Compile the templates and check that they show what is to be judged.

        Args:
            file: The checked contents of ``family.toml``.
            where: Path of the file, for error messages.
            mode: Whether the judge explains its verdict.
            demonstrations: Labelled samples that every prompt shows solved, in their own answer
                order.

        Raises:
            FamilyError: A template is wrong, the family has no such mode, or a demonstration has no
                gold label that says a verdict of this family.
            MissingVariablesError: A demonstration lacks what the template needs.
        """
        self.file = file
        self.where = where
        self.mode: Mode = mode
        if mode == "score" and file.score_mode is None:
            raise FamilyError(
                f"family '{file.name}' has no score mode: it does not say how to stop after its "
                f"verdict ([score_mode]); use reason mode, or another family"
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
        self._shows_turns = any(
            name.startswith(("dialogue", "turns")) for name in self._template.variables
        )
        check_slots(file, self._template, where)
        check_markers(file, where)
        self.demonstrations = tuple(demonstrations)
        self._shown_before = tuple(
            message
            for number, sample in enumerate(self.demonstrations, 1)
            for message in self._demonstrate(sample, number)
        )

    @classmethod
    def from_folder(
        cls,
        folder: Path,
        *,
        file: str = FAMILY_FILE,
        mode: Mode = "reason",
        demonstrations: Sequence[Sample] = (),
    ) -> Self:
        """Load a family folder, or that of its families whose file is named.

        Raises:
            FamilyError: The folder does not hold a usable family; the message names file and key.
        """
        return cls(
            read_family_file(folder, file),
            where=str(folder / file),
            mode=mode,
            demonstrations=demonstrations,
        )

    def in_mode(self, mode: Mode) -> TextFamily:
        """Return the same family in another mode.

        Raises:
            FamilyError: The family's scores come last, so it cannot stop after them.
        """
        return TextFamily(
            self.file, where=self.where, mode=mode, demonstrations=self.demonstrations
        )

    @property
    def name(self) -> str:
        """Name under which the catalog knows the family."""
        return self.file.name

    @cached_property
    def prompt_hash(self) -> str:
        """Content id of the templates, the verdict's rules and the versions of their readers."""
        hashed: dict[str, Any] = {
            "family": shaping_keys(self.file),
            "parser": PARSER_VERSION,
            "untrusted": UNTRUSTED_VERSION,
        }
        if self.start:
            hashed["start"] = self.start
        if self._shown_before:
            hashed["demonstrations"] = [
                [
                    message.role,
                    [[part.text, part.slot] for part in message.parts],
                    *([list(message.images)] if message.images else []),
                ]
                for message in self._shown_before
            ]
        return content_id(hashed)

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
    def shows_images(self) -> bool:
        """Whether prompts show the sample's images."""
        return self.file.shows_images

    @property
    def shows_reference(self) -> bool:
        """Whether prompts show the sample's reference, where it has one."""
        return not {"reference", "references"}.isdisjoint(self._template.variables)

    @property
    def scale(self) -> tuple[float, float] | None:
        """Lowest and highest score of a verdict; None where verdicts are no scores."""
        low, high = (getattr(self.file.verdict, name, None) for name in ("low", "high"))
        return None if low is None or high is None else (low, high)

    @property
    def sampling(self) -> Sampling:
        """How replies are written in the family's mode."""
        section = self.file.score_mode if self.mode == "score" else self.file.sampling
        return (section or self.file.sampling).to_sampling()

    @property
    def start(self) -> str:
        """The fixed start of every reply in the family's mode; empty where it has none."""
        mode = self.file.score_mode if self.mode == "score" else None
        if mode is not None and mode.prefill is not None:
            return mode.prefill
        return self.file.prefill.text if self.file.prefill else ""

    def prompts(self, sample: Sample, order: Sequence[int]) -> tuple[tuple[Message, ...], ...]:
        """Return one prompt, or one per shown answer if the family reads each alone.

        Raises:
            MissingVariablesError: The template needs fields that the sample lacks.
            FamilyError: The template fails on this sample.
        """
        return tuple(
            with_start(with_demonstrations(messages, self._shown_before), self.start)
            for messages in self._render(sample, answers_shown(sample, order))
        )

    def _render(self, sample: Sample, shown: Sequence[Answer]) -> Iterator[tuple[Message, ...]]:
        """Yield the family's own messages: once, or for each shown answer."""
        shared = sample_values(sample, self._rules, with_turns=self._shows_turns)
        if self.file.verdict.scale is not None:
            low, high = self.file.verdict.scale
            shared |= {"lowest": f"{low:g}", "highest": f"{high:g}"}
        variants: list[dict[str, Any]]
        if self.reads_alone:
            variants = [answer_value(shared, answer, self._rules) for answer in shown]
        else:
            variants = [answers_values(shared, shown, self._rules)]
        images = sample.images if self.file.shows_images else ()
        if self.file.shows_images and not images:
            raise MissingVariablesError(self.name, ["images"], sample_name(sample))
        for own in variants:
            messages = self._template.render(shared | own, sample=sample_name(sample))
            yield with_images(messages, images)

    def _demonstrate(self, sample: Sample, number: int) -> tuple[Message, ...]:
        """Return a sample as the judge would have seen it, and the reply that its gold makes."""
        count = len(sample.answers)
        if count < self.min_answers or (self.max_answers and count > self.max_answers):
            raise FamilyError(
                f"sample {sample_name(sample)} cannot be a demonstration for family "
                f"'{self.name}': it has {count} answers"
            )
        shown = sample.answers[:1] if self.reads_alone else sample.answers
        value = gold_value(self.file.verdict, sample, len(shown))
        if value is None:
            raise FamilyError(
                f"sample {sample_name(sample)} cannot be a demonstration for family "
                f"'{self.name}': no gold label of it says {self.file.verdict.words}"
            )
        asked = next(self._render(sample, shown))
        reply = self._gold_reply(sample, value, number)
        if asked[-1].role == "text":
            parts = (*renamed(asked, number)[-1].parts, *reply, Part("\n\n\n"))
            return (Message("text", parts),)
        turns = [message for message in renamed(asked, number) if message.role != "system"]
        return (*turns, Message("assistant", reply))

    def _gold_reply(self, sample: Sample, value: Value, number: int) -> tuple[Part, ...]:
        """Return what the judge should have replied: the verdict, and reasons if gold has any."""
        given = next((gold.reasons for gold in sample.gold if gold.reasons), "")
        pieces = self._whole_reply(value, self.cleaned(given))
        if self.file.verdict.kind == "json":
            return (Part("".join(piece.text for piece in pieces)),)
        slot = f"demo_{number}_reasons"
        return tuple(Part(p.text, slot if p.part == "reasons" else None) for p in pieces)

    def cleaned(self, reasons: str) -> str:
        """Return reasons as replies of the family may hold them: its markers are made harmless."""
        return self._rules.text(reasons).strip()

    def _whole_reply(self, value: Value, reasons: str) -> list[ReplyPiece]:
        """Return a reply with its fixed start: the verdict, and in reason mode the reasons."""
        verdict, mode = self.file.verdict, self.file.score_mode
        said = reasons if self.mode == "reason" else ""
        lead = self.start or (mode.prefill if mode and mode.prefill else "")
        pieces = list(verdict_pieces(verdict, value, lead=lead, reasons=said))
        written = "".join(piece.text for piece in pieces)
        if self.file.prefill and not written.startswith(self.file.prefill.text):
            pieces.insert(0, ReplyPiece(f"{self.file.prefill.text} ", "other"))
        if not said or verdict.kind == "json":
            return pieces
        break_, because = ReplyPiece("\n", "other"), ReplyPiece(said, "reasons")
        if verdict.place == "first":
            return [*pieces, break_, because]
        return [because, break_, *pieces]

    def reply_pieces(self, value: Value, reasons: str = "") -> tuple[ReplyPiece, ...]:
        """Return the reply of a judge behind its fixed start, which the prompt holds.

        Args:
            value: Scores, an outcome or ranks, as
                :func:`magistrate.prompts.writing.gold_value` returns them.
            reasons: What the judge says besides; nothing in score mode.
        """
        pieces = self._whole_reply(value, reasons)
        if not "".join(piece.text for piece in pieces).startswith(self.start):
            return tuple(pieces)
        kept, skip = [], len(self.start)
        for piece in pieces:
            if rest := piece.text[skip:]:
                kept.append(ReplyPiece(rest, piece.part))
            skip = max(skip - len(piece.text), 0)
        return tuple(kept)

    def reply_of(self, scores: Sequence[float], reasons: str = "", *, coin: bool = True) -> str:
        """Return the reply of a judge that would score the shown answers so.

        Args:
            scores: One for each answer of a prompt, from 1 to 10, carried over to the family's
                verdict: its scale, its labels, its names.
            reasons: What the judge says besides; nothing in score mode.
            coin: Which answer is better, the first (True) or the second, where the scores are even
                and the family knows no tie.
        """
        value = value_of_scores(self.file.verdict, scores, coin=coin)
        return "".join(piece.text for piece in self.reply_pieces(value, reasons))

    def choices(self, count: int) -> Choices | None:
        """Return all that a reply can say in score mode; None where these are not a few.

        Args:
            count: How many answers a prompt shows.
        """
        shown = 1 if self.reads_alone else count
        options = self._options(shown) if self.mode == "score" else None
        return options.choices if options else None

    def read(
        self, completions: Sequence[Completion], sample: Sample, order: Sequence[int]
    ) -> Verdict:
        """Read the replies; where each answer was read alone, their scores are compared."""
        for place, completion in enumerate(completions, 1):
            if completion.error is not None or completion.finish_reason == "error":
                error = completion.error or "the engine reported an error"
                which = f" (answer {place})" if len(completions) > 1 else ""
                return Verdict(status="error", error=f"{error}{which}")
        if any(completion.choices for completion in completions):
            return self._read_choices(completions, count=1 if self.reads_alone else len(order))
        if not self.reads_alone:
            return self._read_one(completions[0], count=len(order))
        return self._read_alone(completions)

    def _read_one(self, completion: Completion, *, count: int) -> Verdict:
        rules = self._rules_for(count)
        if has_samples(completion):
            return verdict_of_samples(self._parse_samples(completion, rules))
        verdict = self._parse(completion, rules)
        if verdict.status != "ok" or not completion.logprobs:
            return verdict
        return with_probabilities(verdict, completion, rules, self.start)

    def _read_alone(self, completions: Sequence[Completion]) -> Verdict:
        rules = self._rules_for(1)
        if any(map(has_samples, completions)):
            return verdict_of_samples_alone(
                [self._parse_samples(completion, rules) for completion in completions],
                tie_gap=self.file.verdict.tie_width,
            )
        verdicts = [self._parse(completion, rules) for completion in completions]
        if failed := _first_failure(verdicts):
            return failed
        scores = [score for verdict in verdicts for score in verdict.scores or ()]
        reasons = [verdict.reasons for verdict in verdicts if verdict.reasons]
        gap = self.file.verdict.tie_width
        joined = verdict_from_scores(scores, tie_gap=gap, reasons="\n\n".join(reasons) or None)
        joined = replace(joined, verdict_logprob=mean_logprob(verdicts, completions, rules))
        marginals = [
            score_marginals(verdict, completion, rules)
            for verdict, completion in zip(verdicts, completions, strict=True)
        ]
        known = [each[0] for each in marginals if each]
        if len(known) != 2 or len(marginals) != 2:
            return joined
        return with_marginals(joined, known, tie_gap=gap)

    def _parse(self, completion: Completion, rules: Rules) -> Verdict:
        """Read a reply with its fixed start, also where the judge wrote that again itself."""
        text, finish = completion.text, completion.finish_reason
        verdict = parse(self.start + text, rules, finish)
        if self.start and verdict.status != "ok" and text.lstrip().startswith(self.start.strip()):
            again = parse(text, rules, finish)
            return again if again.status == "ok" else verdict
        return verdict

    def _parse_samples(self, completion: Completion, rules: Rules) -> list[Verdict]:
        return [self._parse(reply, rules) for reply in replies_of(completion)]

    def _read_choices(self, completions: Sequence[Completion], *, count: int) -> Verdict:
        """Read the exact distribution over all verdicts."""
        options = self._options(count)
        total = options.choices.total if options else 0
        found = [distribution_of(completion.choices, total) for completion in completions]
        distributions = [one for one in found if isinstance(one, Distribution)]
        if options is None or len(distributions) < len(found):
            ok = Verdict(status="ok")
            failed = _first_failure([one if isinstance(one, Verdict) else ok for one in found])
            return failed or Verdict(status="error", error="bad_choices: none were asked for")
        if options.meanings:
            return verdict_from_labels(distributions[0], options.meanings)
        gap = self.file.verdict.tie_width
        if self.reads_alone:
            return verdict_from_alone(distributions, options.scale, tie_gap=gap)
        return verdict_from_joint(distributions[0], options.scale, count, tie_gap=gap)

    def _options(self, count: int) -> Options | None:
        return options_of(self.file.verdict, count, self.start)

    def _rules_for(self, count: int) -> Rules:
        fixed = self.file.prefill.scores if self.file.prefill else ()
        return self.file.verdict.rules(count, fixed=fixed)


def _first_failure(verdicts: Sequence[Verdict]) -> Verdict | None:
    for place, verdict in enumerate(verdicts, 1):
        if verdict.status != "ok":
            which = f" (answer {place})" if len(verdicts) > 1 else ""
            return Verdict(
                status=verdict.status, error=f"{verdict.error}{which}", mass=verdict.mass
            )
    return None
