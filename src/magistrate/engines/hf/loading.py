"""Loads model, tokenizer and adapter, and says what is wrong when that fails."""

from __future__ import annotations

import contextlib
import functools
import importlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
import transformers

from magistrate.engines.hf.files import ModelFiles
from magistrate.engines.hf.memory import is_out_of_memory
from magistrate.engines.hf.settings import HfOptions
from magistrate.errors import EngineError, MissingExtraError

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model that can run.

    Attributes:
        model: A decoder of transformers, in evaluation mode.
        tokenizer: Its tokenizer.
        dtype: ``fp32``, ``bf16``, ``fp16`` or ``4bit``.
    """

    model: Any
    tokenizer: Any
    dtype: str


def load_model(files: ModelFiles, adapter: ModelFiles | None, options: HfOptions) -> LoadedModel:
    """Load a model.

    Raises:
        EngineError: The device or precision is not there, the files are damaged or of a kind that
            is not known, weights are missing, or memory is too small.
        MissingExtraError: A package is missing.
    """
    device = choose_device(options.device)
    common: dict[str, Any] = {
        "local_files_only": True,
        "trust_remote_code": options.trust_remote_code,
    }
    if files.gguf is not None:
        need("gguf", f"the GGUF file {files.gguf}")
        common["gguf_file"] = files.gguf
    folder = str(files.folder)
    with quiet(), explained(files.name, options):
        tokenizer = _tokenizer(folder, common, options)
        config = transformers.AutoConfig.from_pretrained(folder, **common)
        dtype = choose_dtype(config, files.gguf, options, device)
        if getattr(config.get_text_config(), "attn_logit_softcapping", None):
            # The fast attention of some releases of transformers silently leaves it out.
            common["attn_implementation"] = "eager"
        model, report = transformers.AutoModelForCausalLM.from_pretrained(
            folder,
            use_safetensors=files.gguf is None or None,
            output_loading_info=True,
            **common,
            **placement(dtype, device, options),
        )
    _check_complete(files.name, report)
    if adapter is not None:
        with quiet():
            model = _with_adapter(model, adapter, merge=dtype != "4bit")
    model.eval()
    if device == "cpu" and dtype in ("bf16", "fp16"):
        _widen_output_layer(model)
    return LoadedModel(model, tokenizer, dtype)


def _tokenizer(folder: str, common: dict[str, Any], options: HfOptions) -> Any:
    if options.tokenizer is None:
        return transformers.AutoTokenizer.from_pretrained(folder, **common)
    own = {name: value for name, value in common.items() if name != "gguf_file"}
    return transformers.AutoTokenizer.from_pretrained(options.tokenizer, **own)


def choose_device(wish: str) -> str:
    """Return where to run; the error says what is there instead."""
    if wish == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if wish.startswith("cuda"):
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        number = int(wish.partition(":")[2] or 0)
        if number >= count:
            raise EngineError(
                f"device={wish}: torch finds {count} CUDA GPUs here; use device=cpu, or install "
                f"a CUDA build of torch"
            )
    if wish == "mps" and not torch.backends.mps.is_available():
        raise EngineError("device=mps: torch finds no Apple GPU here; use device=cpu")
    return wish


def choose_dtype(config: Any, gguf: str | None, options: HfOptions, device: str) -> str:
    """Return the precision: what was asked for, or what suits the weights and the device."""
    if options.dtype == "4bit":
        if not device.startswith("cuda"):
            raise EngineError("dtype=4bit needs a CUDA GPU; use dtype=fp32 or bf16 here")
        need("bitsandbytes", "dtype=4bit")
        return "4bit"
    if options.dtype != "auto":
        return options.dtype
    if device == "cpu":
        return "fp32"
    if gguf is not None:
        return "bf16"
    dtype = getattr(config, "dtype", None) or torch.float32
    if dtype == torch.bfloat16 and device.startswith("cuda") and not torch.cuda.is_bf16_supported():
        return "fp16"
    return _NAMES.get(dtype, "fp32")


def placement(dtype: str, device: str, options: HfOptions) -> dict[str, Any]:
    """Return the settings for precision and place."""
    if dtype == "4bit":
        config = transformers.BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_compute_dtype=torch.bfloat16,
        )
        settings: dict[str, Any] = {"quantization_config": config, "dtype": torch.bfloat16}
    else:
        settings = {"dtype": DTYPES[dtype]}
    if device == "cpu":
        return settings
    several = options.device == "auto" and torch.cuda.device_count() > 1
    return {**settings, "device_map": "auto" if several else {"": device}}


class FullOutputLayer(torch.nn.Module):  # type: ignore[misc]
    """An output layer in fp32 behind a model of less precision.

    Logits near 20 differ by 0.125 in bf16: two verdicts that a judge holds nearly equal would
    become exactly equal.
    """

    def __init__(self, layer: Any) -> None:
        """Take the layer's weights."""
        super().__init__()
        self.weight = torch.nn.Parameter(layer.weight.detach().float(), requires_grad=False)
        bias = getattr(layer, "bias", None)
        self.bias = None if bias is None else torch.nn.Parameter(bias.float(), requires_grad=False)

    def forward(self, hidden: Any) -> Any:
        """Return logits in fp32."""
        return torch.nn.functional.linear(hidden.float(), self.weight, self.bias)


