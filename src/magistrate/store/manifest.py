"""``run.json``: what a run is, so that it can be resumed, checked and trusted."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import Field, ValidationError

from magistrate.errors import RunDamagedError, RunError, what_is_needed
from magistrate.ids import file_sha256
from magistrate.judging.calibration import Calibration
from magistrate.judging.judge import Mode
from magistrate.judging.orders import Orders
from magistrate.judging.window import OnOverflow
from magistrate.records import JudgeSpec, Record, Status, Usage
from magistrate.store.disk import write_atomically
from magistrate.store.index import JournalIndex

FORMAT_VERSION = 1
"""Version of the folder's layout; raised when an older magistrate could not read a run rightly."""

MOST = 2**53
"""Largest number that a setting takes: every reader of JSON keeps integers up to this."""

State = Literal["running", "stopped", "complete"]
"""``complete``: every planned reading has a judgment. ``running``: a process is at it, or was
killed. ``stopped``: it ended early, by request or by an error."""


class InputFile(Record):
    """A file that the samples came from."""

    name: str
    """As the user gave it; ``-`` is standard input."""
    sha256: str | None = None
    """None, as ``bytes`` is, for standard input and pipes, which cannot be read again."""
    bytes: int | None = None
    format: str | None = None


class DemonstrationSettings(Record):
    """How demonstrations were drawn; the samples themselves are in ``demonstrations.jsonl``."""

    files: tuple[InputFile, ...] = ()
    """Where they came from; none for samples that the caller made."""
    per_outcome: int = Field(ge=1, le=MOST)
    seed: int = 0


class RunSettings(Record):
    """What the user asked for, defaults filled in. A resume may change all but orders, repeats.

    (Mode and engine options may change as far as the judge stays the same one.)
    """

    orders: Orders = "both"
    repeats: int = Field(default=1, ge=1, le=MOST)
    limit: int | None = Field(default=None, ge=1, le=MOST)
    """Judge only this many samples, from the start of the input."""
    strict: bool = False
    """Whether a bad row of the input stops the run before it begins."""
    retry: tuple[Status, ...] = ()
    """Failures that this call judges again."""
    mode: Mode | None = None
    """None where the user left it to the judge."""
    engine_options: dict[str, str] = Field(default_factory=dict)
    on_overflow: OnOverflow = "truncate"
    max_cost: float | None = Field(default=None, ge=0)
    """US dollars that the run may cost, all calls together."""
    demonstrations: DemonstrationSettings | None = None
    """None where the judge is shown no solved samples."""


class RunManifest(Record):
    """The contents of ``run.json``."""

    format_version: Literal[1] = 1
    tool_version: str
    """Version of magistrate that last wrote to the run."""
    state: State = "running"
    judge: JudgeSpec
    """Whole specification, with hashes of weights and prompt."""
    judge_id: str
    """:attr:`JudgeSpec.id` of ``judge``; part of every judgment's key."""
    reads_alone: bool
    """Whether the judge reads each answer alone, so that order means nothing to it."""
    calibration: Calibration | None = None
    """What makes the decisions' confidence of the judge's own probabilities; None where the judge
    has none, and confidence is its own probability."""
    settings: RunSettings
    inputs: tuple[InputFile, ...] = ()
    reading: dict[str, Any] = Field(default_factory=dict)
    """How those files were read: format, column names, joining."""
    samples_sha256: str
    """SHA-256 of ``samples.jsonl``, which is the input normalised."""
    samples: int
    readings: int
    """Judgments to make: distinct texts times orders times repeats."""
    bad_rows: int = 0
    """Rows of the input that could not be read; listed in ``bad_rows.jsonl``."""
    judgments: dict[Status, int] = Field(default_factory=dict)
    """Readings by the status of their last judgment."""
    lines: int = 0
    """Lines of ``judgments.jsonl``; more than readings where failures were judged again."""
    judgments_sha256: str | None = None
    """SHA-256 of ``judgments.jsonl`` as the last process left it; None while a process is at work,
    and after it was killed."""
    judgments_changed: tuple[datetime, ...] = ()
    """When a resume found as many lines in it as the last process had left, but others."""
    judgments_repaired: tuple[datetime, ...] = ()
    """When lines of it were found lost, added or damaged, and the run made good for them."""
    usage: Usage = Usage()
    """Sum over all lines."""
    cost: float = 0.0
    """In US dollars, sum over all lines."""
    started: datetime
    updated: datetime
    seconds: float = 0.0
    """Time spent judging, summed over all processes that worked on the run."""

    @property
    def judged(self) -> int:
        """Readings that have a judgment, whatever its status."""
        return sum(self.judgments.values())


def describe_input(name: str, format_name: str | None) -> InputFile:
    """Return name, hash and size of an input file."""
    path = Path(name)
    if not path.is_file():
        return InputFile(name=name, format=format_name)
    return InputFile(
        name=name, sha256=file_sha256(path), bytes=path.stat().st_size, format=format_name
    )


def bring_up_to_date(
    manifest: RunManifest, index: JournalIndex, state: State, *, seconds: float = 0.0
) -> RunManifest:
    """Return the manifest with the counts and sums of the journal, and ``seconds`` more work."""
    return manifest.model_copy(
        update={
            "state": state,
            "judgments": index.counts(),
            "lines": index.lines,
            # What is still being written, or was cut off by a kill, has no hash to go by.
            "judgments_sha256": None if state == "running" else index.sha256,
            "usage": index.totals.as_usage(),
            "cost": index.totals.cost,
            "updated": datetime.now(UTC),
            "seconds": manifest.seconds + seconds,
        }
    )


def write_manifest(path: Path, manifest: RunManifest) -> None:
    """Write ``run.json`` so that a crash leaves the old one or the new one.

    Raises:
        RunError: The disk is full or the folder cannot be written.
    """
    values = manifest.model_dump(mode="json")
    write_atomically(path, orjson.dumps(values, option=orjson.OPT_INDENT_2) + b"\n")


def read_manifest(path: Path) -> RunManifest:
    """Read ``run.json``.

    Raises:
        RunError: It is missing, or a newer magistrate wrote it.
        RunDamagedError: It is not a manifest.
    """
    try:
        values: Any = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        raise RunError(
            f"{path.parent} is not a run folder: it has no {path.name}; "
            f"give a folder that 'magistrate judge ... --out' made"
        ) from None
    except NotADirectoryError:
        raise RunError(f"{path.parent} is not a folder; give a run folder") from None
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}") from error
    except orjson.JSONDecodeError as error:
        raise RunDamagedError(f"{path} is not JSON: {error}; {_HOW_TO_MEND}") from error
    version = values.get("format_version") if isinstance(values, dict) else None
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise RunError(
            f"{path} has format version {version}, and this magistrate knows up to "
            f"{FORMAT_VERSION}; update magistrate"
        )
    try:
        return RunManifest.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise RunDamagedError(
            f"{path}: {place}: {what_is_needed(first)}; {_HOW_TO_MEND}"
        ) from error


_HOW_TO_MEND = (
    "restore the file from a copy, or keep judgments.jsonl and judge anew into another folder"
)
