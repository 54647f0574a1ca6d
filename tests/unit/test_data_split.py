"""Splits: every sample once, groups whole, stable under other rows and other sequences."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from data_help import pair, question, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from magistrate.cli.main import main
from magistrate.data.assigning import by_content, by_size
from magistrate.data.checks.texts import question_text
from magistrate.data.grouping import group_places, place_of, read_shares
from magistrate.data.splitting import split_data
from magistrate.errors import InputError
from magistrate.formats.reading import read_samples
from magistrate.records import Sample

pytest.importorskip("rensa")
import numpy as np


def samples_of(n: int, seed: int = 0) -> list[Sample]:
    rng = random.Random(seed)
    labels = ("first", "second", "second", "tie")
    return [
        pair(
            question(k // 2),
            f"an answer {k}",
            f"another answer {k}",
            rng.choice(labels),
            models=(f"m{rng.randrange(4)}", f"m{rng.randrange(4)}"),
            category=f"c{k % 30}",
            source_id=str(k),
        )
        for k in range(n)
    ]


def split(tmp_path: Path, samples: Sequence[Sample], name: str = "out", **options: Any) -> Any:
    path = write(tmp_path / f"{name}.jsonl", samples)
    return split_data(path, out=tmp_path / name, **options)


def where_ids_went(folder: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.jsonl")):
        if path.name != "dropped.jsonl" and path.stat().st_size:
            for sample in read_samples(path):
                assert sample.source_id not in found
                found[str(sample.source_id)] = path.stem
    return found


def test_every_sample_is_in_one_split_and_questions_are_whole(tmp_path: Path) -> None:
    samples = samples_of(400)
    report = split(tmp_path, samples, shares="train=0.7,dev=0.2,test=0.1")
    went = where_ids_went(tmp_path / "out")
    assert set(went) == {str(k) for k in range(400)}
    sides: dict[str, set[str]] = {}
    for sample in samples:
        sides.setdefault(question_text(sample), set()).add(went[str(sample.source_id)])
    assert all(len(side) == 1 for side in sides.values())
    assert sum(part.samples for part in report.splits) == report.samples == 400
    for part in report.splits:
        assert part.share == pytest.approx(part.wanted, abs=0.08)
    told = json.loads((tmp_path / "out/split.json").read_text())
    assert told["groups"] == report.groups
    assert (tmp_path / "out/dropped.jsonl").read_bytes() == b""


@given(seed=st.integers(0, 2**32), extra=st.integers(0, 40))
@settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_other_rows_and_another_sequence_move_nothing(
    tmp_path_factory: pytest.TempPathFactory, seed: int, extra: int
) -> None:
    tmp_path = tmp_path_factory.mktemp("split")
    samples = samples_of(160)
    split(tmp_path, samples[:100], "small")
    more = samples[: 100 + extra]
    random.Random(seed).shuffle(more)
    split(tmp_path, more, "large")
    small, large = where_ids_went(tmp_path / "small"), where_ids_went(tmp_path / "large")
    assert {key: large[key] for key in small} == small


def test_another_seed_is_another_split(tmp_path: Path) -> None:
    samples = samples_of(200)
    split(tmp_path, samples, "one", seed=1)
    split(tmp_path, samples, "two", seed=2)
    assert where_ids_went(tmp_path / "one") != where_ids_went(tmp_path / "two")


def test_near_duplicates_are_never_parted(tmp_path: Path) -> None:
    samples = []
    for k in range(120):
        base = f"{question(k)} Please explain this as clearly as you can, step by step"
        samples.append(pair(base, "a", "b", "first", source_id=f"{k} a"))
        samples.append(pair(f"{base}, thanks a lot", "a", "b", "first", source_id=f"{k} b"))
    report = split(tmp_path, samples, shares="train=0.5,dev=0.5")
    went = where_ids_went(tmp_path / "out")
    assert all(went[f"{k} a"] == went[f"{k} b"] for k in range(120))
    assert report.groups < 121


def test_what_a_test_set_has_is_dropped_and_listed(tmp_path: Path) -> None:
    samples = samples_of(60)
    tests = write(tmp_path / "test.jsonl", [pair(samples[10].question_text.upper(), "x", "y")])
    report = split(tmp_path, samples, against=[tests])
    assert report.dropped == {"leaked-question": 2}
    lines = [json.loads(s) for s in (tmp_path / "out/dropped.jsonl").read_text().splitlines()]
    assert [line["row"] for line in lines] == [11, 12]
    assert {line["test_row"] for line in lines} == {1}
    assert {line["test_file"] for line in lines} == {str(tests)}
    assert Sample.model_validate(lines[0]["sample"]) == samples[10]
    assert len(where_ids_went(tmp_path / "out")) == 58


def test_leaked_answers_are_dropped_when_asked_for(tmp_path: Path) -> None:
    long = "An answer that is long enough to be recognised wherever it stands, by its words alone."
    samples = [*samples_of(60), pair("Something new and different", long, "b", "first")]
    tests = write(tmp_path / "test.jsonl", [pair("An unrelated thing to ask", "x", long)])
    assert split(tmp_path, samples, "without", against=[tests]).dropped == {}
    report = split(tmp_path, samples, "with", against=[tests], answers_too=True)
    assert report.dropped == {"leaked-answer": 1}


def test_dev_of_a_size_has_the_labels_of_all(tmp_path: Path) -> None:
    report = split(tmp_path, samples_of(1_000), dev=100)
    train, dev = report.splits
    assert (train.samples, dev.samples) == (900, 100)
    assert report.label_gap < 0.03
    exact = split(tmp_path, samples_of(1_000), "exact", exact=True, shares="a=0.6,b=0.3,c=0.1")
    assert [part.samples for part in exact.splits] == [600, 300, 100]
    assert exact.label_gap < 0.03


def test_by_category_and_by_a_field(tmp_path: Path) -> None:
    samples = [
        pair(question(k), "a", "b", "first", category=f"c{k % 30}", meta={"topic": k % 20},
             source_id=str(k))
        for k in range(300)
    ]  # fmt: skip
    split(tmp_path, samples, "category", by="category", shares="train=0.5,dev=0.5")
    went = where_ids_went(tmp_path / "category")
    for k in range(300):
        assert went[str(k)] == went[str(k % 30)]
    split(tmp_path, samples, "topic", by="topic", shares="train=0.5,dev=0.5")
    went = where_ids_went(tmp_path / "topic")
    assert all(went[str(k)] == went[str(k % 20)] for k in range(300))
    with pytest.raises(InputError, match="no sample has the field 'topics'"):
        split(tmp_path, samples, "wrong", by="topics")


def test_by_model_no_model_is_on_two_sides(tmp_path: Path) -> None:
    report = split(tmp_path, samples_of(400), by="model", shares="train=0.5,dev=0.5", seed=3)
    models: dict[str, set[str]] = {}
    for part in report.splits:
        for sample in read_samples(tmp_path / "out" / part.file):
            for answer in sample.answers:
                models.setdefault(str(answer.model), set()).add(part.name)
    assert all(len(sides) == 1 for sides in models.values())
    kept = sum(part.samples for part in report.splits)
    assert report.dropped["models-apart"] == 400 - kept > 0


def test_what_is_kept_stays_even_when_a_new_row_joins_its_group(tmp_path: Path) -> None:
    old = [
        pair(f"{question(k)} Explain this as clearly as you can", "a", "b", "first",
             source_id=f"old {k}")
        for k in range(100)
    ]  # fmt: skip
    new = [
        pair(f"{question(k)} Explain this as clearly as you can now", "a", "b", "first",
             source_id=f"new {k}")
        for k in range(100)
    ]  # fmt: skip
    split(tmp_path, old, "before", shares="train=0.5,dev=0.5")
    split(tmp_path, [*new, *old], "after", shares="train=0.5,dev=0.5", keep=tmp_path / "before")
    before, after = where_ids_went(tmp_path / "before"), where_ids_went(tmp_path / "after")
    assert {key: after[key] for key in before} == before
    for k in range(100):
        assert after.get(f"new {k}", before[f"old {k}"]) == before[f"old {k}"]
    with pytest.raises(InputError, match="no folder of splits"):
        split(tmp_path, old, "again", keep=tmp_path)


def test_mistakes_are_told_and_nothing_is_written(tmp_path: Path) -> None:
    samples = samples_of(20)
    for shares, words in (
        ("train=0.9,dev=0.2", "add up to 1.1"),
        ("train", "not NAME=SHARE"),
        ("dropped=1", "cannot name a split"),
        ("a=0.5,a=0.5", "given twice"),
    ):
        with pytest.raises(InputError, match=words):
            split(tmp_path, samples, shares=shares)
    with pytest.raises(InputError, match="ask for"):
        split(tmp_path, samples, dev=20)
    with pytest.raises(InputError, match="would be empty"):
        split(tmp_path, samples[:2])
    with pytest.raises(InputError, match="cannot be met"):
        split(tmp_path, samples, by="model", dev=3)
    assert not (tmp_path / "out").exists()
    split(tmp_path, samples, dev=4)
    with pytest.raises(InputError, match="exists already"):
        split(tmp_path, samples, dev=4)


def test_bad_rows_are_counted_and_good_ones_split(tmp_path: Path) -> None:
    path = write(tmp_path / "data.jsonl", samples_of(50))
    path.write_bytes(b"{nonsense\n" + path.read_bytes())
    report = split_data(path, out=tmp_path / "out")
    assert (report.samples, report.bad_count) == (50, 1)
    assert report.bad[0].row == 1


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(write(tmp_path / "data.jsonl", samples_of(100)))
    out = str(tmp_path / "splits")
    assert main(["data", "split", path, "--dev", "10", "-o", out, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [part["samples"] for part in told["splits"]] == [90, 10]
    assert main(["data", "split", path, "-o", out]) == 2
    assert "exists already" in capsys.readouterr().err


# The parts alone.


@given(st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=50))
def test_by_content_is_a_function_of_each_place_alone(places: list[float]) -> None:
    shares = {"a": 0.5, "b": 0.3, "c": 0.2}
    together = by_content(np.array(places), shares).tolist()
    assert together == [int(by_content(np.array([place]), shares)[0]) for place in places]
    assert set(together) <= {0, 1, 2}


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=60))
def test_by_size_never_exceeds_what_is_asked_for(rows: list[tuple[int, int]]) -> None:
    labels = np.array(rows)
    total = int(labels.sum())
    size = total // 3
    if not 0 < size < total:
        return
    places = np.array([place_of(str(k), 0) for k in range(len(rows))])
    splits = by_size(places, labels, {"train": None, "dev": size})
    assert set(splits.tolist()) <= {0, 1}
    dev = int(labels[splits == 1].sum())
    assert dev <= size
    assert size - dev < 6  # less than the largest group is missing


def test_places_are_uniform_also_for_large_groups() -> None:
    keys = [f"question {k}" for k in range(20_000)]
    groups = np.arange(20_000) // 10
    places = group_places(keys, groups, 0)
    counts = np.histogram(places, bins=10, range=(0, 1))[0]
    assert np.abs(counts - 200).max() < 70  # five standard deviations
    assert read_shares("train=0.9,dev=0.1") == {"train": 0.9, "dev": 0.1}
