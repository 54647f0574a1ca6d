"""Engine names, and where each lives. Modules are imported only when their engine is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import TypeAlias, cast

from magistrate.engines.base import Engine
from magistrate.errors import JudgeNotFoundError

EngineFactory: TypeAlias = Callable[[str, str | None, Mapping[str, str]], Engine]

ENGINES: dict[str, tuple[str, str]] = {
    "encoder": (
        "magistrate.engines.encoder:open_engine",
        "judge folders with a head, on ONNX Runtime; no torch",
    ),
    "head": (
        "magistrate.engines.hf.head_opening:open_engine",
        "judge folders with a head, through transformers; extra [hf]",
    ),
    "hf": (
        "magistrate.engines.hf.opening:open_engine",
        "decoder models through transformers: a folder, a GGUF file, or the hub's id; extra [hf]",
    ),
    "openai": (
        "magistrate.engines.api.engine:open_engine",
        "any server that speaks OpenAI's protocol: providers, vLLM, llama.cpp",
    ),
    "scripted": (
        "magistrate.engines.scripted:open_engine",
        "replies by a fixed rule; for tests, documentation and baselines",
    ),
    "vllm": (
        "magistrate.engines.vllm.opening:open_engine",
        "decoder models through vLLM: a folder, or the hub's id; extra [vllm]",
    ),
}
"""Name to (``module:function``, what it runs). The function takes (model, url, options)."""


def open_engine(
    name: str, model: str, url: str | None = None, options: Mapping[str, str] | None = None
) -> Engine:
    """Open an engine on a model.

    Args:
        name: A key of :data:`ENGINES`.
        model: What to run, in the engine's own terms: a folder, a hub id, a rule.
        url: Where a server listens, for engines that need one.
        options: Settings of the engine by name, as text; each engine's own documentation lists
            them (``docs/engines.md``).

    Raises:
        JudgeNotFoundError: There is no such engine.
        EngineError: The model cannot be loaded, or the engine has no such option.
    """
    if name not in ENGINES:
        raise JudgeNotFoundError(
            f"there is no engine '{name}'; engines here: {', '.join(sorted(ENGINES))}"
        )
    module, function = ENGINES[name][0].split(":")
    factory = cast(EngineFactory, getattr(importlib.import_module(module), function))
    return factory(model, url, options or {})
