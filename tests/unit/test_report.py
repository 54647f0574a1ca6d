"""The summary of a run, its table and its JSON, from runs made by hand."""

import doctest
import importlib
import itertools
import json
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from rich.cells import cell_len

import magistrate as mg
from magistrate.ids import content_id
from magistrate.records import (
    Answer,
    Decision,
    Gold,
    JudgeSpec,
    Judgment,
    Preference,
    Probabilities,
    Sample,
    Status,
    Usage,
)
from magistrate.report.json_view import summary_json
from magistrate.report.summary import RunSummary, summarise, with_decisions
from magistrate.report.table import plain_text, summary_table
from magistrate.report.text import harmless
from magistrate.report.wrap import break_places
from magistrate.store.manifest import InputFile, RunManifest, RunSettings

ORDERS = ((0, 1), (1, 0))


@dataclass
class HandmadeRun:
    """What :func:`summarise` needs of a run, from lists."""

    rows: Sequence[Sample]
    readings: Sequence[Judgment]
    merged: Sequence[Decision]
    reads_alone: bool = False
    path: str = "runs/test"
    inputs: tuple[str, ...] = ("pairs.jsonl",)
    planned: int | None = None

    @property
    def manifest(self) -> RunManifest:
        now = datetime(2026, 1, 1, tzinfo=UTC)
        counts = Counter(j.status for j in self.readings)
        return RunManifest(
            tool_version="0",
            state="complete",
            judge=JudgeSpec(name="mini", engine="scripted", model="m", family="pair"),
            judge_id="0",
            reads_alone=self.reads_alone,
            settings=RunSettings(),
            inputs=tuple(InputFile(name=name, sha256="0", bytes=1) for name in self.inputs),
            samples_sha256="0",
            samples=len(self.rows),
            readings=2 * len(self.rows) if self.planned is None else self.planned,
            judgments=dict(counts),
            usage=Usage(prompt_tokens=12_345, completion_tokens=67),
            started=now,
            updated=now,
            seconds=2.0,
        )

    def samples(self) -> Iterable[Sample]:
        return iter(self.rows)

    def judgments(self) -> Iterable[Judgment]:
        return iter(self.readings)

    def decisions(self) -> Iterable[Decision]:
        return iter(self.merged)


def make_run(
    outcomes: Sequence[Preference | Status],
    models: tuple[str | None, str | None] = ("model-a", "model-b"),
    *,
    gold: Sequence[Preference] = (),
    inconsistent: int = 0,
    reads_alone: bool = False,
) -> HandmadeRun:
    """Make a run with one outcome per sample; the last ``inconsistent`` ones differ by order."""
    rows, readings, merged = [], [], []
    for row, outcome in enumerate(outcomes):
        sample = Sample(
            question=f"question {row}",
            answers=(Answer(text="xx", model=models[0]), Answer(text="y", model=models[1])),
            gold=(Gold(preference=gold[row]),) if gold else (),
        )
        said: Preference | None = outcome if outcome in ("first", "second", "tie") else None  # type: ignore[assignment]
        status: Status = "ok" if said else outcome  # type: ignore[assignment]
        differs = row >= len(outcomes) - inconsistent
        both = [
            Judgment(
                key=content_id([row, order]),
                sample_id=sample.text_id,
                judge="mini",
                order=order,
                status=status,
                preference=("first" if order == (0, 1) else "second") if said and differs else said,
                error=None if said else f"no verdict found: {status}",
            )
            for order in (ORDERS[:1] if reads_alone else ORDERS)
        ]
        rows.append(sample)
        readings += both
        merged.append(
            Decision(
                row=row,
                sample_id=sample.id,
                status=status,
                preference=("tie" if differs else said) if said else None,
                probabilities=Probabilities(first=0.6, tie=0.1, second=0.3) if said else None,
                confidence=0.5 + row / (2 * len(outcomes)) if said else None,
                consistent=(not differs) if said and not reads_alone else None,
                rule="mean-probability",
                keys=tuple(j.key for j in both),
            )
        )
    return HandmadeRun(rows, readings, merged, reads_alone)


MIXED = make_run(
    ["first"] * 12 + ["second"] * 6 + ["unparsed", "error"] + ["tie"] * 4,
    gold=["first"] * 20 + ["tie"] * 4,
    inconsistent=3,
)


