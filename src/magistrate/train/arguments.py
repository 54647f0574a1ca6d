"""What transformers' Trainer is told of a recipe."""

from __future__ import annotations

import math
from typing import Any

from magistrate.train.device import Device
from magistrate.train.recipe import Recipe
from magistrate.train.resuming import Work


def training_arguments(recipe: Recipe, work: Work, device: Device, steps: int) -> Any:
    """Return the arguments of transformers' Trainer for a recipe."""
    import transformers

    optim = recipe.optim
    warmup = math.ceil(optim.warmup * steps) if optim.warmup < 1 else int(optim.warmup)
    kinds = {"constant": "constant_with_warmup"}
    return transformers.TrainingArguments(
        output_dir=str(work.checkpoints),
        per_device_train_batch_size=1,
        max_steps=steps,
        learning_rate=optim.lr,
        lr_scheduler_type=kinds.get(optim.schedule, optim.schedule),
        warmup_steps=warmup,
        weight_decay=optim.weight_decay,
        max_grad_norm=optim.clip,
        seed=recipe.run.seed,
        bf16=device.bf16 and device.sharded,
        use_cpu=device.name == "cpu",
        torch_compile=recipe.run.compile,
        report_to=list(recipe.run.trackers) or "none",
        run_name=recipe.judge.name,
        logging_strategy="no",
        eval_strategy="no",
        save_strategy="no",
        save_total_limit=2,
        ignore_data_skip=True,
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_pin_memory=False,
        average_tokens_across_devices=False,
    )


def keep_fewer_activations(model: Any) -> None:
    """Let a model compute its activations twice rather than keep them."""
    enable = getattr(model, "activation_checkpointing_enable", None)
    if enable is not None:
        enable(activation_checkpointing_kwargs={"use_reentrant": False})
    else:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
