"""The result as JSON: stable keys, documented in ``docs/json.md``.

Every rate is ``{"value", "n", "low", "high"}`` with null where there is no number.
"""

from __future__ import annotations

from typing import Any

from magistrate.metrics.agreement import Compared
from magistrate.metrics.intervals import Rate
from magistrate.metrics.wins import ModelResult
from magistrate.report.summary import RunSummary

Json = dict[str, Any]


def summary_json(summary: RunSummary) -> Json:
    """Return a run's summary under its stable keys."""
    consistency, agreement = summary.consistency, summary.agreement
    return {
        "run": summary.run,
        "judge": summary.judge,
        "family": summary.family,
        "state": summary.state,
        "inputs": list(summary.inputs),
        "samples": summary.samples,
        "readings": summary.readings,
        "repeated": summary.repeated,
        "bad_rows": summary.bad_rows,
        "decisions": dict(summary.decisions),
        "pending": summary.pending,
        "not_ok": rate_json(summary.not_ok),
        "judgments": dict(summary.judgments),
        "failures": [failure.model_dump(mode="json") for failure in summary.failures],
        "truncated": summary.truncated,
        "models": [_model_json(model) for model in summary.models],
        "consistency": {
            "basis": consistency.basis,
            "consistent": rate_json(consistency.consistent),
            "toward_first": rate_json(consistency.toward_first),
            "toward_second": rate_json(consistency.toward_second),
        },
        "flips": summary.flips and rate_json(summary.flips),
        "agreement": agreement
        and {
            "labelled": agreement.labelled,
            "no_majority": agreement.no_majority,
            "not_ok": agreement.not_ok,
            "decisive": _compared_json(agreement.decisive),
            "confident_half": agreement.confident_half and _compared_json(agreement.confident_half),
            "three_class": _compared_json(agreement.three_class),
        },
        "seconds": summary.seconds,
        "samples_per_second": summary.samples_per_second,
        "usage": summary.usage.model_dump(mode="json"),
        "cost": summary.cost,
    }


def rate_json(rate: Rate) -> Json:
    """Return a rate as ``{"value", "n", "low", "high"}``."""
    return {"value": rate.value, "n": rate.n, "low": rate.low, "high": rate.high}


def _model_json(model: ModelResult) -> Json:
    return {
        "model": model.model,
        "wins": model.wins,
        "ties": model.ties,
        "losses": model.losses,
        "win_rate": rate_json(model.win_rate),
        "mean_score": model.mean_score and rate_json(model.mean_score),
    }


def _compared_json(compared: Compared) -> Json:
    return {
        "rule": compared.rule,
        "judge": rate_json(compared.judge),
        "longer_wins": rate_json(compared.longer_wins),
        "first_wins": rate_json(compared.first_wins),
        "random": rate_json(compared.random),
    }
