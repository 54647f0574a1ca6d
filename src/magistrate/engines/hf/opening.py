"""Opens the engine: what is wrong is said before torch is loaded, where that can be known."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from magistrate.engines.hf.files import Source, find_adapter, find_model
from magistrate.engines.hf.hashing import hash_weights
from magistrate.engines.hf.settings import HfOptions
from magistrate.engines.options import read_options
from magistrate.errors import EngineError, MissingExtraError

if TYPE_CHECKING:
    from magistrate.engines.hf.engine import HfEngine

_NEEDED = ("torch", "transformers", "huggingface_hub", "safetensors")


def open_engine(
    model: str, url: str | None = None, options: Mapping[str, str] | None = None
) -> HfEngine:
    """Open the engine on a model.

    Args:
        model: A folder with safetensors weights, a GGUF file, or the hub's id of a model.
        url: Not taken: the model runs here.
        options: See :class:`~magistrate.engines.hf.settings.HfOptions`.

    Raises:
        MissingExtraError: Packages are missing.
        EngineError: A URL or an unknown option was given, or the model cannot be found or loaded.
    """
    chosen = read_options(HfOptions, "hf", options or {})
    if url is not None:
        raise EngineError(f"the hf engine runs models here; it has no use for {url}")
    for package in _NEEDED:
        if find_spec(package) is None:
            raise MissingExtraError("engine 'hf'", "hf", package)
    source = Source(chosen.revision, chosen.gguf_file, chosen.offline, chosen.trust_remote_code)
    files = find_model(model, source)
    settings: dict[str, Any] = {}
    adapter = None
    if chosen.adapter is not None:
        adapter = find_adapter(chosen.adapter, Source(offline=chosen.offline))
        settings["adapter"] = hash_weights(adapter.weights)
    if chosen.trust_remote_code:
        settings["remote_code"] = True
    weights_hash = hash_weights(files.weights)

    import torch

    from magistrate.engines.hf.engine import HfEngine
    from magistrate.engines.hf.loading import load_model

    if chosen.threads is not None:
        torch.set_num_threads(chosen.threads)
    return HfEngine(
        load_model(files, adapter, chosen),
        chosen,
        name=files.name,
        weights_hash=weights_hash,
        settings=settings,
    )
