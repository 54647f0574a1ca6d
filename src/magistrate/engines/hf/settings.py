"""Options of the transformers engine."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from magistrate.records import Record


class HfOptions(Record):
    """Options of the engine, as text from the command line or as values."""

    dtype: Literal["auto", "fp32", "bf16", "fp16", "4bit"] = "auto"
    """Precision. ``auto`` is fp32 on a processor and that of the weights on a GPU; ``4bit`` needs a
    CUDA GPU and bitsandbytes."""
    device: str = Field(default="auto", pattern=r"^(auto|cpu|mps|cuda(:[0-9]+)?)$")
    """Where to run. ``auto`` takes CUDA GPUs where there are some, and the processor otherwise."""
    adapter: str | None = None
    """A LoRA adapter: a folder, or the hub's id of one."""
    tokenizer: str | None = None
    """A folder with the tokenizer, where it is not the model's own."""
    revision: str | None = None
    """Branch, tag or commit on the hub."""
    gguf_file: str | None = None
    """Name of the GGUF file, in folders and on the hub, where there are several."""
    chat_template: Literal["auto", "none"] = "auto"
    """``none`` joins messages by blank lines, also where the model has a chat template."""
    trust_remote_code: bool = False
    """Run Python code that comes with the model. It can do anything that you can."""
    offline: bool = False
    """Take from the hub only what has been fetched before. Paths never ask the hub."""
    threads: int | None = Field(default=None, ge=1)
    """How many processor threads to use; those that torch chooses by default."""
    batch_tokens: int | None = Field(default=None, ge=1)
    """Most tokens of a pass of the model; 2,048 on a processor and 16,384 on a GPU by default."""
    batch_replies: int | None = Field(default=None, ge=1)
    """Most replies written at once; 16 on a processor and 64 on a GPU by default."""


class HeadOptions(Record):
    """Options of the engine for judge folders with a head."""

    dtype: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    """Precision. ``auto`` is fp32 on a processor and that of the weights on a GPU."""
    device: str = Field(default="auto", pattern=r"^(auto|cpu|mps|cuda(:[0-9]+)?)$")
    """Where to run. ``auto`` takes CUDA GPUs where there are some, and the processor otherwise."""
    base: str | None = None
    """Where the base of an adapter lies, if not where the folder says: a path."""
    offline: bool = False
    """Take from the hub only what has been fetched before. Paths never ask the hub."""
    threads: int | None = Field(default=None, ge=1)
    """How many processor threads to use; those that torch chooses by default."""
    batch_tokens: int | None = Field(default=None, ge=1)
    """Most padded tokens of a pass; 2,048 on a processor and 16,384 on a GPU by default."""

    def for_loading(self) -> HfOptions:
        """Return what matters when a model is loaded."""
        return HfOptions(dtype=self.dtype, device=self.device, offline=self.offline)
