"""``mg.label``: teachers' labels for samples, merged into one.

    report = mg.label("pairs.jsonl", ["openai:STRONG", "mini"], "labelled.jsonl")

Every teacher is a judge with a run folder of its own, in ``labelled.teachers/`` beside the output:
so labelling can be stopped and resumed, costs are limited, and nothing is asked twice.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from magistrate.data.label_merging import TARGETS, Merging
from magistrate.data.label_report import Labelled
from magistrate.data.merging import MERGE_RULES, MergeRule
from magistrate.data.teacher_labels import NO_REFERENCE, Asked
from magistrate.data.teachers import REFERENCE_USES, Pass, ReferenceUse, plan_passes
from magistrate.errors import InputError, MagistrateError
from magistrate.formats.source import keep_inputs
from magistrate.judging.judge import Mode
from magistrate.judging.orders import ORDERS, Orders
from magistrate.records import Sample, Status
from magistrate.store.asked import source_of
from magistrate.store.folder import RunFolder
from magistrate.store.manifest import read_manifest
from magistrate.store.progress import OnProgress, Progress
from magistrate.store.running import judge as judge_into_run
from magistrate.store.work import OnNotice


def label(
    samples: str | Path | Sequence[str | Path] | Iterable[Sample],
    teachers: str | Sequence[str],
    out: str | Path,
    *,
    reference: ReferenceUse = "named",
    orders: Orders = "both",
    merge: MergeRule = "mean",
    to: str = "samples",
    mode: Mode | None = None,
    engine_options: Mapping[str, str] | None = None,
    limit: int | None = None,
    strict: bool = False,
    max_cost: float | None = None,
    cache: bool | None = None,
    start_over: bool = False,
    seed: int = 0,
    on_progress: OnProgress | None = None,
    on_notice: OnNotice | None = None,
) -> Labelled:
    """Label samples by teachers, and merge the labels.

    Each sample gets a label of every teacher (``Gold.with_reference`` says whether it saw the
    reference), before them the merged one, behind them the labels that it had. The merged label is
    made of all of these; with ``reference="both"`` there is one without and one with the reference.
    Labels merged earlier, and earlier ones of the same teachers, are replaced. Labels that the
    input has count as gold, unless they say whether a reference was seen: then a teacher made them.

    Args:
        samples: Samples; or what :func:`magistrate.read_samples` returns; or paths of files.
        teachers: Names of judges; ``LABEL=NAME`` says what the annotator is called.
        out: File of the labelled samples.
        reference: ``named``: teachers see the reference if their family shows it. ``no``, ``yes``:
            the family's sibling that does not, or does, is taken. ``both``: each way once; samples
            without a reference are asked without alone.
        orders: ``both`` shows every sample in the given order and reversed. Reasons are those of a
            reading that says what the label says, with mentions in the sample's order.
        merge: ``mean``, ``agreement`` or ``dawid-skene``; see :mod:`magistrate.data.merging`.
        to: ``samples``, or ``judgelm`` for JudgeLM's training records.
        mode: ``reason`` lets teachers explain; None leaves it to them (``reason``).
        engine_options: Settings of the teachers' engines by name; those with ``ENGINE.`` before
            the name are for that engine alone.
        limit: Label only the first so many samples.
        strict: Stop at the first bad row of the input instead of listing it and going on.
        max_cost: US dollars that all teachers together may cost.
        cache: As :func:`magistrate.judge`.
        start_over: Move runs that are there aside and begin anew.
        seed: Of the cross-fitting of ``agreement``.
        on_progress: Told how far all teachers together are.
        on_notice: Told what the user should know at once.

    Raises:
        InputError: The input cannot be read or holds no samples, or the output cannot be written.
        JudgeNotFoundError: A teacher's name means nothing here.
        FamilyError: A teacher cannot be asked with, or without, the reference.
        MissingExtraError: The rule needs a package that is not installed.
        CostLimitError: The next request could pass ``max_cost``; what was labelled is kept.
        MagistrateError: As :func:`magistrate.judge` says; or a setting has no such value.
    """
    out = Path(out)
    names = [teachers] if isinstance(teachers, str) else list(teachers)
    _check("reference", reference, REFERENCE_USES)
    _check("orders", orders, ORDERS)
    _check("merge", merge, MERGE_RULES)
    _check("to", to, tuple(TARGETS))
    passes, notes = plan_passes(names, reference)
    if merge == "dawid-skene":
        _check_dawid_skene()
    keep_inputs(_paths_of(samples), out)
    reader = source_of(samples, strict=strict)
    known = _taken(reader, limit)
    work = _work_folder(out)
    costs = _Costs([one.folder_in(work) for one in passes], max_cost)
    meter = _Meter(on_progress, [_readings(known, one, orders) for one in passes])
    asked = []
    for number, one in enumerate(passes):
        asked.append(
            _ask(
                one,
                known,
                work,
                orders=orders,
                mode=mode,
                engine_options=_options_for(one.judge, engine_options or {}),
                max_cost=costs.left_for(number),
                cache=cache,
                start_over=start_over,
                on_progress=meter.of(number),
                on_notice=on_notice,
            )
        )
    return Merging(known, asked, reference, merge, seed).write(
        out, to, work, notes=notes, reader=reader
    )


def _check(name: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise MagistrateError(f"{name} is '{value}'; it must be one of: {', '.join(allowed)}")


def _check_dawid_skene() -> None:
    """Find out before anything is paid for whether the rule can be applied."""
    from importlib.util import find_spec

    from magistrate.errors import MissingExtraError

    if find_spec("crowdkit") is None:
        raise MissingExtraError("the rule 'dawid-skene'", "crowd", "crowd-kit")


def _taken(reader: Iterable[Sample], limit: int | None) -> list[Sample]:
    taken: list[Sample] = []
    for sample in reader:
        if limit is not None and len(taken) >= limit:
            break
        if not isinstance(sample, Sample):
            raise InputError(f"found {type(sample).__name__} among the samples; Sample is needed")
        taken.append(sample)
    if not taken:
        raise InputError("the input holds no samples; there is nothing to label")
    return taken


def _work_folder(out: Path) -> Path:
    """Return where the teachers' runs are kept.

    >>> _work_folder(Path("data/labelled.jsonl")).as_posix()
    'data/labelled.teachers'
    """
    return out.with_name(out.name.split(".jsonl")[0] + ".teachers")


def _options_for(judge: str, options: Mapping[str, str]) -> dict[str, str]:
    """Return the options that are meant for a judge's engine: ``NAME``, or ``ENGINE.NAME``."""
    engine = judge.partition(":")[0]
    chosen = {}
    for name, value in options.items():
        whose, dot, own = name.rpartition(".")
        if not dot or whose == engine:
            chosen[own] = value
    return chosen


