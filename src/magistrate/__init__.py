"""Judge language models with language models.

    import magistrate as mg

    samples = mg.read_samples("pairs.jsonl")
    run = mg.judge(samples, judge="mini", out="runs/first")
    print(mg.evaluate(run))

Names are imported when first used, so that ``import magistrate`` stays fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from magistrate._version import __version__

if TYPE_CHECKING:
    from magistrate.cascade.live import run_cascade as run_cascade
    from magistrate.cascade.live_folder import CascadeRun as CascadeRun
    from magistrate.cascade.live_records import CascadeDecision as CascadeDecision
    from magistrate.data.answers import Decoding as Decoding
    from magistrate.data.answers import answer_questions as answer_questions
    from magistrate.data.label_report import Labelled as Labelled
    from magistrate.data.labelling import label as label
    from magistrate.data.pairing import draw_pairs as draw_pairs
    from magistrate.data.references import ReferenceFilters as ReferenceFilters
    from magistrate.data.references import add_references as add_references
    from magistrate.data.sampling import draw_questions as draw_questions
    from magistrate.data.translating import translate_samples as translate_samples
    from magistrate.errors import MagistrateError as MagistrateError
    from magistrate.formats.inspect import inspect_files as inspect_files
    from magistrate.formats.reading import SampleReader as SampleReader
    from magistrate.formats.reading import read_judgments as read_judgments
    from magistrate.formats.reading import read_samples as read_samples
    from magistrate.formats.writers import write_samples as write_samples
    from magistrate.judging.judge import Judge as Judge
    from magistrate.judging.resolve import load_judge as load_judge
    from magistrate.probes.audit import probe as probe
    from magistrate.probes.records import ProbeReport as ProbeReport
    from magistrate.records import Answer as Answer
    from magistrate.records import Decision as Decision
    from magistrate.records import Gold as Gold
    from magistrate.records import JudgeSpec as JudgeSpec
    from magistrate.records import Judgment as Judgment
    from magistrate.records import Probabilities as Probabilities
    from magistrate.records import Sample as Sample
    from magistrate.records import Turn as Turn
    from magistrate.records import Usage as Usage
    from magistrate.report.comparison import compare as compare
    from magistrate.report.estimate import Estimate as Estimate
    from magistrate.report.estimate import choose_next as choose_next
    from magistrate.report.estimate import estimate as estimate
    from magistrate.report.evaluation import Evaluation as Evaluation
    from magistrate.report.evaluation import evaluate as evaluate
    from magistrate.report.html.write import Written as Written
    from magistrate.report.html.write import write_report as write_report
    from magistrate.report.ranking import rank as rank
    from magistrate.report.summary import RunSummary as RunSummary
    from magistrate.report.summary import summarise as summarise
    from magistrate.report.tournament import plan_pairs as plan_pairs
    from magistrate.store.asking import ask as ask
    from magistrate.store.batch import collect_batch as collect_batch
    from magistrate.store.batch import emit_batch as emit_batch
    from magistrate.store.conversations import FollowUp as FollowUp
    from magistrate.store.dry import DryRun as DryRun
    from magistrate.store.dry import dry_run as dry_run
    from magistrate.store.interrupt import RunInterrupted as RunInterrupted
    from magistrate.store.progress import Progress as Progress
    from magistrate.store.run import Run as Run
    from magistrate.store.run import open_run as open_run
    from magistrate.store.running import judge as judge
    from magistrate.store.verify import verify_run as verify_run
    from magistrate.suites.bench import bench as bench

_HOME = {
    "Answer": "magistrate.records",
    "CascadeDecision": "magistrate.cascade.live_records",
    "CascadeRun": "magistrate.cascade.live_folder",
    "Decision": "magistrate.records",
    "Decoding": "magistrate.data.answers",
    "DryRun": "magistrate.store.dry",
    "Estimate": "magistrate.report.estimate",
    "Evaluation": "magistrate.report.evaluation",
    "FollowUp": "magistrate.store.conversations",
    "Gold": "magistrate.records",
    "Judge": "magistrate.judging.judge",
    "JudgeSpec": "magistrate.records",
    "Judgment": "magistrate.records",
    "Labelled": "magistrate.data.label_report",
    "MagistrateError": "magistrate.errors",
    "Probabilities": "magistrate.records",
    "ProbeReport": "magistrate.probes.records",
    "Progress": "magistrate.store.progress",
    "ReferenceFilters": "magistrate.data.references",
    "Run": "magistrate.store.run",
    "RunInterrupted": "magistrate.store.interrupt",
    "RunSummary": "magistrate.report.summary",
    "Sample": "magistrate.records",
    "SampleReader": "magistrate.formats.reading",
    "Turn": "magistrate.records",
    "Usage": "magistrate.records",
    "Written": "magistrate.report.html.write",
    "add_references": "magistrate.data.references",
    "answer_questions": "magistrate.data.answers",
    "ask": "magistrate.store.asking",
    "bench": "magistrate.suites.bench",
    "choose_next": "magistrate.report.estimate",
    "collect_batch": "magistrate.store.batch",
    "compare": "magistrate.report.comparison",
    "draw_pairs": "magistrate.data.pairing",
    "draw_questions": "magistrate.data.sampling",
    "dry_run": "magistrate.store.dry",
    "emit_batch": "magistrate.store.batch",
    "estimate": "magistrate.report.estimate",
    "evaluate": "magistrate.report.evaluation",
    "inspect_files": "magistrate.formats.inspect",
    "judge": "magistrate.store.running",
    "label": "magistrate.data.labelling",
    "load_judge": "magistrate.judging.resolve",
    "open_run": "magistrate.store.run",
    "plan_pairs": "magistrate.report.tournament",
    "probe": "magistrate.probes.audit",
    "rank": "magistrate.report.ranking",
    "read_judgments": "magistrate.formats.reading",
    "read_samples": "magistrate.formats.reading",
    "run_cascade": "magistrate.cascade.live",
    "summarise": "magistrate.report.summary",
    "translate_samples": "magistrate.data.translating",
    "verify_run": "magistrate.store.verify",
    "write_report": "magistrate.report.html.write",
    "write_samples": "magistrate.formats.writers",
}
"""Public name to the module that defines it."""

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'magistrate' has no attribute '{name}'")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
