"""The labelled samples of a training, each with the label that counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from magistrate.errors import InputError
from magistrate.formats.reading import read_samples
from magistrate.records import Sample
from magistrate.train.examples import Augmentation, Unusable, make_example, sort_out
from magistrate.train.left_out import by_reason
from magistrate.train.recipe import DataSection, Recipe


@dataclass(frozen=True, slots=True)
class Labelled:
    """What a training learns from, and is measured on.

    Attributes:
        train: Samples with a usable label.
        dev: Likewise, each with the one label that counts as its gold.
        unusable: Samples of the training files that are left out, and why.
        bad_rows: Rows of the files that are no samples.
        dev_left_out: Rows and samples of the dev files that are left out.
    """

    train: tuple[Sample, ...]
    dev: tuple[Sample, ...]
    unusable: tuple[Unusable, ...]
    bad_rows: int
    dev_left_out: int = 0

    @property
    def left_out(self) -> int:
        """How many rows and samples are not learned from."""
        return len(self.unusable) + self.bad_rows


def read_labelled(recipe: Recipe) -> Labelled:
    """Read the files of a recipe.

    Raises:
        InputError: A file cannot be read, or holds no sample with a usable label; or a sample
            stands in both the training files and the dev files.
    """
    data = recipe.data
    found, bad = _read(data.train, data, data.limit)
    usable, unusable = sort_out(found, annotator=data.annotator)
    train = tuple(found[index] for index in usable)
    _check_some(train, data.train, unusable)
    dev: tuple[Sample, ...] = ()
    dev_left_out = 0
    if data.dev:
        seen, dev_bad = _read(data.dev, data, data.dev_limit)
        chosen, others = sort_out(seen, annotator=data.annotator)
        _check_some(chosen, data.dev, others)
        dev_left_out = dev_bad + len(others)
        shown = _as_judged(recipe)
        dev = tuple(_with_its_label(seen[index], index, data.annotator, shown) for index in chosen)
        _check_apart(train, dev)
    return Labelled(train, dev, tuple(unusable), bad, dev_left_out)


def _read(files: Sequence[str], data: DataSection, limit: int | None) -> tuple[list[Sample], int]:
    reader = read_samples(*map(Path, files), format=data.format, limit=limit)
    samples = list(reader)
    return samples, reader.bad_count


def _check_some(
    samples: Sequence[object], files: Sequence[str], unusable: Sequence[Unusable]
) -> None:
    if samples:
        return
    grouped = by_reason((one.reason, one.name) for one in unusable)
    why = f" ({'; '.join(map(str, grouped))})" if grouped else ""
    raise InputError(
        f"{', '.join(files)}: no sample has a label to learn from{why}; label them with "
        f"'magistrate data label', or name the annotator with data.annotator"
    )


def _as_judged(recipe: Recipe) -> Augmentation:
    """Return how dev samples are shown: as given, with references if the judge sees them."""
    if recipe.judge.head != "generate":
        return Augmentation(swap=0.0, drop_reference=0.0)
    from magistrate.prompts.catalog import load_family
    from magistrate.train.families import families_for

    named = load_family(recipe.judge.family, mode=recipe.judge.mode)
    families = families_for(named)
    wanted = Augmentation(drop_reference=recipe.augment.drop_reference)
    shows = families.asked(named, families.augmentation(wanted)).shows_reference
    return Augmentation(swap=0.0, drop_reference=0.0 if shows else 1.0)


def _with_its_label(
    sample: Sample, index: int, annotator: str | None, shown: Augmentation
) -> Sample:
    return make_example(
        sample, augmentation=shown, seed=0, epoch=0, index=index, annotator=annotator
    ).sample


def _check_apart(train: Sequence[Sample], dev: Sequence[Sample]) -> None:
    known = {sample.text_id for sample in train}
    both = sum(sample.text_id in known for sample in dev)
    if both:
        raise InputError(
            f"{both:,} of the {len(dev):,} dev samples are also learned from, so agreement on them "
            f"would say nothing; divide the data with 'magistrate data split'"
        )
