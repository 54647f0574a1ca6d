"""The head that writes: a causal language model that gives its verdict, and perhaps its reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from magistrate.engines.hf.encoding import RequestEncoder
from magistrate.engines.hf.engine import HfEngine
from magistrate.engines.hf.loading import LoadedModel
from magistrate.engines.hf.settings import HfOptions
from magistrate.judging.judge import Judge, make_judge
from magistrate.prompts.catalog import load_family
from magistrate.prompts.text_family import TextFamily
from magistrate.records import Sample
from magistrate.train.bases import load_decoder, load_tokenizer
from magistrate.train.encoding import NOT_LEARNED, PARTS, Encoded, Unfit, encode
from magistrate.train.examples import Augmentation, make_example
from magistrate.train.families import families_for
from magistrate.train.head import Batch, Finished, Losses, PartLoss
from magistrate.train.recipe import HeadName, Recipe
from magistrate.train.segments import arguments_of, try_segments
from magistrate.train.targets import check_trainable, readings_of

_AS_IT_IS = Augmentation(swap=0.0, drop_reference=0.0)
_TRIAL = "A short text of ordinary words, to see whether several can stand in one row."


@dataclass(frozen=True, slots=True)
class Written:
    """What is learned from one sample.

    Attributes:
        rows: One, or one for each answer of a family that reads each alone.
        with_reference: Whether the reference is shown.
        label_fits: Whether the label was made as the sample is shown, as far as is known.
    """

    rows: tuple[Encoded, ...]
    with_reference: bool = False
    label_fits: bool = True

    @property
    def tokens(self) -> int:
        """Tokens of all rows."""
        return sum(len(row.ids) for row in self.rows)

    @property
    def cut(self) -> Mapping[str, int]:
        """Tokens cut, by part."""
        found: dict[str, int] = {}
        for row in self.rows:
            lost = {"reasons": row.cut.reasons, **row.cut.prompt}
            if row.cut.unreadable_reasons:
                lost["unreadable_reasons"] = 1
            for part, count in lost.items():
                if count:
                    found[part] = found.get(part, 0) + count
        return found


class GenerateHead:
    """Trains a model to write verdicts in the words of a family."""

    name: HeadName = "generate"
    parts: tuple[str, ...] = PARTS[1:]
    task = "CAUSAL_LM"
    whole: tuple[str, ...] = ()

    def __init__(self, recipe: Recipe) -> None:
        """Take the recipe.

        Raises:
            FamilyError: The family is not known, lacks the mode, or cannot be trained.
        """
        self._recipe = recipe
        named = load_family(recipe.judge.family, mode=recipe.judge.mode)
        check_trainable(named)
        self._families = families_for(named)
        wanted = Augmentation(recipe.augment.swap, recipe.augment.drop_reference)
        self._augmentation = self._families.augmentation(wanted)
        self.family = self._families.asked(named, self._augmentation)
        self._weights = torch.tensor([0.0, recipe.loss.verdict, recipe.loss.reasons, 1.0])
        self._tokenizer: Any = None
        self._encoder: RequestEncoder | None = None

    def load(self, *, dtype: str, device: str, quantized: bool = False) -> LoadedModel:
        """Load the base."""
        loaded = load_decoder(self._recipe.judge, dtype=dtype, device=device, quantized=quantized)
        self._remember(loaded.tokenizer)
        return loaded

    def load_tokenizer(self) -> Any:
        """Load the tokenizer alone."""
        self._remember(load_tokenizer(self._recipe.judge))
        return self._tokenizer

    def can_pack(self, model: Any) -> bool:
        """Whether samples may stand behind one another; switches the model to it where they may."""
        return try_segments(model, self._need_encoder().plain.encode(_TRIAL))

    def encode(self, sample: Sample, epoch: int, index: int) -> Written | Unfit:
        """Return the rows of a sample."""
        recipe = self._recipe
        example = make_example(
            sample,
            augmentation=(
                self._augmentation if epoch >= 0 else self._families.augmentation(_AS_IT_IS)
            ),
            seed=recipe.run.seed,
            epoch=epoch,
            index=index,
            annotator=recipe.data.annotator,
        )
        rows = []
        family = self._families.of(example)
        for place in range(readings_of(family, example.sample)):
            row = encode(
                example,
                family,
                self._need_encoder(),
                recipe.optim.max_length,
                place=place,
                soft=recipe.data.soft,
            )
            if isinstance(row, Unfit):
                return row
            rows.append(row)
        return Written(tuple(rows), example.with_reference, example.label_fits)

    def show(self, item: Any) -> str:
        """Return the rows of an item as text; what is learned stands between marks."""
        texts = []
        for row in item.rows:
            own = next(i for i, label in enumerate(row.labels) if label != NOT_LEARNED)
            texts.append(
                f"{self._tokenizer.decode(row.ids[:own])}⟦{self._tokenizer.decode(row.ids[own:])}⟧"
            )
        return "\n\n".join(texts)

    def collate(self, items: Sequence[Any], *, packed: bool) -> Batch:
        """Return ids, and where in them what is learned.

        Shapes: ``input_ids`` [1, all tokens] packed, else [rows, longest]; ``read`` [n] where the
        predictions of the n learned tokens stand in the flattened ids; ``targets`` [n], ``part``
        [n]; ``lengths`` of the rows, as numbers. With soft verdicts also ``soft_row`` [m],
        ``soft_token`` [m], ``soft_share`` [m]: which learned token each likely token belongs to,
        and its probability.
        """
        rows: list[Encoded] = [row for item in items for row in item.rows]
        lengths = [len(row.ids) for row in rows]
        width = max(lengths)
        ids: list[list[int]] = []
        learned: list[tuple[int, int, int]] = []
        soft: list[tuple[int, int, float]] = []
        start = 0
        for place, row in enumerate(rows):
            start = sum(lengths[:place]) if packed else place * width
            ids.append(list(row.ids) + ([] if packed else [0] * (width - len(row.ids))))
            for position, label in enumerate(row.labels):
                if label == NOT_LEARNED or position == 0:
                    continue
                if row.soft is not None and position == row.soft.position:
                    shares = zip(row.soft.tokens, row.soft.probabilities, strict=True)
                    soft += [(len(learned), token, share) for token, share in shares]
                learned.append((start + position - 1, label, row.part_of_label[position]))
        joined = [[token for row in ids for token in row]] if packed else ids
        read, targets, part = (torch.tensor(column) for column in zip(*learned, strict=True))
        batch = {
            "input_ids": torch.tensor(joined),
            "lengths": tuple(lengths),
            "packed": packed,
            "read": read,
            "targets": targets,
            "part": part,
            "items": self._weights[part].sum(),
        }
        if soft:
            where, token, share = (torch.tensor(column) for column in zip(*soft, strict=True))
            batch |= {"soft_row": where, "soft_token": token, "soft_share": share}
        return batch

    def losses(self, model: Any, batch: Batch) -> Losses:
        """Return the weighted sum of the learned tokens' cross-entropies, and each part's own.

        Where the teacher gave probabilities, the token that decides the verdict has the
        cross-entropy with these in place of that with one token.
        """
        logits = _logits(model, batch).float()
        each = torch.nn.functional.cross_entropy(logits, batch["targets"], reduction="none")
        if "soft_row" in batch:
            each = _with_soft(each, logits, batch)
        part = batch["part"]
        loss = (each * self._weights.to(each.device)[part]).sum()
        parts = {}
        for number, name in enumerate(PARTS):
            mine = part == number
            if number:
                parts[name] = PartLoss(each.detach()[mine].sum(), mine.sum())
        return Losses(loss, parts)

    def judge(self, loaded: LoadedModel) -> Judge:
        """Return the judge as it is now, in score mode where its family has one."""
        mode = self._recipe.judge.mode if self.family.file.score_mode is None else "score"
        options = HfOptions(chat_template=self._recipe.judge.chat_template)
        engine = HfEngine(loaded, options, name=self._recipe.judge.name)
        return make_judge(self._recipe.judge.name, self.family.in_mode(mode), engine)

    def save(self, folder: Path, finished: Finished) -> None:
        """Write the judge folder."""
        from magistrate.train.folder import licences_of, write_judge_folder

        recipe = self._recipe
        write_judge_folder(
            folder,
            finished=finished,
            engine="hf",
            family=self.family,
            other_family=self._other_family(finished),
            max_tokens=recipe.optim.max_length,
            mode=recipe.judge.mode,
            licences=licences_of(recipe),
        )

    def _other_family(self, finished: Finished) -> TextFamily | None:
        """Return the family with or without references that was trained beside the first."""
        without, shown = self._families.without, self._families.with_reference
        asked_without = without is not None and self.family.name == without.name
        other = shown if asked_without else without
        if other is None or other.name == self.family.name:
            return None
        samples = finished.data.get("samples", 0)
        with_reference = finished.data.get("with_reference", 0)
        return other if (with_reference if asked_without else samples - with_reference) else None

    def _remember(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._encoder = RequestEncoder(
            tokenizer,
            engine="train",
            context=None,
            ends=frozenset([tokenizer.eos_token_id] if tokenizer.eos_token_id is not None else []),
            use_template=self._recipe.judge.chat_template == "auto",
        )

    def _need_encoder(self) -> RequestEncoder:
        if self._encoder is None:
            self.load_tokenizer()
        assert self._encoder is not None, "the tokenizer was loaded just now"
        return self._encoder


def _logits(model: Any, batch: Batch) -> Any:
    """Return the logits [n, vocabulary] that predict the learned tokens; no others are computed."""
    ids, lengths, read = batch["input_ids"], batch["lengths"], batch["read"]
    if batch["packed"]:
        given = arguments_of(lengths, ids.device)
        return model(input_ids=ids, logits_to_keep=read, use_cache=False, **given).logits[0]
    width = ids.shape[1]
    places = torch.arange(width, device=ids.device)
    mask = (places[None] < torch.tensor(lengths, device=ids.device)[:, None]).long()
    columns, where = torch.unique(read % width, return_inverse=True)
    logits = model(
        input_ids=ids,
        attention_mask=mask,
        position_ids=places.expand(ids.shape[0], -1),
        logits_to_keep=columns,
        use_cache=False,
    ).logits
    return logits[read // width, where]


def _with_soft(each: Any, logits: Any, batch: Batch) -> Any:
    """Put the cross-entropy with a teacher's probabilities in its tokens' places."""
    logs = torch.log_softmax(logits[batch["soft_row"]], dim=-1)
    terms = -batch["soft_share"] * logs.gather(1, batch["soft_token"][:, None])[:, 0]
    is_soft = torch.zeros_like(each, dtype=torch.bool)
    is_soft[batch["soft_row"]] = True
    summed = torch.zeros_like(each).index_add(0, batch["soft_row"], terms)
    return torch.where(is_soft, summed, each)
