"""How sure a judge is, from what is stored of it: several sources of one number for each pair.

    signals = collector.result()                 # SignalCollector, over a run
    values = confidence(signals, "probability")  # shape (n,), NaN where a source has nothing to say

Every source is a pure function over stored judgments, and higher is surer. What a source needs and
a judgment lacks makes it NaN, which is counted and never becomes a middle value. Answers that
change places leave every source as it was.

The sources of arXiv 2403.02839 are computed as they were meant. Its published code adds up
p log p with a logit in place of log p, drops the distribution that the first verdict token was
drawn from (position t predicts token t + 1), and is not used here.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from magistrate.errors import InputError, nearest_of
from magistrate.metrics.columns import NOTHING
from magistrate.metrics.compact import PREFERENCE_CODES, answer_length
from magistrate.records import Decision, Judgment, Sample

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

NAN = float("nan")

BaseReadings = Mapping[tuple[str, tuple[int, ...]], Sequence[Judgment]]
"""What the base model said: readings by sample text and order (:func:`base_readings`)."""

Annotators = Sequence[Mapping[str, Decision]]
"""Decisions of the same judge shown other demonstrations: for each run, by sample text."""


@dataclass(frozen=True, slots=True)
class Signals:
    """What is stored of how sure a judge is; every array has one entry per pair, in input order."""

    said: NDArray[np.int8]
    """The decision: 1 first, 0 tie, -1 second; :data:`~magistrate.metrics.columns.NOTHING` unless
    it is ``ok``."""
    probability: Floats
    """Shape (n, 3): P(first), P(tie), P(second), the mean over readings."""
    entropy: Floats
    """Mean over readings of :attr:`~magistrate.records.Judgment.entropy`, in nats."""
    logprob: Floats
    """Mean over readings of :attr:`~magistrate.records.Judgment.verdict_logprob`."""
    base_entropy: Floats
    """The base model's entropy, mean over the same readings."""
    base_probability: Floats
    """Shape (n, 3): the base model's probabilities, the mean over the same readings."""
    same_orders: Floats
    """Share of orders that say what the decision says; NaN with one order."""
    same_repeats: Floats
    """Share of readings that say what the decision says, where an order was read again."""
    same_annotators: Floats
    """Share of simulated annotators that say what the decision says, the judge itself included."""
    annotators_probability: Floats
    """Mean over simulated annotators of the probability of what the decision says."""
    score_gap: Floats
    """Difference of the two scores, without sign."""
    length_gap: Floats
    """Difference of the answers' lengths over their sum, without sign; from 0 to 1."""

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.said)

    def take(self, chosen: NDArray[Any]) -> Signals:
        """Return some of the pairs; ``chosen`` are bools of shape (n,), or places."""
        return replace(self, **{one.name: getattr(self, one.name)[chosen] for one in fields(self)})

    @property
    def of_decision(self) -> Floats:
        """Probability of what the decision says, in [0, 1]; shape (n,)."""
        return _of_outcome(self.probability, self.said)


@dataclass(frozen=True, slots=True)
class Source:
    """A way to tell how sure a judge is."""

    name: str
    description: str
    values: Callable[[Signals], Floats]
    """From signals to a number for each pair, shape (n,); higher is surer, NaN where unknown."""
    is_probability: bool = False
    """Whether the number is a probability that the decision is right (or a share like one)."""


def _of_outcome(probability: Floats, said: NDArray[np.int8]) -> Floats:
    """Return the probability of the outcome that was said; NaN where nothing was."""
    import numpy as np

    known = said != NOTHING
    place = np.where(known, 1 - said, 0).astype(np.int64)
    found: Floats = np.where(known, np.take_along_axis(probability, place[:, None], 1)[:, 0], NAN)
    return found


def _entropy_of(probability: Floats) -> Floats:
    """Return the entropy of distributions, in nats; NaN where a probability is. Shape (n,)."""
    from scipy.special import entr

    found: Floats = entr(probability).sum(axis=1)
    return found


def _margin(signals: Signals) -> Floats:
    import numpy as np

    found: Floats = np.abs(signals.probability[:, 0] - signals.probability[:, 2])
    return found


def minus_base(own: Floats, base: Floats, factor: float = 1.0) -> Floats:
    """Return a confidence less what the un-tuned base model has of it: own - factor x base.

    The code of arXiv 2403.02839 returns ``(s - f * c) / 2`` with f in {0, 0.5, 1}; the half changes
    no rank and is left out.

    Args:
        own: The judge's confidence (negative entropy, or a log-probability), shape (n,).
        base: The same of the base model on the same prompts, shape (n,).
        factor: f.
    """
    return own - factor * base


