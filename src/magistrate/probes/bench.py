"""The workbench of an audit: judges samples into run folders, and hands back columns.

Every arm of an experiment is a run folder of its own, ``DIR/PROBE/ARM``. An audit that was stopped
goes on where it stopped when it is begun again; arms that several probes need are judged once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from magistrate.errors import FamilyError
from magistrate.judging.judge import Judge, make_judge
from magistrate.judging.orders import Orders
from magistrate.metrics.columns import NOTHING, PairCollector, PairColumns
from magistrate.prompts.catalog import load_family
from magistrate.records import Sample
from magistrate.store.progress import OnProgress
from magistrate.store.run import Run
from magistrate.store.running import judge as judge_into_run
from magistrate.store.work import OnNotice

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

OnArm = Callable[[str], OnProgress | None]
"""Called with an arm's name before it is judged; returns what watches it."""


@dataclass(frozen=True, slots=True)
class Arm:
    """Samples to be judged, and which pair of the input each comes from."""

    name: str
    """``PROBE/ARM``: its run folder below the audit's."""
    samples: tuple[Sample, ...]
    pair: tuple[int, ...]
    """Of each sample, the place of its pair in the input."""
    side: tuple[int, ...] = ()
    """Of each sample, the place (0 or 1) of the answer that was changed."""


def points_of(said: NDArray[np.int8], side: Sequence[int] | NDArray[np.int64]) -> Floats:
    """Return the points of one answer of each pair: 1, 1/2 or 0; NaN where nothing was said.

    Args:
        said: Shape (n,), outcomes as in :class:`~magistrate.metrics.columns.PairColumns`.
        side: Shape (n,), 0 for the first answer and 1 for the second.
    """
    import numpy as np

    sign = 1 - 2 * np.asarray(side, dtype=np.float64)
    points: Floats = np.where(said == NOTHING, np.nan, (1 + sign * said) / 2)
    return points


def expected_points(columns: PairColumns, side: Sequence[int] | NDArray[np.int64]) -> Floats:
    """Return P(it wins) + P(tie) / 2 of one answer of each pair; NaN where there is none."""
    import numpy as np

    known = columns.probability
    first = known[:, 0] + known[:, 1] / 2
    expected: Floats = np.where(np.asarray(side) == 0, first, 1 - first)
    return expected


@dataclass
class Bench:
    """Judges arms with one judge, and keeps what came of them."""

    judge: Judge
    folder: Path
    pairs: tuple[Sample, ...]
    """The pairs of the input."""
    others: tuple[Sample, ...] = ()
    """Its samples with another number of answers."""
    prefix: str = ""
    """Stands before the name of every arm; see :meth:`over`."""
    seed: int = 0
    max_cost: float | None = None
    """US dollars for all arms together."""
    start_over: bool = False
    """Whether runs that are there are moved aside."""
    on_arm: OnArm = lambda _: None
    on_notice: OnNotice | None = None
    runs: dict[str, Run] = field(default_factory=dict)
    """Every run of the audit by its arm's name."""
    _judged: dict[str, PairColumns] = field(default_factory=dict)

    @property
    def reads_alone(self) -> bool:
        """Whether the judge reads each answer alone."""
        return self.judge.family.reads_alone

    def original(self) -> PairColumns:
        """Return the columns of the pairs as they are, in both orders."""
        return self.columns(Arm("pairs", self.pairs, tuple(range(len(self.pairs)))))

    def columns(self, arm: Arm, judge: Judge | None = None) -> PairColumns:
        """Judge an arm in both orders and return its columns, one entry per sample.

        Args:
            arm: What to judge; each of its samples has two answers.
            judge: Who judges, where it is not the audit's judge.

        Raises:
            MagistrateError: As :func:`magistrate.judge`.
        """
        name = self.prefix + arm.name
        if name not in self._judged:
            collector = PairCollector()
            for row, (sample, judgments, decision) in enumerate(self.run(arm, judge).readings()):
                collector.add(row, sample, judgments, decision)
            self._judged[name] = collector.result()
        return self._judged[name]

    def run(
        self, arm: Arm, judge: Judge | None = None, *, orders: Orders = "both", repeats: int = 1
    ) -> Run:
        """Judge an arm into its folder, or go on with it."""
        name = self.prefix + arm.name
        if name not in self.runs:
            self.runs[name] = judge_into_run(
                arm.samples,
                judge or self.judge,
                self.folder / name,
                orders=orders,
                repeats=repeats,
                max_cost=None if self.max_cost is None else max(0.0, self.max_cost - self.cost),
                start_over=self.start_over,
                on_progress=self.on_arm(name),
                on_notice=self.on_notice,
            )
        return self.runs[name]

    def over(self, pairs: Sequence[Sample], judge: Judge, prefix: str) -> Bench:
        """Return a bench over other pairs, or with the judge asked otherwise; the runs are shared.

        Args:
            pairs: What takes the place of the input's pairs.
            judge: Who judges.
            prefix: Stands before the names of its arms.
        """
        return replace(self, pairs=tuple(pairs), judge=judge, prefix=self.prefix + prefix)

    @property
    def cost(self) -> float:
        """US dollars that the runs of this audit took so far."""
        return sum(run.manifest.cost for run in self.runs.values())

    def asked_as(self, family: str | Path) -> Judge | None:
        """Return the same model asked in another way; None where it cannot be.

        Args:
            family: A family's name, or its folder.
        """
        if self.judge.engine.info.scores:
            return None
        mode = self.judge.mode
        try:
            loaded = load_family(str(family), mode="score" if mode == "score" else "reason")
        except FamilyError:
            return None
        base = self.judge.spec
        name = f"{base.name.partition('#')[0]}#{loaded.name}"
        return make_judge(name, loaded, self.judge.engine, url=base.url)
