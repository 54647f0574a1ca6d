"""``magistrate train``: a judge of one's own, from labelled samples."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from magistrate.cli.exits import OK
from magistrate.cli.help import example
from magistrate.cli.options import JsonOption, QuietOption
from magistrate.cli.progress import SECONDS_BETWEEN_LINES, SECONDS_TO_FIRST_LINE
from magistrate.cli.terminal import Terminal, stderr_is_terminal
from magistrate.report.text import counted, duration, harmless, shortened, three_digits

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

    from magistrate.train.estimate import Estimate
    from magistrate.train.loop import Trained
    from magistrate.train.reading import Labelled
    from magistrate.train.steps import Scan
    from magistrate.train.trainer import TrainingProgress

EXAMPLES = example(
    "magistrate train recipes/train/smollm2-cpu.toml --data LABELLED.jsonl --dry-run",
    "magistrate train --base MODEL --data LABELLED.jsonl --lora --swap 0.5 -o judges/mine",
    "magistrate train recipes/train/smollm2-cpu.toml --data LABELLED.jsonl -o judges/mine --resume",
)
_SHOWN_CHARACTERS = 6_000


class HeadChoice(StrEnum):
    """What a judge returns."""

    generate = "generate"
    classify = "classify"
    regress = "regress"


def train(
    recipe_file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RECIPE]",
            help="A recipe (TOML, docs/training.md). Flags and `--set` go before what it says.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="JUDGE_DIR", help="The judge folder to be.", show_default=False
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Labelled samples to learn from; may be given several times.",
            show_default=False,
        ),
    ] = None,
    dev: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Labelled samples to evaluate on while training.",
            show_default=False,
        ),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="The model to start from: a folder, a GGUF file, or the hub's id.",
            show_default=False,
        ),
    ] = None,
    head: Annotated[
        HeadChoice | None,
        typer.Option(
            metavar="generate|classify|regress",
            help="Whether the judge writes, says first, second or tie, or scores each answer.",
            show_default=False,
        ),
    ] = None,
    family: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="How the judge is asked.", show_default=False),
    ] = None,
    lora: Annotated[
        bool, typer.Option("--lora", help="Train small matrices beside frozen weights.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Train the weights themselves.")] = False,
    swap: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            min=0,
            max=1,
            help="Share of the samples whose answers change places, anew each epoch.",
            show_default=False,
        ),
    ] = None,
    drop_reference: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            min=0,
            max=1,
            help="Share of the samples with a reference that are shown without it.",
            show_default=False,
        ),
    ] = None,
    soft: Annotated[
        bool, typer.Option("--soft", help="Learn the teacher's probabilities where there are any.")
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="SECTION.KEY=VALUE",
            help="Any key of the recipe; may be given several times.",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the training in JUDGE_DIR.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Say what it would take, and show the first samples as the model sees them.",
        ),
    ] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train a judge on labelled samples, and write its folder.

    The loss and, with `--dev`, agreement and consistency are written down while it learns
    (JUDGE_DIR/training); the best weights are kept. A training that was stopped or killed goes on
    with `--resume` as if nothing had happened.
    """
    from magistrate.train.recipe import read_recipe, read_settings

    if lora and full:
        raise typer.BadParameter("--lora and --full exclude each other")
    flags: dict[str, Any] = {
        "data.train": data,
        "data.dev": dev,
        "judge.base": base,
        "judge.head": head.value if head else None,
        "judge.family": family,
        "adapter.kind": "lora" if lora else "full" if full else None,
        "augment.swap": swap,
        "augment.drop_reference": drop_reference,
        "data.soft": True if soft else None,
    }
    given = {key: value for key, value in flags.items() if value not in (None, [])}
    recipe = read_recipe(
        recipe_file, read_settings(settings or ()) | given, where="the training's flags"
    )
    terminal = Terminal(as_json, quiet)
    if dry_run:
        from magistrate.train.estimate import estimate

        _show_estimate(terminal, estimate(recipe))
        return
    if out is None:
        raise typer.BadParameter("name the judge folder to be", param_hint="--out")
    from magistrate.train.launching import is_launched, launch
    from magistrate.train.resuming import Work, is_finished

    if resume and is_finished(Work(out)):
        terminal.note(f"{out} is a judge already: its training has ended, nothing is left to do")
        terminal.json({"folder": str(out), "already_trained": True})
        return

    if recipe.run.accelerate is not None and not is_launched():
        code = launch(recipe.run.accelerate, sys.argv[1:])
        if code != OK:
            raise typer.Exit(code)
        return
    from magistrate.train.loop import Watching
    from magistrate.train.loop import train as run_training

    with TrainingView(terminal, recipe.judge.name) as view:
        trained = run_training(
            recipe,
            out,
            resume=resume,
            watching=Watching(progress=view, evaluated=view.evaluated, note=view.note),
        )
    if trained.main:
        _show_trained(terminal, trained)


