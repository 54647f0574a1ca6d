"""Which weights of a model are trained: adapters, the layers nearest the output, or all."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from magistrate.errors import EngineError, MissingExtraError
from magistrate.train.recipe import AdapterSection

_LAYER = re.compile(r"(?:^|\.)(?:layers|layer|h|blocks)\.(\d+)\.")


@dataclass(frozen=True, slots=True)
class Adapted:
    """A model that can be trained.

    Attributes:
        model: A ``PeftModel`` where an adapter is trained.
        adapter: Whether it is one.
        trained: Weights that are trained.
        total: All weights.
    """

    model: Any
    adapter: bool
    trained: int
    total: int


def adapt(model: Any, section: AdapterSection, *, task: str, whole: tuple[str, ...]) -> Adapted:
    """Say which weights of a model are trained, and give it an adapter where one is asked for.

    Args:
        model: From a head's ``load``.
        section: Section ``[adapter]`` of the recipe.
        task: peft's name of the task.
        whole: Modules that are always trained whole.

    Raises:
        EngineError: The model has fewer layers than are to be trained, or no layer of the names
            that are to get matrices.
        MissingExtraError: peft or bitsandbytes is missing.
    """
    total = sum(p.numel() for p in model.parameters())
    first = _first_trained(model, section.top)
    if section.kind == "full":
        _freeze_below(model, first, whole)
        adapter = False
    else:
        model = _with_matrices(model, section, task, whole, first)
        adapter = True
    _trained_in_fp32(model)
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    return Adapted(model, adapter, trained, total)


def _first_trained(model: Any, top: int | None) -> int | None:
    """Return the lowest layer that is trained; None for all."""
    if top is None:
        return None
    numbers = {int(m[1]) for name, _ in model.named_parameters() if (m := _LAYER.search(name))}
    count = max(numbers) + 1 if numbers else 0
    if top > count:
        raise EngineError(f"adapter.trainable is top:{top}, but the base has {count} layers")
    return count - top


def _freeze_below(model: Any, first: int | None, whole: tuple[str, ...]) -> None:
    """Freeze embeddings, output layer and all layers below one; norms after them stay free."""
    if first is None:
        for parameter in model.parameters():
            parameter.requires_grad_(True)
        return
    embeddings = {id(p) for p in _embeddings(model)}
    for name, parameter in model.named_parameters():
        layer = _LAYER.search(name)
        new = any(f".{module}." in f".{name}." for module in whole)
        free = new or (id(parameter) not in embeddings and (not layer or int(layer[1]) >= first))
        parameter.requires_grad_(free)


def _embeddings(model: Any) -> list[Any]:
    found = [model.get_input_embeddings(), model.get_output_embeddings()]
    return [p for module in found if module is not None for p in module.parameters()]


def _with_matrices(
    model: Any, section: AdapterSection, task: str, whole: tuple[str, ...], first: int | None
) -> Any:
    try:
        import peft
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"adapter.kind={section.kind}", "train", "peft") from error
    if section.kind == "qlora":
        # Checkpointing is the recipe's business: see [run].
        model = peft.prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)
    config = peft.LoraConfig(
        r=section.r,
        lora_alpha=section.alpha,
        lora_dropout=section.dropout,
        target_modules=_targets(model, section, whole, first),
        modules_to_save=list(whole) or None,
        task_type=task,
    )
    return peft.get_peft_model(model, config)


def _targets(
    model: Any, section: AdapterSection, whole: tuple[str, ...], first: int | None
) -> list[str]:
    """Return the full names of the linear layers that get matrices."""
    import torch

    linear: tuple[type, ...] = (torch.nn.Linear,)
    if section.kind == "qlora":
        import bitsandbytes

        linear = (*linear, bitsandbytes.nn.Linear4bit)
    try:
        from transformers.pytorch_utils import Conv1D

        linear = (*linear, Conv1D)
    except ImportError:
        pass
    last = model.get_output_embeddings()
    wanted = section.targets
    names = (wanted,) if isinstance(wanted, str) else wanted
    found = []
    for name, module in model.named_modules():
        layer = _LAYER.search(f"{name}.")
        if not isinstance(module, linear) or module is last or not layer:
            continue
        if any(f".{each}." in f".{name}." for each in whole):
            continue
        if first is not None and int(layer[1]) < first:
            continue
        if wanted == "all-linear" or name.rpartition(".")[2] in names:
            found.append(name)
    if not found:
        kinds = sorted(
            {n.rpartition(".")[2] for n, m in model.named_modules() if isinstance(m, linear)}
        )
        raise EngineError(
            f"adapter.targets names no layer of the base: {', '.join(names)}; it has "
            f"{', '.join(kinds) or 'no linear layers'}"
        )
    return found


def _trained_in_fp32(model: Any) -> None:
    """Keep trained weights in fp32, whatever the precision of the others."""
    import torch

    for parameter in model.parameters():
        if parameter.requires_grad and parameter.dtype in (torch.bfloat16, torch.float16):
            parameter.data = parameter.data.float()
