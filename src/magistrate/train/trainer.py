"""transformers' Trainer for judges: losses by part, passes of packed samples, whole checkpoints."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers
from torch.utils.data import DataLoader, Sampler

from magistrate.errors import EngineError
from magistrate.train.head import Head
from magistrate.train.recipe import Recipe
from magistrate.train.resuming import mark_complete
from magistrate.train.schedule import Schedule
from magistrate.train.steps import Step, StepData

_SEEDS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """How far a training is.

    Attributes:
        step: Steps taken.
        steps: Steps in all.
        epoch: Epochs seen.
        loss: Mean over the last logged steps; None before the first.
        samples_left: Still to be seen.
        samples_per_second: Since this process began.
        tokens_per_second: Likewise, padding not counted.
    """

    step: int
    steps: int
    epoch: float
    loss: float | None
    samples_left: int
    samples_per_second: float
    tokens_per_second: float


@dataclass(slots=True)
class Hooks:
    """What the loop does beside training.

    Attributes:
        evaluate: Called when it is time to look; returns what was measured, for trackers.
        log: Takes each line of the log.
        progress: Called after each step.
        stop: Whether someone asked to stop after the step under way.
    """

    evaluate: Callable[[int, float], Mapping[str, float]]
    log: Callable[[Mapping[str, Any]], None]
    progress: Callable[[], None]
    stop: Callable[[], bool]


@dataclass(slots=True)
class _Sums:
    """What has been computed since the last line of the log, and since the beginning."""

    losses: dict[str, Any] = field(default_factory=dict)
    counts: dict[str, Any] = field(default_factory=dict)
    samples: int = 0
    tokens: int = 0
    seconds: float = 0.0
    all_samples: int = 0
    all_tokens: int = 0
    all_seconds: float = 0.0

    def add_part(self, name: str, total: Any, count: Any) -> None:
        self.losses[name] = self.losses.get(name, 0.0) + total
        self.counts[name] = self.counts.get(name, 0) + count

    def add_step(self, step: Step, seconds: float) -> None:
        self.samples += step.samples
        self.tokens += step.tokens
        self.seconds += seconds
        self.all_samples += step.samples
        self.all_tokens += step.tokens
        self.all_seconds += seconds

    def clear(self) -> None:
        self.losses, self.counts = {}, {}
        self.samples = self.tokens = 0
        self.seconds = 0.0


class _From(Sampler):  # type: ignore[misc]  # as below
    """All steps from one on; its length is that of all, which the Trainer counts epochs by."""

    def __init__(self, first: int, count: int) -> None:
        self._first, self._count = first, count

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._first, self._count))

    def __len__(self) -> int:
        return self._count


class JudgeTrainer(transformers.Trainer):  # type: ignore[misc]  # checked without transformers too
    """Takes steps as :class:`~magistrate.train.steps.StepData` lays them out.

    One step of the Trainer is one step of ours: the passes within it are summed here, so that
    gradients are those of the whole step, whatever its passes and devices. All chance of a step
    (dropout) comes from the seed and the step's number, so a training that goes on after a crash
    draws what it would have drawn.
    """

    def __init__(
        self,
        model: Any,
        args: Any,
        *,
        head: Head,
        data: StepData,
        schedule: Schedule,
        recipe: Recipe,
        hooks: Hooks,
        first_step: int = 0,
        autocast: bool = False,
    ) -> None:
        """Take model, arguments and data.

        Args:
            model: To be trained.
            args: ``TrainingArguments``.
            head: Computes losses.
            data: The steps.
            schedule: Their layout.
            recipe: When to log, evaluate and save.
            hooks: What is done beside.
            first_step: Where to go on.
            autocast: Whether passes are computed in bf16 here (not where accelerate does so).
        """
        super().__init__(model=model, args=args, train_dataset=data)
        self.remove_callback(transformers.PrinterCallback)
        self.remove_callback(transformers.ProgressCallback)
        self._head = head
        self._data = data
        self._schedule = schedule
        self._hooks = hooks
        self._first_step = first_step
        self._autocast = autocast
        self._sums = _Sums()
        self._last_loss: float | None = None
        self.add_callback(_Flow(recipe, schedule, hooks))

    def get_train_dataloader(self) -> Any:
        """Return the steps from the first on; each process makes its own share."""
        steps = _From(self._first_step, len(self._data))
        return DataLoader(
            self._data,
            batch_size=None,
            sampler=steps,
            collate_fn=lambda step: {"step": step},
        )

    def autocast_smart_context_manager(self, cache_enabled: bool | None = True) -> Any:
        """Compute passes in bf16, where the recipe says so and accelerate does not."""
        if not self._autocast:
            return contextlib.nullcontext()
        device = self.accelerator.device.type
        return torch.autocast(device, torch.bfloat16, cache_enabled=bool(cache_enabled))

    def training_step(
        self, model: Any, inputs: Mapping[str, Any], num_items_in_batch: Any = None
    ) -> Any:
        """Compute the gradients of one step, pass by pass; return its mean loss."""
        started = time.perf_counter()
        step: Step = inputs["step"]
        model.train()
        torch.manual_seed(self._seed(step.number))
        items, passes = self._totals(step)
        scale = 0.0 if step.idle else self.accelerator.num_processes / items
        total = torch.zeros((), device=self.args.device)
        for place in range(passes):
            own = place < len(step.passes)
            batch = self._prepare_inputs(step.passes[place if own else 0])
            last = place == passes - 1
            self.accelerator.gradient_state._set_sync_gradients(last)
            with contextlib.nullcontext() if last else self.accelerator.no_sync(model):
                with self.compute_loss_context_manager():
                    losses = self._head.losses(model, batch)
                loss = losses.loss * (scale if own else 0.0)
                self.accelerator.backward(loss)
            if own and not step.idle:
                total += loss.detach()
                for name, part in losses.parts.items():
                    self._sums.add_part(name, part.total, part.count)
        if not torch.isfinite(total):
            raise EngineError(
                f"the loss of step {step.number + 1:,} is {float(total)}: the training has come "
                f"apart; lower optim.lr, lengthen optim.warmup, or use run.precision=fp32"
            )
        self._sums.add_step(step, time.perf_counter() - started)
        return total

    def evaluate(self, *_given: Any, **_others: Any) -> dict[str, float]:
        """Look how good the judge is now, by our own measure."""
        step = int(self.state.global_step)
        found = self._hooks.evaluate(step, self._schedule.epoch_after(step - 1))
        metrics = {f"eval_{name}": value for name, value in found.items()}
        transformers.Trainer.log(self, dict(metrics))
        return metrics

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Add the loss of each part and the speed to a line, and let trackers have it."""
        if "loss" in logs:
            step = int(self.state.global_step)
            self._last_loss = float(logs["loss"])
            logs = {**logs, **self._parts(), **self._speeds()}
            epoch = self._schedule.epoch_after(step - 1)
            self._hooks.log({"step": step, "epoch": round(epoch, 4), **logs})
            self._sums.clear()
        super().log(logs, start_time)

    def progress(self) -> TrainingProgress:
        """Return how far the training is."""
        step = int(self.state.global_step)
        seconds = max(self._sums.all_seconds, 1e-9)
        world = self.accelerator.num_processes
        return TrainingProgress(
            step=step,
            steps=len(self._data),
            epoch=self._schedule.epoch_after(step - 1) if step else 0.0,
            loss=self._last_loss,
            samples_left=self._schedule.samples_after(step - 1),
            samples_per_second=self._sums.all_samples * world / seconds,
            tokens_per_second=self._sums.all_tokens * world / seconds,
        )

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Save a checkpoint, and say at the very end that it is whole."""
        super()._save_checkpoint(model, trial)
        self.accelerator.wait_for_everyone()
        if self.args.should_save:
            step = int(self.state.global_step)
            folder = Path(self.args.output_dir) / f"checkpoint-{step}"
            mark_complete(folder, {"step": step, "processes": self.accelerator.num_processes})

    def _seed(self, step: int) -> int:
        rank = int(self.accelerator.process_index)
        return (int(self.args.seed) * 1_000_003 + step * 1009 + rank) % _SEEDS

    def _totals(self, step: Step) -> tuple[float, int]:
        """Return what the losses of the step are a mean over, and the most passes of a process."""
        own = 0.0 if step.idle else float(sum(batch["items"] for batch in step.passes))
        if self.accelerator.num_processes == 1:
            return max(own, 1e-9), len(step.passes)
        both = torch.tensor([own, float(len(step.passes))], device=self.args.device)
        found = self.accelerator.gather(both[None])
        return max(float(found[:, 0].sum()), 1e-9), int(found[:, 1].max())

    def _parts(self) -> dict[str, float]:
        """Return the mean loss of each part since the last line, over all processes."""
        names = self._head.parts
        rows = [
            [float(self._sums.losses.get(name, 0.0)), float(self._sums.counts.get(name, 0))]
            for name in names
        ]
        sums = torch.tensor([rows], device=self.args.device)
        if self.accelerator.num_processes > 1:
            sums = self.accelerator.gather(sums)
        totals = sums.sum(0).tolist()
        return {
            name: total / count for name, (total, count) in zip(names, totals, strict=True) if count
        }

    def _speeds(self) -> dict[str, float]:
        seconds = max(self._sums.seconds, 1e-9)
        world = self.accelerator.num_processes
        return {
            "samples_per_second": self._sums.samples * world / seconds,
            "tokens_per_second": self._sums.tokens * world / seconds,
        }


class _Flow(transformers.TrainerCallback):  # type: ignore[misc]  # as above
    """Says when to log, evaluate, save and stop."""

    def __init__(self, recipe: Recipe, schedule: Schedule, hooks: Hooks) -> None:
        self._run = recipe.run
        self._schedule = schedule
        self._hooks = hooks

    def on_step_end(self, args: Any, state: Any, control: Any, **others: Any) -> Any:
        step = int(state.global_step)
        state.epoch = self._schedule.epoch_after(step - 1)
        last = step >= self._schedule.steps
        stop = self._hooks.stop()
        each = self._run.evaluate_each
        look = self._schedule.ends_epoch(step - 1) if each is None else step % each == 0
        save = look if self._run.save_each is None else step % self._run.save_each == 0
        control.should_log = last or stop or step % self._run.log_each == 0
        control.should_evaluate = last or (look and not stop)
        control.should_save = last or save or stop
        control.should_training_stop = last or stop
        self._hooks.progress()
        return control

    def on_epoch_end(self, args: Any, state: Any, control: Any, **others: Any) -> Any:
        # The Trainer's one epoch is our whole training: all was done at its last step.
        control.should_log = control.should_evaluate = control.should_save = False
        return control
