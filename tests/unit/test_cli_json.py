"""The keys of ``--json``: locked here, described in ``docs/json.md``."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from magistrate.cli.main import main

RATE = {"value", "n", "low", "high"}
RUN = {
    "run", "judge", "family", "state", "inputs", "samples", "readings", "repeated", "bad_rows",
    "bad", "notices",
    "decisions", "pending", "not_ok", "judgments", "failures", "truncated", "models",
    "consistency", "flips", "agreement", "seconds", "samples_per_second", "usage", "cost",
    "asked",
}  # fmt: skip
KEYS: dict[tuple[str, ...], set[str]] = {
    ("judge", "examples/broken.jsonl", "--judge", "scripted:longer", "--out", "runs/a"): RUN
    | {"already_judged", "judged_now", "from_cache"},
    ("judge", "examples/broken.jsonl", "--judge", "scripted:longer", "--dry-run"): {
        "judge", "family", "mode", "run", "samples", "readings", "to_judge", "prompts",
        "counted_samples", "tokens", "cut_readings", "cut_tokens", "not_asked", "prompt_tokens",
        "reply_tokens", "price_unknown", "cost", "seconds", "bad", "bad_rows", "notices",
        "demonstrations",
    },
    ("ask", "runs/a", "1", "Why?"): {"run", "replies"},
    ("cache", "show"): {"file", "answers", "bytes", "limit"},
    ("cache", "clear"): {"file", "answers", "bytes"},
    ("bench", "scripted:longer", "--suite", "fairness", "--data", "examples", "--out", "runs/b"): {
        "format_version", "judge", "family", "judge_id", "manifest", "data", "limit", "seed", "out",
        "generalise", "fairness", "aspects", "scalability",
    },
    ("compare", "runs/a", "runs/a"): {
        "judges", "labels", "correction", "comparisons", "bad", "bad_rows", "notices",
    },
    (
        "cascade", "examples/pairs.jsonl", "--judge", "scripted:longer", "--judge",
        "scripted:shorter", "--budget", "0.5", "--out", "runs/cascade",
    ): {
        "cascade", "format_version", "tool_version", "state", "policy", "tiers", "samples", "pairs",
        "abstained", "pending", "undecided", "reasons", "cost", "lost", "calibration_cost",
        "all_strong", "calibrated_on", "labels", "guarantee", "assumption", "started", "updated",
        "seconds", "bad_rows", "bad", "notices",
    },
    (
        "cascade", "replay", "runs/a", "runs/a", "--compare-confidence", "--target-agreement",
        "0.5", "--risk", "0.2",
    ): {
        "at", "judges", "pairs", "scale", "decisive", "truth", "replay", "target", "promised",
        "sources", "notices", "bad", "bad_rows",
    },
    ("rank", "examples/pairs.jsonl", "--votes"): {"method", "style_controlled", "rankings"},
    ("pairs", "examples/outputs/alder.json", "examples/outputs/birch.json", "--budget", "3"): {
        "scheme", "output", "models", "questions", "candidates", "judged", "planned", "budget",
        "pairs", "unnamed", "bad", "bad_count", "notices",
    },
    ("runs", "show", "runs/a"): RUN,
    ("runs", "list"): {"folder", "runs", "unreadable"},
    ("runs", "verify", "runs/a"): {
        "run", "ok", "samples", "judgments", "missing", "failures", "findings", "findings_count",
        "notes", "repaired_lines",
    },
    ("inspect", "examples/broken.jsonl"): {
        "files", "format", "containers", "joined", "rows", "bad", "bad_count", "notices",
        "samples", "judgments", "labels", "annotators", "classes", "with_scores", "models",
        "categories", "languages", "judges", "statuses", "verdicts", "answers_per_sample",
        "question_characters", "answer_characters", "empty_answers", "duplicate_ids",
        "duplicate_texts", "fields",
    },
    ("convert", "examples/broken.jsonl", "out.csv"): {
        "input_format", "rows", "bad", "bad_count", "notices", "output", "to", "written",
        "skipped", "skipped_count",
    },
    (
        "data", "questions", "examples/pairs.jsonl", "-n", "6", "--like", "examples/single.jsonl",
        "-o", "questions.jsonl",
    ): {
        "output", "drawn", "pool", "repeated", "by", "seed", "categories", "target", "in_target",
        "before", "after", "bad", "bad_count", "notices",
    },
    ("data", "answers", "questions.jsonl", "--engine", "scripted:echo", "-o", "answers"): {
        "folder", "questions", "repeated", "files", "failures", "failed", "resumed", "cost",
        "usage", "bad", "bad_count", "notices",
    },
    ("data", "pairs", "examples/n-way.jsonl", "-o", "drawn.jsonl"): {
        "output", "pairs", "questions", "per_question", "short", "models", "meetings",
        "difficulty", "against", "identical", "empty", "alone", "duplicates", "seed", "bad",
        "bad_count", "notices",
    },
    ("data", "references", "drawn.jsonl", "--engine", "scripted:echo", "-o", "ref.jsonl"): {
        "output", "samples", "with_reference", "had_one", "asked", "given", "missing", "failed",
        "failures", "dropped", "dropped_file", "unchecked_words", "unchecked_judge", "usage",
        "cost", "bad", "bad_count", "notices",
    },
    (
        "data", "translate", "drawn.jsonl", "--engine", "scripted:echo", "--to", "Dutch",
        "-o", "dutch.jsonl",
    ): {
        "output", "language", "samples", "written", "texts", "failed", "failures", "dropped_file",
        "resumed", "usage", "cost", "bad", "bad_count", "notices",
    },
    ("judges", "list"): {"judges", "engines"},
    ("judges", "show", "scripted:longer"): {"name", "version", "engine", "folder", "card", "spec"},
    ("families", "list"): {"families", "broken"},
    ("families", "show", "pair"): {
        "name", "version", "description", "min_answers", "max_answers", "reads_alone",
        "shows_images", "prompt_hash", "start", "score_start", "verdict", "messages",
    },
    ("families", "import", "mine", "examples/prompt.txt", "--like", "pair"): {
        "name", "folder", "peer", "prompt", "files", "url", "package", "commit", "licence",
        "licence_note", "slots", "needs", "reads_alone", "has_score_mode", "replaced", "notes",
    },
}  # fmt: skip

BY_NAME = {"decisions", "judgments", "containers", "labels", "annotators", "classes", "models"} | {
    "categories", "languages", "judges", "statuses", "verdicts", "answers_per_sample", "fields",
    "engines", "spec", "not_asked", "cut", "slots", "dropped", "joined",
}  # fmt: skip
"""Objects whose keys are data or are described elsewhere."""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], str]:
    """Return what every command prints, run one after the other in one folder."""
    folder = tmp_path_factory.mktemp("cli")
    shutil.copytree(Path(__file__).parents[2] / "examples", folder / "examples")
    results = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("MAGISTRATE_HOME", str(folder / "home"))
        for command in KEYS:
            with Capture() as capture:
                assert main([*command, "--json"]) == 0
            results[command] = capture.text
    return results


class Capture:
    """Takes standard output; a module's fixture cannot use pytest's own."""

    def __enter__(self) -> Capture:
        import contextlib
        import io

        self._buffer = io.StringIO()
        self._redirect = contextlib.redirect_stdout(self._buffer)
        self._redirect.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._redirect.__exit__(None, None, None)
        self.text = self._buffer.getvalue()


@pytest.mark.parametrize("command", KEYS, ids=" ".join)
def test_keys_are_locked(outputs: dict[tuple[str, ...], str], command: tuple[str, ...]) -> None:
    text = outputs[command]
    assert text.isascii()
    assert set(json.loads(text)) == KEYS[command]


@pytest.mark.parametrize("command", KEYS, ids=" ".join)
def test_every_key_is_described(
    outputs: dict[tuple[str, ...], str], command: tuple[str, ...], repo: Path
) -> None:
    described = set(re.findall(r"`(\w+)`", (repo / "docs/json.md").read_text("utf-8")))
    assert set(keys_of(json.loads(outputs[command]))) - described == set()


@pytest.mark.parametrize("command", KEYS, ids=" ".join)
def test_every_rate_has_its_four_keys_and_no_nan(
    outputs: dict[tuple[str, ...], str], command: tuple[str, ...]
) -> None:
    def no_constants(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    value = json.loads(outputs[command], parse_constant=no_constants)
    for found in objects_of(value):
        if "low" in found and "n" in found:
            assert set(found) == RATE
            if found["low"] is not None:
                assert found["low"] <= found["value"] <= found["high"]


def test_rates_stand_where_they_should(outputs: dict[tuple[str, ...], str]) -> None:
    view = json.loads(outputs["runs", "show", "runs/a"])
    rates = [view["not_ok"], view["models"][0]["win_rate"], view["consistency"]["toward_second"]]
    rates += [view["agreement"]["three_class"][who] for who in ("judge", "longer_wins", "random")]
    assert all(set(rate) == RATE for rate in rates)


def objects_of(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from objects_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from objects_of(inner)


def keys_of(value: Any) -> Iterator[str]:
    """Yield the keys of a value that are not data."""
    if isinstance(value, list):
        for inner in value:
            yield from keys_of(inner)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            if not (key in BY_NAME and isinstance(inner, dict)):
                yield from keys_of(inner)
