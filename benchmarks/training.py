"""Throughput of a training against a plain transformers.Trainer, on the same samples.

    in a quiet machine: python benchmarks/training.py SMOLLM2_FOLDER \
        ../shared/data/pandalm/testset-v1.json --steps 6 --batch 8

Both begin with the same weights and see the same samples step by step, a step of one after a step
of the other. The plain way pads each batch to its longest sample and computes in fp32, as
``TrainingArguments`` does by default; ours packs, computes the output layer only where something is
learned, and uses bf16 where the processor has it. Wall and processor time are of the steps alone.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers

from magistrate.train import resuming
from magistrate.train.adapting import adapt
from magistrate.train.arguments import training_arguments
from magistrate.train.device import choose_device
from magistrate.train.generate import GenerateHead
from magistrate.train.reading import read_labelled
from magistrate.train.recipe import Recipe, read_recipe
from magistrate.train.schedule import Schedule
from magistrate.train.steps import Passing, StepData, scan
from magistrate.train.trainer import Hooks, JudgeTrainer


@dataclass
class Measured:
    """What one way took, step by step."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)


class Turns:
    """Two threads take turns, a step each."""

    def __init__(self) -> None:
        self._turn = 0
        self._done: set[int] = set()
        self._condition = threading.Condition()

    def take(self, who: int) -> None:
        """Wait until it is one's turn, or the other is done."""
        with self._condition:
            self._condition.wait_for(lambda: self._turn == who or (1 - who) in self._done)

    def give(self, who: int, *, done: bool = False) -> None:
        """Let the other one go on."""
        with self._condition:
            self._turn = 1 - who
            if done:
                self._done.add(who)
            self._condition.notify_all()


