"""What heads that classify and heads that score share: a base with a few numbers on top."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from magistrate.engines.hf.head_models import (
    batch_of,
    context_of_base,
    load_head_model,
    load_tokenizer,
    reads_from_left,
)
from magistrate.engines.hf.heads import HeadEngine, slot_encoder
from magistrate.engines.hf.loading import LoadedModel
from magistrate.engines.hf.settings import HfOptions
from magistrate.engines.slots import SlotEncoder
from magistrate.errors import EngineError
from magistrate.judging.judge import Judge, make_judge
from magistrate.records import Sample
from magistrate.train.bases import find_base
from magistrate.train.encoding import Unfit
from magistrate.train.examples import Augmentation, Example, make_example
from magistrate.train.head import Batch, Finished
from magistrate.train.recipe import HeadName, Recipe
from magistrate.train.segments import arguments_of, try_segments

if TYPE_CHECKING:
    from magistrate.prompts.base import Family

_AS_IT_IS = Augmentation(swap=0.0, drop_reference=0.0)
_TRIAL = "A short text of ordinary words, to see whether several can stand in one row."


@dataclass(frozen=True, slots=True)
class Read:
    """What is learned from one sample.

    Attributes:
        readings: Token ids: of the pair, or of each answer.
        learned: What the head should say of them.
        cut: Tokens cut from each slot.
        with_reference: Whether the reference is shown.
        label_fits: Whether the label was made as the sample is shown, as far as is known.
    """

    readings: tuple[tuple[int, ...], ...]
    learned: Any
    cut: Mapping[str, int] = field(default_factory=dict)
    with_reference: bool = False
    label_fits: bool = True

    @property
    def tokens(self) -> int:
        """Tokens of all readings."""
        return sum(map(len, self.readings))


class NumberHead(ABC):
    """Base of the heads that return numbers; see :class:`magistrate.train.head.Head`."""

    name: HeadName
    parts: tuple[str, ...] = ("verdict",)
    task = "SEQ_CLS"
    outputs: ClassVar[int]
    """How many numbers a reading gets."""

    def __init__(self, recipe: Recipe) -> None:
        """Take the recipe.

        Raises:
            FamilyError: The family is no template for this head.
        """
        self._recipe = recipe
        self.whole: tuple[str, ...] = ("score", "classifier")
        self._augmentation = Augmentation(recipe.augment.swap, recipe.augment.drop_reference)
        self._tokenizer: Any = None
        self._family: Family | None = None
        self._slots: SlotEncoder | None = None
        self._max_tokens = recipe.optim.max_length
        self._padding = 0
        self._decoder = True

    def load(self, *, dtype: str, device: str, quantized: bool = False) -> LoadedModel:
        """Load the base with a new head on it."""
        if quantized:
            raise EngineError(
                f"adapter.kind is qlora, which head '{self.name}' does not know; use lora or full"
            )
        judge = self._recipe.judge
        files = find_base(judge)
        options = HfOptions.model_validate(
            {"dtype": dtype, "device": device, "trust_remote_code": judge.trust_remote_code}
        )
        torch.manual_seed(self._recipe.run.seed)  # the head begins with random numbers
        model, dtype, fresh = load_head_model(files, self.outputs, options)
        # What is new is trained whole: an adapter on random numbers would lose them.
        self.whole = fresh
        self._decoder = reads_from_left(model)
        padding = model.config.get_text_config().pad_token_id
        self._padding = int(padding) if isinstance(padding, int) and padding >= 0 else 0
        return LoadedModel(model, self.load_tokenizer(), dtype)

    def load_tokenizer(self) -> Any:
        """Load the tokenizer alone."""
        if self._tokenizer is None:
            judge = self._recipe.judge
            files = find_base(judge)
            self._tokenizer = load_tokenizer(files, trust_remote_code=judge.trust_remote_code)
            context = context_of_base(files, self._tokenizer)
            self._max_tokens = min(self._recipe.optim.max_length, context or 10**9)
            self._slots = slot_encoder(self._tokenizer, self._max_tokens)
            self._family = self._make_family(self._tokenizer)
        return self._tokenizer

    def can_pack(self, model: Any) -> bool:
        """Whether samples may stand behind one another; switches the model to it where they may."""
        return self._decoder and try_segments(model, self.slots.plain_ids(_TRIAL))

    @property
    def slots(self) -> SlotEncoder:
        """Encodes prompts for the base."""
        self.load_tokenizer()
        assert self._slots is not None, "the tokenizer was loaded just now"
        return self._slots

    @property
    def family(self) -> Family:
        """How the judge is asked."""
        self.load_tokenizer()
        assert self._family is not None, "the tokenizer was loaded just now"
        return self._family

    def encode(self, sample: Sample, epoch: int, index: int) -> Read | Unfit:
        """Return the readings of a sample, and what they should get."""
        recipe = self._recipe
        example = make_example(
            sample,
            augmentation=self._augmentation if epoch >= 0 else _AS_IT_IS,
            seed=recipe.run.seed,
            epoch=epoch,
            index=index,
            annotator=recipe.data.annotator,
        )
        found = self._encode(example)
        if isinstance(found, Unfit):
            return found
        return replace(found, with_reference=example.with_reference, label_fits=example.label_fits)

    def show(self, item: Any) -> str:
        """Return an item's readings as text, and what is learned between marks."""
        texts = [self.load_tokenizer().decode(ids) for ids in item.readings]
        return "\n\n".join([*texts, f"⟦{item.learned}⟧"])

    def collate(self, items: Sequence[Any], *, packed: bool) -> Batch:
        """Return the readings of all items, and what they should get.

        Shapes, for n readings: ``input_ids`` [1, all tokens] packed, else [n, longest]; ``ends``
        [n] or ``attention_mask`` (:func:`~magistrate.engines.hf.head_models.batch_of`);
        ``lengths``, as numbers; and those of the head.
        """
        readings = [ids for item in items for ids in item.readings]
        lengths = tuple(map(len, readings))
        batch: Batch = {
            "lengths": lengths,
            "packed": packed,
            "items": torch.tensor(float(len(items))),
        }
        if packed:
            batch["input_ids"] = torch.tensor([[token for ids in readings for token in ids]])
            batch["ends"] = torch.tensor(lengths).cumsum(0) - 1
        else:
            batch |= batch_of(readings, decoder=self._decoder, padding=self._padding)
        return batch | self._learned(items)

    def outputs_for(self, model: Any, batch: Batch) -> Any:
        """Return the outputs [n, outputs] of the readings of a pass, float32."""
        ids = batch["input_ids"]
        names = ("ends", "attention_mask")
        given = {name: batch[name] for name in names if name in batch}
        if batch["packed"]:
            given |= arguments_of(batch["lengths"], ids.device)
        return model(input_ids=ids, **given).logits.float()

    def judge(self, loaded: LoadedModel) -> Judge:
        """Return the judge as it is now."""
        return self._judge(loaded, self.family)

    def save(self, folder: Path, finished: Finished) -> None:
        """Fit what the verdict needs on the dev samples, measure again, write the judge folder."""
        from magistrate.train.fitting_verdicts import fit_verdict
        from magistrate.train.folder import licences_of, write_judge_folder
        from magistrate.train.segments import one_text

        fitted: dict[str, Any] = {}
        family, measured = self.family, finished.measured
        dev = self._dev()
        if dev:
            from magistrate.train.evaluating import evaluate_judge, not_training

            with not_training(finished.loaded.model), one_text(_bare(finished.loaded.model)):
                fitted = fit_verdict(self.judge(finished.loaded), dev)
                family = self._with_verdict(fitted)
                measured = evaluate_judge(self._judge(finished.loaded, family), dev)
        write_judge_folder(
            folder,
            finished=replace(finished, measured=measured),
            engine="head",
            family=family,
            max_tokens=self._max_tokens,
            outputs=self.outputs,
            fitted_on=len(dev) if fitted else 0,
            licences=licences_of(self._recipe),
        )

    def _dev(self) -> tuple[Sample, ...]:
        from magistrate.train.reading import read_labelled

        return read_labelled(self._recipe).dev if self._recipe.data.dev else ()

    def _judge(self, loaded: LoadedModel, family: Family) -> Judge:
        engine = HeadEngine(
            loaded.model, self.slots, max_tokens=self._max_tokens, name=self._recipe.judge.name
        )
        return make_judge(self._recipe.judge.name, family, engine)

    @abstractmethod
    def _make_family(self, tokenizer: Any) -> Family:
        """Return the family of the head, for its base's tokenizer."""

    @abstractmethod
    def _with_verdict(self, verdict: Mapping[str, float]) -> Family:
        """Return the family with other numbers for its verdict."""

    @abstractmethod
    def _encode(self, example: Example) -> Read | Unfit:
        """Return what the model reads and learns of an example."""

    @abstractmethod
    def _learned(self, items: Sequence[Read]) -> dict[str, Any]:
        """Return the labels of a batch."""


def _bare(model: Any) -> Any:
    return model.get_base_model() if hasattr(model, "get_base_model") else model