class TrainingView:
    """Shows how far a training is: a bar on a terminal, now and then a line elsewhere."""

    def __init__(self, terminal: Terminal, label: str) -> None:
        """Name what is under way; nothing is shown when the terminal is quiet."""
        self._terminal = terminal
        self._label = label
        self._bar: RichProgress | None = None
        self._next_line_at = time.monotonic() + SECONDS_TO_FIRST_LINE

    def __enter__(self) -> Self:
        """Draw the bar, if there is a terminal for it."""
        if not self._terminal.quiet and stderr_is_terminal():
            from magistrate.cli.progress import make_bar

            self._bar = make_bar()
            self._bar.add_task(self._label, total=None, facts="loading")
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, progress: TrainingProgress) -> None:
        """Show one report."""
        facts = _facts(progress)
        if self._bar is not None:
            task = self._bar.task_ids[0]
            self._bar.update(task, completed=progress.step, total=progress.steps, facts=facts)
        elif time.monotonic() >= self._next_line_at:
            self._next_line_at = time.monotonic() + SECONDS_BETWEEN_LINES
            done = f"step {progress.step:,} of {progress.steps:,}"
            self._terminal.note(f"{self._label}: {done}, {facts}")

    def evaluated(self, row: Mapping[str, Any]) -> None:
        """Say what an evaluation found."""
        self.note(f"step {row['step']:,}, epoch {row['epoch']:.3g}: {_measured(row)}")

    def note(self, text: str) -> None:
        """Say something at once."""
        if self._bar is not None:
            self._bar.console.print(harmless(text), markup=False, highlight=False, soft_wrap=True)
        else:
            self._terminal.note(text)


def _facts(progress: TrainingProgress) -> str:
    facts = [f"epoch {progress.epoch:.2f}"]
    if progress.loss is not None:
        facts.append(f"loss {progress.loss:.3f}")
    rate = progress.samples_per_second
    if rate:
        facts.append(f"{three_digits(rate)} samples/s")
        share = progress.samples_left / rate
        facts.append(f"{duration(share)} left")
    return ", ".join(facts)


def _measured(row: Mapping[str, Any]) -> str:
    """Return an evaluation in a line, with intervals."""
    facts = [f"dev loss {row['loss']:.3f}"] if row.get("loss") is not None else []
    for name in ("agreement", "consistency"):
        if row.get(name) is not None:
            low, high = row[f"{name}_low"], row[f"{name}_high"]
            facts.append(f"{name} {row[name]:.1%} [{low:.1%}, {high:.1%}]")
    if row.get("not_ok"):
        facts.append(f"{row['not_ok']:,} of {row['samples']:,} not ok")
    return ", ".join(facts)


def _show_trained(terminal: Terminal, trained: Trained) -> None:
    measured = trained.measured
    rows = [
        ("judge folder", str(trained.folder)),
        ("learned from", counted(len(trained.scan.indices), "sample")),
        ("steps", f"{trained.steps:,} ({trained.samples:,} samples)"),
        ("weights trained", f"{trained.weights[0]:,} of {trained.weights[1]:,}"),
        ("time", duration(trained.seconds)),
    ]
    if measured:
        rows.append(("best on dev", f"step {measured['step']:,}: {_measured(measured)}"))
        if measured.get("longer_wins") is not None:
            rows.append(("'longer wins' there", f"{measured['longer_wins']:.1%} agreement"))
    terminal.facts(rows)
    _left_out(terminal, trained.scan, trained.data)
    terminal.json(
        {
            "folder": str(trained.folder),
            "steps": trained.steps,
            "samples_seen": trained.samples,
            "seconds": trained.seconds,
            "weights_trained": trained.weights[0],
            "weights": trained.weights[1],
            **_scan_json(trained.scan, trained.data),
            "measured": dict(measured),
        }
    )
    if not terminal.as_json:
        terminal.note(f"\nUse it: magistrate judge FILES --judge {trained.folder}")


