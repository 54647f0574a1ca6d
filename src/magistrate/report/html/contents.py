"""All that a report says, before it is a page, Markdown or CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from magistrate._version import __version__
from magistrate.metrics.intervals import Rate
from magistrate.report.html.blocks import Section, Table, bounds_words, share
from magistrate.report.html.sections.agreement import agreement, confusion
from magistrate.report.html.sections.breakdown import breakdown
from magistrate.report.html.sections.confidence import confidence
from magistrate.report.html.sections.failures import failures
from magistrate.report.html.sections.headline import best_rule, counts_of, headline, sentences
from magistrate.report.html.sections.length import length
from magistrate.report.html.sections.position import position
from magistrate.report.html.sections.ranking import ranking, scores, wins
from magistrate.report.html.sections.samples import samples
from magistrate.report.html.sections.side_by_side import side_by_side
from magistrate.report.html.texts import seen
from magistrate.report.text import counted

if TYPE_CHECKING:
    from magistrate.report.html.sources import Source


@dataclass(frozen=True, slots=True)
class Tile:
    """A number at the top of the page."""

    name: str
    value: str
    small: str


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What the page says of a run beside its sections."""

    name: str
    source: str
    tiles: tuple[Tile, ...]
    sentences: tuple[str, ...]
    provenance: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Contents:
    """A whole report."""

    title: str
    made: str
    version: str
    runs: tuple[RunFacts, ...]
    sections: tuple[Section, ...]

    def tables(self) -> Iterator[Table]:
        """Yield all tables in the sequence of the report."""
        for section in self.sections:
            for figure in section.figures:
                yield figure.table


def build(sources: Sequence[Source], shown: int) -> Contents:
    """Measure the runs and return the whole report.

    Args:
        sources: At least one.
        shown: How many samples were asked for.
    """
    sections = [
        headline(sources),
        agreement(sources),
        confusion(sources),
        position(sources),
        length(sources),
        confidence(sources),
        breakdown(sources, "category"),
        breakdown(sources, "language"),
        ranking(sources),
        wins(sources),
        scores(sources),
        side_by_side(sources) if len(sources) > 1 else None,
        samples(sources, shown),
        failures(sources),
    ]
    who = sources[0].name if len(sources) == 1 else f"{len(sources)} judges"
    return Contents(
        title=f"How far {who} can be trusted",
        made=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        version=__version__,
        runs=tuple(_facts(source) for source in sources),
        sections=tuple(section for section in sections if section is not None),
    )


def _facts(source: Source) -> RunFacts:
    judged = source.judged
    inputs = ", ".join(seen(name) for name in judged.inputs)
    where = seen(judged.source)
    return RunFacts(
        name=source.name,
        source=where if inputs in ("", where) else f"{inputs} · {where}",
        tiles=tuple(_tiles(source)),
        sentences=tuple(sentences(source)),
        provenance=tuple(_provenance(source)),
    )


def _tiles(source: Source) -> Iterator[Tile]:
    pairs, rule = source.pairs, best_rule(source)
    if pairs is not None and rule is not None:
        yield _tile("agreement, decisive pairs", pairs.baselines[0].decisive)
        yield _tile(f"best without a judge: {rule.name}", rule.decisive)
    if pairs is not None and pairs.position is not None and not pairs.reads_alone:
        yield _tile("same verdict in both orders", pairs.position.consistent)
    if source.calibration is not None:
        small = f"by chance up to {share(source.calibration.chance)}"
        yield Tile("calibration error (ECE)", share(source.calibration.ece), small)
    yield _tile("not ok", counts_of(source)[1])


def _tile(name: str, rate: Rate) -> Tile:
    return Tile(name, share(rate.value), _small(rate))


def _small(rate: Rate) -> str:
    return f"{bounds_words(rate)} n = {rate.n:,}".strip()


def _provenance(source: Source) -> Iterator[str]:
    judged, manifest = source.judged, source.manifest
    name = source.name
    if manifest is None:
        yield f"{name}: read from {seen(judged.source)} as {seen(judged.format)}."
    else:
        spec = manifest.judge
        yield (
            f"{name}: engine {seen(spec.engine)}, model {seen(spec.model)}, family "
            f"{seen(spec.family)}; judge {manifest.judge_id[:12]}, samples "
            f"{manifest.samples_sha256[:12]}; run {manifest.state}, last changed "
            f"{manifest.updated:%Y-%m-%d %H:%M} UTC."
        )
    join = judged.join
    if join is not None:
        matched, lost = sum(join.matched.values()), sum(join.unmatched.values())
        reasons = "; ".join(f"{n:,}: {why}" for why, n in join.unmatched.items())
        yield (
            f"{name}: labels from {seen(join.file)}: {counted(matched, 'sample')} matched, "
            f"{lost:,} not{f' ({seen(reasons)})' if reasons else ''}."
        )
    if judged.bad_rows:
        yield f"{name}: {counted(judged.bad_rows, 'row')} of the input could not be used."
    for notice in judged.notices[:5]:
        yield f"{name}: {seen(notice.message)}"