def _log_of_decision(probability: Floats, said: NDArray[np.int8]) -> Floats:
    import numpy as np

    with np.errstate(divide="ignore"):
        # What a distribution leaves out altogether counts as 1e-12: a rank needs a number.
        found: Floats = np.maximum(np.log(_of_outcome(probability, said)), np.log(1e-12))
    return found


_ALL = (
    Source(
        "probability",
        "probability of the decision, mean over both orders",
        lambda s: s.of_decision,
        is_probability=True,
    ),
    Source("margin", "|P(first) - P(second)|, mean over both orders", _margin),
    Source(
        "outcome-entropy",
        "minus the entropy over first, tie, second",
        lambda s: -_entropy_of(s.probability),
    ),
    Source("entropy", "minus the entropy over all verdicts", lambda s: -s.entropy),
    Source("logprob", "mean log-probability of the verdict's tokens", lambda s: s.logprob),
    Source(
        "entropy-minus-base",
        "minus entropy, less that of the base model (2403.02839)",
        lambda s: minus_base(-s.entropy, -s.base_entropy),
    ),
    Source(
        "entropy-minus-half-base",
        "minus entropy, less half that of the base model",
        lambda s: minus_base(-s.entropy, -s.base_entropy, 0.5),
    ),
    Source(
        "logprob-minus-base",
        "log-probability of the decision, less that of the base model",
        lambda s: minus_base(
            _log_of_decision(s.probability, s.said), _log_of_decision(s.base_probability, s.said)
        ),
    ),
    Source(
        "orders",
        "share of orders that say what the decision says",
        lambda s: s.same_orders,
        is_probability=True,
    ),
    Source(
        "repeats",
        "share of repeats that say what the decision says",
        lambda s: s.same_repeats,
        is_probability=True,
    ),
    Source(
        "annotators",
        "share of simulated annotators that agree (2407.18370)",
        lambda s: s.same_annotators,
        is_probability=True,
    ),
    Source(
        "annotators-probability",
        "mean probability over simulated annotators (2407.18370)",
        lambda s: s.annotators_probability,
        is_probability=True,
    ),
    Source("score-gap", "difference of the two scores", lambda s: s.score_gap),
    Source("length-gap", "baseline: how unlike in length the answers are", lambda s: s.length_gap),
)

SOURCES: dict[str, Source] = {source.name: source for source in _ALL}
"""All sources by name, but for ``learned``, which needs labels (:mod:`.learned`)."""

DEFAULT_SOURCE = "probability"


def source_named(name: str) -> Source:
    """Return a source.

    Raises:
        InputError: There is none of this name.
    """
    if name in SOURCES:
        return SOURCES[name]
    lister = "magistrate confidence RUN --all"
    raise InputError(f"no confidence source '{name}'; {nearest_of(name, SOURCES, lister)}")


def confidence(signals: Signals, source: str = DEFAULT_SOURCE) -> Floats:
    """Return how sure the judge is of each pair; NaN where the source cannot tell. Shape (n,).

    Raises:
        InputError: There is no such source.
    """
    import numpy as np

    values = source_named(source).values(signals)
    found: Floats = np.where(signals.said == NOTHING, NAN, values)
    return found


def available(signals: Signals) -> list[str]:
    """Return the sources that tell something of one pair or more, in the sequence of the table."""
    import numpy as np

    return [name for name in SOURCES if np.isfinite(confidence(signals, name)).any()]


def confidence_of(
    source: str,
    sample: Sample,
    judgments: Sequence[Judgment],
    decision: Decision,
    *,
    base: BaseReadings | None = None,
    annotators: Annotators = (),
) -> float | None:
    """Return how sure a judge is of one pair; None where the source cannot tell.

    Args:
        source: A name of :data:`SOURCES`.
        sample: The pair; of any other sample nothing is told.
        judgments: All its readings by the judge.
        decision: What they were merged to.
        base: Readings of the base model.
        annotators: Decisions of simulated annotators.

    Raises:
        InputError: There is no such source.
    """
    source_named(source)
    collector = SignalCollector(base=base, annotators=annotators)
    collector.add(sample, judgments, decision)
    signals = collector.result()
    value = float(confidence(signals, source)[0]) if len(signals) else NAN
    return None if value != value else value


def base_readings(judgments: Iterable[Judgment]) -> BaseReadings:
    """Return the readings of a base model's run by sample text and order."""
    found: dict[tuple[str, tuple[int, ...]], list[Judgment]] = {}
    for judgment in judgments:
        found.setdefault((judgment.sample_id, judgment.order), []).append(judgment)
    return found


