"""A set's samples as a study judges them: drawn by seed, sides mixed, with the set's rubric.

The draw sorts all samples by a hash of seed and text, and a limit takes the first of them. So a
draw does not depend on the sequence of the file, and a larger limit only adds to a smaller one: the
run folder goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from magistrate.errors import InputError
from magistrate.formats.base import BadRow, Notice
from magistrate.formats.reading import read_samples
from magistrate.ids import content_id
from magistrate.metrics.gold import gold_label
from magistrate.records import Gold, Preference, Sample
from magistrate.suites.manifest import DataSet

_OTHER_SIDE: dict[Preference, Preference] = {"first": "second", "second": "first", "tie": "tie"}
_SIZES = {"pairs": 2, "answers": 1}


@dataclass(frozen=True)
class Drawn:
    """The samples of a set in the sequence of the draw; what a run wants to know of an input."""

    samples: tuple[Sample, ...]
    others: int
    """Samples left out because they have another number of answers."""
    sides_mixed: bool
    """Whether sides were drawn by seed, because the file always has the better answer on one."""
    paths: tuple[str, ...] = ()
    format: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    bad: Sequence[BadRow] = ()
    bad_count: int = 0
    notices: Sequence[Notice] = ()

    def __iter__(self) -> Iterator[Sample]:
        """Yield the samples."""
        return iter(self.samples)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.samples)

    def with_rubric(self, rubric: str) -> Drawn:
        """Return the same draw, judged by a rubric."""
        samples = tuple(one.model_copy(update={"rubric": rubric}) for one in self.samples)
        return replace(self, samples=samples)


def draw(data: DataSet, seed: int) -> Drawn:
    """Read a set and draw its samples.

    Args:
        data: A set whose files are there.
        seed: Another seed draws another sequence, and other sides.

    Raises:
        InputError: A file cannot be read, or holds nothing of the kind that the manifest says.
    """
    entry = data.entry
    reader = read_samples(
        *data.paths, format=entry.format, columns=entry.columns, questions=data.questions
    )
    found = list(reader)
    size = _SIZES[entry.holds]
    samples = [_categorised(one, entry.categories) for one in found if len(one.answers) == size]
    if not samples:
        raise InputError(
            f"set '{entry.name}' should hold {entry.holds}, and {len(found)} samples were found "
            f"in {', '.join(map(str, data.paths))}, none with {size} "
            f"answer{'s' if size > 1 else ''}; mend 'holds' or 'files' in the manifest"
        )
    # By what the file holds: a rubric added later must not change the draw.
    samples.sort(key=lambda one: content_id(["draw", seed, one.text_id, one.id]))
    mixed = is_one_sided(samples)
    if mixed:
        samples = [swapped(one) if _is_swapped(one, seed) else one for one in samples]
    return Drawn(
        samples=tuple(samples),
        others=len(found) - len(samples),
        sides_mixed=mixed,
        paths=reader.paths,
        format=reader.format,
        settings={
            **reader.settings,
            "set": entry.name,
            "seed": seed,
            "sides": "drawn by seed" if mixed else "as in the file",
        },
        bad=tuple(reader.bad),
        bad_count=reader.bad_count,
        notices=reader.notices,
    )


def is_one_sided(samples: Sequence[Sample]) -> bool:
    """Whether all labelled pairs, two at least, prefer the answer on one and the same side."""
    labels = [label for one in samples if (label := gold_label(one)) in ("first", "second")]
    return len(labels) > 1 and len(set(labels)) == 1


def swapped(sample: Sample) -> Sample:
    """Return a pair with its answers, and all that is said of them, in the other order.

    >>> from magistrate.records import Answer
    >>> pair = (Answer(text="a"), Answer(text="b"))
    >>> gold = (Gold(preference="first"),)
    >>> swapped(Sample(question="?", answers=pair, gold=gold)).gold[0].preference
    'second'
    """
    first, second = sample.answers
    return sample.model_copy(
        update={"answers": (second, first), "gold": tuple(map(_swapped_gold, sample.gold))}
    )


def _swapped_gold(gold: Gold) -> Gold:
    soft = gold.probability_second
    return gold.model_copy(
        update={
            "preference": gold.preference and _OTHER_SIDE[gold.preference],
            "probability_second": None if soft is None else 1 - soft,
            "scores": gold.scores and gold.scores[::-1],
            "ranking": gold.ranking and gold.ranking[::-1],
        }
    )


def _is_swapped(sample: Sample, seed: int) -> bool:
    return int(content_id(["side", seed, sample.text_id])[:8], 16) % 2 == 1


def _categorised(sample: Sample, names: dict[str, str]) -> Sample:
    new = names.get(sample.category or "")
    return sample if new is None else sample.model_copy(update={"category": new})