class Clock(transformers.TrainerCallback):
    """Measures steps, and waits for its turn before each."""

    def __init__(self, turns: Turns, who: int, measured: Measured) -> None:
        self._turns, self._who, self._measured = turns, who, measured
        self._begun = (0.0, 0.0)

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        """Wait for the turn, then start the clock."""
        self._turns.take(self._who)
        self._begun = (time.perf_counter(), cpu_seconds())

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        """Stop the clock and give the turn away."""
        self._measured.wall.append(time.perf_counter() - self._begun[0])
        self._measured.cpu.append(cpu_seconds() - self._begun[1])
        self._turns.give(self._who)
        control.should_log = True
        return control

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Keep the loss of each step."""
        if logs and "loss" in logs:
            self._measured.loss.append(float(logs["loss"]))


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


class PlainData:
    """The same samples in the same sequence, one row each."""

    def __init__(self, head: GenerateHead, samples: Any, schedule: Schedule) -> None:
        places = [place for step in range(schedule.steps) for place in schedule.places(step)]
        self._rows = [
            head.encode(samples[place.index], place.epoch, place.index).rows[0] for place in places
        ]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Any:
        row = self._rows[index]
        return {"input_ids": list(row.ids), "labels": list(row.labels)}


class InSequence(transformers.Trainer):
    """The plain Trainer, but for the sequence of samples, which must be ours."""

    def _get_train_sampler(self, *_: Any) -> Any:
        return torch.utils.data.SequentialSampler(self.train_dataset)


def padded(padding: int) -> Callable[[list[Any]], dict[str, Any]]:
    def collate(rows: list[Any]) -> dict[str, Any]:
        width = max(len(row["input_ids"]) for row in rows)
        ids = [row["input_ids"] + [padding] * (width - len(row["input_ids"])) for row in rows]
        labels = [row["labels"] + [-100] * (width - len(row["labels"])) for row in rows]
        mask = [[1] * len(r["input_ids"]) + [0] * (width - len(r["input_ids"])) for r in rows]
        tensors = {"input_ids": ids, "labels": labels, "attention_mask": mask}
        return {name: torch.tensor(value) for name, value in tensors.items()}

    return collate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base")
    parser.add_argument("data")
    parser.add_argument("--family", default="ab-token")
    parser.add_argument("--mode", default="score")
    parser.add_argument("--adapter", default="full", choices=["full", "lora"])
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pass-tokens", type=int, default=2048)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    recipe = read_recipe(
        None,
        {
            "data.train": given.data,
            "judge.base": given.base,
            "judge.family": given.family,
            "judge.mode": given.mode,
            "adapter.kind": given.adapter,
            "adapter.dropout": 0.0,
            "optim.steps": given.steps,
            "optim.batch": given.batch,
            "optim.lr": 2e-5 if given.adapter == "full" else 1e-3,
            "optim.warmup": 1,
            "run.precision": given.precision,
            "run.pass_tokens": given.pass_tokens,
            "run.log_each": 1,
            "run.device": "cpu",
        },
    )
    with tempfile.TemporaryDirectory() as folder:
        show(*run(recipe, Path(folder)))


def run(recipe: Recipe, folder: Path) -> tuple[Measured, Measured, list[int], int]:
    samples = read_labelled(recipe).train
    head = GenerateHead(recipe)
    head.load_tokenizer()
    found = scan(head, samples)
    schedule = Schedule(found.indices, found.lengths, recipe.optim, 0)
    device = choose_device(recipe)
    plain, ours, turns = Measured(), Measured(), Turns()
    # Made one after the other: transformers does not load models in two threads at once.
    trainers = [
        plain_trainer(recipe, folder, samples, schedule, turns, plain),
        our_trainer(recipe, folder, samples, schedule, found, device, turns, ours),
    ]
    threads = [
        threading.Thread(target=train, args=(trainer, turns, who))
        for who, trainer in enumerate(trainers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    length_of = dict(zip(found.indices, found.lengths, strict=True))
    tokens = [
        sum(length_of[place.index] for place in schedule.places(step))
        for step in range(schedule.steps)
    ]
    return plain, ours, tokens, recipe.optim.batch


def train(trainer: Any, turns: Turns, who: int) -> None:
    try:
        trainer.train()
    finally:
        turns.give(who, done=True)


def plain_trainer(
    recipe: Recipe, folder: Path, samples: Any, schedule: Schedule, turns: Turns, measured: Measured
) -> Any:
    head = GenerateHead(recipe)
    loaded = head.load(dtype="fp32", device="cpu")
    adapted = adapt(loaded.model, recipe.adapter, task="CAUSAL_LM", whole=())
    args = transformers.TrainingArguments(
        output_dir=str(folder / "plain"),
        per_device_train_batch_size=recipe.optim.batch,
        max_steps=schedule.steps,
        learning_rate=recipe.optim.lr,
        lr_scheduler_type="cosine",
        warmup_steps=1,
        weight_decay=0.0,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
        seed=0,
    )
    trainer = InSequence(
        model=adapted.model,
        args=args,
        train_dataset=PlainData(head, samples, schedule),
        data_collator=padded(loaded.tokenizer.pad_token_id or 0),
        callbacks=[Clock(turns, 0, measured)],
    )
    trainer.remove_callback(transformers.PrinterCallback)
    return trainer


def our_trainer(
    recipe: Recipe,
    folder: Path,
    samples: Any,
    schedule: Schedule,
    found: Any,
    device: Any,
    turns: Turns,
    measured: Measured,
) -> Any:
    head = GenerateHead(recipe)
    frozen = recipe.adapter.kind != "full"
    loaded = head.load(dtype=device.weights if frozen else "fp32", device="cpu")
    packed = head.can_pack(loaded.model)
    adapted = adapt(loaded.model, recipe.adapter, task="CAUSAL_LM", whole=())
    args = training_arguments(recipe, resuming.Work(folder / "ours"), device, schedule.steps)
    hooks = Hooks(
        evaluate=lambda step, epoch: {},
        log=lambda row: None,
        progress=lambda: None,
        stop=lambda: False,
    )
    trainer = JudgeTrainer(
        adapted.model,
        args,
        head=head,
        data=StepData(head, samples, found, schedule, Passing(packed, device.pass_tokens)),
        schedule=schedule,
        recipe=recipe,
        hooks=hooks,
        autocast=device.bf16,
    )
    trainer._save_checkpoint = lambda *_: None  # what is measured is training
    trainer.add_callback(Clock(turns, 1, measured))
    return trainer


def show(plain: Measured, ours: Measured, tokens: list[int], batch: int) -> None:
    steps = len(plain.wall)
    print(f"{steps} steps of {batch} samples, {sum(tokens) / steps / batch:.0f} tokens a sample")
    print("step  plain loss  our loss   plain s     our s")
    for step, row in enumerate(
        zip(plain.loss, ours.loss, plain.wall, ours.wall, strict=True), start=1
    ):
        print(f"{step:4} {row[0]:11.4f} {row[1]:9.4f} {row[2]:9.2f} {row[3]:9.2f}")
    for name, found in (("plain", plain), ("ours", ours)):
        wall, cpu = sum(found.wall), sum(found.cpu)
        print(
            f"{name:6} {steps * batch / wall:6.2f} samples/s, {sum(tokens) / wall:7.0f} tokens/s, "
            f"{cpu:6.1f} s of processor time"
        )
    apart = max(abs(a - b) for a, b in zip(plain.loss, ours.loss, strict=True))
    ratios = [a / b for a, b in zip(plain.wall, ours.wall, strict=True)]
    print(
        f"ours is {sum(plain.wall) / sum(ours.wall):.2f} times as fast (steps: "
        f"{min(ratios):.2f} to {max(ratios):.2f}, median {statistics.median(ratios):.2f}); "
        f"largest difference of losses {apart:.4f}"
    )


if __name__ == "__main__":
    main()
