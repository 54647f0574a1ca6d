"""Names and whereabouts in a run folder, and whether a folder can become or is one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from magistrate.errors import RunDamagedError, RunError
from magistrate.store.disk import cannot_write
from magistrate.store.lock import HOLDER_FILE, LOCK_FILE

DEFAULT_PARENT = Path("runs")


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The files of one run."""

    path: Path

    @property
    def manifest(self) -> Path:
        """What the run is; see :class:`magistrate.store.manifest.RunManifest`."""
        return self.path / "run.json"

    @property
    def samples(self) -> Path:
        """The input, normalised, one sample a line."""
        return self.path / "samples.jsonl"

    @property
    def bad_rows(self) -> Path:
        """Rows of the input that could not be used, with reasons."""
        return self.path / "bad_rows.jsonl"

    @property
    def notices(self) -> Path:
        """What else the user should know of the input and of the last resume."""
        return self.path / "notices.jsonl"

    @property
    def judgments(self) -> Path:
        """One judgment a line, append-only."""
        return self.path / "judgments.jsonl"

    @property
    def damaged(self) -> Path:
        """Lines that a repair moved out of ``judgments.jsonl``."""
        return self.path / "judgments.damaged.jsonl"

    @property
    def decisions(self) -> Path:
        """Derived from samples and judgments; can be deleted at any time."""
        return self.path / "decisions.parquet"

    @property
    def demonstrations(self) -> Path:
        """Labelled samples that the judge is shown solved before each of its own."""
        return self.path / "demonstrations.jsonl"

    @property
    def conversations(self) -> Path:
        """Questions that were put to the judge about its judgments, and its replies."""
        return self.path / "conversations.jsonl"

    @property
    def report(self) -> Path:
        """Derived; written by the report commands."""
        return self.path / "report.html"

    def own_files(self) -> Iterator[Path]:
        """Yield all paths that a run may have, apart from its lock."""
        yield from (self.manifest, self.samples, self.bad_rows, self.notices)
        yield from (self.judgments, self.damaged, self.decisions, self.report)
        yield from (self.demonstrations, self.conversations)

    def make(self) -> bool:
        """Make the folder if it is missing; return whether this call made it.

        Of several processes at once only one is told that it did.

        Raises:
            RunError: A file is in the way, or the place cannot be written.
        """
        try:
            self.path.mkdir(parents=True)
        except OSError as error:
            # What the system says of a folder that is there differs: it exists, is read-only, ...
            with suppress(OSError):
                if self.path.is_dir():
                    return False
            if isinstance(error, FileExistsError | NotADirectoryError):
                raise RunError(
                    f"{self.path} cannot be made a run folder: a file is in the way; "
                    f"remove it, or choose another folder with --out"
                ) from None
            raise cannot_write(self.path, error) from error
        return True

    def holds_run(self) -> bool:
        """Whether a run is here to be resumed.

        Raises:
            RunDamagedError: There are judgments, but not what run they belong to.
            RunError: The folder holds other things than a run.
        """
        if self.manifest.exists():
            return True
        if self.judgments.exists() and self.judgments.stat().st_size:
            raise RunDamagedError(
                f"{self.path} has judgments but no {self.manifest.name}, so what was judged is "
                f"unknown; restore {self.manifest.name}, or choose another folder with --out"
            )
        known = {path.name for path in self.own_files()} | {LOCK_FILE, HOLDER_FILE}
        foreign = sorted(
            entry.name
            for entry in self.path.iterdir()
            if entry.name not in known and not _is_temporary(entry.name)
        )
        if foreign:
            shown = ", ".join(foreign[:3]) + (", ..." if len(foreign) > 3 else "")
            raise RunError(
                f"{self.path} is not a run folder and not empty (it holds {shown}); "
                f"choose a new or empty folder with --out"
            )
        return False

    def remove_traces(self) -> None:
        """Remove a folder in which no run ever began, whose lock is held.

        What is not a run's stays, and the folder with it. The lock's file goes last: once it is
        gone, another process may begin here, and nothing but an empty folder is removed any more.
        """
        own = [*self.own_files(), *self.path.glob(".*.new"), self.path / HOLDER_FILE]
        for file in (*own, self.path / LOCK_FILE):
            with suppress(OSError):
                file.unlink(missing_ok=True)
        self.remove_if_empty()

    def remove_if_empty(self) -> None:
        """Remove the folder if nothing is in it."""
        with suppress(OSError):
            self.path.rmdir()


def default_folder(judge_name: str, now: datetime | None = None) -> Path:
    """Return a fresh ``runs/JUDGE-TIME`` that does not exist yet."""
    moment = (now or datetime.now().astimezone()).strftime("%Y%m%d-%H%M%S")
    slug = re.sub(r"[^\w.-]+", "-", judge_name).strip("-.")[-60:] or "judge"
    path = DEFAULT_PARENT / f"{slug}-{moment}"
    number = 2
    while path.exists():
        path = DEFAULT_PARENT / f"{slug}-{moment}-{number}"
        number += 1
    return path


def _is_temporary(name: str) -> bool:
    return name.startswith(".") and name.endswith(".new")
