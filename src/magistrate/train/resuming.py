"""What lets a training stop at any moment and go on: what it is of, and whole checkpoints.

::

    JUDGE/training/
      training.json            recipe, hash of the data, versions: what the training is of
      recipe.toml              the recipe as resolved, to train again
      log.csv, evaluation.csv  learning curves
      checkpoints/checkpoint-N the last two; one counts once it holds complete.json
      best/                    trained weights of the best evaluation
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from magistrate._version import __version__
from magistrate.engines.judge_model import JUDGE_FILE
from magistrate.errors import RunDamagedError, RunError, RunMismatchError
from magistrate.ids import content_id
from magistrate.records import Record, Sample
from magistrate.store.disk import write_atomically
from magistrate.train.recipe import Recipe, differences

TRAINING = "training"
COMPLETE = "complete.json"
RECIPE = "recipe.toml"
_FILE = "training.json"
_PACKAGES = ("torch", "transformers", "peft", "accelerate", "tokenizers")

FREE_KEYS = frozenset(
    {
        "data.licence",
        "judge.licence",
        "judge.name",
        "judge.offline",
        "run.log_each",
        "run.save_each",
        "run.threads",
        "run.trackers",
    }
)
"""Keys of the recipe that may change when a training goes on: they change no weight. (So may the
names of files, as long as they hold the same samples.)"""

_FILES = frozenset({"data.train", "data.dev", "data.format"})


class TrainingFile(Record):
    """The contents of ``training.json``."""

    magistrate: str
    recipe: Recipe
    data_hash: str
    """Content id of the samples learned from, with their labels."""
    dev_hash: str
    """That of the samples evaluated on."""
    versions: dict[str, str]
    """Of the libraries."""


@dataclass(frozen=True, slots=True)
class Work:
    """The folder of a training, and where in it things are."""

    judge: Path
    """The judge folder that will be."""

    @property
    def folder(self) -> Path:
        """All that belongs to the training itself."""
        return self.judge / TRAINING

    @property
    def checkpoints(self) -> Path:
        """Holds ``checkpoint-N``."""
        return self.folder / "checkpoints"

    @property
    def best(self) -> Path:
        """Holds the best weights so far."""
        return self.folder / "best"


def hash_samples(samples: Sequence[Sample]) -> str:
    """Return the content id of samples with all that can be learned from them."""
    return content_id(
        [
            [s.text_id, [g.model_dump(mode="json", exclude_none=True) for g in s.gold]]
            for s in samples
        ]
    )


def describe_training(
    recipe: Recipe, samples: Sequence[Sample], dev: Sequence[Sample]
) -> TrainingFile:
    """Return what identifies a training."""
    return TrainingFile(
        magistrate=__version__,
        recipe=recipe,
        data_hash=hash_samples(samples),
        dev_hash=hash_samples(dev),
        versions=library_versions(),
    )


def library_versions() -> dict[str, str]:
    """Return the versions of the libraries that shape a training."""
    found: dict[str, str] = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def begin(work: Work, training: TrainingFile, *, resume: bool) -> tuple[Path | None, list[str]]:
    """Make the folder of a training, or check that the one there is of this training.

    Args:
        work: Where.
        training: What is to be trained.
        resume: Whether to go on with what is there.

    Returns:
        The checkpoint to go on from (None: from the beginning), and what should be said.

    Raises:
        RunError: There is something in the folder already, and ``resume`` is not set.
        RunMismatchError: What is there is of another recipe or other data.
        RunDamagedError: ``training.json`` cannot be read.
    """
    path = work.folder / _FILE
    if not path.is_file():
        if work.judge.is_dir() and any(work.judge.iterdir()):
            raise RunError(
                f"{work.judge} is not empty and holds no training; choose another folder with -o"
            )
        work.folder.mkdir(parents=True, exist_ok=True)
        write_training(work, training)
        return None, ["there is nothing to go on with yet: begun anew"] if resume else []
    if not resume:
        raise RunError(
            f"{work.judge} holds a training already; go on with it by --resume, or choose another "
            f"folder with -o"
        )
    before = read_training(work)
    if changed := _changes(before, training):
        raise RunMismatchError(
            f"{work.judge} was begun with {'; '.join(changed)}. A training goes on only as it was "
            f"begun: undo that, or choose another folder with -o"
        )
    notes = [
        f"{name} was {before.versions[name]} and is {now}: weights may differ in the last digits"
        for name, now in training.versions.items()
        if before.versions.get(name, now) != now
    ]
    write_training(work, training)
    return last_checkpoint(work), notes


def is_finished(work: Work) -> bool:
    """Whether a training has ended: its judge is there."""
    return (work.folder / _FILE).is_file() and (work.judge / JUDGE_FILE).is_file()


def read_training(work: Work) -> TrainingFile:
    """Read ``training.json``.

    Raises:
        RunDamagedError: It cannot be read, or is not one.
    """
    path = work.folder / _FILE
    try:
        return TrainingFile.model_validate_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise RunDamagedError(
            f"{path}: cannot be read as a description of a training; choose another folder with -o"
        ) from error


def write_training(work: Work, training: TrainingFile) -> None:
    """Write ``training.json``, and the recipe as a file of its own."""
    from magistrate.prompts.importing.toml import dumps

    sections = training.recipe.model_dump(mode="json", exclude_none=True)
    write_atomically(work.folder / RECIPE, dumps(sections).encode("utf-8"))
    data = json.dumps(training.model_dump(mode="json"), indent=2).encode("utf-8")
    write_atomically(work.folder / _FILE, data)


def _changes(before: TrainingFile, now: TrainingFile) -> list[str]:
    """Return in words what differs and shapes the weights."""
    changed = [
        f"{key} = {json.dumps(old)} (now {json.dumps(new)})"
        for key, (old, new) in differences(before.recipe, now.recipe).items()
        if key not in FREE_KEYS | _FILES
    ]
    if before.data_hash != now.data_hash:
        changed.append("other samples or labels in data.train")
    if before.dev_hash != now.dev_hash:
        changed.append("other samples or labels in data.dev")
    return changed


def mark_complete(checkpoint: Path, facts: Mapping[str, Any]) -> None:
    """Say that all of a checkpoint is on disk: until then it does not count."""
    write_atomically(checkpoint / COMPLETE, json.dumps(dict(facts)).encode("utf-8"))


def last_checkpoint(work: Work) -> Path | None:
    """Return the last whole checkpoint, and remove what a crash left half-written."""
    found: list[tuple[int, Path]] = []
    for path in work.checkpoints.glob("checkpoint-*"):
        number = path.name.rpartition("-")[2]
        if number.isdigit() and (path / COMPLETE).is_file():
            found.append((int(number), path))
        elif path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
    return max(found)[1] if found else None


def checkpoint_facts(checkpoint: Path) -> dict[str, Any]:
    """Return what :func:`mark_complete` was given."""
    facts: dict[str, Any] = json.loads((checkpoint / COMPLETE).read_text("utf-8"))
    return facts


def clean_up(work: Work) -> None:
    """Remove checkpoints once the judge is written."""
    for folder in (work.checkpoints, work.best):
        shutil.rmtree(folder, ignore_errors=True)


def forget(work: Work) -> None:
    """Take away what :func:`begin` made, of a training that cannot be: nothing else is there."""
    for name in (_FILE, RECIPE):
        (work.folder / name).unlink(missing_ok=True)
    for folder in (work.folder, work.judge):
        with contextlib.suppress(OSError):  # not empty: not ours
            folder.rmdir()