def _show_estimate(terminal: Terminal, found: Estimate) -> None:
    median, most, longest = found.lengths
    rows = [
        ("samples to learn from", f"{len(found.scan.indices):,}"),
        ("samples to evaluate on", f"{len(found.data.dev):,}"),
        ("tokens of a sample", f"median {median:,}, 95 % up to {most:,}, longest {longest:,}"),
        ("steps", f"{found.steps:,} ({found.samples:,} samples, {found.tokens:,} tokens, about)"),
        ("device", f"{found.device.name}, {'bf16' if found.device.bf16 else 'fp32'}"),
    ]
    if found.weights is not None:
        rows.append(("weights trained", f"{found.weights[0]:,} of {found.weights[1]:,}"))
    if found.memory_gb is not None:
        rows.append(("memory, about", f"{found.memory_gb:.1f} GB on one device"))
    if found.seconds is not None:
        rows.append(("time, about", f"{duration(found.seconds)} on one device"))
    terminal.facts(rows)
    _left_out(terminal, found.scan, found.data)
    for number, text in enumerate(found.shown, 1):
        terminal.line(f"\nSample {number} as the model sees it (what is learned: ⟦ ⟧):\n")
        terminal.line(shortened(text, _SHOWN_CHARACTERS))
    terminal.json(
        {
            "dry_run": True,
            "samples": len(found.scan.indices),
            "dev_samples": len(found.data.dev),
            "steps": found.steps,
            "samples_seen": found.samples,
            "tokens": found.tokens,
            "lengths": {"median": median, "p95": most, "longest": longest},
            "weights_trained": found.weights[0] if found.weights else None,
            "weights": found.weights[1] if found.weights else None,
            "memory_gb": found.memory_gb,
            "seconds": found.seconds,
            "device": found.device.name,
            "bf16": found.device.bf16,
            **_scan_json(found.scan, found.data),
            "shown": list(found.shown),
        }
    )


def _scan_json(scan: Scan, data: Labelled) -> dict[str, Any]:
    return {
        "with_reference": scan.with_reference,
        "label_misfits": scan.label_misfits,
        "left_out": data.left_out,
        "bad_rows": data.bad_rows,
        "dev_left_out": data.dev_left_out,
        "unfit": {one.reason: one.count for one in scan.unfit},
        "cut": dict(scan.cut),
    }


def _left_out(terminal: Terminal, scan: Scan, data: Labelled) -> None:
    """Say what is not learned from, and what is cut."""
    from magistrate.train.left_out import by_reason

    if data.left_out:
        terminal.line(f"{counted(data.left_out, 'row')} of the training files left out:")
        if data.bad_rows:
            terminal.line(f"  {counted(data.bad_rows, 'bad row')}; see magistrate inspect")
        for each in by_reason((one.reason, one.name) for one in data.unusable):
            terminal.line(f"  {each}")
    if data.dev_left_out:
        terminal.line(f"{counted(data.dev_left_out, 'row')} of the dev files left out")
    if scan.unfit:
        terminal.line(f"{counted(scan.unfit_count, 'sample')} cannot be learned from as they are:")
        for each in scan.unfit:
            terminal.line(f"  {each}")
    if scan.with_reference:
        shown = counted(scan.with_reference, "sample")
        terminal.line(f"{shown} shown with their reference in the first epoch")
    if scan.label_misfits:
        misfits = counted(scan.label_misfits, "sample")
        terminal.line(
            f"{misfits} learned by a label made the other way (with a reference that is not "
            f"shown, or without the one that is): they have no other"
        )
    for part, number in sorted(scan.cut.items()):
        terminal.line(f"{counted(number, 'sample')} lose tokens of {part} to fit")