def _widen_output_layer(model: Any) -> None:
    layer = model.get_output_embeddings()
    if isinstance(layer, torch.nn.Linear):
        model.set_output_embeddings(FullOutputLayer(layer))


def _check_complete(name: str, report: Any) -> None:
    """Refuse a model some of whose weights were made up."""
    missing = sorted(report.get("missing_keys") or [])
    mismatched = sorted(str(entry[0]) for entry in report.get("mismatched_keys") or [])
    for kind, keys in (("lacks", missing), ("has in another shape", mismatched)):
        if keys:
            more = f" and {len(keys) - _MOST_NAMED} more" if len(keys) > _MOST_NAMED else ""
            raise EngineError(
                f"{name} {kind} {', '.join(keys[:_MOST_NAMED])}{more}, which its configuration "
                f"asks for; it is damaged, or not a model that writes"
            )


def _with_adapter(model: Any, adapter: ModelFiles, *, merge: bool) -> Any:
    need("peft", "a LoRA adapter")
    import peft

    try:
        adapted = peft.PeftModel.from_pretrained(model, str(adapter.folder))
    except (ValueError, RuntimeError, KeyError, TypeError, OSError) as error:
        raise EngineError(f"the adapter {adapter.name} does not fit the model: {error}") from error
    # Merged it costs nothing; into 4-bit weights it cannot be merged without loss.
    return adapted.merge_and_unload() if merge else adapted.get_base_model()


def need(package: str, what: str) -> None:
    """Raise MissingExtraError where a package is not installed."""
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise MissingExtraError(what, "hf", package)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep bars and warnings of the loading libraries from the user's screen."""
    logging = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings(), _no_bar_of_gguf():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


@contextlib.contextmanager
def _no_bar_of_gguf() -> Iterator[None]:
    """Switch off the bar over a GGUF file's tensors, which no setting of transformers reaches."""
    reader: Any = importlib.import_module("transformers.modeling_gguf_pytorch_utils")
    bar = getattr(reader, "tqdm", None)
    if bar is None:
        yield
        return
    reader.tqdm = functools.partial(bar, disable=True)
    try:
        yield
    finally:
        reader.tqdm = bar


@contextlib.contextmanager
def explained(name: str, options: HfOptions) -> Iterator[None]:
    """Turn whatever the loading libraries raise into an error that says what to do."""
    try:
        yield
    except EngineError:
        raise
    except ImportError as error:
        raise EngineError(f"{name} needs a package that is not installed: {error}") from error
    except Exception as error:  # each architecture and file format raises its own kinds
        if is_out_of_memory(error):
            raise EngineError(
                f"there is not enough memory to load {name}; use a smaller model, another device "
                f"or dtype ({error})"
            ) from error
        text = " ".join(str(error).split())
        if "trust_remote_code" in text and not options.trust_remote_code:
            raise EngineError(
                f"{name} comes with Python code of its own, which is not run unless asked for; if "
                f"you trust its authors, use the engine option trust_remote_code=true"
            ) from error
        raise EngineError(f"{name} cannot be loaded: {text}") from error
