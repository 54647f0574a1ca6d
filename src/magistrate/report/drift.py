"""What should be said of a calibrated judge's confidence: by what, and whether it still fits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from magistrate.cascade.calibration import Drift, drift
from magistrate.formats.base import Notice
from magistrate.judging.calibration import Calibration
from magistrate.metrics.confidence import DEFAULT_SOURCE
from magistrate.records import Decision
from magistrate.report.text import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from magistrate.metrics.columns import PairColumns

DRIFT = "confidence-drift"
"""Kind of the notice that warns."""


def raw_confidence(pairs: PairColumns) -> NDArray[np.float64]:
    """Return the judge's own probability of each decision that is ok, calibrated or not."""
    import numpy as np

    ok = pairs.take(pairs.ok)
    place = (1 - ok.said).astype(np.int64)
    found: NDArray[np.float64] = np.take_along_axis(ok.probability, place[:, None], axis=1)[:, 0]
    return found


def drift_in(calibration: Calibration, decisions: Iterable[Decision]) -> Drift | None:
    """Tell whether decisions' confidences have left those that their judge was calibrated on."""
    if calibration.source != DEFAULT_SOURCE:
        return None
    raw = [one.probabilities.confidence for one in decisions if one.probabilities is not None]
    return drift(calibration, raw)


def calibration_notices(calibration: Calibration | None, pairs: PairColumns) -> tuple[Notice, ...]:
    """Return what should be known of the confidence of a run; nothing where it is raw."""
    if calibration is None or not len(pairs):
        return ()
    said = Notice(
        kind="confidence-calibrated",
        message=f"confidence is calibrated ({calibration.method}, on "
        f"{counted(calibration.n, 'labelled decision')}); probabilities are the judge's own",
    )
    found = drift(calibration, raw_confidence(pairs))
    return (said, Notice(kind=DRIFT, message=found.message)) if found else (said,)
