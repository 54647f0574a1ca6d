"""Pairs drawn with balance, and what is left out counted."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import magistrate as mg
from magistrate.cli.main import main
from magistrate.data.pairing import draw_pairs, read_strengths
from magistrate.errors import InputError
from magistrate.records import Sample


def answer_files(tmp_path: Path, texts: dict[str, list[str | None]]) -> list[Path]:
    """Make a file per model; None is a question that it did not answer."""
    files = []
    for model, answers in texts.items():
        rows = [
            {"question_id": i, "question_body": f"question {i}", "text": text, "model": model}
            for i, text in enumerate(answers)
            if text is not None
        ]
        files.append(tmp_path / f"{model}.jsonl")
        files[-1].write_text("".join(json.dumps(row) + "\n" for row in rows))
    return files


def models(tmp_path: Path, count: int, questions: int) -> list[Path]:
    texts: dict[str, list[str | None]] = {
        f"m{m}": [f"answer of {m} to {q}" for q in range(questions)] for m in range(count)
    }
    return answer_files(tmp_path, texts)


def names(samples: list[Sample]) -> list[tuple[str, ...]]:
    return [tuple(answer.model or "" for answer in sample.answers) for sample in samples]


@given(st.integers(2, 6), st.integers(1, 25), st.integers(1, 4), st.integers(0, 3))
@settings(max_examples=25, deadline=None)
def test_where_all_answered_all_is_balance(
    tmp_path_factory: pytest.TempPathFactory, count: int, questions: int, k: int, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("p")
    out = folder / "pairs.jsonl"
    made = draw_pairs(*models(folder, count, questions), out=out, per_question=k, seed=seed)
    samples = list(mg.read_samples(out))
    most = count * (count - 1) // 2
    assert len(samples) == made.pairs == questions * min(k, most)
    assert set(Counter(sample.source_id for sample in samples).values()) == {min(k, most)}
    played = Counter(name for pair in names(samples) for name in pair)
    assert max(played.values()) - min(played.get(f"m{m}", 0) for m in range(count)) <= 2
    met = Counter(tuple(sorted(pair)) for pair in names(samples))
    between = [met[pair] for pair in combinations(sorted(f"m{m}" for m in range(count)), 2)]
    assert max(between) - min(between) <= 2
    for pair in met:
        lead = names(samples).count(pair) - names(samples).count(pair[::-1])
        assert abs(lead) <= 1, "of two models each is first as often as the other"
    assert all(len(set(map(frozenset, pairs))) == len(pairs) for pairs in by_question(samples))


def by_question(samples: list[Sample]) -> list[list[tuple[str, ...]]]:
    found: dict[str | None, list[tuple[str, ...]]] = {}
    for sample, pair in zip(samples, names(samples), strict=True):
        found.setdefault(sample.source_id, []).append(pair)
    return list(found.values())


def test_first_and_second_are_balanced_over_each_model(tmp_path: Path) -> None:
    made = draw_pairs(*models(tmp_path, 5, 100), out=tmp_path / "p.jsonl", per_question=2)
    assert {one.pairs for one in made.models} == {80}
    assert all(abs(one.first - one.second) <= 4 for one in made.models)


def test_equal_seeds_draw_equally(tmp_path: Path) -> None:
    files = models(tmp_path, 4, 20)
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        draw_pairs(*files, out=tmp_path / f"{name}.jsonl", seed=seed)
    a, b, c = ((tmp_path / f"{name}.jsonl").read_bytes() for name in "abc")
    assert a == b
    assert a != c


def test_equal_and_empty_answers_make_no_pair_and_are_counted(tmp_path: Path) -> None:
    files = answer_files(
        tmp_path,
        {
            "x": ["same", "", "one", "only x", "a"],
            "y": [" same ", " ", "two", None, ""],
        },
    )
    made = draw_pairs(*files, out=tmp_path / "p.jsonl")
    assert (made.pairs, made.identical, made.empty, made.alone) == (2, 1, 1, 1)
    assert {sample.source_id for sample in mg.read_samples(tmp_path / "p.jsonl")} == {"2", "4"}


def test_one_model_can_stand_in_every_pair(tmp_path: Path) -> None:
    files = models(tmp_path, 4, 30)
    made = draw_pairs(*files, out=tmp_path / "p.jsonl", against="m2", per_question=2)
    assert all("m2" in pair for pair in names(list(mg.read_samples(tmp_path / "p.jsonl"))))
    assert {one.model: one.pairs for one in made.models} == {"m0": 20, "m1": 20, "m2": 60, "m3": 20}
    with pytest.raises(InputError, match="no answers of 'm9'"):
        draw_pairs(*files, out=tmp_path / "p.jsonl", against="m9")


def test_near_and_far_by_strength(tmp_path: Path) -> None:
    files = models(tmp_path, 5, 60)
    strengths = {f"m{m}": float(m * m) for m in range(5)}
    made = draw_pairs(*files, out=tmp_path / "p.jsonl", strengths=strengths)
    assert made.difficulty == {"near": 30, "far": 30}
    gaps: dict[str, list[float]] = {"near": [], "far": []}
    for sample in mg.read_samples(tmp_path / "p.jsonl"):
        a, b = (strengths[answer.model or ""] for answer in sample.answers)
        gaps[sample.meta["difficulty"]].append(abs(a - b))
    assert max(gaps["near"]) <= min(gaps["far"])
    with pytest.raises(InputError, match="no strength is given for m4"):
        draw_pairs(*files, out=tmp_path / "p.jsonl", strengths={f"m{m}": 0.0 for m in range(4)})


def test_strengths_from_files(
    tmp_path: Path, repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "s.json"
    path.write_text('{"a": 1, "b": 2.5}')
    assert read_strengths(path) == {"a": 1.0, "b": 2.5}
    assert main(["rank", str(repo / "examples/pairs.jsonl"), "--votes", "--json"]) == 0
    path.write_text(capsys.readouterr().out)
    ranked = read_strengths(path)
    assert set(ranked) == {"alder", "birch", "cedar"}
    for wrong in ('{"a": "x"}', "[]", "{", '{"a": true}', '{"rankings": [{"models": [3]}]}'):
        path.write_text(wrong)
        with pytest.raises(InputError):
            read_strengths(path)


def test_what_the_files_say_of_answers_comes_along(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"question_id": 1, "question_body": "q", "text": "cut off", "model": "a", '
        '"status": "cut", "category": "math"}\n'
    )
    (tmp_path / "b.jsonl").write_text(
        '{"question_id": 1, "question_body": "q", "text": "whole", "model": "b", "status": "ok"}\n'
    )
    draw_pairs(tmp_path / "a.jsonl", tmp_path / "b.jsonl", out=tmp_path / "p.jsonl")
    (sample,) = mg.read_samples(tmp_path / "p.jsonl")
    marks = {a.model: sample.meta[f"answer{i}"]["status"] for i, a in enumerate(sample.answers, 1)}
    assert marks == {"a": "cut", "b": "ok"}
    assert sample.category == "math"
    assert sample.question == "q"


def test_samples_of_several_answers_are_taken_apart(tmp_path: Path, repo: Path) -> None:
    made = draw_pairs(repo / "examples/n-way.jsonl", out=tmp_path / "p.jsonl", per_question=9)
    samples = list(mg.read_samples(tmp_path / "p.jsonl"))
    assert len(samples) == made.pairs
    assert made.short == made.questions
    assert all(not sample.gold for sample in samples)


def test_what_cannot_be_paired_is_told(tmp_path: Path) -> None:
    (file,) = answer_files(tmp_path, {"x": ["a"]})
    with pytest.raises(InputError, match="1 model"):
        draw_pairs(file, out=tmp_path / "p.jsonl")
    with pytest.raises(InputError, match="replace the input"):
        draw_pairs(file, out=file)
    files = answer_files(tmp_path, {"x": ["a"], "y": ["a"]})
    with pytest.raises(InputError, match="not one pair"):
        draw_pairs(*files, out=tmp_path / "p.jsonl")
