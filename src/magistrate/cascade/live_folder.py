"""A cascade on the disk: a run of each judge, and in front of them a run of their decisions.

    runs/cascade/
      cascade.json        policy, thresholds, what each judge did and cost
      decisions.jsonl     one line a sample: who decided, why, how sure, at what cost
      tiers/1-mini/       a run folder like any other: this judge's judgments
      tiers/2-.../
      calibration/1-mini/ likewise, over the labelled pairs that thresholds were chosen on
      spending.json       money under way, where there is a limit
      run.json, samples.jsonl, judgments.jsonl, ...

The last line is an ordinary run: the judgments of the judge that decided each sample, under the
name of the cascade. So whatever reads a run reads a cascade. It is derived from the others.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import orjson
from pydantic import ValidationError

from magistrate.cascade.live_records import CascadeDecision, CascadeManifest
from magistrate.engines.base import Engine, EngineInfo
from magistrate.errors import RunDamagedError, RunError, what_is_needed
from magistrate.ids import content_id
from magistrate.judging.judge import Judge
from magistrate.prompts.base import Family
from magistrate.records import JudgeSpec, Sample, from_json_line
from magistrate.store.disk import write_atomically, writing
from magistrate.store.folder import RunFolder
from magistrate.store.lines import open_to_read, read_records
from magistrate.store.lock import HOLDER_FILE, LOCK_FILE
from magistrate.store.manifest import read_manifest
from magistrate.store.run import Run, open_run
from magistrate.store.verify import CASCADE_ENGINE

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

_LONGEST_NAME = 40


class CascadeFolder:
    """Names and whereabouts."""

    def __init__(self, path: Path) -> None:
        """Name the folder."""
        self.path = path
        self.run = RunFolder(path)
        self.manifest = path / "cascade.json"
        self.decisions = path / "decisions.jsonl"
        self.spending = path / "spending.json"

    def tier(self, number: int, name: str, *, calibrates: bool = False) -> Path:
        """Return the folder of a judge's run.

        >>> CascadeFolder(Path("c")).tier(1, "openai:m@http://x/v1#pair").as_posix()
        'c/tiers/2-openai-m-http-x-v1-pair'
        """
        parent = self.path / ("calibration" if calibrates else "tiers")
        # A judge may be called by another name than before; its run stays where it is.
        known = sorted(parent.glob(f"{number + 1}-*")) if parent.is_dir() else []
        slug = re.sub(r"[^\w.]+", "-", name).strip("-.")[:_LONGEST_NAME].strip("-.") or "judge"
        return known[0] if known else parent / f"{number + 1}-{slug}"

    def check(self) -> None:
        """Look whether a cascade can be begun or gone on with here.

        Raises:
            RunError: The folder holds other things.
        """
        if self.manifest.exists():
            return
        if self.run.manifest.exists():
            if read_manifest(self.run.manifest).judge.engine == CASCADE_ENGINE:
                return  # killed before it could say more of itself
            raise RunError(
                f"{self.path} is the run of a judge, not of a cascade; choose another folder with "
                f"--out"
            )
        known = {LOCK_FILE, HOLDER_FILE, "tiers", "calibration", self.spending.name}
        known |= {one.name for one in self.run.own_files()}
        foreign = sorted(
            entry.name
            for entry in self.path.iterdir()
            if entry.name not in known and not entry.name.startswith(".")
        )
        if foreign:
            raise RunError(
                f"{self.path} is not a cascade's folder and not empty (it holds "
                f"{', '.join(foreign[:3])}); choose a new or empty folder with --out"
            )

    def move_aside(self) -> None:
        """Move all that a cascade wrote here into a new folder beside this one.

        Raises:
            RunError: It cannot be moved.
        """
        if not self.manifest.exists():
            return
        stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
        path = self.path.resolve()
        target, number = path.with_name(f"{path.name}.before-{stamp}"), 2
        while target.exists():
            target, number = path.with_name(f"{path.name}.before-{stamp}-{number}"), number + 1
        with writing(target):
            target.mkdir()
            entries = [
                entry for entry in path.iterdir() if entry.name not in (LOCK_FILE, HOLDER_FILE)
            ]
            # What says that this is a cascade goes last: stopped half-way, it can be done again.
            for entry in sorted(entries, key=lambda one: one.name == self.manifest.name):
                entry.replace(target / entry.name)


def is_cascade(path: str | Path) -> bool:
    """Whether a folder is that of a cascade."""
    return CascadeFolder(Path(path)).manifest.exists()


def write_cascade(path: Path, manifest: CascadeManifest) -> None:
    """Write ``cascade.json`` so that a crash leaves the old one or the new one."""
    values = manifest.model_dump(mode="json")
    write_atomically(path, orjson.dumps(values, option=orjson.OPT_INDENT_2) + b"\n")


def read_cascade(path: str | Path) -> CascadeManifest:
    """Read the ``cascade.json`` of a folder.

    Raises:
        RunError: There is none.
        RunDamagedError: It is not what it should be.
    """
    file = CascadeFolder(Path(path)).manifest
    try:
        return CascadeManifest.model_validate(orjson.loads(file.read_bytes()))
    except FileNotFoundError:
        raise RunError(f"{path} is not a cascade's folder: it has no {file.name}") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise RunDamagedError(f"{file}: {place}: {what_is_needed(first)}") from error
    except (OSError, ValueError) as error:
        raise RunDamagedError(f"{file} cannot be read: {error}") from error


class CascadeRun:
    """A stored cascade."""

    def __init__(self, path: str | Path) -> None:
        """Open the folder of a cascade.

        Raises:
            RunError: It is none.
        """
        self.path = Path(path)
        self.manifest = read_cascade(path)

    @property
    def run(self) -> Run:
        """Its decisions as a run: what ``evaluate``, ``rank`` and ``report`` take."""
        return open_run(self.path)

    def decisions(self) -> Iterator[CascadeDecision]:
        """Yield for each sample who decided, and why; in the sequence of the input."""
        return read_records(CascadeDecision, CascadeFolder(self.path).decisions)

    def tiers(self) -> tuple[Run, ...]:
        """The run of each judge."""
        return tuple(open_run(self.path / one.folder) for one in self.manifest.tiers)


class Pairs:
    """Samples of different text, by number in the sequence of the input; texts stay on the disk."""

    def __init__(self, folder: RunFolder) -> None:
        """Read through ``samples.jsonl`` once."""
        self._path = folder.samples
        self._offsets = array("q")
        self.of_row = array("q")
        """The pair of each row."""
        self.number: dict[str, int] = {}
        """By text id."""
        offset = 0
        with open_to_read(self._path) as file:
            for line in file:
                text = from_json_line(Sample, line).text_id
                if text not in self.number:
                    self.number[text] = len(self._offsets)
                    self._offsets.append(offset)
                self.of_row.append(self.number[text])
                offset += len(line)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._offsets)

    def sample(self, pair: int) -> Sample:
        """Return the first sample of a text. Any thread may ask."""
        with self._path.open("rb") as file:
            file.seek(self._offsets[pair])
            return from_json_line(Sample, file.readline())

    def draws(self) -> NDArray[np.int64]:
        """Return a number of each pair that its text alone says, to break ties by."""
        import numpy as np

        return np.array(
            [int(content_id(["tie", text])[:15], 16) for text in self.number], dtype=np.int64
        )


class _StandIn:
    """In place of the engine and the family of a cascade, which has none of its own."""

    reads_alone = False
    mode = "reason"

    def __init__(self, reads_alone: bool) -> None:
        self.reads_alone = reads_alone
        self.info = EngineInfo(engine=CASCADE_ENGINE, model="")

    def close(self) -> None:
        """Nothing to free."""


def cascade_judge(judges: Sequence[Judge]) -> Judge:
    """Return the judge under whose name a cascade's decisions stand."""
    modes = {judge.mode for judge in judges}
    settings: dict[str, Any] = {"judges": [judge.spec.id for judge in judges]}
    if len(modes) == 1 and None not in modes:
        settings["mode"] = modes.pop()
    spec = JudgeSpec(
        name=" > ".join(judge.spec.name for judge in judges),
        engine=CASCADE_ENGINE,
        model=" > ".join(judge.spec.model for judge in judges),
        family=" > ".join(dict.fromkeys(judge.spec.family for judge in judges)),
        settings=settings,
    )
    stand_in = _StandIn(all(judge.family.reads_alone for judge in judges))
    return Judge(spec, cast(Family, stand_in), cast(Engine, stand_in))


def now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)