def test_summary_counts_what_is_in_the_run() -> None:
    summary = mg.summarise(MIXED)
    assert (summary.samples, summary.pending) == (24, 0)
    assert summary.decisions == {"ok": 22, "unparsed": 1, "refused": 0, "truncated": 0, "error": 1}
    assert (summary.not_ok.value, summary.not_ok.n) == (2 / 24, 24)
    best, worst = summary.models
    assert (best.model, best.wins, best.ties, best.losses) == ("model-a", 12, 4, 6)
    assert (worst.model, worst.wins, worst.ties, worst.losses) == ("model-b", 6, 4, 12)
    assert summary.consistency.consistent.value == pytest.approx(19 / 22)
    assert summary.consistency.toward_first.value == pytest.approx(3 / 22)
    assert [(f.status, f.n) for f in summary.failures] == [("error", 2), ("unparsed", 2)]
    assert summary.agreement is not None
    assert (summary.agreement.labelled, summary.agreement.not_ok) == (24, 2)
    decisive = summary.agreement.decisive.judge
    assert (decisive.value, decisive.n) == (12 / 18, 18)
    assert summary.samples_per_second == 12.0


def test_missing_decisions_are_pending_and_vote_for_nobody() -> None:
    run = make_run(["first"] * 4)
    run.merged = [run.merged[1], run.merged[3]]
    summary = summarise(run)
    assert (summary.samples, summary.pending, summary.models[0].wins) == (4, 2, 2)
    assert "not judged yet  2 samples" in str(summary)


def test_decisions_out_of_sequence_are_an_error_not_a_shifted_join() -> None:
    run = make_run(["first"] * 3)
    with pytest.raises(ValueError, match="out of sequence"):
        list(with_decisions(run.rows, reversed(run.merged)))


def test_reading_alone_is_not_counted_as_measured_consistency() -> None:
    summary = summarise(make_run(["first"] * 3, reads_alone=True))
    assert summary.consistency.basis == "by construction"
    assert "by construction" in str(summary)
    assert "100.0 %" not in str(summary).split("consistency")[1].splitlines()[0]


def cases() -> dict[str, HandmadeRun]:
    wide = ("模型-甲-" + "很长的名字" * 8, "m" * 150)
    return {
        "mixed": MIXED,
        "wide and long names": make_run(["first"] * 3 + ["second"], wide),
        "no models": make_run(["first", "second"], (None, None)),
        "nothing ok": make_run(["error"] * 3, gold=["first"] * 3),
        "all ties": make_run(["tie"] * 30),
        "one sample": make_run(["first"], gold=["first"]),
        "no samples": make_run([]),
        "hostile names": make_run(["first"], ("[red]\x1b[31mred\x1b[0m", "a\nb\ud800\u202e")),
    }


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("case", cases())
def test_table_fits_its_width_and_carries_no_control_characters(case: str, width: int) -> None:
    text = plain_text(summary_table(summarise(cases()[case])), width)
    assert max(cell_len(line) for line in text.splitlines()) <= width
    assert all(char.isprintable() or char == "\n" for char in text)
    assert "nan" not in text.lower()
    assert "None" not in text


def test_table_shows_whole_numbers_and_names_at_80_columns() -> None:
    text = plain_text(summary_table(summarise(MIXED)), 80)
    row = next(line for line in text.splitlines() if line.startswith("model-a"))
    assert row.split()[:6] == ["model-a", "12", "4", "6", "63.6", "%"]
    assert "8.3 % [2.3, 25.8] (2 of 24)" in text
    for header in ("judge", "longer wins", "first wins", "random"):
        assert header in text


def test_long_names_are_shown_in_full() -> None:
    name = "".join(random.Random(1).choices("abcdefgh", k=150))
    text = plain_text(summary_table(summarise(make_run(["first"], (name, "b")))), 60)
    column = "".join(line.split(" ")[0] for line in text.splitlines())
    assert name in column


def test_harmless_text_has_no_control_characters() -> None:
    assert harmless("a\x1b[31mb\nc\ud800d\u202ee") == "a\ufffd[31mb c\ufffdd\ufffde"
    assert harmless("模型 é 🙂") == "模型 é 🙂"


