"""The base model of a training: where it is, and how it is loaded to be trained."""

from __future__ import annotations

from typing import Any

from magistrate.engines.hf.files import ModelFiles, Source, find_model
from magistrate.engines.hf.loading import LoadedModel, load_model, quiet
from magistrate.engines.hf.settings import HfOptions
from magistrate.errors import EngineError
from magistrate.train.recipe import JudgeSection


def find_base(judge: JudgeSection) -> ModelFiles:
    """Find the base by path or by its id on the hub.

    Raises:
        EngineError: There is none, or it holds no weights that may be loaded.
    """
    source = Source(judge.revision, judge.gguf_file, judge.offline, judge.trust_remote_code)
    return find_model(judge.base, source)


def load_decoder(
    judge: JudgeSection, *, dtype: str, device: str, quantized: bool = False
) -> LoadedModel:
    """Load a causal language model to be trained.

    Args:
        judge: Section ``[judge]`` of the recipe.
        dtype: ``fp32`` or ``bf16``.
        device: Such as ``cpu`` or ``cuda:0``.
        quantized: Load linear layers in 4 bits.

    Raises:
        EngineError: It cannot be loaded.
        MissingExtraError: A package is missing.
    """
    options = HfOptions.model_validate(
        {
            "dtype": "4bit" if quantized else dtype,
            "device": device,
            "trust_remote_code": judge.trust_remote_code,
            "chat_template": judge.chat_template,
        }
    )
    loaded = load_model(find_base(judge), None, options)
    if not quantized:
        forget_quantisation(loaded.model)
    loaded.model.config.use_cache = False
    return loaded


def load_tokenizer(judge: JudgeSection) -> Any:
    """Load the tokenizer of a base alone.

    Raises:
        EngineError: It cannot be loaded.
    """
    import transformers

    files = find_base(judge)
    given: dict[str, Any] = {
        "local_files_only": True,
        "trust_remote_code": judge.trust_remote_code,
    }
    if files.gguf is not None:
        given["gguf_file"] = files.gguf
    try:
        with quiet():
            return transformers.AutoTokenizer.from_pretrained(str(files.folder), **given)
    except Exception as error:  # each kind of tokenizer raises its own
        raise EngineError(f"the tokenizer of {files.name} cannot be loaded: {error}") from error


def forget_quantisation(model: Any) -> None:
    """Let a model from a GGUF file count as what it is, not quantised: it is not trained else."""
    model.hf_quantizer, model.is_quantized = None, False
    model.__dict__.pop("quantization_method", None)
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
