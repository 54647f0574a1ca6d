"""A training from recipe to judge folder."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from magistrate.errors import EngineError, InputError
from magistrate.store.interrupt import RunInterrupted
from magistrate.train import resuming
from magistrate.train.adapting import Adapted, adapt
from magistrate.train.arguments import keep_fewer_activations, training_arguments
from magistrate.train.best import Best, put_weights, trained_weights
from magistrate.train.device import Device, choose_device
from magistrate.train.evaluating import FIELDS, evaluate_judge, not_training
from magistrate.train.head import Finished, Head, open_head
from magistrate.train.logs import CsvLog
from magistrate.train.reading import Labelled, read_labelled
from magistrate.train.recipe import Recipe
from magistrate.train.schedule import Schedule
from magistrate.train.steps import Passing, Scan, StepData, nothing_to_learn, passes_of, scan

if TYPE_CHECKING:
    from magistrate.engines.hf.loading import LoadedModel
    from magistrate.train.trainer import JudgeTrainer, TrainingProgress

_LOG = ("loss", "learning_rate", "grad_norm", "samples_per_second", "tokens_per_second")


@dataclass(slots=True)
class Watching:
    """What is told while a training is under way.

    Attributes:
        progress: After each step.
        evaluated: After each evaluation: its row of ``evaluation.csv``.
        note: Something that should be said at once.
    """

    progress: Callable[[TrainingProgress], None] = field(default=lambda progress: None)
    evaluated: Callable[[Mapping[str, Any]], None] = field(default=lambda row: None)
    note: Callable[[str], None] = field(default=lambda text: None)


@dataclass(frozen=True, slots=True)
class Trained:
    """A training that has ended.

    Attributes:
        folder: The judge folder.
        steps: Taken in all.
        samples: Seen in all.
        seconds: Of this process, loading not counted.
        weights: Trained, and in all.
        scan: What there was to learn from.
        data: The samples, with what is left out.
        measured: The row of ``evaluation.csv`` that belongs to the judge's weights.
        main: Whether this is the process that writes; the others of several have nothing to tell.
    """

    folder: Path
    steps: int
    samples: int
    seconds: float
    weights: tuple[int, int]
    scan: Scan
    data: Labelled
    measured: Mapping[str, Any]
    main: bool = True


def train(
    recipe: Recipe, out: Path, *, resume: bool = False, watching: Watching | None = None
) -> Trained:
    """Train a judge, or go on training it, and write its folder.

    Args:
        recipe: What to train.
        out: The judge folder to be; ``out/training`` holds what belongs to the training itself.
        resume: Go on with what is there.
        watching: Who is told of it.

    Raises:
        InputError: The data cannot be read, or nothing can be learned from it.
        EngineError: The base cannot be loaded or trained here.
        FamilyError: The family cannot be trained.
        RunError: The folder holds something else, or a training of another recipe or data.
        RunInterrupted: Someone asked to stop; a checkpoint was written.
    """
    watching = watching or Watching()
    device = choose_device(recipe)
    head = open_head(recipe)
    data = read_labelled(recipe)
    work = resuming.Work(out)
    started = _begin(work, recipe, data, device, resume=resume, note=watching.note)
    return _Training(recipe, work, device, head, data, watching).run(started)


def _begin(
    work: resuming.Work,
    recipe: Recipe,
    data: Labelled,
    device: Device,
    *,
    resume: bool,
    note: Callable[[str], None],
) -> Path | None:
    """Begin or go on, in the first of several processes; the others wait and follow."""
    from accelerate import PartialState

    training = resuming.describe_training(recipe, data.train, data.dev)
    state = PartialState(cpu=device.name == "cpu")
    with state.main_process_first():
        # What the first has made, the others go on with.
        checkpoint, notes = resuming.begin(
            work, training, resume=resume or not state.is_main_process
        )
    if state.is_main_process:
        for text in notes:
            note(text)
    return checkpoint


class _Training:
    """One training: its parts, made in sequence."""

    def __init__(
        self,
        recipe: Recipe,
        work: resuming.Work,
        device: Device,
        head: Head,
        data: Labelled,
        watching: Watching,
    ) -> None:
        self._recipe = recipe
        self._work = work
        self._device = device
        self._head = head
        self._data = data
        self._watching = watching
        self._best = Best(work.best, recipe.run.best_by if data.dev else "last")
        self._last: dict[str, Any] = {}
        self._stops = 0

    def run(self, checkpoint: Path | None) -> Trained:
        """Load, train, evaluate, write."""
        first = resuming.checkpoint_facts(checkpoint)["step"] if checkpoint else 0
        loaded, adapted, packed = self._load()
        found = scan(self._head, self._data.train)
        if not found.indices:
            if checkpoint is None:
                resuming.forget(self._work)
            raise nothing_to_learn(found)
        schedule = Schedule(found.indices, found.lengths, self._recipe.optim, self._recipe.run.seed)
        trainer = self._trainer(loaded, adapted, packed, found, schedule, first)
        main = bool(trainer.is_world_process_zero())
        if main:
            self._open_logs(first)
            self._best.forget_after(first)
        begun = time.monotonic()
        self._train(trainer, checkpoint)
        if trainer.state.global_step < schedule.steps:
            raise RunInterrupted(
                f"stopped after step {trainer.state.global_step:,} of {schedule.steps:,}; a "
                f"checkpoint was written, and the same command with --resume goes on",
                self._stops,
            )
        seconds = time.monotonic() - begun
        measured = self._write(trainer, loaded, adapted, found, schedule, seconds)
        return Trained(
            folder=self._work.judge,
            steps=schedule.steps,
            samples=schedule.samples,
            seconds=seconds,
            weights=(adapted.trained, adapted.total),
            scan=found,
            data=self._data,
            measured=measured,
            main=main,
        )

    def _load(self) -> tuple[LoadedModel, Adapted, bool]:
        """Return the base, what of it is trained, and whether samples are packed."""
        import torch

        from magistrate.engines.hf.loading import quiet

        recipe, device = self._recipe, self._device
        torch.manual_seed(recipe.run.seed)
        frozen = recipe.adapter.kind != "full"
        loaded = self._head.load(
            dtype=device.weights if frozen else "fp32",
            device="cpu" if device.sharded else device.name,
            quantized=recipe.adapter.kind == "qlora",
        )
        packed = recipe.run.packing != "off" and self._head.can_pack(loaded.model)
        if recipe.run.packing == "on" and not packed:
            raise InputError(
                "run.packing is on, but this base does not give the same with samples behind one "
                "another in one row; use run.packing = 'auto'"
            )
        if recipe.run.gradient_checkpointing:
            keep_fewer_activations(loaded.model)
        torch.manual_seed(recipe.run.seed)
        with quiet():  # peft looks for what transformers calls otherwise by now
            adapted = adapt(
                loaded.model, recipe.adapter, task=self._head.task, whole=self._head.whole
            )
        return loaded, adapted, packed

    def _trainer(
        self,
        loaded: LoadedModel,
        adapted: Adapted,
        packed: bool,
        found: Scan,
        schedule: Schedule,
        first: int,
    ) -> JudgeTrainer:
        from magistrate.train.trainer import Hooks, JudgeTrainer

        args = training_arguments(self._recipe, self._work, self._device, schedule.steps)
        how = Passing(packed, self._device.pass_tokens, args.process_index, args.world_size)
        trainer: JudgeTrainer

        def evaluate(step: int, epoch: float) -> dict[str, float]:
            return self._evaluate(trainer, loaded, adapted, packed, step, epoch)

        def progress() -> None:
            if trainer.is_world_process_zero():
                self._watching.progress(trainer.progress())

        hooks = Hooks(
            evaluate=evaluate,
            log=lambda row: self._log.add(row) if trainer.is_world_process_zero() else None,
            progress=progress,
            stop=lambda: self._stops > 0,
        )
        try:
            trainer = JudgeTrainer(
                adapted.model,
                args,
                head=self._head,
                data=StepData(self._head, self._data.train, found, schedule, how),
                schedule=schedule,
                recipe=self._recipe,
                hooks=hooks,
                first_step=first,
                autocast=self._device.bf16 and not self._device.sharded,
            )
        except (ImportError, RuntimeError, ValueError) as error:
            if not self._recipe.run.trackers:
                raise
            raise InputError(f"run.trackers: {error}") from error
        return trainer

    def _open_logs(self, first: int) -> None:
        parts = self._head.parts
        self._log = CsvLog(
            self._work.folder / "log.csv", ("step", "epoch", *_LOG, *parts), keep_until=first
        )
        self._evaluations = CsvLog(
            self._work.folder / "evaluation.csv",
            ("step", "epoch", "loss", *parts, *FIELDS),
            keep_until=first,
        )

    def _train(self, trainer: JudgeTrainer, checkpoint: Path | None) -> None:
        """Train; the first Ctrl-C or SIGTERM ends it after the step under way."""
        from magistrate.engines.hf.loading import quiet
        from magistrate.engines.hf.memory import is_out_of_memory

        previous: dict[int, Any] = {}

        def on_signal(number: int, frame: FrameType | None) -> None:
            if self._stops:
                raise KeyboardInterrupt("stopped at once; the last checkpoint is whole")
            self._stops = number
            self._watching.note("stopping after this step; once more stops at once")

        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                previous[number] = signal.signal(number, on_signal)
            except ValueError:  # not in the main thread: the host program decides
                break
        try:
            with quiet():  # transformers shows a bar for every file it writes
                trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            raise EngineError(
                f"there is not enough memory for passes of {self._device.pass_tokens:,} tokens; "
                f"lower run.pass_tokens or optim.max_length, or see 'Memory and speed' in "
                f"docs/training.md; --resume goes on from the last checkpoint ({error})"
            ) from error
        finally:
            for each, handler in previous.items():
                signal.signal(each, handler)

    def _evaluate(
        self,
        trainer: JudgeTrainer,
        loaded: LoadedModel,
        adapted: Adapted,
        packed: bool,
        step: int,
        epoch: float,
    ) -> dict[str, float]:
        """Measure loss and agreement on the dev samples; keep the weights if they are the best."""
        from magistrate.train.segments import one_text

        if not self._data.dev:
            return {}
        row: dict[str, Any] = {"step": step, "epoch": round(epoch, 4)}
        with not_training(adapted.model):
            row |= self._dev_loss(trainer, packed)
            if not self._device.sharded:
                with one_text(loaded.model):
                    row |= evaluate_judge(self._head.judge(loaded), self._data.dev)
        self._last = row
        if trainer.is_world_process_zero():
            self._evaluations.add(row)
            self._watching.evaluated(row)
        if not self._device.sharded and trainer.is_world_process_zero():
            self._best.offer(row, trained_weights(adapted.model))
        return {key: float(value) for key, value in row.items() if isinstance(value, int | float)}

    def _dev_loss(self, trainer: JudgeTrainer, packed: bool) -> dict[str, float]:
        """Return the mean losses on the dev samples as they are, without augmentation."""
        import torch

        items: list[Any] = []
        scan(self._head, self._data.dev, epoch=-1, on_item=lambda _, item: items.append(item))
        totals: dict[str, float] = {}
        counts: dict[str, float] = {}
        for group in passes_of(items, self._device.pass_tokens, packed=packed):
            batch = trainer._prepare_inputs(self._head.collate(group, packed=packed))
            with torch.no_grad(), trainer.compute_loss_context_manager():
                losses = self._head.losses(trainer.model_wrapped, batch)
            totals["loss"] = totals.get("loss", 0.0) + float(losses.loss)
            counts["loss"] = counts.get("loss", 0.0) + float(batch["items"])
            for name, part in losses.parts.items():
                totals[name] = totals.get(name, 0.0) + float(part.total)
                counts[name] = counts.get(name, 0.0) + float(part.count)
        return {name: total / counts[name] for name, total in totals.items() if counts[name]}

    def _write(
        self,
        trainer: JudgeTrainer,
        loaded: LoadedModel,
        adapted: Adapted,
        found: Scan,
        schedule: Schedule,
        seconds: float,
    ) -> Mapping[str, Any]:
        """Write the judge folder with the best weights, and remove checkpoints."""
        from magistrate.engines.hf.loading import quiet

        facts = self._best.facts()
        measured: Mapping[str, Any] = self._last if facts is None else facts
        if facts is not None:
            put_weights(adapted.model, self._best.load())
        if self._device.sharded:
            adapted = self._joined(trainer)
        finished = Finished(
            recipe=self._recipe,
            loaded=_with_model(loaded, adapted.model),
            adapter=adapted.adapter,
            measured=measured,
            data={
                "hash": resuming.hash_samples(self._data.train),
                "samples": len(found.indices),
                "with_reference": found.with_reference,
                "label_misfits": found.label_misfits,
                "left_out": found.unfit_count + self._data.left_out,
                "dev_hash": resuming.hash_samples(self._data.dev) if self._data.dev else None,
                "dev_samples": len(self._data.dev),
            },
            made={
                "steps": schedule.steps,
                "step": measured.get("step", schedule.steps),
                "samples_seen": schedule.samples,
                "seed": self._recipe.run.seed,
                "weights_trained": adapted.trained,
                "weights": adapted.total,
                "precision": "bf16" if self._device.bf16 else "fp32",
                # In which the dev samples were judged: close verdicts differ in another.
                "precision_checked": loaded.dtype if measured else None,
                "seconds": round(seconds, 1),
                "versions": resuming.library_versions(),
            },
        )
        if trainer.is_world_process_zero():
            with quiet():
                self._head.save(self._work.judge, finished)
            resuming.clean_up(self._work)
        trainer.accelerator.wait_for_everyone()
        return measured

    def _joined(self, trainer: JudgeTrainer) -> Adapted:
        """Return a model of this process's own with the weights that were divided among several."""
        weights = trainer.accelerator.get_state_dict(trainer.model_wrapped)
        whole = replace(self._device, name="cpu", sharded=False)
        loaded = self._head.load(dtype="fp32", device=whole.name)
        adapted = adapt(
            loaded.model, self._recipe.adapter, task=self._head.task, whole=self._head.whole
        )
        if trainer.is_world_process_zero():
            adapted.model.load_state_dict(weights, strict=False)
        return adapted


def _with_model(loaded: LoadedModel, model: Any) -> LoadedModel:
    from magistrate.engines.hf.loading import LoadedModel

    return LoadedModel(model, loaded.tokenizer, loaded.dtype)
