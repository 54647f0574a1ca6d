"""The seal of a run: the hash of its journal as the last process left it.

A process that ends in order seals the journal in ``run.json``; one that is at work, or was killed,
leaves no seal. So a later change is seen, and whoever takes the run up again says so: the new seal
covers the changed file, and ``run.json`` remembers that it was changed.

This tells of accidents and careless hands. Who also computes a new hash for ``run.json`` is not
seen by it.
"""

from __future__ import annotations

from datetime import UTC, datetime

from magistrate.formats.base import Notice
from magistrate.store.folder import RunFolder
from magistrate.store.index import JournalIndex, read_index
from magistrate.store.manifest import RunManifest
from magistrate.store.run import Run


def is_broken(manifest: RunManifest, index: JournalIndex) -> bool:
    """Whether the journal, as it was read, is not the one that was sealed; False without a seal."""
    sealed = manifest.judgments_sha256
    return sealed is not None and (bool(index.tail_bytes) or index.sha256 != sealed)


def changed_since(run: Run) -> Notice | None:
    """Return a notice if a run's journal is not the one that its last command sealed."""
    index = read_index(run.folder.judgments)
    if not is_broken(run.manifest, index):
        return None
    return Notice(
        kind="judgments-changed",
        message=(
            f"{run.folder.judgments} is not as the last command left it "
            f"({_difference(run.manifest, index)}): something else changed it, and what is shown "
            f"here is what it holds now; 'magistrate runs verify {run.path}' says more"
        ),
    )


def checked(
    manifest: RunManifest, index: JournalIndex, folder: RunFolder
) -> tuple[RunManifest, tuple[Notice, ...]]:
    """Check the seal of a run that is taken up again.

    Args:
        manifest: As it stands in the folder.
        index: What is in the journal now.
        folder: For messages.

    Returns:
        The manifest, which remembers a broken seal, and what the user should know.
    """
    if not is_broken(manifest, index):
        return manifest, ()
    notice = Notice(
        kind="judgments-changed",
        message=(
            f"{folder.judgments} is not as the last command left it ({_difference(manifest, index)}"
            f"): something else changed it. What it holds is used as it stands, and "
            f"{folder.manifest.name} remembers this. Restore the file from a copy if the change "
            f"was not yours; 'magistrate runs verify {folder.path}' names contradictions"
        ),
    )
    # Lost or further lines are what an interrupted copy or a disk does, and the run makes good for
    # them; as many lines with another content were written by somebody.
    same_shape = index.lines == manifest.lines and not index.tail_bytes
    return (with_change if same_shape else with_repair)(manifest), (notice,)


def with_change(manifest: RunManifest) -> RunManifest:
    """Return a manifest that remembers that lines of the journal were found rewritten now."""
    changed = (*manifest.judgments_changed, datetime.now(UTC))
    return manifest.model_copy(update={"judgments_changed": changed})


def with_repair(manifest: RunManifest) -> RunManifest:
    """Return a manifest that remembers that lines were lost, added or damaged until now."""
    repaired = (*manifest.judgments_repaired, datetime.now(UTC))
    return manifest.model_copy(update={"judgments_repaired": repaired})


def _difference(manifest: RunManifest, index: JournalIndex) -> str:
    if index.lines != manifest.lines:
        return f"{manifest.lines:,} lines then, {index.lines:,} now"
    if index.tail_bytes:
        return f"{index.tail_bytes:,} bytes at its end that are no whole line"
    return "as many lines, but another SHA-256"
