"""What the table of a run leaves unsaid of its samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from magistrate.report.text import counted

if TYPE_CHECKING:
    from magistrate.store.run import Run


def remarks_on(run: Run) -> Iterator[str]:
    """Yield what should be known of the samples that are not pairs.

    Args:
        run: A run; its samples are read once.
    """
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
