"""Make a run folder one's own: made if missing, locked, and removed again if no run began in it.

Several processes may try this at once with one new folder. Which of them made it says nothing of
whose it is; the lock alone does. So all cleaning up is done by the holder of the lock, and a
folder that another process removed between making and locking is made once more.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from magistrate.errors import RunError, RunLockedError
from magistrate.store.folder import RunFolder, default_folder
from magistrate.store.lock import RunLock

_TRIES = 20
"""Each further try needs yet another process that removed the folder in the same instant."""


@contextmanager
def claimed_folder(out: Path | None, judge_name: str) -> Iterator[RunFolder]:
    """Yield a run folder whose lock is held.

    Args:
        out: The folder; None makes a fresh ``runs/JUDGE-TIME``.
        judge_name: For the name of a fresh folder.

    Raises:
        RunLockedError: Another process is writing to the folder.
        RunError: A file is in the way, or the place cannot be written.
    """
    with ExitStack() as held:
        folder, is_new = _claim(out, judge_name, held)
        try:
            yield folder
        finally:
            if is_new and not folder.manifest.exists():
                folder.remove_traces()


def _claim(out: Path | None, judge_name: str, held: ExitStack) -> tuple[RunFolder, bool]:
    """Return the folder, and whether this process made it; its lock is held by ``held``."""
    tries = 0
    while True:
        tries += 1
        folder, is_new = _make(out, judge_name)
        try:
            held.enter_context(RunLock(folder.path))
        except RunLockedError:
            raise
        except RunError as error:
            if isinstance(error.__cause__, FileNotFoundError) and tries < _TRIES:
                continue
            if is_new:
                folder.remove_if_empty()
            raise
        return folder, is_new


def _make(out: Path | None, judge_name: str) -> tuple[RunFolder, bool]:
    if out is not None:
        folder = RunFolder(out)
        return folder, folder.make()
    while True:
        folder = RunFolder(default_folder(judge_name))
        if folder.make():  # else another process was quicker with this name
            return folder, True
