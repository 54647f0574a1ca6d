"""The demonstrations of a run: drawn before it begins, kept in its folder, part of its judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from magistrate.errors import InputError, MagistrateError
from magistrate.formats.base import Notice
from magistrate.prompts.demonstrations import content_of, draw_demonstrations
from magistrate.records import Sample
from magistrate.store.asked import line_of, source_of
from magistrate.store.disk import write_atomically, writing
from magistrate.store.folder import RunFolder
from magistrate.store.lines import read_records
from magistrate.store.manifest import MOST, DemonstrationSettings, describe_input


@dataclass(frozen=True, slots=True)
class Wanted:
    """Demonstrations that are asked for."""

    source: Any
    """Labelled samples, or paths of files that hold them."""
    per_outcome: int
    seed: int


def wanted_demonstrations(source: Any, per_outcome: Any, seed: Any) -> Wanted | None:
    """Return what the caller asks for; None where the judge is to be shown nothing.

    Raises:
        MagistrateError: A number is none.
    """
    if source is None:
        return None
    if not _is_whole(per_outcome) or not 1 <= per_outcome <= MOST:
        raise MagistrateError(f"per_outcome is {per_outcome!r}; it takes a whole number from 1")
    if not _is_whole(seed):
        raise MagistrateError(f"demonstrations_seed is {seed!r}; it takes a whole number")
    return Wanted(source, per_outcome, seed)


@dataclass(frozen=True, slots=True)
class Shown:
    """Demonstrations that were drawn."""

    samples: tuple[Sample, ...] = ()
    settings: DemonstrationSettings | None = None
    notices: tuple[Notice, ...] = ()


def drawn_for(
    judged: Iterable[Sample], wanted: Wanted | None, *, limit: int | None = None
) -> tuple[Iterable[Sample], Shown]:
    """Draw demonstrations, none of them from what is judged.

    Args:
        judged: The whole input. A file is read to its end whatever the limit, so that a limit that
            grows finds the same demonstrations.
        wanted: What is asked for; None for nothing.
        limit: How many samples of a stream that cannot be read twice are judged.

    Returns:
        The input, to be read from its start, and the demonstrations.

    Raises:
        InputError: A file cannot be read, or an outcome has too few samples that are not judged.
    """
    if wanted is None:
        return judged, Shown()
    if isinstance(judged, Iterator):
        judged = list(islice(judged, limit))
    taken = {content_of(sample) for sample in _checked(judged)}
    source = source_of(wanted.source, strict=False)
    samples = list(_checked(source))
    free = [sample for sample in samples if content_of(sample) not in taken]
    if samples and not free:
        raise InputError(
            f"no sample to demonstrate with: all {len(samples)} are to be judged themselves (of a "
            f"file its whole content counts, also with a limit); give other labelled samples"
        )
    drawn = draw_demonstrations(free, per_outcome=wanted.per_outcome, seed=wanted.seed)
    paths = getattr(source, "paths", ())
    settings = DemonstrationSettings(
        files=tuple(describe_input(path, getattr(source, "format", None)) for path in paths),
        per_outcome=wanted.per_outcome,
        seed=wanted.seed,
    )
    return judged, Shown(
        drawn, settings, tuple(_remarks(len(samples) - len(free), len(samples), source))
    )


def keep_demonstrations(folder: RunFolder, shown: Shown) -> None:
    """Write the demonstrations into the run folder, where ``magistrate ask`` finds them.

    Raises:
        RunError: The folder cannot be written.
    """
    if shown.samples:
        lines = [line_of(sample, number) for number, sample in enumerate(shown.samples, 1)]
        write_atomically(folder.demonstrations, b"".join(lines))
    else:
        with writing(folder.demonstrations):
            folder.demonstrations.unlink(missing_ok=True)


def kept_demonstrations(folder: RunFolder) -> tuple[Sample, ...]:
    """Return the demonstrations that a run's judge is shown.

    Raises:
        RunDamagedError: The file holds other things.
    """
    return tuple(read_records(Sample, folder.demonstrations))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _checked(samples: Iterable[Sample]) -> Iterator[Sample]:
    """Yield what are samples, and say of anything else what it is."""
    for number, sample in enumerate(samples, 1):
        line_of(sample, number)
        yield sample


def _remarks(left_out: int, samples: int, source: Any) -> Iterator[Notice]:
    if left_out:
        yield Notice(
            kind="demonstrations-judged",
            message=(
                f"{left_out} of {samples} samples to demonstrate with are judged in this run "
                f"and were left out of the draw"
            ),
        )
    bad = getattr(source, "bad_count", 0)
    if bad:
        first = source.bad[0]
        yield Notice(
            kind="demonstrations-bad-rows",
            message=(
                f"{bad} rows to demonstrate with could not be read; the first: "
                f"{Path(first.file)}, row {first.row}: {first.reason}"
            ),
        )
