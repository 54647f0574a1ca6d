"""What the table of a run leaves unsaid of its samples and of its confidence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from magistrate.report.text import counted

if TYPE_CHECKING:
    from magistrate.store.run import Run


def remarks_on(run: Run) -> Iterator[str]:
    """Yield what should be known of the samples that are not pairs.

    Args:
        run: A run; its samples are read once, and of a calibrated judge its decisions.
    """
    if run.manifest.calibration is not None:
        yield from _of_confidence(run)
    alone = several = scored = 0
    for sample in run.samples():
        if len(sample.answers) == 1:
            alone += 1
        else:
            several += 1
        if len(sample.answers) != 2 and any(gold.scores or gold.ranking for gold in sample.gold):
            scored += 1
    if alone and several:
        have = "have" if alone > 1 else "has"
        yield (
            f"{counted(alone, 'sample')} {have} one answer: judged, but compared with nothing, so "
            f"without a part in wins, ties and losses"
        )
    if scored:
        yield (
            f"the gold scores of {counted(scored, 'sample')} that are no pairs are not compared "
            f"here: magistrate evaluate {run.path}"
        )


def _of_confidence(run: Run) -> Iterator[str]:
    """Yield by what confidence is calibrated, and whether that fits what was judged."""
    from magistrate.report.drift import drift_in

    made = run.manifest.calibration
    if made is None:
        return
    yield f"confidence is calibrated ({made.method}, on {counted(made.n, 'labelled decision')})"
    found = drift_in(made, run.decisions())
    if found is not None:
        yield found.message
