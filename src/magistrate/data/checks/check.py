"""Check labelled data before training or measuring with them.

from magistrate.data.checks.check import check_data

report = check_data("labelled.jsonl", against=["testset.json"])
for finding in report.findings:
    print(finding.severity, finding.says)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from magistrate.data.checks.balance import Limits, balance, labelled
from magistrate.data.checks.collected import Collected, Collector, Texts, collect
from magistrate.data.checks.duplicates import duplicates, near_answers, near_questions
from magistrate.data.checks.failed import failed_labels
from magistrate.data.checks.findings import CheckReport, Finding, in_sequence
from magistrate.data.checks.leaks import (
    Leak,
    leaked_answers,
    leaked_questions,
    leaks_among,
    leaks_of_answers,
    not_among,
)
from magistrate.data.checks.near import PERMUTATIONS, Nearness, NearPairs, near_pairs
from magistrate.data.checks.single import singles
from magistrate.formats.reading import read_samples
from magistrate.report.text import counted

if TYPE_CHECKING:
    from magistrate.formats.reading import SampleReader

AnyPath = str | os.PathLike[str]
Step = Callable[[str], None]
"""Told what is under way: ``reading``, ``near-duplicate answers``, ..."""


def check_data(
    *files: AnyPath,
    against: Sequence[AnyPath] = (),
    near: Nearness | None = Nearness(),  # noqa: B008 (frozen)
    limits: Limits = Limits(),  # noqa: B008 (frozen)
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    on_step: Step | None = None,
) -> CheckReport:
    """Look for what spoils training or measuring: duplicates, leaks, shortcuts, missing labels.

    Args:
        files: Samples in any known format.
        against: Test sets that must not be known; each in any known format.
        near: What counts as a near-duplicate; None does not look for any.
        limits: From where on shortcuts are warned of.
        format: Of ``files``, instead of finding it out.
        columns: Of ``files``: our field name to the file's column name.
        on_step: Called with the name of every step that begins.

    Raises:
        InputError: A file cannot be read, or has no samples.
        MissingExtraError: Near-duplicates are looked for and rensa is not installed.
    """
    step = on_step or (lambda name: None)
    step("reading")
    data = collect(read_samples(*files, format=format, columns=columns))
    tests = collect_tests(against)
    return check_collected(data, tests, files, against, near, limits, step)


def check_collected(
    data: Collected,
    tests: Collected | None,
    files: Sequence[AnyPath],
    against: Sequence[AnyPath],
    near: Nearness | None,
    limits: Limits,
    step: Step,
) -> CheckReport:
    """Do what :func:`check_data` does with samples that were read already."""
    findings = [*failed_labels(files), *_findings(data, tests, near, limits, step)]
    return CheckReport(
        files=tuple(map(os.fspath, files)),
        against=tuple(map(os.fspath, against)),
        samples=data.samples,
        pairs=len(data.pair_columns()),
        labelled=labelled(data).labelled,
        questions=len(data.questions),
        answers=len(data.answers),
        data_hash=data.data_hash,
        bad_count=data.bad_count,
        bad=data.bad,
        notices=data.notices,
        findings=in_sequence(findings),
        settings=settings_of(near, limits),
    )


def collect_tests(against: Sequence[AnyPath]) -> Collected | None:
    """Read test sets, each in its own format, as one; None without any.

    Raises:
        InputError: One cannot be read.
    """
    if not against:
        return None
    collector = Collector()
    for path in against:
        reader: SampleReader = read_samples(path)
        for sample in reader:
            where = reader.where
            collector.add(sample, *((os.fspath(path), 0) if where is None else _place(where)))
    return collector.result()


def _place(where: Any) -> tuple[str, int]:
    return where.file, where.row


def settings_of(near: Nearness | None, limits: Limits) -> dict[str, Any]:
    """Return what was looked for, and how."""
    told: dict[str, Any] = {"position_limit": limits.position, "length_limit": limits.length}
    if near is None:
        return {**told, "near": None}
    return {
        **told,
        "near": near.threshold,
        "shingle_characters": near.shingle,
        "permutations": PERMUTATIONS,
        "bands": near.bands,
        "rows": near.rows,
        "found_at_threshold": near.found_at_threshold,
    }


def _findings(
    data: Collected, tests: Collected | None, near: Nearness | None, limits: Limits, step: Step
) -> Iterator[Finding]:
    if data.bad_count:
        first = data.bad[0]
        yield Finding(
            check="bad-rows",
            severity="warning",
            count=data.bad_count,
            says=f"{counted(data.bad_count, 'row')} could not be read; the first: {first.file}, "
            f"row {first.row}: {first.reason}",
            do="mend them, or they are missing from everything below",
        )
    step("duplicates")
    questions = data.questions.list()
    yield from duplicates(data, questions)
    step("near-duplicate questions")
    pairs, begin = near_with_tests(questions, None if tests is None else tests.questions, near)
    if tests is not None:
        leaks = leaks_among(questions, tests.questions, pairs, begin)
        yield from leaked_questions(data, questions, tests, leaks)
    if pairs is not None:
        yield from near_questions(data, questions, among(pairs, begin))
    step("near-duplicate answers")
    answers = data.answers.list()
    pairs, begin = near_with_tests(answers, None if tests is None else tests.answers, near)
    if tests is not None:
        found: list[Leak] = leaks_of_answers(answers, tests.answers, pairs, begin)
        yield from leaked_answers(data, answers, tests, found)
    if pairs is not None:
        yield from near_answers(data, answers, among(pairs, begin))
    step("labels")
    yield from singles(data)
    yield from balance(data, limits)


def near_with_tests(
    ours: list[str], tests: Texts | None, near: Nearness | None
) -> tuple[NearPairs | None, int]:
    """Return near pairs among our texts and of ours with test texts that equal none of ours.

    Returns:
        The pairs, and the place from which on they are test texts.
    """
    begin = len(ours)
    if near is None:
        return None, begin
    if tests is None:
        return near_pairs(ours, near), begin
    texts = tests.list()
    others = [texts[place] for place in not_among(tests, ours)]
    return near_pairs(ours + others, near, own=begin), begin


def among(pairs: NearPairs, begin: int) -> NearPairs:
    """Return the pairs of two texts of ours."""
    own = pairs.other < begin
    return NearPairs(pairs.one[own], pairs.other[own], pairs.similarity[own])
