"""Recipes, schedules and logs of trainings: what needs no torch."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magistrate.errors import InputError, RunError, RunMismatchError
from magistrate.records import Answer, Gold, Sample
from magistrate.train.logs import CsvLog, read_rows
from magistrate.train.recipe import OptimSection, Recipe, differences, read_recipe, read_settings
from magistrate.train.resuming import (
    Work,
    begin,
    describe_training,
    last_checkpoint,
    mark_complete,
    read_training,
)
from magistrate.train.schedule import Schedule, share_of
from magistrate.train.steps import passes_of

ROOT = Path(__file__).parents[2]
RECIPES = sorted((ROOT / "recipes/train").glob("*.toml"))
LEAST = {"data.train": "a.jsonl", "judge.base": "base"}


def recipe(**changes: object) -> Recipe:
    return read_recipe(None, LEAST | {key.replace("__", "."): v for key, v in changes.items()})


def test_flags_go_before_the_file(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text(
        '[data]\ntrain = ["a.jsonl", "b.jsonl"]\n[judge]\nbase = "x"\n[optim]\nlr = 0.1\n', "utf-8"
    )
    found = read_recipe(path, {"optim.lr": 0.2, "judge.head": "classify"})
    assert found.data.train == ("a.jsonl", "b.jsonl")
    assert found.optim.lr == 0.2
    assert found.judge.head == "classify"
    assert found.optim.batch == OptimSection().batch


def test_all_problems_are_named_at_once_with_the_nearest_key() -> None:
    with pytest.raises(InputError) as raised:
        read_recipe(None, {"judge.bse": "x", "optim.lr": -1, "optm.lr": 1, "adapter.kind": "rola"})
    message = str(raised.value)
    assert "judge.bse is not known: did you mean 'base'?" in message
    assert "judge.base is missing" in message
    assert "data is missing" in message
    assert "optm is not known: did you mean 'optim'?" in message
    assert "optim.lr must be above 0" in message
    assert "adapter.kind must be 'lora', 'qlora' or 'full'" in message


def test_a_recipe_that_is_no_toml_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    with pytest.raises(InputError, match="cannot be read"):
        read_recipe(path)
    path.write_text("lr = = 3", "utf-8")
    with pytest.raises(InputError, match="not valid TOML"):
        read_recipe(path)


def test_settings_are_read_as_toml_and_else_as_text() -> None:
    found = read_settings(
        ["optim.lr=1e-4", "judge.name=mine", 'run.trackers=["a"]', "data.soft=true"]
    )
    assert found == {
        "optim.lr": 1e-4,
        "judge.name": "mine",
        "run.trackers": ["a"],
        "data.soft": True,
    }
    for wrong in ("lr=3", "optim.lr"):
        with pytest.raises(InputError, match=r"is not SECTION\.KEY=VALUE"):
            read_settings([wrong])


def test_differences_name_the_keys() -> None:
    found = differences(recipe(), recipe(optim__lr=0.5, run__seed=3))
    assert found == {"optim.lr": (2e-4, 0.5), "run.seed": (0, 3)}


@settings(deadline=None, max_examples=50)
@given(
    count=st.integers(1, 40),
    batch=st.integers(1, 17),
    epochs=st.sampled_from([0.5, 1.0, 2.0, 3.0]),
    seed=st.integers(0, 5),
)
def test_every_epoch_sees_every_sample_once(
    count: int, batch: int, epochs: float, seed: int
) -> None:
    indices = [7 * i for i in range(count)]
    optim = OptimSection(batch=batch, epochs=epochs)
    schedule = Schedule(indices, [10] * count, optim, seed)
    seen: Counter[tuple[int, int]] = Counter()
    for step in range(schedule.steps):
        places = schedule.places(step)
        assert len(places) == batch or step == schedule.steps - 1
        seen.update((place.epoch, place.index) for place in places)
    assert set(seen.values()) <= {1}
    for epoch in range(int(epochs)):
        assert {index for number, index in seen if number == epoch} == set(indices)
    assert sum(seen.values()) == schedule.samples == math.ceil(count * epochs)
    ends = sum(schedule.ends_epoch(step) for step in range(schedule.steps))
    assert ends == len({int(schedule.epoch_after(s)) for s in range(schedule.steps)} - {0})


def test_epochs_are_shuffled_otherwise_and_seeds_too() -> None:
    def first_epoch(seed: int, epoch: int) -> list[int]:
        schedule = Schedule(range(30), [1] * 30, OptimSection(batch=30, epochs=2), seed)
        return [place.index for place in schedule.places(epoch)]

    assert first_epoch(0, 0) != first_epoch(0, 1)
    assert first_epoch(0, 0) != first_epoch(1, 0)
    assert first_epoch(0, 1) == first_epoch(0, 1)


def test_steps_can_be_measured_in_tokens() -> None:
    lengths = [100, 300, 50, 250] * 5
    schedule = Schedule(range(20), lengths, OptimSection(batch_tokens=600, epochs=2), 0)
    sizes = [
        sum(lengths[place.index] for place in schedule.places(step))
        for step in range(schedule.steps)
    ]
    assert max(sizes) <= 600
    assert sum(sizes) == 2 * sum(lengths)
    assert min(sizes[:-1]) > 300
    fixed = Schedule(range(20), lengths, OptimSection(batch_tokens=600, steps=3), 0)
    assert fixed.steps == 3


def test_processes_share_a_step_without_overlap_and_about_equally() -> None:
    schedule = Schedule(range(64), [1] * 64, OptimSection(batch=32), 0)
    places = schedule.places(0)
    lengths = [10 + 7 * (i % 11) for i in range(32)]
    shares = [share_of(places, lengths, rank, 4) for rank in range(4)]
    assert sorted(p.index for share in shares for p in share) == sorted(p.index for p in places)
    where = dict(zip(places, lengths, strict=True))
    sums = [sum(where[place] for place in share) for share in shares]
    assert max(sums) - min(sums) <= max(lengths)
    assert share_of(places[:1], lengths[:1], 3, 4) == []


class _Item:
    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self.cut: dict[str, int] = {}


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(1, 700), max_size=40), st.booleans())
def test_passes_hold_every_item_once_and_no_more_tokens_than_allowed(
    lengths: list[int], packed: bool
) -> None:
    items = [_Item(length) for length in lengths]
    groups = passes_of(items, 512, packed=packed)
    assert sorted(id(item) for group in groups for item in group) == sorted(map(id, items))
    for group in groups:
        most = max(item.tokens for item in group)
        size = sum(item.tokens for item in group) if packed else most * len(group)
        assert size <= 512 or len(group) == 1


def samples(label: str = "first") -> list[Sample]:
    return [
        Sample(
            question="q",
            answers=(Answer(text="a"), Answer(text="b")),
            gold=(Gold(preference=label),),  # type: ignore[arg-type]
        )
    ]


def test_a_folder_is_begun_once_and_gone_on_with_only_as_it_was_begun(tmp_path: Path) -> None:
    work = Work(tmp_path / "judge")
    training = describe_training(recipe(), samples(), [])
    assert begin(work, training, resume=False) == (None, [])
    with pytest.raises(RunError, match="holds a training already; go on with it by --resume"):
        begin(work, training, resume=False)
    assert begin(work, training, resume=True) == (None, [])
    assert read_training(work) == training

    changed = describe_training(recipe(optim__lr=0.5), samples(), [])
    with pytest.raises(RunMismatchError, match=r"optim\.lr = 0\.0002 \(now 0\.5\)"):
        begin(work, changed, resume=True)
    relabelled = describe_training(recipe(), samples("second"), [])
    with pytest.raises(RunMismatchError, match=r"other samples or labels in data\.train"):
        begin(work, relabelled, resume=True)
    renamed = describe_training(recipe(run__log_each=3, data__train="moved.jsonl"), samples(), [])
    assert begin(work, renamed, resume=True) == (None, [])


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", "utf-8")
    with pytest.raises(RunError, match="is not empty and holds no training"):
        begin(Work(tmp_path), describe_training(recipe(), samples(), []), resume=True)


def test_only_whole_checkpoints_count(tmp_path: Path) -> None:
    work = Work(tmp_path)
    assert last_checkpoint(work) is None
    for number in (9, 10, 11):
        (work.checkpoints / f"checkpoint-{number}").mkdir(parents=True)
    for number in (9, 10):
        mark_complete(work.checkpoints / f"checkpoint-{number}", {"step": number})
    found = last_checkpoint(work)
    assert found is not None
    assert found.name == "checkpoint-10"
    assert not (work.checkpoints / "checkpoint-11").exists()


def test_a_log_drops_what_is_done_again_and_half_lines(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    log = CsvLog(path, ("step", "loss", "note"))
    for step in (1, 2, 3):
        log.add({"step": step, "loss": step / 3, "other": "left out"})
    with path.open("a", encoding="utf-8") as file:
        file.write("4,0.12")
    again = CsvLog(path, ("step", "loss", "note"), keep_until=2)
    again.add({"step": 3, "loss": None})
    assert [row["step"] for row in read_rows(path)] == ["1", "2", "3"]
    assert read_rows(path)[0] == {"step": "1", "loss": "0.333333", "note": ""}
    assert read_rows(path)[2]["loss"] == ""


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_that_comes_along_can_be_read(path: Path) -> None:
    from magistrate.prompts.catalog import load_family

    found = read_recipe(path)
    assert found.judge.name == path.stem.removesuffix("-cpu")
    assert found.judge.licence
    if found.judge.head == "generate":
        assert load_family(found.judge.family, mode=found.judge.mode).max_answers == 2
    if found.run.accelerate is not None:
        assert (ROOT / found.run.accelerate).is_file()
        assert found.run.best_by == "loss"  # all that is measured where weights are divided


@pytest.mark.parametrize(("size", "rate"), [("7b", 2e-5), ("13b", 2e-5), ("33b", 3e-5)])
def test_the_settings_of_judgelm_are_those_of_the_paper(size: str, rate: float) -> None:
    found = read_recipe(ROOT / f"recipes/train/judgelm-{size}.toml")
    assert found.judge.base == f"lmsys/vicuna-{size}-v1.3"
    optim = found.optim
    assert (optim.batch, optim.epochs, optim.max_length, optim.lr) == (128, 3, 2048, rate)
    assert (optim.schedule, optim.warmup, optim.weight_decay) == ("cosine", 0.03, 0)
    assert (found.augment.swap, found.augment.drop_reference) == (0.5, 0.5)
    assert found.run.precision == "bf16"
    assert found.run.gradient_checkpointing
    assert found.adapter.kind == "full"
    # The published log of a training on 100,000 samples: 2,343 steps and the rest of one.
    assert Schedule(range(100_000), [1] * 100_000, optim, 0).steps == 2344
