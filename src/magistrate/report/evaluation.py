"""How far a judge can be trusted, as one record.

    from magistrate.report.evaluation import evaluate

    print(evaluate("runs/first", labels="gold.jsonl", by=["category"]))

Our own measures always; another tool's rule only by name, beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

from magistrate.formats.base import BadRow, Notice
from magistrate.metrics.annotators import AgainstOne
from magistrate.metrics.breakdown import By
from magistrate.metrics.rules.base import RuleResult
from magistrate.metrics.rules.table import apply_rule
from magistrate.records import Record
from magistrate.report.evaluation_others import (
    RankedEvaluation,
    SingleEvaluation,
    evaluate_ranked,
    evaluate_singles,
)
from magistrate.report.evaluation_pairs import PairEvaluation, evaluate_pairs
from magistrate.report.judged import Judged, judged_run, read_judged
from magistrate.report.labels import LabelJoin
from magistrate.store.run import Run

Source = str | PathLike[str] | Run | Judged


class Evaluation(Record):
    """What a judge is worth on an input. ``str()`` gives the tables as plain text."""

    judge: str
    source: str
    format: str
    """``run``, or the format of the files."""
    inputs: tuple[str, ...]
    labels: LabelJoin | None
    """How a file of labels was joined; None when labels came with the judgments, or there are
    none."""
    pairs: PairEvaluation | None
    singles: SingleEvaluation | None
    ranked: RankedEvaluation | None
    rule: RuleResult | None
    """Another tool's rule, when one was named."""
    against: dict[str, tuple[AgainstOne, ...]]
    """By annotator that is taken as the truth: the judge, a second judge, the other annotators."""
    bad: tuple[BadRow, ...]
    """Rows of the judgments and of the labels that could not be used (the first 1,000)."""
    bad_rows: int
    notices: tuple[Notice, ...]

    @property
    def has_ok(self) -> bool:
        """Whether at least one sample has an ``ok`` decision."""
        parts = (self.pairs, self.singles, self.ranked)
        rates = [part.not_ok for part in parts if part is not None]
        return any(rate.value is not None and rate.value < 1 for rate in rates)

    def __str__(self) -> str:
        """Return the result as plain tables, 100 columns wide at most."""
        from magistrate.report.evaluation_table import evaluation_table
        from magistrate.report.table import plain_text

        return plain_text(evaluation_table(self), width=100)


def evaluate(
    *sources: Source,
    labels: str | PathLike[str] | None = None,
    rule: str | None = None,
    by: Sequence[By] = (),
    against: Source | None = None,
    judge: str | None = None,
    good_label: str | None = None,
    questions: str | PathLike[str] | None = None,
    format: str | None = None,  # noqa: A002
) -> Evaluation:
    """Measure a judge against labels, with intervals, baselines and parts.

    Args:
        sources: A run (its folder, or opened), or files in which another tool keeps the judgments
            of one judge.
        labels: A file of labels; see :func:`magistrate.report.judged.read_judged`.
        rule: Another tool's rule to apply besides: ``judgelm``, ``auto-j``, ``llmbar``,
            ``judgebench``, ``alpaca-eval``, ``mt-bench`` or ``pandalm``.
        by: What to break the result down by: ``category``, ``language``, ``model``, ``length``,
            ``length-gap``, ``question-type``.
        against: A second, stronger judge of the same samples, for the tables that take one
            annotator as the truth.
        judge: Whose judgments to take from files that hold those of several.
        good_label: For single answers with a label of two values: which one a high score should
            go with.
        questions: File of questions, for formats that name their questions by id only.
        format: Name of the files' format, instead of finding it out.

    Raises:
        InputError: A file cannot be read or holds no judgments; the rule is unknown or lacks what
            it needs; no sample has the good label; the second judge has no sample in common.
        RunError: A folder is not a run, or is damaged.
    """
    from magistrate.report.second_judge import tables_against

    judged = read_source(
        *sources,
        labels=labels,
        judge=judge,
        questions=questions,
        format=format,
        keep_samples=against is not None,
        question_types="question-type" in by,
    )
    second = None
    if against is not None:
        second = read_source(against, labels=labels, keep_samples=True)
    return Evaluation(
        judge=judged.judge,
        source=judged.source,
        format=judged.format,
        inputs=judged.inputs,
        labels=judged.join,
        pairs=evaluate_pairs(
            judged.pairs,
            by=by,
            reads_alone=judged.reads_alone,
            has_texts=judged.has_texts,
            question_types=judged.question_types,
        ),
        singles=evaluate_singles(judged.singles, by=by, good_label=good_label),
        ranked=evaluate_ranked(judged.ranked),
        rule=apply_rule(rule, judged.pairs) if rule else None,
        against=tables_against(judged, second),
        bad=judged.bad,
        bad_rows=judged.bad_rows,
        notices=judged.notices,
    )


def read_source(
    *sources: Source,
    labels: str | PathLike[str] | None = None,
    judge: str | None = None,
    questions: str | PathLike[str] | None = None,
    format: str | None = None,  # noqa: A002
    keep_samples: bool = False,
    question_types: bool = False,
) -> Judged:
    """Return a run, files or what was read of them already as columns.

    Arguments and errors as :func:`magistrate.report.judged.read_judged`.
    """
    first = sources[0] if sources else None
    if isinstance(first, Judged):
        return first
    if isinstance(first, Run):
        return judged_run(
            first, labels=labels, keep_samples=keep_samples, question_types=question_types
        )
    return read_judged(
        *(source for source in sources if isinstance(source, str | PathLike)),
        labels=labels,
        judge=judge,
        questions=questions,
        format=format,
        keep_samples=keep_samples,
        question_types=question_types,
    )
