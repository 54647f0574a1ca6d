"""Engine options: text from the command line, checked against a dataclass of settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from pydantic import ValidationError

from magistrate.errors import EngineError, what_is_needed
from magistrate.records import Record

S = TypeVar("S", bound=Record)


def read_options(kind: type[S], engine: str, options: Mapping[str, str]) -> S:
    """Return an engine's settings with the options put in.

    Args:
        kind: The settings, each with a default and a docstring.
        engine: Name of the engine, for messages.
        options: Values as text, by name.

    Raises:
        EngineError: There is no such option, or its value does not fit; the message lists them.
    """
    names = ", ".join(sorted(kind.model_fields)) or "none"
    for name in options:
        if name not in kind.model_fields:
            raise EngineError(f"engine '{engine}' has no option '{name}'; options: {names}")
    try:
        return kind.model_validate(dict(options))
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        name = str(problem["loc"][0]) if problem["loc"] else ""
        raise EngineError(
            f"engine '{engine}', option {name}={options.get(name)}: {what_is_needed(problem)}"
        ) from error


class NoOptions(Record):
    """For engines that have none."""
