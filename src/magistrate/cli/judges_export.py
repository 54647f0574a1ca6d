"""``magistrate judges export``: a judge folder in another form, with the same verdicts."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from magistrate.cli.help import example
from magistrate.cli.options import JsonOption, QuietOption
from magistrate.cli.terminal import Terminal

if TYPE_CHECKING:
    from magistrate.records import Sample
    from magistrate.train.export.comparing import Comparison

EXAMPLES = example(
    "magistrate judges export JUDGE_DIR --merge -o merged",
    "magistrate judges export JUDGE_DIR --onnx --int8 -o onnx --on PAIRS.jsonl",
    "magistrate judges export JUDGE_DIR --gguf -o gguf",
)

SAME_JUDGE = 0.99
"""Share of equal verdicts from which an export counts as the same judge."""


class Precision(StrEnum):
    """Of the matrices of a GGUF file."""

    f32 = "f32"
    f16 = "f16"
    bf16 = "bf16"


def export(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="A judge folder.", show_default=False)
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FOLDER", help="The new folder.", show_default=False),
    ],
    merge: Annotated[
        bool, typer.Option("--merge", help="Full weights: the LoRA adapter merged into its base.")
    ] = False,
    onnx: Annotated[
        bool,
        typer.Option("--onnx", help="A head as an ONNX model, which runs without torch."),
    ] = False,
    gguf: Annotated[
        bool,
        typer.Option(
            "--gguf", help="A judge that writes, of Llama's architecture, as a GGUF file."
        ),
    ] = False,
    int8: Annotated[
        bool,
        typer.Option(
            "--int8", help="With --onnx: 8-bit weights, a quarter of the size; verdicts change."
        ),
    ] = False,
    precision: Annotated[
        Precision, typer.Option("--precision", help="With --gguf: how exactly weights are kept.")
    ] = Precision.f16,
    base: Annotated[
        str | None,
        typer.Option(
            "--base",
            metavar="PATH",
            help="Where the base of an adapter lies, if not where the folder says.",
            show_default=False,
        ),
    ] = None,
    on: Annotated[
        Path | None,
        typer.Option(
            "--on",
            metavar="FILE",
            help="Compare verdicts on the pairs of this file (the first 200); on eight of our own "
            "when not given.",
            show_default=False,
        ),
    ] = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write a judge folder in another form, and compare its verdicts with those of the judge.

    The new folder is a judge like the other: 'magistrate judge --judge FOLDER' runs it. A
    calibration is not taken along; it holds for the judge that it was fitted for.
    """
    from magistrate.errors import InputError
    from magistrate.judging.folder import JUDGE_FILE, read_judge_file
    from magistrate.train.export.comparing import pairs_to_compare

    terminal = Terminal(as_json, quiet)
    if [merge, onnx, gguf].count(True) != 1:
        raise typer.BadParameter("give one of --merge, --onnx and --gguf")
    if int8 and not onnx:
        raise typer.BadParameter("--int8 goes with --onnx alone")
    if not (folder / JUDGE_FILE).is_file():
        raise InputError(f"{folder} is no judge folder: it holds no {JUDGE_FILE}")
    had_calibration = read_judge_file(folder).calibration is not None
    samples = pairs_to_compare(on)
    if merge:
        from magistrate.train.export.merging import merge_adapter

        merge_adapter(folder, out, base)
    elif onnx:
        from magistrate.train.export.onnx import export_onnx

        export_onnx(folder, out, int8=int8, base=base)
    else:
        from magistrate.train.export.gguf import export_gguf

        export_gguf(folder, out, precision=precision.value, base=base)
    found = _compare(folder, out, base, samples)
    size = sum(path.stat().st_size for path in out.iterdir())
    terminal.line(f"{out}: {size / 1e6:,.1f} MB")
    terminal.line(found.words)
    if found.equal < SAME_JUDGE:
        terminal.note(
            f"note: below {SAME_JUDGE:.0%} equal verdicts this is another judge; measure it anew "
            f"before relying on it"
        )
    if had_calibration:
        terminal.note(
            f"note: the judge's calibration was left out; 'magistrate calibrate' fits one for {out}"
        )
    terminal.json(
        {
            "folder": str(out),
            "bytes": size,
            "pairs": found.pairs,
            "readings": found.readings,
            "equal_verdicts": found.equal,
            "largest_difference": found.largest,
            "not_ok": found.not_ok,
        }
    )


def _compare(folder: Path, out: Path, base: str | None, samples: list[Sample]) -> Comparison:
    from magistrate.judging.resolve import load_judge
    from magistrate.train.export.comparing import compare_judges

    options = {"base": base} if base else None
    with load_judge(str(folder), options=options) as before, load_judge(str(out)) as after:
        return compare_judges(before, after, samples)