class SignalCollector:
    """Collects :class:`Signals` over a stream; samples that are no pairs are left out."""

    _WIDTH = 14

    def __init__(
        self, *, base: BaseReadings | None = None, annotators: Annotators | None = None
    ) -> None:
        """Begin.

        Args:
            base: Readings of the base model, for the sources that correct by it.
            annotators: Decisions of the same judge shown other demonstrations.
        """
        self._base = base
        self._annotators = annotators or ()
        self._said = array("b")
        self._numbers = array("d")

    def add(self, sample: Sample, judgments: Sequence[Judgment], decision: Decision | None) -> None:
        """Add one sample; arguments as :meth:`magistrate.metrics.columns.PairCollector.add`."""
        if len(sample.answers) != 2:
            return
        said, numbers = NOTHING, [NAN] * self._WIDTH
        if decision is not None and decision.status == "ok" and decision.preference is not None:
            said = PREFERENCE_CODES[decision.preference]
            numbers = [
                *_probabilities([decision]),
                _mean([judgment.entropy for judgment in judgments]),
                _mean([judgment.verdict_logprob for judgment in judgments]),
                *self._of_base(judgments),
                _same_orders(judgments, decision),
                _same_repeats(judgments, decision),
                *self._of_annotators(sample, decision),
                _score_gap(decision),
            ]
        lengths = [answer_length(answer) for answer in sample.answers]
        self._said.append(said)
        self._numbers.extend(numbers)
        total = sum(lengths)
        self._numbers.append(abs(lengths[0] - lengths[1]) / total if total else 0.0)

    def result(self) -> Signals:
        """Return what was collected."""
        import numpy as np

        table = np.array(self._numbers, dtype=np.float64).reshape(-1, self._WIDTH + 1)
        return Signals(
            said=np.array(self._said, dtype=np.int8),
            probability=table[:, 0:3],
            entropy=table[:, 3],
            logprob=table[:, 4],
            base_entropy=table[:, 5],
            base_probability=table[:, 6:9],
            same_orders=table[:, 9],
            same_repeats=table[:, 10],
            same_annotators=table[:, 11],
            annotators_probability=table[:, 12],
            score_gap=table[:, 13],
            length_gap=table[:, 14],
        )

    def _of_base(self, judgments: Sequence[Judgment]) -> list[float]:
        """Return the base model's entropy and probabilities on the same readings."""
        if self._base is None:
            return [NAN] * 4
        orders = dict.fromkeys((judgment.sample_id, judgment.order) for judgment in judgments)
        found = [self._base.get(key, ()) for key in orders]
        if not all(found):
            return [NAN] * 4
        readings = [one for each in found for one in each]
        return [_mean([one.entropy for one in readings]), *_probabilities(readings)]

    def _of_annotators(self, sample: Sample, decision: Decision) -> tuple[float, float]:
        """Return the share of annotators that agree, and the mean probability of the decision."""
        if not self._annotators:
            return NAN, NAN
        found = [run.get(sample.text_id) for run in self._annotators]
        known = [one for one in found if one is not None and one.status == "ok"]
        if len(known) < len(self._annotators):
            return NAN, NAN
        everybody = [decision, *known]
        same = fmean(one.preference == decision.preference for one in everybody)
        shares = [
            getattr(one.probabilities, decision.preference or "") if one.probabilities else None
            for one in everybody
        ]
        return same, _mean(shares)


def _mean(values: Sequence[float | None]) -> float:
    """Return the mean; NaN where one is missing."""
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else NAN


def _probabilities(said: Sequence[Decision | Judgment]) -> list[float]:
    known = [one.probabilities for one in said if one.probabilities is not None]
    if not known or len(known) < len(said):
        return [NAN] * 3
    return [
        fmean(one.first for one in known),
        fmean(one.tie for one in known),
        fmean(one.second for one in known),
    ]


def _same_orders(judgments: Sequence[Judgment], decision: Decision) -> float:
    """Return the share of orders whose readings say, on average, what the decision says."""
    orders: dict[tuple[int, ...], list[bool]] = {}
    for judgment in judgments:
        same = judgment.preference == decision.preference
        orders.setdefault(judgment.order, []).append(same)
    return fmean(fmean(each) for each in orders.values()) if len(orders) > 1 else NAN


def _same_repeats(judgments: Sequence[Judgment], decision: Decision) -> float:
    if len(judgments) < 2 or not any(judgment.repeat for judgment in judgments):
        return NAN
    return fmean(judgment.preference == decision.preference for judgment in judgments)


def _score_gap(decision: Decision) -> float:
    if decision.scores is None or len(decision.scores) != 2:
        return NAN
    return abs(decision.scores[0] - decision.scores[1])
