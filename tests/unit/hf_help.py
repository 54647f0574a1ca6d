"""Tiny models and tokenizers for tests of the transformers engine; made here, nothing fetched."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the extra [hf] is not installed: no torch")
transformers = pytest.importorskip(
    "transformers", reason="the extra [hf] is not installed: no transformers"
)

from tokenizers import (  # noqa: E402
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    trainers,
)

from magistrate.engines.hf.engine import HfEngine  # noqa: E402
from magistrate.engines.hf.loading import LoadedModel  # noqa: E402
from magistrate.engines.hf.settings import HfOptions  # noqa: E402
from magistrate.messages import Message, Part  # noqa: E402

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LLAMA2 = (
    "{{ bos_token }}{% for m in messages %}"
    "{% if m.role == 'system' %}{{ raise_exception('no system messages') }}{% endif %}"
    "{% if m.role == 'user' %}[INST] {{ m.content | trim }} [/INST]"
    "{% else %} {{ m.content | trim }} {{ eos_token }}{% endif %}{% endfor %}"
)
DEEPSEEK: dict[str, Any] = {
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "kv_lora_rank": 8,
    "q_lora_rank": 8,
    "qk_rope_head_dim": 4,
    "qk_nope_head_dim": 4,
    "v_head_dim": 6,
    "head_dim": 4,
    "n_group": 1,
    "topk_group": 1,
    "first_k_dense_replace": 1,
    "moe_intermediate_size": 16,
    "num_key_value_heads": 4,
}
CORPUS = [
    "The quick brown fox jumps over the lazy dog. Which answer is better, and why?",
    "Question: what is the capital of France? Answer 1: Paris. Answer 2: Lyon, I think.",
    "Grade both answers from 1 to 10, with a space between them: 8 9, 10 10, 3 7.",
    "system user assistant\n\nfor i in range(10):\n    print(i)\n<answer_1>\n</answer_1>\n",
    "Ein Satz mit Umlauten: äöü. 中文字符。 नमस्ते 😀",
] * 4


def byte_tokenizer(
    template: str | None = CHATML, *, whole_numbers: bool = False, extra: tuple[str, ...] = ()
) -> Any:
    """Return a byte-level BPE tokenizer, as GPT-2, Llama 3, Qwen and SmolLM have."""
    tokenizer = Tokenizer(models.BPE())
    digits = [] if whole_numbers else [pre_tokenizers.Digits(individual_digits=True)]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [*digits, pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "</s>", "[INST]", "[/INST]"]
    trainer = trainers.BpeTrainer(
        vocab_size=480,
        special_tokens=specials,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    # Qwen's way: control tokens that are not marked as special.
    tokenizer.add_tokens([AddedToken(text, special=False) for text in ("<think>", *extra)])
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
    )
    fast.chat_template = template
    return fast


def piece_tokenizer(template: str | None = LLAMA2, *, legacy: bool = False) -> Any:
    """Return a tokenizer in the manner of sentencepiece, as Llama 2, Mistral and Gemma have."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    alphabet = [f"<0x{byte:02X}>" for byte in range(256)]
    if legacy:
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
        )
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    trainer = trainers.BpeTrainer(
        vocab_size=620,
        special_tokens=["<unk>", "<s>", "</s>", *alphabet],
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    import json

    spec = json.loads(tokenizer.to_str())
    spec["added_tokens"] = [t for t in spec["added_tokens"] if not t["content"].startswith("<0x")]
    tokenizer = Tokenizer.from_str(json.dumps(spec))
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        pad_token="<unk>",
    )
    fast.chat_template = template
    return fast


def tiny_config(kind: str = "llama", vocab: int = 512, **changes: Any) -> Any:
    """Return the configuration of a model of some 20,000 weights."""
    common: dict[str, Any] = {
        "vocab_size": vocab,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 512,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
        "initializer_range": 0.3,
    }
    return transformers.AutoConfig.for_model(kind, **{**common, **changes})


def tiny_model(kind: str = "llama", seed: int = 0, **changes: Any) -> Any:
    """Return a model with random weights."""
    torch.manual_seed(seed)
    config = tiny_config(kind, **changes)
    # As the engine loads them: some releases of transformers leave bent scores out otherwise.
    own = {"attn_implementation": "eager"} if hasattr(config, "attn_logit_softcapping") else {}
    return transformers.AutoModelForCausalLM.from_config(config, **own).eval()


def tiny_engine(
    model: Any = None, tokenizer: Any = None, options: HfOptions | None = None
) -> HfEngine:
    """Return an engine over tiny parts."""
    tokenizer = tokenizer or byte_tokenizer()
    model = model or tiny_model(vocab=len(tokenizer))
    return HfEngine(LoadedModel(model, tokenizer, "fp32"), options or HfOptions())


def pair_prompt(question: str, first: str, second: str) -> tuple[Message, ...]:
    """Return a prompt with own words and three slots."""
    return (
        Message("system", (Part("Grade both answers from 1 to 10."),)),
        Message(
            "user",
            (
                Part("<question>\n"),
                Part(question, "question"),
                Part("\n</question>\n<answer_1>\n"),
                Part(first, "answer_1"),
                Part("\n</answer_1>\n<answer_2>\n"),
                Part(second, "answer_2"),
                Part("\n</answer_2>\nThe grades:"),
            ),
        ),
    )
