"""Published figures, and the same figures as this package computes them from the public files.

Each :class:`Golden` reads files as they are in the wild through ``evaluate`` and takes its
numbers from the result; nothing is computed here but a lookup. The tests and ``make goldens`` use
the same table.

A figure is **exact** when ours, rounded to the published decimals, is the published one. Of figures
published with more than nine decimals nine are compared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import published as known

from magistrate.report.evaluation import Evaluation, evaluate
from magistrate.report.judged import read_judged

MOST_DECIMALS = 9
Numbers = dict[str, float]

_LEADING_NUMBER = re.compile(r"-?[\d.]+")


@dataclass(frozen=True)
class Golden:
    """Some published figures of one judge or one set of labels."""

    name: str
    source: str
    """Where they were published."""
    published: Callable[[Path], Mapping[str, str]]
    """Name to figure as it is written; takes the folder of the data."""
    ours: Callable[[Path], Numbers]
    """The same names to our numbers."""


@dataclass(frozen=True)
class Checked:
    """One figure compared."""

    golden: str
    figure: str
    published: str
    ours: float

    @property
    def exact(self) -> bool:
        """Whether ours is the published one at the decimals compared."""
        return f"{self.ours:.{self._decimals}f}" == f"{float(self.published):.{self._decimals}f}"

    @property
    def difference(self) -> float:
        """Ours minus the published figure."""
        return self.ours - float(self.published)

    @property
    def _decimals(self) -> int:
        return min(len(self.published.partition(".")[2]), MOST_DECIMALS)


def check(golden: Golden, data: Path) -> list[Checked]:
    """Compute and compare all figures of one golden.

    Raises:
        KeyError: A published figure is not among ours.
    """
    ours = golden.ours(data)
    return [
        Checked(golden.name, name, written, ours[name])
        for name, written in golden.published(data).items()
    ]


@cache
def evaluated(*files: Path, labels: Path | None = None, rule: str | None = None) -> Evaluation:
    """Evaluate stored judgments; the result is kept."""
    return evaluate(*files, labels=labels, rule=rule)


def rule_numbers(found: Evaluation) -> Numbers:
    """Return the numbers of a rule under the tool's keys, those of parts as ``part key``."""
    assert found.rule is not None
    numbers = {key: value for key, value in found.rule.values.items() if value is not None}
    for part, values in found.rule.categories.items():
        numbers |= {f"{part} {key}": value for key, value in values.items() if value is not None}
    return numbers


def _pandalm(judge: str) -> Callable[[Path], Numbers]:
    def ours(data: Path) -> Numbers:
        folder = data / "pandalm"
        found = evaluated(
            folder / f"{judge}-testset-v1.json", labels=folder / "testset-v1.json", rule="pandalm"
        )
        numbers = rule_numbers(found)
        for row, column in known.PANDALM_COUPLES:
            for who in ("human", "judge"):
                numbers |= _cell(numbers, who, row, column)
        return numbers

    return ours


def _cell(numbers: Numbers, who: str, row: str, column: str) -> Numbers:
    """Return wins, losses and ties of the row's model, whichever our own table names first."""
    turned = f"{row} vs {column} {who}_win" not in numbers
    part = f"{column} vs {row}" if turned else f"{row} vs {column}"
    kinds = ("lose", "win", "tie") if turned else ("win", "lose", "tie")
    return {
        f"{who} {row} vs {column} {kind}": numbers[f"{part} {who}_{own}"]
        for kind, own in zip(("win", "lose", "tie"), kinds, strict=True)
    }


def _pandalm_people(data: Path) -> Numbers:
    folder = data / "pandalm"
    found = evaluated(
        folder / "pandalm-7b-testset-v1.json", labels=folder / "testset-v1.json", rule="pandalm"
    )
    assert found.pairs is not None
    people = found.pairs.annotators
    assert people is not None
    numbers: Numbers = {f"majority {name}": n for name, n in people.labels.items()}
    for two in people.between:
        assert two.kappa is not None
        numbers[f"kappa {two.one[-1]}-{two.other[-1]}"] = two.kappa
    return numbers


