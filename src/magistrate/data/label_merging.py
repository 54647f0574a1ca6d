"""From teachers' runs to the labelled file: the runs are read twice, as streams.

Once for the votes, on which the rule of merging is fitted; once for the labels themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from magistrate.data.annotator_models import Merged
from magistrate.data.label_notices import favourite_places, ties_alone
from magistrate.data.label_report import Labelled, TeacherReport, measure
from magistrate.data.merging import (
    FEWEST_FOR_DAWID_SKENE,
    Ballots,
    Label,
    MergeRule,
    disagreement,
    is_merged,
    merge_votes,
    merged_gold,
    shares_of,
)
from magistrate.data.teacher_labels import (
    NO_REFERENCE,
    Asked,
    FailedLabel,
    failure_of,
    label_of,
    readings_of,
)
from magistrate.data.teachers import ReferenceUse
from magistrate.formats.base import Notice
from magistrate.formats.writers import write_samples
from magistrate.metrics.gold import annotator_vote
from magistrate.records import Decision, Gold, Judgment, Preference, Sample
from magistrate.store.disk import write_atomically
from magistrate.store.lines import to_line

TARGETS = {"samples": "samples", "judgelm": "judgelm-training"}
"""What the output may be, and what the writers call it."""

FAILED = "failed.jsonl"
DISAGREEMENT = "disagreement"
"""Key of ``Sample.meta``."""


class Merging:
    """The labels of all teachers on some samples, on their way to one file."""

    def __init__(
        self,
        samples: Sequence[Sample],
        asked: Sequence[Asked],
        reference: ReferenceUse,
        rule: MergeRule,
        seed: int,
    ) -> None:
        self.samples, self.asked, self.rule, self.seed = samples, asked, rule, seed
        self.by_way = reference == "both"
        self.names = {one.ask.annotator for one in asked}
        self.failures: list[FailedLabel] = []
        self._outcomes: Counter[Preference | None] = Counter()

    def write(
        self, out: Path, to: str, work: Path, *, notes: Sequence[str], reader: object
    ) -> Labelled:
        """Write the labelled samples, and the list of what failed.

        Args:
            out: The output.
            to: One of :data:`TARGETS`.
            work: Folder of the runs; the list goes there.
            notes: What the user should know.
            reader: Where the samples came from; its notices and bad rows are reported.

        Raises:
            InputError: The output cannot be written.
        """
        ballots = self._ballots()
        self._merged = {way: self._merge(ballots, way) for way in self._ways()}
        notices = [Notice(kind="label", message=note) for note in notes]
        notices += self._notices(ballots)
        labelled = self._labelled()
        if to == "judgelm":  # holds one label a way of asking: the merged one, or none
            labelled = (_merged_alone(sample) for sample in labelled)
        report = write_samples(labelled, out, TARGETS[to])
        teachers_found = tuple(self._report(one) for one in self.asked)
        notices += [*favourite_places(teachers_found), *ties_alone(self._outcomes)]
        failed = work / FAILED
        write_atomically(failed, b"".join(map(to_line, self.failures)))
        alone = {
            way: merge_votes(ballots, teachers, self.rule, seed=self.seed).shares
            for way, (columns, _) in self._merged.items()
            if (teachers := [name for name in columns if name not in ballots.humans])
        }
        skill = {
            way: dict(zip(columns, map(float, merged.skill), strict=True))
            for way, (columns, merged) in self._merged.items()
        }
        return Labelled(
            output=str(out),
            to=report.to,
            work=str(work),
            samples=len(self.samples),
            written=report.written,
            unlabelled=len(self.samples) - report.written - report.skipped_count,
            skipped=report.skipped,
            skipped_count=report.skipped_count,
            rule=self.rule,
            teachers=teachers_found,
            measured=measure(ballots, alone if ballots.humans else {}, skill),
            failed=len(self.failures),
            failed_file=str(failed),
            cost=sum(one.run.manifest.cost for one in self.asked if one.run),
            notices=(*getattr(reader, "notices", ()), *notices, *report.notices),
            bad=tuple(getattr(reader, "bad", ())),
            bad_count=getattr(reader, "bad_count", 0),
        )

    def _report(self, one: Asked) -> TeacherReport:
        manifest = one.run.manifest if one.run else None
        return TeacherReport(
            annotator=one.ask.annotator,
            judge=one.ask.judge,
            with_reference=one.ask.shows_reference,
            column=one.ask.column,
            run=str(one.run.path) if one.run else None,
            asked=len(one.rows),
            not_asked=len(one.unfit),
            labelled=one.labelled,
            contradicting=one.contradicting,
            failed={status: n for status, n in one.failed.items() if n},
            consistent=one.consistent[True],
            compared=one.consistent.total(),
            cost=manifest.cost if manifest else 0.0,
            tokens=manifest.usage.prompt_tokens + manifest.usage.completion_tokens
            if manifest
            else 0,
        )

    def _ways(self) -> tuple[bool | None, ...]:
        """Return for which ways of asking there is a merged label; None is for all alike."""
        return (False, True) if self.by_way else (None,)

    def _belongs(self, gold_way: bool | None, way: bool | None) -> bool:
        return way is None or gold_way is None or gold_way == way

    # First reading: votes.

    def _ballots(self) -> Ballots:
        ballots = Ballots(len(self.samples))
        for one in self.asked:
            for row, sample, judgments, decision in readings_of(one, self.samples):
                gold = label_of(one.ask, sample, judgments, decision)
                if gold is None:
                    continue
                p = decision.probabilities
                shares = (p.first, p.tie, p.second) if p else shares_of(gold)
                ballots.add(row, sample, one.ask.column, shares)
        self.earlier: dict[str, bool | None] = {}
        for row, sample in enumerate(self.samples):
            for column, gold in self._kept(sample):
                self.earlier[column] = gold.with_reference
                ballots.add(
                    row, sample, column, shares_of(gold), is_human=gold.with_reference is None
                )
        return ballots

    def _kept(self, sample: Sample) -> Iterator[tuple[str, Gold]]:
        """Yield the labels of a sample that stay, each with the name of its column."""
        taken: set[str] = {one.ask.column for one in self.asked}
        for place, gold in enumerate(sample.gold, 1):
            if is_merged(gold) or gold.annotator in self.names:
                continue
            name = gold.annotator or f"annotator {place}"
            name += " with reference" if gold.with_reference else ""
            while name in taken:
                name += " again"
            taken.add(name)
            yield name, gold

    def _merge(self, ballots: Ballots, way: bool | None) -> tuple[list[str], Merged]:
        columns = [
            one.ask.column for one in self.asked if self._belongs(one.ask.shows_reference, way)
        ]
        columns += [name for name, made in self.earlier.items() if self._belongs(made, way)]
        columns = [name for name in dict.fromkeys(columns) if name in ballots.names]
        return columns, merge_votes(ballots, columns, self.rule, seed=self.seed)

    def _notices(self, ballots: Ballots) -> Iterator[Notice]:
        others = sum(len(sample.answers) != 2 for sample in self.samples)
        fewest = min(len(columns) for columns, _ in self._merged.values())
        if self.rule != "mean" and others:
            yield Notice(
                kind="label",
                message=f"the rule '{self.rule}' is one for pairs; {others:,} other samples are "
                f"merged by the mean",
            )
        if self.rule == "dawid-skene" and fewest < FEWEST_FOR_DAWID_SKENE:
            yield Notice(
                kind="label",
                message=f"Dawid-Skene has {fewest} annotators to go by; with fewer than "
                f"{FEWEST_FOR_DAWID_SKENE} it cannot tell who is right",
            )
        if self.rule == "agreement" and not ballots.humans:
            yield Notice(
                kind="label",
                message="no sample has a gold label to measure the teachers by: all count alike",
            )

    # Second reading: labels.

    def _labelled(self) -> Iterator[Sample]:
        streams = [(one, readings_of(one, self.samples)) for one in self.asked]
        pending = [(one, stream, next(stream, None)) for one, stream in streams]
        for row, sample in enumerate(self.samples):
            labels: list[Label] = []
            consistent: list[bool | None] = []
            for place, (one, stream, reading) in enumerate(pending):
                if row in one.unfit:
                    self._note_unfit(one, row, sample)
                if reading is None or reading[0] != row:
                    continue
                pending[place] = (one, stream, next(stream, None))
                _, _, judgments, decision = reading
                gold = label_of(one.ask, sample, judgments, decision)
                self._count(one, row, sample, judgments, decision, gold)
                if gold is not None:
                    labels.append(Label(one.ask.column, gold, one.ask.scale))
                    consistent.append(decision.consistent)
            kept = list(self._kept(sample))
            labels += [
                Label(name, gold, is_teacher=gold.with_reference is not None) for name, gold in kept
            ]
            merged = [gold for way in self._ways() if (gold := self._one(row, labels, way))]
            if not merged:
                continue
            if len(sample.answers) == 2:
                self._outcomes.update(map(annotator_vote, merged))
            teachers = [one.gold for one in labels[: len(labels) - len(kept)]]
            golds = (*merged, *teachers, *(gold for _, gold in kept))
            meta = {**sample.meta, DISAGREEMENT: disagreement(labels, consistent)}
            yield sample.model_copy(update={"gold": golds, "meta": meta})

    def _one(self, row: int, labels: Sequence[Label], way: bool | None) -> Gold | None:
        columns, merged = self._merged[way]
        fitting = [label for label in labels if self._belongs(label.gold.with_reference, way)]
        made = {label.gold.with_reference for label in labels}
        if way is not None and way not in made and (way or True in made):
            return None  # what nobody labelled in this way has no merged label of it
        skill = dict(zip(columns, merged.skill, strict=True))
        return merged_gold(
            fitting,
            merged.shares[row] if columns else None,
            self.rule,
            lambda column: float(skill.get(column, float("nan"))),
        )

    def _note_unfit(self, one: Asked, row: int, sample: Sample) -> None:
        if one.unfit[row] == NO_REFERENCE and self.by_way:
            return  # it was asked without
        self.failures.append(
            FailedLabel(
                row=row,
                sample_id=sample.id,
                source_id=sample.source_id,
                annotator=one.ask.annotator,
                with_reference=one.ask.shows_reference,
                order=None,
                status="error",
                reason=f"not asked: {one.unfit[row]}",
            )
        )

    def _count(
        self,
        one: Asked,
        row: int,
        sample: Sample,
        judgments: Sequence[Judgment],
        decision: Decision,
        gold: Gold | None,
    ) -> None:
        failure = failure_of(one.ask, row, sample, judgments)
        if failure is not None:
            self.failures.append(failure)
            one.failed[failure.status] += 1
        if gold is None:
            return
        one.labelled += 1
        one.contradicting += gold.scores is None and decision.scores is not None
        if decision.consistent is not None:
            one.consistent[decision.consistent] += 1


def _merged_alone(sample: Sample) -> Sample:
    return sample.model_copy(update={"gold": tuple(filter(is_merged, sample.gold))})
