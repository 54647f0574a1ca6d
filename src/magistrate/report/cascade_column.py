"""One judge's stored decisions, and where it has the pairs of another judge."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from magistrate.errors import InputError
from magistrate.metrics.columns import NOTHING
from magistrate.metrics.confidence import SignalCollector, Signals
from magistrate.records import Sample
from magistrate.report.judged import AnyPath, Judged, Reading, read_judged
from magistrate.report.labels import ROW_ID, flipped, question_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Number = TypeVar("Number", bound=np.generic)

How = Literal["content", "exchanged", "id", "row"]
"""What told that two judges speak of one pair; ``exchanged``: its text, the answers exchanged."""

NOT_THERE = -1


@dataclass(frozen=True, slots=True)
class Place:
    """Where a judge has each pair of the first judge."""

    at: Integers
    """Shape (n,): places among its own pairs, -1 where it lacks one."""
    exchanged: NDArray[np.bool_]
    """Shape (n,): whether its answers are the other way round."""


@dataclass(slots=True)
class JudgeColumn:
    """One judge's decisions while they are read."""

    path: str
    frame: JudgeColumn | None
    """The first judge's; None for that one itself."""
    judged: Judged = field(init=False)
    matched: Counter[How] = field(default_factory=Counter)
    pair_ids: list[str | None] = field(default_factory=list)
    """Of each pair of the frame, equal for equal texts in either order; None without texts."""
    _collector: SignalCollector = field(default_factory=SignalCollector)
    _cost: array[float] = field(default_factory=lambda: array("d"))
    _at: dict[int, tuple[int, bool]] = field(default_factory=dict)
    """From a place in the frame to the place here, and whether answers are exchanged."""
    _by_text: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    _by_id: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    _ids: list[str | None] = field(default_factory=list)
    _unmatched: list[int] = field(default_factory=list)
    _all: Signals | None = None

    def read(self, labels: AnyPath | None, judge: str | None, format: str | None) -> None:  # noqa: A002
        """Read the file and find its pairs in the frame."""
        self.judged = read_judged(
            self.path, labels=labels, judge=judge, format=format, visit=self._visit
        )
        self._all = self._collector.result()
        if not len(self.judged.pairs):
            raise InputError(f"{self.path} holds no pairs; a cascade decides between two answers")
        if self.frame is not None:
            self._match_rows(self.frame)
            if not self._at:
                raise InputError(
                    f"{self.path} has no pair in common with {self.frame.path}: neither texts nor "
                    f"ids are the same; give judgments of the same pairs, or --labels with their "
                    f"texts"
                )

    def _visit(self, reading: Reading) -> None:
        sample, judgments, decision = reading
        if len(sample.answers) != 2:
            return
        self._collector.add(sample, judgments, decision)
        self._cost.append(sum(judgment.cost for judgment in judgments))
        here = len(self._ids)
        self._ids.append(sample.source_id)
        text = sample.text_id if _has_text(sample) else None
        if self.frame is None:
            self.pair_ids.append(min(text, flipped(sample).text_id) if text is not None else None)
            if text is not None:
                self._by_text[text].append(here)
            if sample.source_id is not None:
                self._by_id[sample.source_id].append(here)
        elif not self._match(sample, text, here, self.frame):
            self._unmatched.append(here)

    def _match(self, sample: Sample, text: str | None, here: int, frame: JudgeColumn) -> bool:
        """Look for a pair in the frame by text, then by id."""
        if text is not None:
            if self._take(frame._by_text.get(text, ()), sample.source_id, here, frame, "content"):
                return True
            other = frame._by_text.get(flipped(sample).text_id, ())
            if self._take(other, sample.source_id, here, frame, "exchanged"):
                return True
        places = frame._by_id.get(sample.source_id or "", ())
        if len(places) == 1 and not (text is not None and frame._by_text):
            return self._take(places, sample.source_id, here, frame, "id")
        return False

    def _take(
        self, places: Sequence[int], ident: str | None, here: int, frame: JudgeColumn, how: How
    ) -> bool:
        """Take the place with the same id, else the first that is free: equal texts may recur."""
        free = [place for place in places if place not in self._at]
        if not free:
            return False
        chosen = next((p for p in free if ident is not None and frame._ids[p] == ident), free[0])
        self._at[chosen] = (here, how == "exchanged")
        self.matched[how] += 1
        return True

    def _match_rows(self, frame: JudgeColumn) -> None:
        """Match by row what is known by its row alone, in files of equally many pairs."""
        if len(self._ids) != len(frame._ids):
            return
        for here in self._unmatched:
            known = (self._ids[here], frame._ids[here])
            by_row = any(ident is not None and ident.startswith(ROW_ID) for ident in known)
            if by_row and here not in self._at:
                self._at[here] = (here, False)
                self.matched["row"] += 1

    def places(self) -> Place:
        """Return where this judge has each pair of the frame."""
        import numpy as np

        n = len((self.frame or self)._ids)
        if self.frame is None:
            return Place(np.arange(n), np.zeros(n, dtype=bool))
        at, exchanged = np.full(n, NOT_THERE), np.zeros(n, dtype=bool)
        for place, (here, other) in self._at.items():
            at[place], exchanged[place] = here, other
        return Place(at, exchanged)

    def aligned(self, values: NDArray[Any], where: Place, nothing: float) -> NDArray[Any]:
        """Return a column over the pairs of the frame."""
        import numpy as np

        found = values[np.maximum(where.at, 0)].copy()
        found[where.at == NOT_THERE] = nothing
        return found

    def outcomes(self, values: NDArray[np.int8], where: Place) -> NDArray[np.int8]:
        """Return outcomes over the pairs of the frame, in its answer order."""
        found = self.aligned(values, where, NOTHING).astype("int8")
        turn = where.exchanged & (abs(found) <= 1)
        found[turn] = -found[turn]
        return found

    def said(self, where: Place) -> NDArray[np.int8]:
        """Return the decisions over the pairs of the frame."""
        return self.outcomes(self.judged.pairs.said, where)

    def costs(self, where: Place) -> Floats:
        """Return what each decision cost, in US dollars."""
        import numpy as np

        found: Floats = self.aligned(np.array(self._cost), where, 0.0).astype(np.float64)
        return found

    def signals(self, where: Place) -> Signals:
        """Return what is stored of confidence, over the pairs of the frame."""
        import numpy as np

        assert self._all is not None
        found = self._all.take(np.maximum(where.at, 0))
        return replace(found, said=self.said(where))


def _has_text(sample: Sample) -> bool:
    """Whether the pair's texts are known; a stand-in has its id as the question."""
    if any(answer.text for answer in sample.answers):
        return True
    return sample.question_text != question_of(sample.source_id or "")
