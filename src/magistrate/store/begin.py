"""The first thing a process does to a run folder: begin a run in it, or take up the one there."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from magistrate._version import __version__
from magistrate.errors import RunMismatchError
from magistrate.formats.base import Notice
from magistrate.judging.judge import Judge
from magistrate.store.disk import writing
from magistrate.store.folder import RunFolder
from magistrate.store.intake import Intake
from magistrate.store.manifest import RunManifest, RunSettings, read_manifest, write_manifest
from magistrate.store.mismatch import judge_differences, mismatch, setting_differences


def begin_or_resume(
    folder: RunFolder,
    intake: Intake,
    judge: Judge,
    settings: RunSettings,
    *,
    start_over: bool = False,
) -> RunManifest:
    """Return the manifest of the run that now stands in the folder, whose lock is held.

    A run in which nothing is judged yet binds nobody: whoever comes takes it over.

    Raises:
        InputError: The input cannot be read or holds nothing to judge.
        RunMismatchError: The folder holds a run of another input, judge or setting.
        RunDamagedError: The folder's files contradict each other.
        RunError: The folder holds other things, or cannot be written.
    """
    if folder.holds_run():
        if not start_over and not _is_empty(folder):
            return _resume(folder, intake, judge, settings)
        if not start_over:
            return _take_over(folder, intake, judge, settings)
        move_aside(folder)
    return _begin(folder, intake, judge, settings)


def move_aside(folder: RunFolder) -> Path:
    """Move a run's files into a new folder beside it, and return that."""
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    path = folder.path.resolve()
    target = path.with_name(f"{path.name}.before-{stamp}")
    number = 2
    while target.exists():
        target = path.with_name(f"{path.name}.before-{stamp}-{number}")
        number += 1
    with writing(target):
        target.mkdir()
        # The manifest goes last: stopped half-way, what is left is still known as a run.
        for file in reversed(list(folder.own_files())):
            if file.exists():
                file.replace(target / file.name)
    return target


def _begin(folder: RunFolder, intake: Intake, judge: Judge, settings: RunSettings) -> RunManifest:
    intake.write(folder)
    now = datetime.now(UTC)
    manifest = RunManifest(
        tool_version=__version__,
        judge=judge.spec,
        judge_id=judge.spec.id,
        reads_alone=judge.family.reads_alone,
        calibration=judge.calibration,
        settings=settings,
        inputs=intake.inputs,
        reading=intake.reading,
        samples_sha256=intake.sha256,
        samples=intake.samples,
        readings=intake.readings,
        bad_rows=intake.bad_count,
        started=now,
        updated=now,
    )
    write_manifest(folder.manifest, manifest)
    return manifest


def _is_empty(folder: RunFolder) -> bool:
    """Whether a run holds no work: no judgment, none that was lost, no question to its judge."""
    if read_manifest(folder.manifest).lines:
        return False
    files = (folder.judgments, folder.damaged, folder.conversations)
    return not any(file.exists() and file.stat().st_size for file in files)


def _take_over(
    folder: RunFolder, intake: Intake, judge: Judge, settings: RunSettings
) -> RunManifest:
    known = read_manifest(folder.manifest)
    manifest = _begin(folder, intake, judge, settings)
    if known.judge_id != manifest.judge_id:
        message = (
            f"{folder.path} held a run of '{known.judge.name}' in which nothing was judged; it is "
            f"one of '{judge.spec.name}' now"
        )
        intake.changes = (Notice(kind="run-taken-over", message=message),)
    return manifest


def _resume(folder: RunFolder, intake: Intake, judge: Judge, settings: RunSettings) -> RunManifest:
    known = read_manifest(folder.manifest)
    differences = [
        *judge_differences(known.judge, judge.spec),
        *setting_differences(known.settings, settings),
    ]
    other_input = intake.match(folder, known, take_over=not differences)
    if other_input is not None:
        differences.append(f"input: {other_input}")
    if intake.limit_shrank and len(differences) == 1:
        raise RunMismatchError(
            f"{folder.path} has {known.samples} samples, and --limit {intake.samples} asks for "
            f"fewer: a limit can grow, not shrink; give --limit {known.samples} or more, leave it "
            f"out, or choose another folder with --out"
        )
    if differences:
        raise mismatch(folder.path, known, differences)
    return known.model_copy(
        update={
            "tool_version": __version__,
            # Decisions are derived: a judge calibrated since then is taken at its new word.
            "calibration": judge.calibration,
            "settings": settings,
            "inputs": intake.inputs,
            "reading": intake.reading,
            "samples_sha256": intake.sha256,
            "samples": intake.samples,
            "readings": intake.readings,
            "bad_rows": intake.bad_count,
        }
    )
