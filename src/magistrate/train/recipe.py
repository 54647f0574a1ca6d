"""The recipe of a training: a TOML file, or flags, checked before anything is loaded.

::

    [data]      what is learned from          [optim]    steps, batch, learning rate
    [judge]     base model, head, family      [adapter]  which weights are trained
    [augment]   swap and reference drop       [run]      precision, packing, seed, evaluation
    [loss]      what each part weighs
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from pydantic import BaseModel, Field, ValidationError, field_validator

from magistrate.errors import InputError, nearest_of, what_is_needed
from magistrate.records import Record

HeadName: TypeAlias = Literal["generate", "classify", "regress"]
"""``generate``: the judge writes its verdict, and reasons. ``classify``: first, second or tie.
``regress``: a score for each answer."""

HEADS: tuple[HeadName, ...] = get_args(HeadName)


class DataSection(Record):
    """Section ``[data]``: labelled samples."""

    train: tuple[str, ...] = Field(min_length=1)
    """Files to learn from, of any format that ``magistrate inspect`` knows. Paths are relative to
    the working folder."""
    dev: tuple[str, ...] = ()
    """Labelled files to evaluate on while training; none of them is learned from."""
    format: str | None = None
    """Read the files as this format instead of recognising it."""
    annotator: str | None = None
    """Learn what this annotator said; the first label of each sample when not given."""
    soft: bool = False
    """Learn the annotator's probabilities, where there are any, instead of its preference."""
    limit: int | None = Field(default=None, ge=1)
    """Use only the first so many samples to learn from."""
    dev_limit: int | None = Field(default=None, ge=1)
    """Use only the first so many samples to evaluate on."""

    licence: str = ""
    """Licence of the data, for the judge's card."""

    @field_validator("train", "dev", mode="before")
    @classmethod
    def _one_file(cls, files: Any) -> Any:
        return (files,) if isinstance(files, str) else files


class JudgeSection(Record):
    """Section ``[judge]``: what is trained."""

    name: str = Field(default="trained", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    """Name of the judge in its card and in runs."""
    base: str = Field(min_length=1)
    """The model to start from: a folder with safetensors, a GGUF file, or the hub's id."""
    head: HeadName = "generate"
    family: str = "pair"
    """How the judge is asked: a family of the catalog or a folder. For heads that classify or
    regress it is a folder with a template of theirs, or left at its default."""
    mode: Literal["reason", "score"] = "reason"
    """Whether a judge that writes also learns to explain; ``score``: its verdict alone."""
    revision: str | None = None
    """Branch, tag or commit on the hub."""
    gguf_file: str | None = None
    """Name of the GGUF file, in folders and on the hub, where there are several."""
    chat_template: Literal["auto", "none"] = "auto"
    """``none`` joins messages by blank lines, also where the model has a chat template."""
    trust_remote_code: bool = False
    """Run Python code that comes with the model. It can do anything that you can."""
    offline: bool = False
    """Take from the hub only what has been fetched before. Paths never ask the hub."""
    licence: str = ""
    """Licence of the base, for the judge's card."""


class AugmentSection(Record):
    """Section ``[augment]``: what differs from epoch to epoch."""

    swap: float = Field(default=0.5, ge=0, le=1)
    """Share of the samples whose answers change places, drawn anew each epoch."""
    drop_reference: float = Field(default=0.5, ge=0, le=1)
    """Share of the samples with a reference that are shown without it."""


class LossSection(Record):
    """Section ``[loss]``: what each part of the loss weighs."""

    verdict: float = Field(default=1.0, ge=0)
    """Weight of a token of the verdict."""
    reasons: float = Field(default=1.0, ge=0)
    """Weight of a token of the reasons. All else that a judge writes, the end sign among it,
    weighs 1."""
    regress: Literal["bradley-terry", "scores"] = "bradley-terry"
    """Head ``regress``: learn which answer wins, or the scores themselves."""


class OptimSection(Record):
    """Section ``[optim]``: how long, how much at once, how fast."""

    epochs: float = Field(default=3.0, gt=0)
    """How often every sample is seen; not used where ``steps`` is given."""
    steps: int | None = Field(default=None, ge=1)
    """How many steps are taken, instead of ``epochs``."""
    batch: int = Field(default=16, ge=1)
    """Samples of one step, on all devices together."""
    batch_tokens: int | None = Field(default=None, ge=64)
    """Tokens of one step, on all devices together, about; instead of ``batch``."""
    lr: float = Field(default=2e-4, gt=0)
    """Peak learning rate."""
    warmup: float = Field(default=0.03, ge=0)
    """Steps until the peak: a share of all steps below 1, their number from 1 on."""
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    """How the learning rate falls after the peak."""
    weight_decay: float = Field(default=0.0, ge=0)
    clip: float = Field(default=1.0, ge=0)
    """Longest gradient; 0 does not clip."""
    max_length: int = Field(default=2048, ge=64)
    """Longest sample in tokens, prompt and reply together; longer ones are cut."""


class AdapterSection(Record):
    """Section ``[adapter]``: which weights are trained."""

    kind: Literal["lora", "qlora", "full"] = "lora"
    """``lora``: small matrices beside frozen weights. ``qlora``: the same over a base in 4 bits,
    on a CUDA GPU. ``full``: the weights themselves."""
    r: int = Field(default=16, ge=1)
    """Rank of the matrices."""
    alpha: float = Field(default=32.0, gt=0)
    """Their scale: what they add is multiplied by alpha / r."""
    dropout: float = Field(default=0.05, ge=0, lt=1)
    targets: str | tuple[str, ...] = "all-linear"
    """Names of the layers that get matrices; ``all-linear`` for all but the last."""
    trainable: str = Field(default="all", pattern=r"^(all|top:[1-9][0-9]*)$")
    """``top:N``: only the N layers nearest the output are trained, the rest is frozen."""

    @property
    def top(self) -> int | None:
        """How many layers nearest the output are trained; None for all."""
        return None if self.trainable == "all" else int(self.trainable.removeprefix("top:"))


class RunSection(Record):
    """Section ``[run]``: where, how exactly, and how often one looks."""

    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """``auto`` is bf16 where the device computes in it, else fp32. Trained weights and the
    optimizer's state stay in fp32."""
    device: Literal["auto", "cpu"] = "auto"
    """``cpu`` leaves GPUs alone."""
    packing: Literal["auto", "on", "off"] = "auto"
    """Samples behind one another in one row instead of padding; ``auto``: where the model can."""
    pass_tokens: int | None = Field(default=None, ge=64)
    """Most tokens that one device computes at once; a step is computed in several passes. 2,048 on
    a processor and 8,192 on a GPU by default, and never less than one sample."""
    gradient_checkpointing: bool = False
    """Compute activations twice rather than keep them."""
    compile: bool = False
    """Let torch compile the model."""
    threads: int | None = Field(default=None, ge=1)
    """How many processor threads to use; those that torch chooses by default."""
    seed: int = Field(default=0, ge=0)
    log_each: int = Field(default=10, ge=1)
    """Steps between lines of ``log.csv``."""
    evaluate_each: int | None = Field(default=None, ge=1)
    """Steps between evaluations; once an epoch when not given."""
    best_by: Literal["agreement", "loss", "last"] = "agreement"
    """Which weights the judge gets: those with the best agreement or the lowest loss on the dev
    samples, or the last ones."""
    save_each: int | None = Field(default=None, ge=1)
    """Steps between checkpoints; at every evaluation when not given."""
    accelerate: str | None = None
    """A configuration file of accelerate (FSDP, DeepSpeed, several processes)."""
    trackers: tuple[str, ...] = ()
    """What else gets the metrics: any tracker of transformers, such as ``tensorboard``."""


class Recipe(Record):
    """A training, as resolved from file and flags."""

    data: DataSection
    judge: JudgeSection
    augment: AugmentSection = AugmentSection()
    loss: LossSection = LossSection()
    optim: OptimSection = OptimSection()
    adapter: AdapterSection = AdapterSection()
    run: RunSection = RunSection()


def read_recipe(
    path: Path | None, settings: Mapping[str, Any] | None = None, *, where: str = "the recipe"
) -> Recipe:
    """Read a recipe, with some keys set anew.

    Args:
        path: The TOML file; None for a recipe of ``settings`` alone.
        settings: Values by dotted key, such as ``{"optim.lr": 1e-4}``.
        where: What to call a recipe without file in messages.

    Raises:
        InputError: The file cannot be read, or a key is missing, unknown or of the wrong kind; all
            problems are named at once.
    """
    values: dict[str, Any] = {}
    if path is not None:
        where = str(path)
        try:
            values = tomllib.loads(path.read_text("utf-8"))
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror})") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: not valid TOML ({error})") from error
    for key, value in (settings or {}).items():
        _put(values, key, value)
    try:
        return Recipe.model_validate(values)
    except ValidationError as error:
        problems = "; ".join(_in_words(problem) for problem in error.errors())
        raise InputError(f"{where}: {problems} (see docs/training.md)") from error


