"""What every head can do, and which heads there are.

A head turns samples into what a model learns from, and a model's outputs into losses. It knows
nothing of epochs, optimizers or devices: that is the loop's. The loop calls it in this sequence::

    head = open_head(recipe)
    loaded = head.load()                     the base, with what the head adds to it
    item = head.encode(sample, epoch, index) what is learned from one sample, or why it is not
    batch = head.collate(items, packed=...)  tensors of one pass
    losses = head.losses(model, batch)       sums over the pass, part by part
    judge = head.judge(loaded)               the judge as it is now, for evaluation
    head.save(folder, finished)              the judge folder
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from magistrate.records import Sample
from magistrate.train.encoding import Unfit
from magistrate.train.recipe import HeadName, Recipe

__all__ = [
    "Batch",
    "Finished",
    "Head",
    "Item",
    "Losses",
    "PartLoss",
    "Unfit",
    "open_head",
]

if TYPE_CHECKING:
    from magistrate.engines.hf.loading import LoadedModel
    from magistrate.judging.judge import Judge

Batch: TypeAlias = dict[str, Any]
"""Tensors by name. ``items`` is always among them: how many things (weighted tokens of replies,
samples) the losses of this pass are sums over, as a float tensor without dimensions."""


class Item(Protocol):
    """What a model learns from one sample in one epoch."""

    @property
    def tokens(self) -> int:
        """Tokens that the model reads: prompts and reply together, without padding."""
        ...

    @property
    def cut(self) -> Mapping[str, int]:
        """Tokens cut from each part so that the sample fits; parts that are whole are not named."""
        ...

    @property
    def with_reference(self) -> bool:
        """Whether the reference is shown."""
        ...

    @property
    def label_fits(self) -> bool:
        """False where the label was made with a reference and none is shown, or without."""
        ...


@dataclass(frozen=True, slots=True)
class PartLoss:
    """One part of a loss.

    Attributes:
        total: Sum over the pass (a tensor without dimensions), before any weight.
        count: How many things it is a sum over (a tensor, or a number).
    """

    total: Any
    count: Any


@dataclass(frozen=True, slots=True)
class Losses:
    """The losses of one pass.

    Attributes:
        loss: Weighted sum of the parts (a tensor without dimensions, with its gradient). The loop
            divides it by the ``items`` of the whole step, over all its passes and devices: so
            gradients do not depend on how a step is cut into passes.
        parts: By name (such as ``verdict``, ``reasons``), for the log alone.
    """

    loss: Any
    parts: Mapping[str, PartLoss]


@dataclass(frozen=True, slots=True)
class Finished:
    """A training that has ended, as the head writes it down.

    Attributes:
        recipe: As resolved.
        loaded: Tokenizer and model with the weights to be kept: a ``PeftModel`` where an adapter
            was trained.
        adapter: Whether the model is a ``PeftModel``.
        measured: What evaluation found on the dev samples, as rows of ``evaluation.csv``.
        data: Hash and counts of what was learned from.
        made: How the judge came to be: steps, seed, library versions, time.
    """

    recipe: Recipe
    loaded: LoadedModel
    adapter: bool
    measured: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    made: Mapping[str, Any] = field(default_factory=dict)


class Head(Protocol):
    """One way of judging that can be trained."""

    name: HeadName
    parts: tuple[str, ...]
    """Names of the loss's parts."""
    task: str
    """peft's name of the task: ``CAUSAL_LM``, ``SEQ_CLS``, ``FEATURE_EXTRACTION``."""
    whole: tuple[str, ...]
    """Modules that an adapter leaves as they are and that are trained whole, such as a new output
    layer (peft's ``modules_to_save``)."""

    def load(self, *, dtype: str, device: str, quantized: bool = False) -> LoadedModel:
        """Load the base, in training shape, with whatever the head adds to it.

        The head remembers the tokenizer for :meth:`encode` and :meth:`collate`.

        Args:
            dtype: ``fp32`` or ``bf16``: that of the weights.
            device: Such as ``cpu`` or ``cuda:0``.
            quantized: Load linear layers in 4 bits, through bitsandbytes.

        Raises:
            EngineError: The base cannot be loaded, or cannot carry this head.
        """
        ...

    def load_tokenizer(self) -> Any:
        """Load the tokenizer alone and remember it, for what needs no weights."""
        ...

    def can_pack(self, model: Any) -> bool:
        """Whether samples may stand behind one another in one row for this model."""
        ...

    def encode(self, sample: Sample, epoch: int, index: int) -> Item | Unfit:
        """Return what is learned from a sample.

        A pure function: equal arguments, equal items, in every process.

        Args:
            sample: In its own answer order; it is not changed.
            epoch: From 0; -1 for evaluation, without augmentation.
            index: Place of the sample in the data.
        """
        ...

    def show(self, item: Item) -> str:
        """Return an item as the model sees it, for people; what is learned is marked."""
        ...

    def collate(self, items: Sequence[Item], *, packed: bool) -> Batch:
        """Return the tensors of one pass.

        Args:
            items: One or more.
            packed: Behind one another in one row; otherwise in rows of equal length, padded.
        """
        ...

    def losses(self, model: Any, batch: Batch) -> Losses:
        """Run the model on a pass and return its losses, as sums.

        Args:
            model: What :meth:`load` gave, perhaps wrapped by peft and accelerate: it is called
                as a whole, so that their hooks run.
            batch: From :meth:`collate`, on the model's device.
        """
        ...

    def judge(self, loaded: LoadedModel) -> Judge:
        """Return the judge as it is now, in score mode, in this process; closing it frees nothing.

        The path is that of ``magistrate judge``: the same prompts, the same verdicts.
        """
        ...

    def save(self, folder: Path, finished: Finished) -> None:
        """Write the judge folder (``magistrate.train.folder.write_judge_folder``)."""
        ...


_HEADS: dict[HeadName, str] = {
    "generate": "magistrate.train.generate:GenerateHead",
    "classify": "magistrate.train.classify:ClassifyHead",
    "regress": "magistrate.train.regress:RegressHead",
}
"""Head to ``module:class``; the class takes the recipe. Imported on use: they bring torch."""


def open_head(recipe: Recipe) -> Head:
    """Return the head of a recipe.

    Raises:
        MissingExtraError: torch or transformers is not installed.
        FamilyError: The head cannot use the recipe's family.
    """
    from magistrate.errors import MissingExtraError

    module, _, name = _HEADS[recipe.judge.head].partition(":")
    try:
        made: Head = getattr(import_module(module), name)(recipe)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "magistrate":
            raise
        raise MissingExtraError("training", "train", error.name) from error
    return made
