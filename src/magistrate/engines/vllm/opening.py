"""Opens the engine: what is wrong is said before vLLM is started, where that can be known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from magistrate.engines.hf.files import ModelFiles, Source, find_adapter, find_model
from magistrate.engines.hf.hashing import hash_weights
from magistrate.engines.options import read_options
from magistrate.engines.vllm.settings import VllmOptions
from magistrate.errors import EngineError, MissingExtraError

if TYPE_CHECKING:
    from magistrate.engines.vllm.engine import VllmEngine

_NEEDED = ("torch", "transformers", "huggingface_hub", "vllm")
_DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
_NAMES = {f"torch.{long}": short for short, long in _DTYPES.items()}

CPU_BLOCK = 32
"""Tokens of a block of the prefix cache on a processor, where vLLM's 128 would leave most of a
prompt outside the cache. On GPUs it is vLLM's own, 16."""

CPU_CACHE_GIB = 4.0
"""Left to itself, vLLM takes nine tenths of a machine's memory."""


def open_engine(
    model: str, url: str | None = None, options: Mapping[str, str] | None = None
) -> VllmEngine:
    """Open the engine on a model.

    Args:
        model: A folder with safetensors weights, or the hub's id of a model.
        url: Not taken: the model runs here.
        options: See :class:`~magistrate.engines.vllm.settings.VllmOptions`.

    Raises:
        MissingExtraError: Packages are missing.
        EngineError: A URL or an unknown option was given, the model cannot be found, or vLLM cannot
            run it or does not start in time.
    """
    chosen = read_options(VllmOptions, "vllm", options or {})
    if url is not None:
        raise EngineError(
            f"the vllm engine runs models here; ask a running server with openai:MODEL@{url}"
        )
    for package in _NEEDED:
        if find_spec(package) is None:
            raise MissingExtraError("engine 'vllm'", "vllm", package)
    source = Source(chosen.revision, None, chosen.offline, chosen.trust_remote_code)
    files = find_model(model, source)
    if files.gguf is not None:
        raise EngineError(
            f"{files.name} holds GGUF weights, which vLLM does not read; use hf:{model}, or a "
            f"folder with safetensors weights"
        )
    adapter = None
    settings: dict[str, Any] = {}
    if chosen.adapter is not None:
        adapter = find_adapter(chosen.adapter, Source(offline=chosen.offline))
        settings["adapter"] = hash_weights(adapter.weights)
    if chosen.trust_remote_code:
        settings["remote_code"] = True
    return _start(files, adapter, chosen, hash_weights(files.weights), settings)


def _start(
    files: ModelFiles,
    adapter: ModelFiles | None,
    options: VllmOptions,
    weights_hash: str,
    settings: Mapping[str, Any],
) -> VllmEngine:
    from magistrate.engines.hf.encoding import RequestEncoder, ends_of
    from magistrate.engines.vllm.engine import VllmEngine
    from magistrate.engines.vllm.starting import Log, start

    log = Log()
    with log.catching():
        arguments = _arguments(files, adapter, options)
        tokenizer, generation = _tokenizer(files, options)
    llm = start(arguments, files.name, options.start_timeout, log)
    config = llm.llm_engine.model_config
    encoder = RequestEncoder(
        tokenizer,
        engine="vllm",
        context=config.max_model_len,
        ends=ends_of(generation, config.hf_config, tokenizer),
        use_template=options.chat_template == "auto",
    )
    lora = None
    if adapter is not None:
        from vllm.lora.request import LoRARequest

        lora = LoRARequest("adapter", 1, str(adapter.folder))
    return VllmEngine(
        llm,
        encoder,
        log,
        name=files.name,
        weights_hash=weights_hash,
        adapter=lora,
        settings={"dtype": _NAMES.get(str(config.dtype), str(config.dtype)), **settings},
    )


def _tokenizer(files: ModelFiles, options: VllmOptions) -> tuple[Any, Any]:
    """Return the tokenizer and, if there is one, the generation config.

    Raises:
        EngineError: They cannot be loaded.
    """
    import transformers

    common = {"local_files_only": True, "trust_remote_code": options.trust_remote_code}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(files.folder), **common)
    except Exception as error:  # each kind of tokenizer raises its own kinds
        raise EngineError(f"the tokenizer of {files.name} cannot be loaded: {error}") from error
    try:
        generation = transformers.GenerationConfig.from_pretrained(
            str(files.folder), local_files_only=True
        )
    except (OSError, ValueError):
        generation = None
    return tokenizer, generation


def _arguments(
    files: ModelFiles, adapter: ModelFiles | None, options: VllmOptions
) -> dict[str, Any]:
    """Return what ``vllm.LLM`` takes."""
    from vllm.platforms import current_platform

    arguments: dict[str, Any] = {
        "model": str(files.folder),
        "tokenizer": str(files.folder),
        "load_format": "safetensors",
        "trust_remote_code": options.trust_remote_code,
        "dtype": _DTYPES.get(options.dtype, "auto"),
        "tensor_parallel_size": options.tensor_parallel,
        "enforce_eager": options.eager,
        "enable_prefix_caching": True,
        "max_logprobs": -1,
        "seed": options.seed,
    }
    cache_gib = options.cache_gib
    if current_platform.is_cpu():
        if options.dtype == "auto":
            arguments["dtype"] = "float32"
        arguments["block_size"] = CPU_BLOCK
        cache_gib = cache_gib or CPU_CACHE_GIB
    if cache_gib is not None:
        arguments["kv_cache_memory_bytes"] = int(cache_gib * 2**30)
    if options.gpu_memory is not None:
        arguments["gpu_memory_utilization"] = options.gpu_memory
    if options.max_model_len is not None:
        arguments["max_model_len"] = options.max_model_len
    if adapter is not None:
        arguments |= {"enable_lora": True, "max_loras": 1, "max_lora_rank": _rank(adapter)}
    return arguments


def _rank(adapter: ModelFiles) -> int:
    """Return an adapter's rank, rounded up to one that vLLM takes.

    Raises:
        EngineError: Its configuration does not say it.
    """
    file = adapter.folder / "adapter_config.json"
    try:
        config = json.loads(file.read_text("utf-8"))
        ranks = [int(config["r"]), *map(int, (config.get("rank_pattern") or {}).values())]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EngineError(f"{file}: not the configuration of a LoRA adapter ({error})") from error
    rank = max(ranks)
    return next((size for size in (8, 16, 32, 64, 128, 256, 320, 512) if size >= rank), rank)
