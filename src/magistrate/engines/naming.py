"""Models by name: ``[LABEL=]ENGINE:MODEL[@URL]``, as judges are named, without a family."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from magistrate.engines.base import Engine
from magistrate.engines.table import ENGINES, open_engine
from magistrate.errors import JudgeNotFoundError

_NAME = re.compile(
    r"(?P<engine>[a-z][a-z0-9_-]*):(?P<model>.+?)(?:@(?P<url>https?://[^#]+))?(?:#(?P<family>[^#]+))?"
)
_LABEL = re.compile(r"(?P<label>[\w.-]+)=(?=[a-z][a-z0-9_-]*:)")


@dataclass(frozen=True, slots=True)
class ModelName:
    """The parts of ``ENGINE:MODEL[@URL][#FAMILY]``."""

    engine: str
    model: str
    url: str | None = None
    family: str | None = None


def parse_model_name(name: str) -> ModelName | None:
    """Return the parts of a name; None where it is none, or names no engine that is here.

    >>> parse_model_name("openai:local@http://127.0.0.1:8080/v1#pair")
    ModelName(engine='openai', model='local', url='http://127.0.0.1:8080/v1', family='pair')
    >>> parse_model_name("mini") is None
    True
    """
    match = _NAME.fullmatch(name)
    if match is None or match["engine"] not in ENGINES:
        return None
    return ModelName(match["engine"], match["model"], match["url"], match["family"])


def split_label(name: str) -> tuple[str | None, str]:
    """Return what a model is to be called, if it is said, and its name.

    >>> split_label("alder=hf:org/model"), split_label("scripted:random,fail=0.1")
    (('alder', 'hf:org/model'), (None, 'scripted:random,fail=0.1'))
    """
    match = _LABEL.match(name)
    return (match["label"], name[match.end() :]) if match else (None, name)


@dataclass(frozen=True, slots=True)
class NamedEngine:
    """An open engine, what its model is called in data, and where it listens."""

    engine: Engine
    label: str
    url: str | None = None


def open_named_engine(name: str, options: Mapping[str, str] | None = None) -> NamedEngine:
    """Open the engine of a model that writes.

    Args:
        name: ``ENGINE:MODEL[@URL]``, such as ``hf:org/model``; with ``LABEL=`` before it the model
            is called so in data, else by the engine's own name for it.
        options: Settings of the engine by name, as text.

    Raises:
        JudgeNotFoundError: The name is no such name, or has a family.
        EngineError: The model cannot be loaded, or the engine has no such option.
    """
    label, plain = split_label(name)
    parts = parse_model_name(plain)
    if parts is None:
        raise JudgeNotFoundError(
            f"'{name}' names no model to ask; needed: ENGINE:MODEL[@URL], or LABEL=ENGINE:MODEL "
            f"to call it LABEL, with an engine of {', '.join(sorted(ENGINES))}"
        )
    if parts.family is not None:
        raise JudgeNotFoundError(
            f"'{name}' asks a judge of family '{parts.family}'; here a model is asked in plain "
            f"words: leave out #{parts.family}"
        )
    engine = open_engine(parts.engine, parts.model, parts.url, options)
    if engine.info.scores:
        engine.close()
        raise JudgeNotFoundError(f"'{name}' has a scoring head: it writes no text")
    return NamedEngine(engine, label or engine.info.model, parts.url)
