"""What a training will take, before it begins: steps, tokens, memory and time, about."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from magistrate.train.device import Device, choose_device
from magistrate.train.head import Head, Item, open_head
from magistrate.train.reading import Labelled, read_labelled
from magistrate.train.recipe import Recipe
from magistrate.train.schedule import Schedule, rank_of_length
from magistrate.train.steps import Scan, nothing_to_learn, scan

_SHOWN = 2
_ADAM = 16
"""Bytes of a trained weight: itself, its gradient and Adam's two averages, each in fp32."""

_SHARE_OF_PEAK = 0.5
"""Assumed share of what a device multiplies at best that a training reaches; not measured. What
it makes of the time is a rough guess, as it is shown to be ("about")."""

_ACTIVATIONS = 34
"""Bytes kept of each token, layer and hidden number in 16 bits (Korthikanti et al.,
arXiv 2205.05198, section 4.1, without the attention scores, which are not kept)."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a training will take.

    Attributes:
        data: The samples, with what is left out.
        scan: What can be learned from, how long, what is cut.
        steps: In all.
        samples: Seen in all, repeats counted.
        tokens: Read in all, about.
        lengths: Of the samples in tokens: median, 95 % and longest.
        weights: Trained, and in all; None where the base's size cannot be told without loading it.
        memory_gb: About; None likewise.
        seconds: About, evaluation not counted; None likewise.
        device: Where it would run.
        shown: The first samples as the model sees them.
    """

    data: Labelled
    scan: Scan
    steps: int
    samples: int
    tokens: int
    lengths: tuple[int, int, int]
    weights: tuple[int, int] | None
    memory_gb: float | None
    seconds: float | None
    device: Device
    shown: tuple[str, ...]


def estimate(recipe: Recipe) -> Estimate:
    """Return what a training would take; nothing is loaded but data and tokenizer.

    Raises:
        InputError: The data cannot be read, or nothing can be learned from it.
        EngineError: The base cannot be found, or its tokenizer not be loaded.
        FamilyError: The family cannot be trained.
    """
    device = choose_device(recipe)
    head = open_head(recipe)
    data = read_labelled(recipe)
    head.load_tokenizer()
    shown: list[str] = []

    def show(_: int, item: Item) -> None:
        if len(shown) < _SHOWN:
            shown.append(head.show(item))

    found = scan(head, data.train, on_item=show)
    if not found.indices:
        raise nothing_to_learn(found)
    schedule = Schedule(found.indices, found.lengths, recipe.optim, recipe.run.seed)
    tokens = round(sum(found.lengths) / len(found.lengths) * schedule.samples)
    median, most, longest = rank_of_length(found.lengths, [0.5, 0.95, 1.0])
    size = _size(recipe, head)
    row = max(device.pass_tokens, longest)
    return Estimate(
        data=data,
        scan=found,
        steps=schedule.steps,
        samples=schedule.samples,
        tokens=tokens,
        lengths=(median, most, longest),
        weights=None if size is None else (size["trained"], size["total"]),
        memory_gb=None if size is None else _memory(recipe, device, size, row) / 1e9,
        seconds=None if size is None else _seconds(recipe, device, size, tokens),
        device=device,
        shown=tuple(shown),
    )


def _size(recipe: Recipe, head: Head) -> Mapping[str, int] | None:
    """Return the weights of the base, from a model without any; None where that cannot be made."""
    import torch
    import transformers

    from magistrate.engines.hf.loading import quiet
    from magistrate.train.adapting import adapt
    from magistrate.train.bases import find_base

    files = find_base(recipe.judge)
    given: dict[str, Any] = {
        "local_files_only": True,
        "trust_remote_code": recipe.judge.trust_remote_code,
    }
    if files.gguf is not None:
        given["gguf_file"] = files.gguf
    section = recipe.adapter
    if section.kind == "qlora":
        section = section.model_copy(update={"kind": "lora"})
    decoder = head.task == "CAUSAL_LM"
    kind = transformers.AutoModelForCausalLM if decoder else transformers.AutoModel
    try:
        with quiet(), torch.device("meta"):
            config = transformers.AutoConfig.from_pretrained(str(files.folder), **given)
            adapted = adapt(kind.from_config(config), section, task=head.task, whole=())
    except Exception:  # what cannot be made without weights raises whatever it likes
        return None
    text = config.get_text_config()
    return {
        "total": adapted.total,
        "trained": adapted.trained,
        "layers": int(getattr(text, "num_hidden_layers", 12)),
        "hidden": int(getattr(text, "hidden_size", 768)),
        "vocabulary": int(getattr(text, "vocab_size", 32_000)),
    }


def _memory(recipe: Recipe, device: Device, size: Mapping[str, int], row: int) -> float:
    """Return bytes of weights, optimizer and one pass."""
    kind = recipe.adapter.kind
    each = 0.56 if kind == "qlora" else 2 if device.bf16 and kind == "lora" else 4
    frozen = (size["total"] - size["trained"]) * each
    kept: float = _ACTIVATIONS * size["hidden"] * size["layers"] * row * (1 if device.bf16 else 2)
    if recipe.run.gradient_checkpointing:
        kept = kept / size["layers"] + 4 * size["hidden"] * size["layers"] * row
    # Of a reply every token has its logits, in fp32, with their gradient and a copy.
    logits = 12 * size["vocabulary"] * row * (0.5 if recipe.judge.mode == "reason" else 0.02)
    return frozen + size["trained"] * _ADAM + kept + logits


def _seconds(recipe: Recipe, device: Device, size: Mapping[str, int], tokens: int) -> float:
    """Return how long the tokens take: of a weight 2 operations each forward, back, to learn it."""
    per_weight = 4 * size["total"] + 2 * size["trained"]
    if recipe.run.gradient_checkpointing:
        per_weight += 2 * size["total"]
    return per_weight * tokens / (_peak(device) * _SHARE_OF_PEAK)


def _peak(device: Device) -> float:
    """Return what the device multiplies a second at best, measured in a moment."""
    import torch

    width = 1024 if device.name == "cpu" else 8192
    dtype = torch.bfloat16 if device.bf16 else torch.float32
    one = torch.ones(width, width, dtype=dtype, device=device.name)
    best = float("inf")
    for _ in range(4):
        started = time.perf_counter()
        float((one @ one)[0, 0])
        best = min(best, time.perf_counter() - started)
    return 2 * width**3 / best
