"""Opens the head engine: what is wrong is said before torch is loaded, where that can be known."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from magistrate.engines.hf.files import Source, find_adapter, find_model
from magistrate.engines.hf.hashing import hash_weights
from magistrate.engines.hf.settings import HeadOptions
from magistrate.engines.judge_model import find_base, read_model_section
from magistrate.engines.options import read_options
from magistrate.errors import EngineError, MissingExtraError

if TYPE_CHECKING:
    from magistrate.engines.hf.heads import HeadEngine

_NEEDED = ("torch", "transformers", "safetensors")


def open_engine(
    model: str, url: str | None = None, options: Mapping[str, str] | None = None
) -> HeadEngine:
    """Open the engine on a judge folder.

    Args:
        model: A judge folder (``docs/judge-folder.md``) with a head as safetensors, or a LoRA
            adapter that holds one.
        url: Not taken: the model runs here.
        options: See :class:`~magistrate.engines.hf.settings.HeadOptions`.

    Raises:
        MissingExtraError: Packages are missing.
        EngineError: A URL or an unknown option was given, or a file is missing, damaged, or does
            not fit.
    """
    chosen = read_options(HeadOptions, "head", options or {})
    if url is not None:
        raise EngineError(f"the head engine runs judge folders here; it has no use for {url}")
    for package in _NEEDED:
        if find_spec(package) is None:
            raise MissingExtraError("engine 'head'", "hf", package)
    folder = Path(model).expanduser()
    section, base = read_model_section(folder)
    section.check_files(folder)
    settings: dict[str, Any] = {}
    adapter = None
    if base is None:
        files = find_model(str(folder), Source())
    else:
        files = find_base(folder, base, chosen.base, offline=chosen.offline)
        adapter = find_adapter(str(folder), Source())
        settings["adapter"] = hash_weights(adapter.weights)
    weights_hash = hash_weights(files.weights)

    import torch

    from magistrate.engines.hf.head_models import join_adapter, load_head_model, outputs_of
    from magistrate.engines.hf.heads import HeadEngine, read_slot_encoder

    if chosen.threads is not None:
        torch.set_num_threads(chosen.threads)
    slots = read_slot_encoder(folder, section.max_tokens)
    outputs = None if base is None else base.outputs
    loaded, dtype, fresh = load_head_model(files, outputs, chosen.for_loading())
    if adapter is not None:
        loaded = join_adapter(loaded, adapter, merge=True)
    elif fresh:
        raise EngineError(
            f"{folder} has no weights for {', '.join(fresh)}: it holds a model without a head, or "
            f"is damaged"
        )
    settings |= {"dtype": dtype, "outputs": outputs_of(loaded)}
    return HeadEngine(
        loaded,
        slots,
        max_tokens=section.max_tokens,
        name=folder.resolve().name,
        weights_hash=weights_hash,
        batch_tokens=chosen.batch_tokens,
        settings=settings,
    )
