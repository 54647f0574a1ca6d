"""Authority and tone: do invented sources or a confident tone win?"""

from __future__ import annotations

from magistrate.probes import perturbations
from magistrate.probes.bench import Bench
from magistrate.probes.records import Effect
from magistrate.probes.swaying import Change, sway

PROBE = "authority"
_CHECK = (
    "strip sources before judging, or say in the rubric that they count only where they can be "
    "checked; a judge of one's own can be trained on such pairs, labelled as equal"
)
_TONE = (
    "say in the rubric that tone is no evidence; a judge of one's own can be trained on such "
    "pairs, labelled as equal"
)
_END = ("note-at-end", perturbations.noted)
_START = ("note-at-start", perturbations.opened)
CHANGES = (
    Change(
        PROBE,
        "citations",
        perturbations.cited,
        "it cites two sources that do not exist, not polite words as long",
        _CHECK,
        _END,
    ),
    Change(
        PROBE,
        "confident",
        perturbations.confident,
        "it opens with an assurance, not with polite words",
        _TONE,
        _START,
    ),
    Change(
        PROBE,
        "hedged",
        perturbations.hedged,
        "it opens with a doubt, not with polite words",
        _TONE,
        _START,
    ),
)


def authority(bench: Bench) -> list[Effect]:
    """Return the effects of citations and of tone."""
    return [sway(bench, change) for change in CHANGES]
