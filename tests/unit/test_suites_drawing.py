"""Draws by seed: nested, the same whatever the file's sequence, with sides that tell nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from suites_help import manifest, pair, pairs, write

from magistrate.errors import InputError
from magistrate.metrics.gold import gold_label
from magistrate.records import Answer, Gold, Sample
from magistrate.suites.drawing import Drawn, draw, swapped
from magistrate.suites.manifest import find_manifest


def drawn(folder: Path, samples: list[Sample], seed: int = 0, **more: object) -> Drawn:
    write(folder / "a.jsonl", samples)
    manifest(folder, {"name": "a", "files": "a.jsonl", "roles": ["benchmark"], **more})
    return draw(find_manifest(folder).sets[0], seed)


def test_the_draw_depends_on_the_texts_and_the_seed_alone(tmp_path: Path) -> None:
    samples = pairs(["first", "second"] * 20)
    one = drawn(tmp_path / "one", samples)
    other = drawn(tmp_path / "other", samples[::-1])
    assert one.samples == other.samples
    assert [s.source_id for s in one.samples] != [s.source_id for s in samples]
    assert drawn(tmp_path / "two", samples, seed=1).samples != one.samples
    assert sorted(s.id for s in one.samples) == sorted(s.id for s in samples)
    assert not one.sides_mixed


def test_sides_are_drawn_where_the_file_has_the_better_answer_first(tmp_path: Path) -> None:
    found = drawn(tmp_path, pairs(["first"] * 60))
    labels = [gold_label(sample) for sample in found.samples]
    assert found.sides_mixed
    assert 15 < labels.count("first") < 45
    # The label still names the same text.
    for sample, label in zip(found.samples, labels, strict=True):
        better = sample.answers[0 if label == "first" else 1]
        assert better.text.startswith("a long answer")


def test_a_single_pair_is_left_as_it_is(tmp_path: Path) -> None:
    assert not drawn(tmp_path, pairs(["first"])).sides_mixed


def test_swapping_twice_changes_nothing() -> None:
    gold = (
        Gold(preference="first", scores=(9, 2), ranking=(1, 2), probability_second=0.25),
        Gold(preference="tie"),
        Gold(label="odd"),
    )
    sample = pair(1, None).model_copy(update={"gold": gold})
    once = swapped(sample)
    assert once.gold[0] == Gold(
        preference="second", scores=(2, 9), ranking=(2, 1), probability_second=0.75
    )
    assert once.gold[1:] == gold[1:]
    assert swapped(once) == sample


def test_samples_of_another_kind_are_counted(tmp_path: Path) -> None:
    single = Sample(question="?", answers=(Answer(text="x"),))
    found = drawn(tmp_path, [*pairs(["first", "second"]), single])
    assert (len(found), found.others) == (2, 1)


def test_a_set_without_what_the_manifest_says_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="should hold answers, and 2 samples were found"):
        drawn(
            tmp_path,
            pairs(["first", "second"]),
            roles=["aspect"],
            holds="answers",
            good_label="no",
        )


def test_categories_are_renamed(tmp_path: Path) -> None:
    samples = [pair(1, "first", category="maths"), pair(2, "second", category="law")]
    found = drawn(tmp_path, samples, categories={"maths": "science"})
    assert sorted(str(one.category) for one in found.samples) == ["law", "science"]