def _tournament(data: Path) -> Numbers:
    """Wins and half the ties of five models over ten pairings, by the human majority."""
    labels = read_judged(data / "pandalm" / "testset-v1.json", labels_as_judge=True)
    found = evaluate(labels)
    assert found.pairs is not None
    return {model.model: model.points for model in found.pairs.models}


def _gpt4_on_pandalm(data: Path) -> Numbers:
    return rule_numbers(
        evaluated(
            data / "unlimitedjudge" / "CrossEvalGpt" / "pandalm-gpt4.jsonl",
            labels=data / "pandalm" / "testset-v1.json",
            rule="pandalm",
        )
    )


def _gpt4_own_measures(data: Path) -> Numbers:
    """The same file by our own measures, in which nothing unparsable counts as a tie."""
    agreement = evaluated(
        data / "unlimitedjudge" / "CrossEvalGpt" / "pandalm-gpt4.jsonl",
        labels=data / "pandalm" / "testset-v1.json",
        rule="pandalm",
    ).pairs
    assert agreement is not None
    assert agreement.agreement is not None
    return {"right, of ok": 100 * (agreement.agreement.accuracy.value or 0)}


def _auto_j(data: Path) -> Numbers:
    outputs = data / "auto-j" / "outputs"
    return rule_numbers(
        evaluated(
            outputs / "pairwise_example_output.jsonl",
            outputs / "pairwise_exchange_example_output.jsonl",
            labels=data / "auto-j" / "test" / "testdata_pairwise.jsonl",
            rule="auto-j",
        )
    )


def _llmbar_published(folder: str) -> Callable[[Path], Mapping[str, str]]:
    def read(data: Path) -> Mapping[str, str]:
        text = (data / "llmbar" / "LLMBar" / folder / "statistics.json").read_text("utf-8")
        return {key: _after_equals(value) for key, value in json.loads(text).items()}

    return read


def _after_equals(value: str | float) -> str:
    """Return the number of ``95 / 100 = 95.0%``, or of a plain number."""
    found = _LEADING_NUMBER.search(str(value).rpartition("=")[2].strip())
    assert found is not None
    return found.group()


def _llmbar(folder: str) -> Callable[[Path], Numbers]:
    return lambda data: rule_numbers(
        evaluated(data / "llmbar" / "LLMBar" / folder / "result.json", rule="llmbar")
    )


def _judgebench(judge: str) -> Callable[[Path], Numbers]:
    def ours(data: Path) -> Numbers:
        (path,) = (data / "judgebench" / "outputs").glob(f"*judge_model={judge}.jsonl*")
        return rule_numbers(evaluated(path, rule="judgebench"))

    return ours


def _alpaca_eval(model: str, annotator: str) -> Callable[[Path], Numbers]:
    def ours(data: Path) -> Numbers:
        (path,) = (data / "alpaca_eval" / "results" / model / annotator).glob("annotations.json*")
        return rule_numbers(evaluated(path, rule="alpaca-eval"))

    return ours


def _vicuna(name: str) -> Callable[[Path], Numbers]:
    def ours(data: Path) -> Numbers:
        folder = data / "fastchat" / "eval_table" / "review" / "vicuna-13b_20230322-clean-lang"
        pairs = evaluated(folder / f"review_{name}_vicuna-13b.jsonl").pairs
        assert pairs is not None
        rows = {row.model: row for row in pairs.models}
        first, second = rows["first answer"], rows["second answer"]
        assert first.total_score is not None
        assert second.total_score is not None
        return {
            "baseline total": first.total_score,
            "vicuna total": second.total_score,
            "baseline wins": first.wins,
            "vicuna wins": second.wins,
            "ties": first.ties,
        }

    return ours


