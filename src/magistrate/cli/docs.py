"""Make the page on the command line: ``python -m magistrate.cli.docs > docs/cli.md``."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import typer

from magistrate.cli.exits import EXIT_CODES
from magistrate.cli.main import app

_INTRODUCTION = """\
# The command line

<!-- Made by `python -m magistrate.cli.docs > docs/cli.md`; a test fails when it is out of date. -->

`magistrate` and `python -m magistrate` are the same. The result goes to standard output, all else
(progress, notes, errors) to standard error. There is a bar and colour only on a terminal, and no
colour where `NO_COLOR` is set. With `--json` standard output is exactly one JSON object (of
`families read` one a line, for each reply), whose keys [json.md](json.md) describes; with `--quiet`
there is no progress and no note.
"""

_EXIT_CODES = """\
## Exit codes

| code | meaning |
|---:|---|
"""


def page() -> str:
    """Return the whole page as Markdown."""
    root: Any = typer.main.get_command(app)
    sections = [_section("magistrate", root)]
    sections += [_section(name, command) for name, command in _commands(root, "magistrate")]
    codes = "".join(f"| {code} | {meaning} |\n" for code, meaning in EXIT_CODES.items())
    return "\n".join((_INTRODUCTION, *sections, _EXIT_CODES + codes))


def _commands(group: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield all commands below a group that do something, with their full names."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{prefix} {name}")
        else:
            yield f"{prefix} {name}", command


def _section(name: str, command: Any) -> str:
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    options = [
        param
        for param in command.params
        if param.param_type_name == "option" and "completion" not in param.name
    ]
    usage = " ".join([name, *(_metavar(argument) for argument in arguments), "[OPTIONS]"])
    rows = [(f"`{_metavar(argument)}`", _help(argument)) for argument in arguments]
    rows += [(_option_name(option), _help(option)) for option in options]
    parts = [f"## {name}\n", f"{inspect.cleandoc(command.help)}\n", f"```text\n{usage}\n```\n"]
    if rows:
        table = "".join(f"| {left} | {right} |\n" for left, right in rows)
        parts.append(f"| | |\n|---|---|\n{table}")
    if command.epilog:
        parts.append(_example(command.epilog))
    return "\n".join(parts)


def _metavar(argument: Any) -> str:
    return f"{argument.metavar}{'...' if argument.nargs == -1 else ''}"


def _option_name(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in sorted(option.opts, key=len, reverse=True))
    if option.is_flag:
        return names
    return f"{names} `{option.metavar}`".replace("|", "\\|")


def _help(param: Any) -> str:
    text = str(param.help)
    if param.param_type_name == "option" and not param.is_flag and param.show_default is not False:
        text += f" Default: `{_word(param.default)}`."
    return text.replace("|", "\\|")


def _word(value: Any) -> str:
    return str(getattr(value, "value", value))


def _example(epilog: str) -> str:
    lines = epilog.replace("\b", "").strip().splitlines()
    commands = "\n".join(line.strip() for line in lines[1:])
    return f"```sh\n{commands}\n```\n"


if __name__ == "__main__":
    print(page(), end="")
