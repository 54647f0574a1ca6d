"""Judge language models with language models.

    import magistrate as mg

    samples = mg.read_samples("pairs.jsonl")
    run = mg.judge(samples, judge="mini", out="runs/first")
    print(run.summary())

Names are imported when first used, so that ``import magistrate`` stays fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from magistrate._version import __version__

if TYPE_CHECKING:
    from magistrate.errors import MagistrateError as MagistrateError
    from magistrate.records import Answer as Answer
    from magistrate.records import Decision as Decision
    from magistrate.records import Gold as Gold
    from magistrate.records import Judgment as Judgment
    from magistrate.records import JudgeSpec as JudgeSpec
    from magistrate.records import Probabilities as Probabilities
    from magistrate.records import Sample as Sample
    from magistrate.records import Turn as Turn
    from magistrate.records import Usage as Usage
    from magistrate.report.summary import RunSummary as RunSummary
    from magistrate.report.summary import evaluate as evaluate

_HOME = {
    "Answer": "magistrate.records",
    "Decision": "magistrate.records",
    "Gold": "magistrate.records",
    "JudgeSpec": "magistrate.records",
    "Judgment": "magistrate.records",
    "MagistrateError": "magistrate.errors",
    "Probabilities": "magistrate.records",
    "RunSummary": "magistrate.report.summary",
    "Sample": "magistrate.records",
    "Turn": "magistrate.records",
    "Usage": "magistrate.records",
    "evaluate": "magistrate.report.summary",
}
"""Public name to the module that defines it."""

__all__ = ["__version__", *sorted(_HOME)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'magistrate' has no attribute '{name}'")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
