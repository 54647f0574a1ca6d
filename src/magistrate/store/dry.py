"""``mg.dry_run``: what ``mg.judge`` would do with the same arguments, without doing it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from magistrate.formats.base import BadRow, Notice
from magistrate.judging.judge import Judge, Mode
from magistrate.judging.orders import Orders
from magistrate.judging.plan import Plan
from magistrate.judging.preview import Preview, preview
from magistrate.judging.window import OnOverflow
from magistrate.records import Record, Sample
from magistrate.store.asked import checked_settings, folder_path, loaded_judge, remarks, source_of
from magistrate.store.demonstrating import Shown, drawn_for, wanted_demonstrations
from magistrate.store.folder import RunFolder
from magistrate.store.index import FAILURES, JournalIndex, read_index
from magistrate.store.intake import Intake
from magistrate.store.manifest import RunManifest, read_manifest
from magistrate.store.mismatch import judge_differences, setting_differences


class DryRun(Record):
    """What judging would send, take and leave out."""

    judge: str
    family: str
    mode: str | None
    """None for judges with a scoring head."""
    run: str | None
    """The run that would be gone on with."""
    preview: Preview
    demonstrations: tuple[Sample, ...]
    """What the judge would be shown solved before each sample."""
    seconds: float | None
    """Estimate from the time that this run took so far; None when nothing is known."""
    bad: tuple[BadRow, ...]
    """Rows of the input that could not be used; the first ones."""
    bad_rows: int
    notices: tuple[Notice, ...]


def dry_run(
    samples: str | Path | Sequence[str | Path] | Iterable[Sample],
    judge: str | Path | Judge = "mini",
    out: str | Path | None = None,
    *,
    mode: Mode | None = None,
    engine_options: Mapping[str, str] | None = None,
    orders: Orders = "both",
    repeats: int = 1,
    limit: int | None = None,
    strict: bool = False,
    on_overflow: OnOverflow = "truncate",
    demonstrations: str | Path | Sequence[str | Path] | Iterable[Sample] | None = None,
    per_outcome: int = 1,
    demonstrations_seed: int = 0,
) -> DryRun:
    """Return what :func:`magistrate.judge` would send. Nothing is sent, nothing is written.

    The judge is loaded, since its tokenizer counts. What is counted is a bounded number of samples;
    the estimates for all rest on these.

    Args:
        samples: As :func:`magistrate.judge` takes them, and so are all other arguments.
        judge: Who would judge.
        out: The run folder; of an existing run only what is missing is counted.
        mode: ``reason`` or ``score``.
        engine_options: Settings of the judge's engine by name.
        orders: ``both`` or ``given``.
        repeats: How often each order would be read.
        limit: Only the first so many samples.
        strict: Stop at the first bad row of the input.
        on_overflow: What would become of prompts that are too long.
        demonstrations: Labelled samples that the judge would be shown some of, solved.
        per_outcome: How many of each outcome.
        demonstrations_seed: Another seed draws others.

    Raises:
        InputError: The input cannot be read, or holds nothing to judge.
        JudgeNotFoundError: The judge's name means nothing here.
        EngineError: The engine cannot run the model, or has no such option.
        RunDamagedError: The run in ``out`` cannot be read.
        MagistrateError: A setting has no such value.
    """
    settings = checked_settings(
        FAILURES,
        engine_options,
        mode=mode,
        orders=orders,
        repeats=repeats,
        limit=limit,
        strict=strict,
        on_overflow=on_overflow,
    )
    wanted = wanted_demonstrations(demonstrations, per_outcome, demonstrations_seed)
    source, shown = samples, Shown()
    if wanted is not None:
        given = source_of(samples, strict=settings.strict)
        source, shown = drawn_for(given, wanted, limit=settings.limit)
    with loaded_judge(judge, settings.mode, settings.engine_options, shown.samples) as loaded:
        plan = Plan.of(loaded, orders=settings.orders, repeats=settings.repeats)
        source = source_of(source, strict=settings.strict)
        intake = Intake(source, plan, limit=settings.limit, strict=settings.strict)
        folder = folder_path(out)
        known = _known_run(folder)
        differences: list[str] = []
        if known is not None:
            differences = [
                *judge_differences(known.judge, loaded.spec),
                *setting_differences(known.settings, settings),
            ]
        is_resumed = folder is not None and known is not None and not differences
        index = read_index(RunFolder(folder).judgments) if is_resumed and folder else None
        seen = preview(
            loaded,
            intake.read(),
            plan,
            on_overflow=settings.on_overflow,
            done=_Done(index or JournalIndex()),
        )
        return DryRun(
            judge=loaded.spec.name,
            family=loaded.family.name,
            mode=loaded.mode,
            run=str(folder) if is_resumed else None,
            preview=seen,
            seconds=_expected_seconds(known, seen) if is_resumed else None,
            bad=tuple(intake.bad),
            bad_rows=intake.bad_count,
            demonstrations=shown.samples,
            notices=(
                *remarks(loaded, settings, intake.with_images),
                *shown.notices,
                *intake.notices,
                *_other_run(folder, differences),
            ),
        )


class _Done:
    """The keys that need no further reading."""

    def __init__(self, index: JournalIndex) -> None:
        self._index = index

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._index.status_of(bytes.fromhex(key)) == "ok"


def _known_run(folder: Path | None) -> RunManifest | None:
    if folder is None or not RunFolder(folder).manifest.exists():
        return None
    return read_manifest(RunFolder(folder).manifest)


def _expected_seconds(known: RunManifest | None, seen: Preview) -> float | None:
    if known is None or not known.lines or not known.seconds:
        return None
    return known.seconds / known.lines * seen.to_judge


def _other_run(folder: Path | None, differences: Sequence[str]) -> Iterable[Notice]:
    if differences:
        yield Notice(
            kind="other-run",
            message=f"{folder} holds another run, so judging would stop: {'; '.join(differences)}",
        )