# Asking.


def _unfit(sample: Sample, one: Pass) -> str | None:
    """Why a teacher is not asked about a sample; None if it is."""
    count, fewest, most = len(sample.answers), one.family.min_answers, one.family.max_answers
    if count < fewest or (most is not None and count > most):
        needed = f"{fewest}" if fewest == most else f"{fewest} or more"
        return f"family '{one.family.name}' reads {needed} answers, the sample has {count}"
    if one.family.name.endswith("-reference") and sample.reference is None:
        return NO_REFERENCE
    return None


def _paths_of(samples: str | Path | Sequence[str | Path] | Iterable[Sample]) -> list[str | Path]:
    """Return the files among what is to be labelled; none for samples in memory."""
    if isinstance(samples, str | Path):
        return [samples]
    if isinstance(samples, list | tuple):
        return [one for one in samples if isinstance(one, str | Path)]
    return []


def _readings(samples: Sequence[Sample], one: Pass, orders: Orders) -> int:
    each = 1 if orders == "given" or one.family.reads_alone else 2
    return each * sum(_unfit(sample, one) is None for sample in samples)


def _ask(
    one: Pass,
    samples: Sequence[Sample],
    work: Path,
    *,
    orders: Orders,
    mode: Mode | None,
    engine_options: Mapping[str, str],
    max_cost: float | None,
    cache: bool | None,
    start_over: bool,
    on_progress: OnProgress | None,
    on_notice: OnNotice | None,
) -> Asked:
    """Let one teacher judge whatever it can, in its own run folder."""
    unfit = {
        row: why for row, sample in enumerate(samples) if (why := _unfit(sample, one)) is not None
    }
    rows = [row for row in range(len(samples)) if row not in unfit]
    if not rows:
        return Asked(one, rows, None, unfit)
    run = judge_into_run(
        [samples[row] for row in rows],
        one.judge,
        one.folder_in(work),
        mode=mode if hasattr(one.family, "mode") else None,  # heads know scores only
        engine_options=engine_options,
        orders=orders,
        max_cost=max_cost,
        cache=cache,
        start_over=start_over,
        on_progress=on_progress,
        on_notice=on_notice,
    )
    return Asked(one, rows, run, unfit)


class _Costs:
    """One limit for several runs."""

    def __init__(self, folders: Sequence[Path], limit: float | None) -> None:
        self._folders, self._limit = folders, limit

    def left_for(self, number: int) -> float | None:
        """Return what one run may cost in all, after what the others did cost."""
        if self._limit is None:
            return None
        others = [folder for place, folder in enumerate(self._folders) if place != number]
        manifests = [RunFolder(folder).manifest for folder in others]
        spent = sum(read_manifest(path).cost for path in manifests if path.exists())
        return max(0.0, self._limit - spent)


class _Meter:
    """Adds up the progress of several runs."""

    def __init__(self, on_progress: OnProgress | None, expected: Sequence[int]) -> None:
        self._on_progress = on_progress
        self._expected = list(expected)
        self._last: dict[int, Progress] = {}
        self._began = time.monotonic()

    def of(self, number: int) -> OnProgress | None:
        """Return what to tell the progress of one run."""
        tell = self._on_progress
        if tell is None:
            return None

        def told(progress: Progress) -> None:
            self._last[number] = progress
            self._expected[number] = progress.total
            counts: Counter[Status] = Counter()
            for one in self._last.values():
                counts.update(one.counts)
            tell(
                Progress(
                    done=sum(one.done for one in self._last.values()),
                    total=sum(self._expected),
                    resumed=sum(one.resumed for one in self._last.values()),
                    counts=counts,
                    seconds=time.monotonic() - self._began,
                    cost=sum(one.cost for one in self._last.values()),
                    from_cache=sum(one.from_cache for one in self._last.values()),
                )
            )

        return told
