"""Judges that write, as GGUF: one file that llama.cpp and this package's engine ``hf`` run.

llama.cpp's converter is no package of a registry, so the file is written here with the package
``gguf``, for Llama's architecture and byte-level BPE tokenizers alone (SmolLM, Llama 3). Others are
refused; llama.cpp's own ``convert_hf_to_gguf.py`` converts a merged judge folder of those.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, TypeAlias

from magistrate.engines.hf.loading import need
from magistrate.errors import EngineError, InputError
from magistrate.judging.folder import read_judge_file
from magistrate.judging.resolve import load_judge
from magistrate.train.export.folders import new_folder, write_judge_file
from magistrate.train.folder import hash_file

FILE = "model.gguf"

Precision: TypeAlias = Literal["f32", "f16", "bf16"]

_NORMAL, _CONTROL, _USER_DEFINED = 1, 3, 4
"""Kinds of tokens in GGUF files."""

_LLAMA3_SPLIT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"


def export_gguf(
    folder: Path, out: Path, *, precision: Precision = "f16", base: str | None = None
) -> None:
    """Write a judge folder whose model is a GGUF file.

    Args:
        folder: A judge that writes.
        out: Where the new one goes; nothing may be there.
        precision: Of the matrices; norms are f32.
        base: Where the base of an adapter lies, if not where the folder says.

    Raises:
        InputError: The judge has a head, its model or tokenizer is of a kind that cannot be
            written, or ``out`` is there.
        EngineError: It cannot be loaded.
        MissingExtraError: A package is missing.
    """
    file = read_judge_file(folder)
    if file.has_head:
        raise InputError(
            f"judge '{file.name}' has a head, for which GGUF has no place; export it to ONNX"
        )
    need("gguf", "export to GGUF")
    options = {"device": "cpu", "dtype": "fp32", **({"base": base} if base else {})}
    with load_judge(str(folder), options=options) as judge:
        engine: Any = judge.engine
        model, tokenizer = engine.model, engine.tokenizer
        with new_folder(folder, out, with_tokenizer=False) as draft:
            _write(model, tokenizer, draft / FILE, precision, file.name)
            (draft / "chat_template.jinja").unlink(missing_ok=True)  # the file holds it
            changes = {
                "base": None,
                "model": {
                    "max_tokens": file.model.max_tokens,
                    "files": {FILE: hash_file(draft / FILE)},
                },
            }
            write_judge_file(folder, draft, changes, {"precision": precision})


def _write(model: Any, tokenizer: Any, path: Path, precision: Precision, name: str) -> None:
    import gguf

    config = model.config
    if config.model_type != "llama" or getattr(config, "rope_parameters", None) is None:
        raise InputError(
            f"the model's architecture is '{config.model_type}'; only Llama's is written as GGUF "
            f"here. Merge the judge (--merge) and use llama.cpp's convert_hf_to_gguf.py"
        )
    if (kind := config.rope_parameters.get("rope_type", "default")) != "default":
        raise InputError(f"the model's positions are scaled ('{kind}'), which is not written here")
    writer = gguf.GGUFWriter(str(path), "llama")
    _add_shape(writer, config, name, precision)
    _add_tokenizer(writer, tokenizer, config.vocab_size)
    _add_tensors(writer, model, precision)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_shape(writer: Any, config: Any, name: str, precision: Precision) -> None:
    import gguf

    head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    kinds = {
        "f32": gguf.LlamaFileType.ALL_F32,
        "f16": gguf.LlamaFileType.MOSTLY_F16,
        "bf16": gguf.LlamaFileType.MOSTLY_BF16,
    }
    writer.add_type("model")
    writer.add_name(name)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_freq_base(float(config.rope_parameters["rope_theta"]))
    writer.add_rope_dimension_count(head)
    writer.add_key_length(head)
    writer.add_value_length(head)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    writer.add_file_type(kinds[precision])
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)


def _add_tokenizer(writer: Any, tokenizer: Any, size: int) -> None:
    spec = json.loads(tokenizer.backend_tokenizer.to_str())
    split = _split_of(spec)
    tokens = [f"[PAD{place}]" for place in range(size)]
    kinds = [_CONTROL] * size
    for text, place in spec["model"]["vocab"].items():
        tokens[place], kinds[place] = text, _NORMAL
    for added in spec["added_tokens"]:
        tokens[added["id"]] = added["content"]
        kinds[added["id"]] = _CONTROL if added["special"] else _USER_DEFINED
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(split)
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(
        [merge if isinstance(merge, str) else " ".join(merge) for merge in spec["model"]["merges"]]
    )
    for add, place in (
        (writer.add_bos_token_id, tokenizer.bos_token_id),
        (writer.add_eos_token_id, tokenizer.eos_token_id),
        (writer.add_unk_token_id, tokenizer.unk_token_id),
        (writer.add_pad_token_id, tokenizer.pad_token_id),
    ):
        if place is not None:
            add(place)
    begins = tokenizer("a")["input_ids"][:1] == [tokenizer.bos_token_id]
    writer.add_add_bos_token(begins)
    writer.add_add_space_prefix(False)
    if tokenizer.chat_template:
        writer.add_chat_template(tokenizer.chat_template)


def _split_of(spec: dict[str, Any]) -> str:
    """Return llama.cpp's name of how a tokenizer splits text before byte-level BPE."""
    steps = spec["pre_tokenizer"] or {}
    steps = steps.get("pretokenizers", [steps])
    kinds = [step.get("type") for step in steps]
    if spec["model"]["type"] == "BPE" and not spec["model"].get("byte_fallback"):
        if kinds == ["Digits", "ByteLevel"] and steps[0]["individual_digits"]:
            return "smollm"
        if kinds == ["ByteLevel"] and steps[0].get("use_regex", True):
            return "gpt-2"
        pattern = str(steps[0].get("pattern", {}).get("Regex", ""))
        if kinds == ["Split", "ByteLevel"] and pattern.startswith(_LLAMA3_SPLIT):
            return "llama-bpe"
    raise InputError(
        "the model's tokenizer is not one of those that are written as GGUF here (byte-level BPE "
        "as in SmolLM, GPT-2 or Llama 3). Merge the judge (--merge) and use llama.cpp's "
        "convert_hf_to_gguf.py"
    )


def _add_tensors(writer: Any, model: Any, precision: Precision) -> None:
    import gguf
    import numpy as np
    import torch

    config = model.config
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    for name, tensor in model.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        found = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if found is None:
            raise EngineError(f"the model has weights that GGUF has no name for: {name}")
        value = tensor.detach().float()
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            heads = config.num_attention_heads if "q_proj" in name else config.num_key_value_heads
            value = _interleaved(value, heads)
        if precision == "f32" or value.ndim == 1:
            writer.add_tensor(found, value.numpy())
        elif precision == "f16":
            writer.add_tensor(found, value.numpy().astype(np.float16))
        else:
            raw = value.to(torch.bfloat16).view(torch.uint8).numpy()
            writer.add_tensor(found, raw, raw_dtype=gguf.GGMLQuantizationType.BF16)


def _interleaved(weight: Any, heads: int) -> Any:
    """Return rows in GGUF's sequence: the two halves that a rotation joins stand side by side."""
    rows, columns = weight.shape
    halves = weight.reshape(heads, 2, rows // heads // 2, columns)
    return halves.swapaxes(1, 2).reshape(rows, columns).contiguous()
