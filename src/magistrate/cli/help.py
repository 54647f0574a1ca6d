"""How the commands word their help."""

from __future__ import annotations

import re
from typing import Any

import typer
from typer.core import TyperCommand

_RANGE = re.compile(r"(?:-?[\d.]+<=?)?x(?:[<>]=?-?[\d.]+)?")
"""How typer writes which numbers an option takes, such as ``1<=x<=9``."""
_REQUIRED = re.compile(r"\\?\[required\]")


def example(*commands: str) -> str:
    """Return the end of a command's help: lines that can be run as they stand.

    The form feed keeps the help's formatter from joining the lines.
    """
    lines = "\n".join(f"  {command}" for command in commands)
    return f"\b\nExample{'s' if len(commands) > 1 else ''}:\n{lines}"


class PlainCommand(TyperCommand):
    """A command whose help names what to give in words, without Python's types and ranges."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the usage line after the command's name."""
        names = (
            _argument_name(param) if param.required else f"[{_argument_name(param)}]"
            for param in self.params
            if param.param_type_name == "argument"
        )
        return ["[OPTIONS]", *names]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options, each with its help."""
        rows: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None:
                continue
            name, text = record
            if param.param_type_name == "argument":  # what is not in brackets is required
                name, text = _argument_name(param), _REQUIRED.sub("", text).rstrip()
            rows[param.param_type_name].append((name, without_range(text)))
        for title, found in (("Arguments", rows["argument"]), ("Options", rows["option"])):
            if found:
                with formatter.section(title):
                    formatter.write_dl(found)


def use_plain_help(app: typer.Typer) -> None:
    """Make all commands of an application, and of its groups, commands with plain help."""
    for command in app.registered_commands:
        command.cls = PlainCommand
    for group in app.registered_groups:
        if group.typer_instance is not None:
            use_plain_help(group.typer_instance)


def without_range(help_text: str) -> str:
    """Return an option's help without the range of its numbers at the end.

    >>> without_range("Use N samples.  [1<=x<=99]"), without_range("Read N.  [default: 1; x>=1]")
    ('Use N samples.', 'Read N.  [default: 1]')
    """
    text, opening, extra = help_text.rpartition("  [")
    if not opening or not extra.endswith("]"):
        return help_text
    kept = [part for part in extra[:-1].split("; ") if _RANGE.fullmatch(part) is None]
    return f"{text}  [{'; '.join(kept)}]" if kept else text


def _argument_name(param: Any) -> str:
    return f"{param.metavar or param.name.upper()}{'...' if param.nargs != 1 else ''}"
