"""Options of the vLLM engine."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from magistrate.records import Record


class VllmOptions(Record):
    """Options of the engine, as text from the command line or as values."""

    dtype: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    """Precision. ``auto`` is fp32 on a processor; on a GPU what vLLM takes, which is that of the
    weights, and fp16 for weights in fp32."""
    adapter: str | None = None
    """A LoRA adapter: a folder, or the hub's id of one."""
    revision: str | None = None
    """Branch, tag or commit on the hub."""
    chat_template: Literal["auto", "none"] = "auto"
    """``none`` joins messages by blank lines, also where the model has a chat template."""
    trust_remote_code: bool = False
    """Run Python code that comes with the model. It can do anything that you can."""
    offline: bool = False
    """Take from the hub only what has been fetched before. Paths never ask the hub."""
    tensor_parallel: int = Field(default=1, ge=1)
    """Over how many GPUs each layer is split."""
    gpu_memory: float | None = Field(default=None, gt=0, le=1)
    """Share of each GPU's memory that vLLM may take (``gpu_memory_utilization``); its own default
    when None."""
    cache_gib: float | None = Field(default=None, gt=0)
    """Memory for keys and values, in GiB. On a GPU what ``gpu_memory`` leaves, on a processor 4."""
    max_model_len: int | None = Field(default=None, ge=16)
    """Longest prompt and reply together, in tokens; the model's own window when None."""
    eager: bool = False
    """Compile nothing: starts sooner and runs slower (``enforce_eager``)."""
    seed: int = Field(default=0, ge=0)
    """Of vLLM itself; every request brings its own."""
    start_timeout: float = Field(default=900, gt=0)
    """Seconds after which a vLLM that is still starting is ended."""
