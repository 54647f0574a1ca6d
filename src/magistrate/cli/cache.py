"""``magistrate cache``: what the response cache holds, and how to be rid of it."""

from __future__ import annotations

import typer

from magistrate.cli.help import example
from magistrate.cli.options import JsonOption
from magistrate.cli.terminal import Terminal
from magistrate.report.text import counted, harmless

app = typer.Typer(
    help="Show and clear the response cache, which all runs share.",
    rich_markup_mode=None,
    invoke_without_command=True,
)


@app.callback()
def cache(context: typer.Context, as_json: JsonOption = False) -> None:
    """Show the cache, unless a command says otherwise."""
    if context.invoked_subcommand is None:
        show(as_json=as_json)


@app.command("show", epilog=example("magistrate cache show"))
def show(as_json: JsonOption = False) -> None:
    """Show where the cache is and how much it holds."""
    from magistrate.store.cache_file import cache_state

    state = cache_state()
    terminal = Terminal(as_json)
    terminal.facts(
        (
            ("file", harmless(str(state.path))),
            ("answers", f"{state.responses:,}"),
            ("size", f"{_size(state.bytes)} of at most {_size(state.limit)}"),
        )
    )
    terminal.json(
        {
            "file": str(state.path),
            "answers": state.responses,
            "bytes": state.bytes,
            "limit": state.limit,
        }
    )


@app.command("clear", epilog=example("magistrate cache clear"))
def clear(as_json: JsonOption = False) -> None:
    """Remove all answers from the cache. Runs keep theirs."""
    from magistrate.errors import RunError
    from magistrate.store.cache_file import cache_file, cache_state, clear_cache

    try:
        answers = cache_state().responses
    except RunError:
        answers = 0  # damaged: it is cleared all the same
    freed = clear_cache()
    terminal = Terminal(as_json)
    terminal.line(f"{counted(answers, 'answer')} removed, {_size(freed)} freed")
    terminal.json({"file": str(cache_file()), "answers": answers, "bytes": freed})


def _size(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size / 1e3:,.1f} kB"