def read_settings(given: Sequence[str]) -> dict[str, Any]:
    """Return ``SECTION.KEY=VALUE`` texts as values by dotted key.

    A value is read as TOML does, and as plain text where that fails.

    Raises:
        InputError: One is not of that form.

    >>> read_settings(["optim.lr=1e-4", "judge.name=mine", "data.soft=true"])
    {'optim.lr': 0.0001, 'judge.name': 'mine', 'data.soft': True}
    """
    settings: dict[str, Any] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or "." not in key:
            raise InputError(
                f"'{text}' is not SECTION.KEY=VALUE, such as optim.lr=1e-4 (see docs/training.md)"
            )
        try:
            settings[key.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            settings[key.strip()] = value
    return settings


def differences(one: Recipe, other: Recipe) -> dict[str, tuple[Any, Any]]:
    """Return the dotted keys in which two recipes differ, with both values."""
    found: dict[str, tuple[Any, Any]] = {}
    for section, values in one.model_dump(mode="json").items():
        others = other.model_dump(mode="json")[section]
        for key, value in values.items():
            if value != others[key]:
                found[f"{section}.{key}"] = (value, others[key])
    return found


def _put(values: dict[str, Any], key: str, value: Any) -> None:
    section, _, name = key.partition(".")
    inner = values.setdefault(section, {})
    if not isinstance(inner, dict):
        raise InputError(f"{section} must be a section of the recipe, [{section}]")
    inner[name] = value


def _in_words(problem: Any) -> str:
    """Return one problem with the name of its key, and the nearest known one after a typo."""
    place = [str(each) for each in problem["loc"]]
    name = ".".join(place)
    words = what_is_needed(problem)
    if problem["type"] == "extra_forbidden":
        known = _keys(Recipe, place[:-1])
        return f"{name} {words}: {nearest_of(place[-1], known, 'docs/training.md')}"
    if problem["type"] == "missing":
        return f"{name} {words}"
    return f"{name} {words}" if name else words


def _keys(model: type[BaseModel], path: Sequence[str]) -> list[str]:
    for name in path:
        found = model.model_fields[name].annotation
        if not (isinstance(found, type) and issubclass(found, BaseModel)):
            return []
        model = found
    return list(model.model_fields)
