"""The ``magistrate`` command.

This module and its neighbours import at start only what ``--help`` needs; a command imports the
rest when it runs.
"""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, NoReturn, cast

import typer

from magistrate._version import __version__
from magistrate.cli import (
    ask,
    bench,
    cache,
    calibrate,
    cascade,
    compare,
    confidence,
    convert,
    data,
    estimate,
    evaluate,
    families,
    inspect,
    judge,
    judges,
    pairs,
    probe,
    rank,
    runs,
    train,
)
from magistrate.cli import report as report_page
from magistrate.cli.exits import (
    BAD_INPUT,
    OK,
    READER_GONE,
    CommandError,
    discard_output,
    print_json,
    report,
)
from magistrate.cli.help import example, use_plain_help

_COMPLETION = "_MAGISTRATE_COMPLETE"
"""Set by the shell when it asks for completions."""

UsageError = cast(type[Exception], typer.BadParameter.__mro__[1])
"""Base of all usage errors, from whichever parser typer brings along."""

app = typer.Typer(
    epilog=example("magistrate judge examples/pairs.jsonl --judge mini --out runs/first"),
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("judge", epilog=judge.EXAMPLES)(judge.judge)
app.command("ask", epilog=ask.EXAMPLES)(ask.ask)
app.command("inspect", epilog=inspect.EXAMPLES)(inspect.inspect)
app.command("bench", epilog=bench.EXAMPLES)(bench.bench)
app.command("compare", epilog=compare.EXAMPLES)(compare.compare)
app.command("estimate", epilog=estimate.EXAMPLES)(estimate.estimate)
app.command("evaluate", epilog=evaluate.EXAMPLES)(evaluate.evaluate)
app.command("confidence", epilog=confidence.EXAMPLES)(confidence.confidence)
app.command("calibrate", epilog=calibrate.EXAMPLES)(calibrate.calibrate)
app.command("probe", epilog=probe.EXAMPLES)(probe.probe)
app.command("pairs", epilog=pairs.EXAMPLES)(pairs.pairs)
app.command("rank", epilog=rank.EXAMPLES)(rank.rank)
app.command("report", epilog=report_page.EXAMPLES)(report_page.report)
app.command("train", epilog=train.EXAMPLES)(train.train)
app.command("convert", epilog=convert.EXAMPLES)(convert.convert)
app.add_typer(cascade.app, name="cascade")
app.add_typer(runs.app, name="runs")
app.add_typer(judges.app, name="judges")
app.add_typer(families.app, name="families")
app.add_typer(data.app, name="data")
app.add_typer(cache.app, name="cache")
use_plain_help(app)


def _print_version(value: bool) -> None:
    if value:
        print(f"magistrate {__version__}")
        raise typer.Exit(OK)


@app.callback()
def root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where in the program an error happened.")
    ] = False,
) -> None:
    """Judge language models with language models.

    Files of questions and answers go in, in any common format; a run folder with every judgment
    and a table with intervals come out.
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


def run() -> NoReturn:
    """Run the command with the process's arguments and exit."""
    _open_closed_streams()
    sys.exit(main(sys.argv[1:]))


def _open_closed_streams() -> None:
    """Give a process that was started without a standard stream (``>&-``) an empty one.

    Otherwise Python has None for it, and the next file opened gets its number.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115


def main(arguments: Sequence[str]) -> int:
    """Run the command.

    Args:
        arguments: As after ``magistrate`` on the command line.

    Returns:
        The exit code; see :data:`magistrate.cli.exits.EXIT_CODES`.
    """
    flags = {argument for argument in arguments if argument in ("--json", "--debug")}
    rest = [argument for argument in arguments if argument != "--debug"]
    as_json, debug = "--json" in flags, "--debug" in flags
    # A terminal that cannot show a character shows a stand-in; that is no reason to fail.
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        code = _invoke(rest)
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
        return READER_GONE
    except UsageError as error:
        return _report_usage(error, as_json=as_json)
    except (Exception, KeyboardInterrupt) as error:
        return report(error, as_json=as_json, debug=debug)
    return code


def _invoke(arguments: list[str]) -> int:
    """Parse and run; typer's own entry would swallow Ctrl-C's message and broken pipes."""
    if _COMPLETION in os.environ:
        app(prog_name="magistrate")
    command = typer.main.get_command(app)
    try:
        with command.make_context("magistrate", arguments) as context:
            command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    return OK


def _report_usage(error: BaseException, *, as_json: bool) -> int:
    """Show a usage error the way the parser words it, with the nearest choice after a typo."""
    error.message = _with_nearest(error.message)  # type: ignore[attr-defined]
    error.show()  # type: ignore[attr-defined]
    if as_json:
        message = error.format_message()  # type: ignore[attr-defined]
        print_json(CommandError("UsageError", message, BAD_INPUT).as_json())
    return BAD_INPUT


def _with_nearest(message: str) -> str:
    """Return a parser's message in plain words.

    >>> _with_nearest("Value error, 'elu' is not one of 'elo', 'win-rate'.")
    "'elu' is not one of 'elo', 'win-rate'; did you mean 'elo'?"
    """
    message = message.removeprefix("Value error, ")
    given, asked, choices = message.partition(" is not one of ")
    known = re.findall(r"'([^']*)'", choices) if asked else []
    near = difflib.get_close_matches(given.strip("'"), known, n=1)
    return f"{message.rstrip('.')}; did you mean '{near[0]}'?" if near else message