def _routellm(data: Path) -> Numbers:
    singles = evaluated(data / "routellm" / "evals" / "mt_bench" / "judgements.jsonl").singles
    assert singles is not None
    return {model.part: model.mean_score.value or 0 for model in singles.models}


def _llmzoo_published(aspect: str) -> Callable[[Path], Mapping[str, str]]:
    def read(data: Path) -> Mapping[str, str]:
        text = (_llmzoo_folder(data, aspect) / "metric.json").read_text("utf-8")
        return {
            f"{model} {key}": repr(value)
            for model, values in json.loads(text).items()
            for key, value in values.items()
        }

    return read


def _llmzoo(aspect: str) -> Callable[[Path], Numbers]:
    def ours(data: Path) -> Numbers:
        ranked = evaluated(_llmzoo_folder(data, aspect) / "review.jsonl").ranked
        assert ranked is not None
        return {
            f"{model.model} {key}": rate.value or 0
            for model in ranked.models
            for key, rate in (("order", model.order), ("score", model.score))
        }

    return ours


def _llmzoo_folder(data: Path, aspect: str) -> Path:
    return data / "llmzoo" / "reviews" / "review_en_13b" / "en" / aspect


def _given(figures: Mapping[str, str]) -> Callable[[Path], Mapping[str, str]]:
    return lambda _data: figures


def goldens() -> Iterable[Golden]:
    """Yield every golden, by tool."""
    for judge, figures in known.PANDALM.items():
        name = f"PandaLM test set, {judge}"
        yield Golden(name, known.PANDALM_SOURCE, _given(figures), _pandalm(judge))
    yield Golden(
        "PandaLM test set, annotators",
        known.PANDALM_LABELS_SOURCE,
        _given(known.PANDALM_PEOPLE),
        _pandalm_people,
    )
    yield Golden(
        "PandaLM test set, tournament of five models",
        "wins and half the ties, added up from PandaLM's published table of human votes",
        _given(known.TOURNAMENT),
        _tournament,
    )
    yield Golden(
        "PandaLM test set, GPT-4 (JudgeLM style)",
        known.GPT4_SOURCE,
        _given(known.GPT4_ON_PANDALM),
        _gpt4_on_pandalm,
    )
    yield Golden(
        "PandaLM test set, GPT-4 by our own measures",
        known.GPT4_SOURCE,
        _given(known.GPT4_PARSED),
        _gpt4_own_measures,
    )
    yield Golden("Auto-J", known.AUTO_J_SOURCE, _given(known.AUTO_J), _auto_j)
    for folder in known.LLMBAR_FOLDERS:
        name = f"LLMBar {folder.replace('/evaluators/', ', ')}"
        yield Golden(name, known.LLMBAR_SOURCE, _llmbar_published(folder), _llmbar(folder))
    for judge, figures in known.JUDGEBENCH.items():
        name = f"JudgeBench, {judge}"
        yield Golden(name, known.JUDGEBENCH_SOURCE, _given(figures), _judgebench(judge))
    for (model, annotator), figures in known.ALPACA_EVAL.items():
        name = f"AlpacaEval, {model}, {annotator}"
        ours = _alpaca_eval(model, annotator)
        yield Golden(name, known.ALPACA_EVAL_SOURCE, _given(figures), ours)
    for baseline, figures in known.VICUNA.items():
        name = f"Vicuna-bench, {baseline} against Vicuna-13B"
        yield Golden(name, known.VICUNA_SOURCE, _given(figures), _vicuna(baseline))
    yield Golden("RouteLLM's MT-bench", known.ROUTELLM_SOURCE, _given(known.ROUTELLM), _routellm)
    for aspect in known.LLMZOO_ASPECTS:
        name = f"LLMZoo, {aspect}"
        yield Golden(name, known.LLMZOO_SOURCE, _llmzoo_published(aspect), _llmzoo(aspect))
