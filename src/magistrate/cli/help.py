"""How the commands word their help."""

from __future__ import annotations


def example(*commands: str) -> str:
    """Return the end of a command's help: lines that can be run as they stand.

    The form feed keeps the help's formatter from joining the lines.
    """
    lines = "\n".join(f"  {command}" for command in commands)
    return f"\b\nExample{'s' if len(commands) > 1 else ''}:\n{lines}"
