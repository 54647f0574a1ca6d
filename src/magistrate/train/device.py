"""Where a training runs, in which precision, and as which of several processes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from magistrate.errors import EngineError, MissingExtraError
from magistrate.train.recipe import Recipe

_PASS_TOKENS = 2_048
_PASS_TOKENS_ON_GPU = 8_192


@dataclass(frozen=True, slots=True)
class Device:
    """Where and how.

    Attributes:
        name: Such as ``cpu`` or ``cuda:0``.
        bf16: Whether passes are computed in bf16.
        sharded: Whether accelerate divides the weights among processes (FSDP, DeepSpeed).
        pass_tokens: Most tokens of a pass.
    """

    name: str
    bf16: bool
    sharded: bool
    pass_tokens: int

    @property
    def weights(self) -> str:
        """Precision of weights that are not trained."""
        return "bf16" if self.bf16 else "fp32"


def choose_device(recipe: Recipe) -> Device:
    """Return where a training runs.

    Raises:
        EngineError: The recipe asks for what is not there.
        MissingExtraError: torch, or bitsandbytes for 4 bits, is not installed.
    """
    try:
        import torch
    except ModuleNotFoundError as error:
        raise MissingExtraError("training", "train", "torch") from error
    if recipe.run.threads is not None:
        torch.set_num_threads(recipe.run.threads)
    on_gpu = recipe.run.device == "auto" and torch.cuda.is_available()
    sharded = os.environ.get("ACCELERATE_USE_FSDP") == "true" or (
        os.environ.get("ACCELERATE_USE_DEEPSPEED") == "true"
    )
    if on_gpu:
        name = f"cuda:{int(os.environ.get('LOCAL_RANK', '0'))}"
    elif recipe.run.device == "auto" and torch.backends.mps.is_available():
        name = "mps"
    else:
        name = "cpu"
    if recipe.adapter.kind == "qlora":
        _check_four_bits(on_gpu, sharded)
    fast = _has_bf16(torch, name)
    bf16 = fast if recipe.run.precision == "auto" else recipe.run.precision == "bf16"
    default = _PASS_TOKENS_ON_GPU if on_gpu else _PASS_TOKENS
    return Device(name, bf16, sharded, recipe.run.pass_tokens or default)


def _has_bf16(torch: Any, name: str) -> bool:
    """Whether a device computes in bf16, rather than imitating it."""
    if name.startswith("cuda"):
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if name != "cpu":
        return False
    able = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    return any(able.get(name) for name in ("avx512_bf16", "amx_bf16", "bf16"))


def _check_four_bits(on_gpu: bool, sharded: bool) -> None:
    from importlib.util import find_spec

    if not on_gpu:
        raise EngineError(
            "adapter.kind=qlora keeps the base in 4 bits, which needs a CUDA GPU, and torch finds "
            "none here; use adapter.kind=lora"
        )
    if sharded:
        raise EngineError(
            "adapter.kind=qlora does not go with weights that are divided among processes; use "
            "adapter.kind=lora, or a configuration of accelerate without FSDP and DeepSpeed"
        )
    if find_spec("bitsandbytes") is None:
        raise MissingExtraError("adapter.kind=qlora", "qlora", "bitsandbytes")
