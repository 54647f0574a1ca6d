"""Reports on what other tools stored: their published figures stand in the tables."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import magistrate as mg

pytestmark = pytest.mark.data

_JUDGEBENCH = "judgebench/outputs/dataset=judgebench,response_model=gpt-4o-2024-05-13,judge_name="


def headline(folder: Path) -> dict[str, dict[str, str]]:
    with (folder / "headline.csv").open(encoding="utf-8") as file:
        return {row["measure"].strip(): row for row in csv.DictReader(file)}


def test_judgebench_side_by_side(data_folder: Path, tmp_path: Path) -> None:
    files = (
        "reward_model,judge_model=Skywork_Skywork-Reward-Llama-3.1-8B.jsonl",
        "arena_hard,judge_model=o1-mini-2024-09-12.jsonl.gz",
    )
    written = mg.write_report(
        *(data_folder / (_JUDGEBENCH + name) for name in files),
        out=tmp_path / "report.html",
        csv=tmp_path,
    )
    names = [run.name for run in written.contents.runs]
    # On labels without ties, JudgeBench's rule and ours agree.
    row = headline(tmp_path)["agreement, tie as a class"]
    assert [f"{100 * float(row[name]):.2f}" for name in names] == ["62.29", "65.71"]
    assert (tmp_path / "report.html").stat().st_size < 1_000_000
    with (tmp_path / "differences.csv").open(encoding="utf-8") as file:
        (difference,) = csv.DictReader(file)
    assert float(difference["difference, points high"]) < 0


def test_both_orders_of_auto_j_are_one_judge(data_folder: Path, tmp_path: Path) -> None:
    outputs = data_folder / "auto-j/outputs"
    both = "+".join(
        str(outputs / f"pairwise_{order}example_output.jsonl") for order in ("", "exchange_")
    )
    labels = data_folder / "auto-j/test/testdata_pairwise.jsonl"
    written = mg.write_report(both, labels=labels, csv=tmp_path, samples=4)
    (run,) = written.contents.runs
    row = headline(tmp_path)["same verdict in both orders"]
    assert f"{100 * float(row[run.name]):.2f}" == "83.41"
    assert int(row[f"{run.name} n"]) == 1392
    (samples,) = (section for section in written.contents.sections if section.id == "samples")
    assert [card.why for card in samples.cards] == ["opposite"] * 4


def test_pandalm_has_its_annotators_and_its_models(data_folder: Path, tmp_path: Path) -> None:
    mg.write_report(
        data_folder / "pandalm/pandalm-7b-testset-v1.json",
        labels=data_folder / "pandalm/testset-v1.json",
        csv=tmp_path,
    )
    with (tmp_path / "wins_1.csv").open(encoding="utf-8") as file:
        wins = {(row["model"], row["against"]): row for row in csv.DictReader(file)}
    found = wins["llama-7b", "bloom-7b"]
    assert [float(found[name]) for name in ("wins", "losses", "ties")] == [57, 37, 17]
    assert (tmp_path / "annotators.csv").is_file()
