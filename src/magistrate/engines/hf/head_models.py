"""Models with a head: a base of transformers that returns a few numbers per reading.

A *decoder* (Llama, Qwen, Gemma ...) reads from left to right; its head sits on the last token of
the reading. An *encoder* (BERT, DeBERTa, ModernBERT ...) reads both ways; its head sits where its
architecture has it (the first token, or the mean). Both are transformers' own classes for sequence
classification, so that other tools can load what is trained here. Only where a decoder's reading
ends is found by length and not, as there, by the sign of padding: that sign is often also the one
that ends a turn.
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

import torch
import transformers
from transformers.modeling_outputs import SequenceClassifierOutput

from magistrate.engines.hf.encoding import context_of
from magistrate.engines.hf.files import ModelFiles
from magistrate.engines.hf.loading import (
    choose_device,
    choose_dtype,
    explained,
    need,
    placement,
    quiet,
)
from magistrate.engines.hf.settings import HfOptions
from magistrate.errors import EngineError

_NOT_OF_THE_BASE = ("labels", "return_dict", "use_cache", "output_attentions", "task_ids")
"""What wrappers pass to any model with a head."""


def load_tokenizer(files: ModelFiles, *, trust_remote_code: bool = False) -> Any:
    """Load a tokenizer that can be taken apart.

    Raises:
        EngineError: It cannot be loaded, or has no fast version.
    """
    given: dict[str, Any] = {"local_files_only": True, "trust_remote_code": trust_remote_code}
    if files.gguf is not None:
        need("gguf", f"the GGUF file {files.gguf}")
        given["gguf_file"] = files.gguf
    with quiet(), explained(files.name, HfOptions(trust_remote_code=trust_remote_code)):
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(files.folder), **given)
    if getattr(tokenizer, "backend_tokenizer", None) is None:
        raise EngineError(
            f"the tokenizer of {files.name} has no fast version (tokenizer.json), without which "
            f"control tokens in answers cannot be kept apart; convert the tokenizer first"
        )
    return tokenizer


def load_head_model(
    files: ModelFiles, outputs: int | None, options: HfOptions
) -> tuple[Any, str, tuple[str, ...]]:
    """Load a base with a head on it.

    Args:
        files: The base, or a model that has the head already.
        outputs: How many numbers the head returns; None for as many as the model says.
        options: Precision and device.

    Returns:
        The model in evaluation mode; its precision; the modules that are new, since the files lack
        them: the head, and what some encoders have just below it. They hold random numbers.

    Raises:
        EngineError: The model cannot be loaded, or cannot carry a head.
    """
    device = choose_device(options.device)
    given: dict[str, Any] = {
        "local_files_only": True,
        "trust_remote_code": options.trust_remote_code,
    }
    if files.gguf is not None:
        need("gguf", f"the GGUF file {files.gguf}")
        given["gguf_file"] = files.gguf
    folder = str(files.folder)
    with quiet(), explained(files.name, options):
        config = transformers.AutoConfig.from_pretrained(folder, **given)
        dtype = choose_dtype(config, files.gguf, options, device)
        given |= placement(dtype, device, options)
        if getattr(config.get_text_config(), "attn_logit_softcapping", None):
            given["attn_implementation"] = "eager"
        if files.gguf is not None:
            model, fresh = _from_gguf(folder, outputs, given)
        else:
            if outputs is not None:
                given["num_labels"] = outputs
            model, report = transformers.AutoModelForSequenceClassification.from_pretrained(
                folder, use_safetensors=True, output_loading_info=True, **given
            )
            fresh = tuple(sorted({key.rpartition(".")[0] for key in report["missing_keys"]}))
            _refuse_mismatch(files.name, report)
    if _is_decoder(model):
        model.forward = types.MethodType(_forward_at_ends, model)
    return model.eval(), dtype, fresh


def join_adapter(model: Any, adapter: ModelFiles, *, merge: bool) -> Any:
    """Return a model with a LoRA adapter, which also holds the head.

    Raises:
        EngineError: The adapter does not fit.
    """
    need("peft", "a LoRA adapter")
    import peft

    with quiet():
        try:
            adapted = peft.PeftModel.from_pretrained(model, str(adapter.folder))
        except (ValueError, RuntimeError, KeyError, TypeError, OSError) as error:
            raise EngineError(
                f"the adapter {adapter.name} does not fit the model: {error}"
            ) from error
        return adapted.merge_and_unload() if merge else adapted


def context_of_base(files: ModelFiles, tokenizer: Any) -> int | None:
    """Return the longest reading of a base in tokens; None when nobody says."""
    given: dict[str, Any] = {"local_files_only": True}
    if files.gguf is not None:
        given["gguf_file"] = files.gguf
    with quiet(), explained(files.name, HfOptions()):
        config = transformers.AutoConfig.from_pretrained(str(files.folder), **given)
    return context_of(config, tokenizer)


def reads_from_left(model: Any) -> bool:
    """Whether a model with a head (perhaps wrapped by peft) is a decoder."""
    return _is_decoder(_bare(model))


def outputs_of(model: Any) -> int:
    """Return how many numbers the model returns per reading."""
    return int(model.config.num_labels)


def batch_of(readings: Sequence[Sequence[int]], *, decoder: bool, padding: int) -> dict[str, Any]:
    """Return the tensors of readings side by side, padded at the end.

    Args:
        readings: Token ids of B readings, each at least one.
        decoder: Whether the model reads from left to right.
        padding: The id that fills up.

    Returns:
        ``input_ids`` [B, L] and, of a decoder, ``ends`` [B], the place of each last token; of an
        encoder, ``attention_mask`` [B, L].
    """
    width = max(map(len, readings))
    ids = torch.tensor([[*ids, *[padding] * (width - len(ids))] for ids in readings])
    lengths = torch.tensor([len(ids) for ids in readings])
    if decoder:
        # Nothing before a token depends on the padding behind it, so there is nothing to mask.
        return {"input_ids": ids, "ends": lengths - 1}
    return {"input_ids": ids, "attention_mask": (torch.arange(width) < lengths[:, None]).long()}


def _from_gguf(folder: str, outputs: int | None, given: dict[str, Any]) -> tuple[Any, Any]:
    """Return the decoder of a GGUF file with a new head; GGUF files hold none."""
    causal = transformers.AutoModelForCausalLM.from_pretrained(folder, **given)
    config = causal.config
    # Dequantised while loading, it still counts as quantised, and could be neither trained nor
    # saved.
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    config.num_labels = outputs or 1
    model = transformers.AutoModelForSequenceClassification.from_config(
        config, dtype=given.get("dtype")
    )
    body = getattr(causal, causal.base_model_prefix)
    setattr(model, model.base_model_prefix, body)
    if not _is_decoder(model):
        raise EngineError("a GGUF file of this architecture cannot carry a head; use safetensors")
    model.hf_quantizer, model.is_quantized = None, False
    model.to(next(body.parameters()).device)
    return model, ("score",)


def _forward_at_ends(
    self: Any,
    input_ids: Any = None,
    ends: Any = None,
    attention_mask: Any = None,
    position_ids: Any = None,
    **others: Any,
) -> Any:
    """Read, and apply the head to the last token of each reading.

    Args:
        self: The model.
        input_ids: Token ids [B, L], or [1, T] of readings behind one another.
        ends: Place [B] of each reading's last token in its row; without, the head is applied to
            every token.
        attention_mask: Passed on.
        position_ids: Given where readings stand behind one another in one row.
        others: What else the base understands is passed on.
    """
    body = getattr(self, self.base_model_prefix)
    given = {name: value for name, value in others.items() if value is not None}
    for name in _NOT_OF_THE_BASE:
        given.pop(name, None)
    found = body(
        input_ids=input_ids,
        attention_mask=attention_mask,
        position_ids=position_ids,
        use_cache=False,
        **given,
    )
    hidden = found.last_hidden_state
    if ends is None:
        last = hidden
    elif position_ids is not None:
        last = hidden[0, ends]
    else:
        last = hidden[torch.arange(ends.shape[0], device=hidden.device), ends]
    return SequenceClassifierOutput(logits=self.score(last))


def _bare(model: Any) -> Any:
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def _is_decoder(model: Any) -> bool:
    # transformers calls the head of its decoders 'score', and that of its encoders 'classifier'.
    return hasattr(model, "score")


def _refuse_mismatch(name: str, report: Any) -> None:
    wrong = sorted(str(entry[0]) for entry in report.get("mismatched_keys") or [])
    if wrong:
        raise EngineError(
            f"{name} has in another shape: {', '.join(wrong[:3])}; it has a head for something else"
        )