@pytest.mark.parametrize(
    "name", ["report.text", "report.wrap", "metrics.gold", "metrics.wins", "metrics.intervals"]
)
def test_examples_in_docstrings(name: str) -> None:
    module = importlib.import_module(f"magistrate.{name}")
    assert doctest.testmod(module).failed == 0


RATE = {"value", "n", "low", "high"}
COMPARED = {"rule", "judge", "longer_wins", "first_wins", "random"}


def test_json_keys_are_locked() -> None:
    view = summary_json(summarise(MIXED))
    assert set(view) == {
        "run", "judge", "family", "state", "inputs", "samples", "readings", "repeated", "bad_rows",
        "decisions", "pending",
        "not_ok", "judgments", "failures", "truncated", "models", "consistency", "flips",
        "agreement", "seconds", "samples_per_second", "usage", "cost",
    }  # fmt: skip
    assert set(view["not_ok"]) == RATE
    assert set(view["failures"][0]) == {"status", "reason", "n"}
    assert set(view["models"][0]) == {"model", "wins", "ties", "losses", "win_rate", "mean_score"}
    assert set(view["consistency"]) == {"basis", "consistent", "toward_first", "toward_second"}
    agreement = view["agreement"]
    assert set(agreement) == {
        "labelled", "no_majority", "not_ok", "decisive", "confident_half", "three_class",
    }  # fmt: skip
    assert set(agreement["decisive"]) == COMPARED
    assert set(agreement["decisive"]["judge"]) == RATE
    assert set(view["usage"]) == {
        "prompt_tokens", "completion_tokens", "cached_tokens", "requests",
    }  # fmt: skip


def test_fewer_readings_than_samples_are_explained() -> None:
    run = make_run(["first"] * 4)
    run.rows = [run.rows[0], run.rows[1], run.rows[0], run.rows[0]]
    alone = summarise(make_run(["first"] * 4))
    assert (alone.readings, alone.repeated) == (8, 0)
    assert "equal texts" not in str(alone)
    run.planned = 4
    summary = summarise(run)
    assert (summary.readings, summary.repeated) == (4, 2)
    assert (
        "readings     4: equal texts are read once, and 2 samples have the text of an earlier one"
        in str(summary)
    )


def test_paths_break_after_a_separator_and_not_in_a_name() -> None:
    path = "data/evaluations/first-quarter/answers_of_the_small_model.jsonl"
    run = make_run(["first"], ("family/model-of-eight-billion", "b"))
    run.inputs = (path,)
    lines = plain_text(summary_table(summarise(run)), 40).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("data/"))
    assert lines[start : start + 2] == [
        "data/evaluations/first-quarter/",
        "answers_of_the_small_model.jsonl",
    ]
    assert [line for line in lines if "of-eight" in line] == ["family/model-of-eight-billion"]


def test_where_a_row_is_too_wide_every_number_and_name_is_still_there() -> None:
    text = plain_text(summary_table(summarise(MIXED)), 40)
    start = text.index("model-a")
    assert " ".join(text[start : text.index("model-b")].split()) == (
        "model-a wins 12, ties 4, losses 6, win rate 63.6 % [45.5, 81.8]"
    )
    assert "…" not in text[: text.index("consistency")]


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("short words only", 10, ["short words only"]),
        ("a/b c/d", 3, ["a/b c/d"]),
        ("runs/first/run.json", 12, ["runs/first/", "run.json"]),
        ("model-of-eight-billion", 10, ["model-of-", "eight-", "billion"]),
        ("x" * 7, 3, ["xxx", "xxx", "x"]),
        ("模型/模型模型", 6, ["模型/", "模型模", "型"]),
        ("ab", 0, ["a", "b"]),
    ],
)
def test_break_places(text: str, width: int, lines: list[str]) -> None:
    places = [0, *break_places(text, width), len(text)]
    assert [text[a:b] for a, b in itertools.pairwise(places)] == lines


@pytest.mark.parametrize("case", cases())
def test_json_is_strict_json(case: str) -> None:
    text = json.dumps(summary_json(summarise(cases()[case])), allow_nan=False)
    assert json.loads(text)["run"] == "runs/test"


def test_summary_is_a_record_that_survives_json() -> None:
    summary = summarise(MIXED)
    assert RunSummary.model_validate_json(summary.model_dump_json()) == summary
