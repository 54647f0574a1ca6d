"""Which prompt an example gets: one that shows its reference, or one that has none."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from magistrate.prompts.catalog import bundled_names, load_family
from magistrate.records import Answer, Gold, Sample
from magistrate.train.examples import Augmentation, make_example
from magistrate.train.families import families_for, use_of_reference

HALF = Augmentation(swap=0.5, drop_reference=0.5)


def gold(score: float, saw: bool) -> Gold:
    """A label whose first score tells how it was made."""
    return Gold(scores=(score, 5), with_reference=saw)


SAMPLE = Sample(
    question="?",
    answers=(Answer(text="a"), Answer(text="b")),
    reference="the truth",
    gold=(gold(1, saw=False), gold(9, saw=True)),
)


@pytest.mark.parametrize(
    ("name", "use", "without", "with_reference"),
    [
        ("judgelm", "never", "judgelm", "judgelm-reference"),
        ("judgelm-reference", "always", "judgelm", "judgelm-reference"),
        ("pair", "never", "pair", "pair-reference"),
        ("judgelm-reasons-first", "never", "judgelm-reasons-first", None),
        ("prometheus-relative", "where there is one", "prometheus-relative", "prometheus-relative"),
        ("judgelm-single", "always", None, "judgelm-single"),
        ("judgelm-single-reference", "always", None, "judgelm-single-reference"),
        ("mt-bench-pair", "never", "mt-bench-pair", "mt-bench-pair-reference"),
    ],
)
def test_families_know_their_counterparts(
    name: str, use: str, without: str | None, with_reference: str | None
) -> None:
    family = load_family(name)
    assert use_of_reference(family) == use
    found = families_for(family)
    assert (found.without and found.without.name) == without
    assert (found.with_reference and found.with_reference.name) == with_reference


@pytest.mark.parametrize("name", [n for n in bundled_names() if "images" not in n])
def test_a_label_never_stands_beside_a_prompt_that_shows_something_else(name: str) -> None:
    family = load_family(name)
    families = families_for(family)
    augmentation = families.augmentation(HALF)
    seen = set()
    for index in range(40):
        made = make_example(SAMPLE, augmentation=augmentation, seed=0, epoch=0, index=index)
        chosen = families.of(made)
        sample = made.sample.model_copy(update={"rubric": "r"})
        count = len(sample.answers)
        if chosen.max_answers == 1:
            sample, count = sample.model_copy(update={"answers": sample.answers[:1]}), 1
        prompts = chosen.prompts(sample, tuple(range(count)))
        shown = any("the truth" in message.text for prompt in prompts for message in prompt)
        assert shown == made.with_reference == (9 in (made.gold.scores or ()))
        seen.add(shown)
    assert seen == ({True, False} if augmentation == HALF else {augmentation.drop_reference == 0})


def test_a_family_in_a_folder_of_its_own_has_no_counterpart(tmp_path: Path) -> None:
    folder = tmp_path / "judgelm"
    shutil.copytree(Path(load_family("judgelm").where).parent, folder)
    found = families_for(load_family(str(folder)))
    assert found.with_reference is None
    assert found.augmentation(HALF) == Augmentation(swap=0.5, drop_reference=1.0)


@pytest.mark.parametrize(
    ("name", "drop", "asked"),
    [
        ("judgelm", 0.5, "judgelm"),
        ("judgelm", 0.0, "judgelm"),
        ("judgelm-reference", 0.5, "judgelm"),
        ("judgelm-reference", 0.0, "judgelm-reference"),
        ("judgelm-single", 0.5, "judgelm-single"),
    ],
)
def test_a_judge_of_both_is_asked_without_unless_it_always_sees_references(
    name: str, drop: float, asked: str
) -> None:
    family = load_family(name)
    families = families_for(family)
    augmentation = families.augmentation(Augmentation(swap=0.5, drop_reference=drop))
    assert families.asked(family, augmentation).name == asked
