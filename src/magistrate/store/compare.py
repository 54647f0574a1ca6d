"""The input of a resumed run against the samples that the run holds.

Judgments depend on the texts alone. So a run goes on when its texts are still there in the same
sequence; new samples behind them and changed labels or names are taken over, and told.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from magistrate.formats.base import Notice
from magistrate.records import Sample, from_json_line
from magistrate.store.disk import NewFile
from magistrate.store.lines import open_to_read, shorter_than_the_run

_SEEN_BY_JUDGES = ("question", "answers", "reference", "rubric", "context", "images")
_SHOWN_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class Comparison:
    """How an input relates to the samples of a run."""

    difference: str | None = None
    """Why it is another input, in words; None when the run can go on with it."""
    is_shorter: bool = False
    """Whether the difference is that the input ends before the run's samples do."""
    added: int = 0
    """Samples behind those of the run."""
    changed: int = 0
    """Samples with the run's text, but with other labels, names or notes."""

    def notices(self) -> Iterator[Notice]:
        """Yield what was taken over, in words."""
        if self.added:
            yield Notice(
                kind="input-grew",
                message=f"{self.added} samples were added to the run behind those it had",
            )
        if self.changed:
            yield Notice(
                kind="input-changed",
                message=(
                    f"{self.changed} samples have other labels, model names or notes than when "
                    f"the run began; the run has the new ones now, and its judgments stand, since "
                    f"the texts are the same"
                ),
            )


def compare_samples(
    lines: Iterator[tuple[Sample, bytes]], path: Path, known_samples: int, *, take_over: bool
) -> Comparison:
    """Compare an input with ``samples.jsonl``.

    Args:
        lines: Each sample of the input with its line.
        path: The run's samples.
        known_samples: How many ``run.json`` says there are; a killed process may have added more.
        take_over: Whether to write the input to the file when the run can go on with it.

    Raises:
        RunDamagedError: The file cannot be read, or lost samples.
        RunError: The disk is full or the folder cannot be written.
    """
    row = added = changed = place = 0
    new: NewFile | None = None
    with ExitStack() as stack:
        with open_to_read(path) as stored:
            for sample, line in lines:
                row += 1
                known = stored.readline()
                if known != line:
                    difference = _text_difference(known, sample) if known else None
                    if difference is not None:
                        return Comparison(f"sample {row}: {difference}")
                    added += not known
                    changed += bool(known)
                    if take_over and new is None:
                        new = stack.enter_context(NewFile(path))
                        new.copy_from(path, place)
                place += len(known)
                if new is not None:
                    new.write(line)
            left = sum(1 for _ in stored)
        if row - added + left < known_samples:
            raise shorter_than_the_run(path, row - added + left, known_samples)
        if left:
            return Comparison(
                f"the run has {row + left} samples, the input has {row}", is_shorter=True
            )
        if new is not None:
            new.put_in_place()
    return Comparison(added=added, changed=changed)


def _text_difference(known: bytes, sample: Sample) -> str | None:
    """Say in which field a judge would see a difference; None when it would see none."""
    try:
        old = from_json_line(Sample, known)
    except ValueError:
        return "the run's own line cannot be read"
    if old.text_id == sample.text_id:
        return None
    fields = (name for name in _SEEN_BY_JUDGES if _seen(old, name) != _seen(sample, name))
    field = next(fields)
    return f"{field} is {_show(old, field)} in the run, {_show(sample, field)} in the input"


def _seen(sample: Sample, field: str) -> object:
    if field == "answers":
        return [answer.turns or answer.text for answer in sample.answers]
    return getattr(sample, field)


def _show(sample: Sample, field: str) -> str:
    text = repr(_seen(sample, field))
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."
