"""Studies on real data: the baselines of the data set's notes, and LLMBar's own statistics."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from magistrate.metrics.rules.llmbar import llmbar
from magistrate.report.judged import read_judged
from magistrate.suites.bench import bench
from magistrate.suites.fairness import llmbar_rates

pytestmark = pytest.mark.data

LONGER_WINS = {
    "llmbar-natural": 56.5,
    "llmbar-neighbor": 11.9,
    "llmbar-gptinst": 13.0,
    "llmbar-gptout": 44.7,
    "llmbar-manual": 18.5,
}
"""Share right of 'longer wins' on LLMBar's subsets, equal lengths counting half."""

SIZES = (100, 134, 92, 47, 46)

EVALUATORS = [
    *(f"LLMBar/Natural/evaluators/{name}" for name in ("GPT-4/Vanilla", "ChatGPT/Vanilla")),
    *(f"LLMBar/Natural/evaluators/{name}" for name in ("GPT-4/Swap", "GPT-4/Rating")),
    *(f"LLMBar/Adversarial/Neighbor/evaluators/{n}" for n in ("LLaMA2/Vanilla", "GPT-4/Rating")),
]


def test_fairness_baselines_over_all_419_pairs(data_folder: Path, tmp_path: Path) -> None:
    report = bench("scripted:longer", "fairness", data=data_folder, out=tmp_path)
    study = report.fairness
    assert study is not None
    assert not study.missing
    assert not study.cannot
    found = {row.result.set: row.result for row in study.sets}
    assert tuple(row.pairs for row in found.values()) == SIZES
    for name, published in LONGER_WINS.items():
        longer, judge = found[name].baselines.longer.value, found[name].agreement.value
        assert longer is not None
        assert round(100 * longer, 1) == published
        # The judge that prefers the longer answer is the baseline.
        assert judge == longer
    mean = study.adversarial.longer.value
    assert mean is not None
    assert round(100 * mean, 1) == round((11.94 + 13.04 + 44.68 + 18.48) / 4, 1)


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_llmbar_statistics(data_folder: Path, evaluator: str) -> None:
    folder = data_folder / "llmbar" / evaluator
    published = json.loads((folder / "statistics.json").read_text("utf-8"))
    pairs = read_judged(folder / "result.json").pairs
    rates, rule = llmbar_rates(pairs), llmbar(pairs).values
    ours = {
        "correct_False": rates.given,
        "correct_True": rates.swapped,
        "correct_average": rates.average,
        "correct_both": rates.both,
        "equal": rates.equal,
    }
    for name, rate in ours.items():
        assert rate.value is not None
        # Written as '34 / 134 = 25.37313432835821%', the average as a number.
        figure = float(str(published[name]).rpartition("=")[2].strip(" %"))
        assert 100 * rate.value == pytest.approx(figure)
        assert 100 * rate.value == pytest.approx(rule[name])


def test_every_set_of_the_bundled_manifest_is_read(data_folder: Path, tmp_path: Path) -> None:
    report = bench("scripted:first", "all", data=data_folder, out=tmp_path, limit=4)
    assert report.generalise is not None
    assert report.aspects is not None
    assert report.scalability is not None
    assert len(report.generalise.sets) == 8
    assert not report.generalise.missing
    # hh-rlhf has the better reply first in the file: sides are drawn, or 'first' were always right.
    harmless = next(r.row.result for r in report.aspects.pairs if r.row.result.set == "hh-harmless")
    assert harmless.available == 2312
    assert any("sides were drawn" in note for note in harmless.notes)
    (plain, rubric) = report.aspects.answers
    assert (plain.available, plain.answers, rubric.variant) == (4507, 4, "rubric")
    assert [row.result.variant for row in report.scalability.ways[:3]] == [
        "zero-shot",
        "reasons first",
        "2 demonstrations",
    ]
