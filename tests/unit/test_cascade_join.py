"""Several judges' stored decisions side by side, and the command that replays them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from magistrate.cli.main import main
from magistrate.errors import InputError
from magistrate.report.cascade import PromiseOptions, ReadOptions, cascade_json, replay_cascade
from magistrate.report.cascade_join import read_tiers

QUESTIONS = 12
SURE = [0.525 + place / 40 for place in range(QUESTIONS)]


def write_rows(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def row(place: int, first: float, *, label: int = 1, exchanged: bool = False) -> dict[str, Any]:
    """A pair as cascaded selective evaluation keeps it."""
    outputs, probs = [f"good {place}", f"bad {place}"], [first, 1 - first]
    vote = label
    if exchanged:
        outputs, probs, vote = outputs[::-1], probs[::-1], 3 - label
    return {
        "instruction": f"Question {place}?",
        "outputs": outputs,
        "preferences": {"human": vote},
        "probs": probs,
    }


@pytest.fixture
def cheap(tmp_path: Path) -> Path:
    """Right where it is sure (the first answer is better), wrong where it is not."""
    rows = [row(k, 1 - sure if k < 4 else sure) for k, sure in enumerate(SURE)]
    return write_rows(tmp_path / "cheap.test.jsonl", rows)


@pytest.fixture
def strong(tmp_path: Path) -> Path:
    """Always right; its rows are in another sequence, half of them exchanged, one is missing."""
    rows = [row(k, 0.875, exchanged=k % 2 == 0) for k in reversed(range(QUESTIONS - 1))]
    return write_rows(tmp_path / "strong.test.jsonl", rows)


def test_judges_are_joined_by_content_whatever_the_sequence(cheap: Path, strong: Path) -> None:
    found = read_tiers(cheap, strong)
    assert found.tiers.names == ("cheap", "strong")
    assert found.tiers.said[:, 0].tolist() == [-1] * 3 + [-1] + [1] * 8
    assert found.tiers.said[:, 1].tolist() == [1] * 11 + [9]
    assert found.tiers.gold is not None
    assert found.tiers.gold.tolist() == [1] * QUESTIONS
    assert found.judges[1].joined == {"content": 5, "exchanged": 6}
    assert found.judges[1].missing == 1
    assert found.tiers.confidence[:, 0] == pytest.approx(SURE)
    assert math.isnan(found.tiers.confidence[-1, 1])


def test_equal_texts_are_matched_one_by_one(tmp_path: Path) -> None:
    one = write_rows(tmp_path / "a.jsonl", [row(0, 0.9), row(1, 0.8), row(1, 0.7)])
    other = write_rows(tmp_path / "b.jsonl", [row(1, 0.8), row(0, 0.9)])
    found = read_tiers(one, other)
    assert found.judges[1].joined == {"content": 2}


def test_judges_of_other_pairs_are_refused(cheap: Path, tmp_path: Path) -> None:
    other = write_rows(tmp_path / "other.jsonl", [row(k + 100, 0.9) for k in range(5)])
    with pytest.raises(InputError, match="no pair in common"):
        read_tiers(cheap, other)
    with pytest.raises(InputError, match="two judges or more"):
        read_tiers(cheap)


def test_scores_without_texts_are_joined_by_row(cheap: Path, tmp_path: Path) -> None:
    scores = write_rows(tmp_path / "gpt.jsonl", [[8, 5]] * 10 + [[-1, -1], [3, 9]])
    found = read_tiers(cheap, scores)
    assert found.judges[1].joined == {"row": QUESTIONS}
    assert found.tiers.said[:, 1].tolist() == [1] * 10 + [9, -1]
    assert found.judges[1].confidence == "score-gap"
    short = write_rows(tmp_path / "short.jsonl", [[8, 5]] * 10)
    with pytest.raises(InputError, match="no pair in common"):
        read_tiers(cheap, short)


def test_prices_by_name_and_file(cheap: Path, strong: Path) -> None:
    found = read_tiers(cheap, strong, prices={"strong": 0.02, "cheap.test.jsonl": 0.001})
    assert found.tiers.cost[0].tolist() == [0.001, 0.02]
    assert [judge.price for judge in found.judges] == [0.001, 0.02]
    with pytest.raises(InputError, match="no judge 'gpt'; there are: cheap, strong"):
        read_tiers(cheap, strong, prices={"gpt": 1.0})


def test_confidence_from_a_file_from_another_judge_and_from_nowhere(
    cheap: Path, strong: Path, tmp_path: Path
) -> None:
    listed = tmp_path / "relia.json"
    listed.write_text(json.dumps({"Entropy": list(range(QUESTIONS)), "x": [0]}), "utf-8")
    found = read_tiers(cheap, strong, confidence_sources=[str(listed), "stored"])
    assert found.tiers.confidence[:, 0].tolist() == list(range(QUESTIONS))
    with pytest.raises(InputError, match=r"1 number and .* has 12 pairs"):
        read_tiers(cheap, strong, confidence_sources=[f"{listed}#x", "stored"])

    third = write_rows(tmp_path / "third.jsonl", [row(k, 0.75) for k in range(QUESTIONS)])
    told = read_tiers(cheap, strong, confidence_sources=[f"by:{third}", "stored"])
    # The third judge gives 0.75 to the first answer, so 0.25 to what the cheap one says at first.
    assert told.tiers.confidence[:, 0].tolist() == [0.25] * 4 + [0.75] * 8
    assert told.judges[0].confidence == "by:third"

    scores = write_rows(tmp_path / "plain.jsonl", [[8, 5]] * QUESTIONS)
    agreed = read_tiers(cheap, strong, confidence_sources=[f"by:{scores}", "stored"])
    expected = [sure + (place >= 4) for place, sure in enumerate(SURE)]
    assert agreed.tiers.confidence[:, 0] == pytest.approx(expected)

    with pytest.raises(InputError, match="does not tell how sure cheap is by entropy"):
        read_tiers(cheap, strong, confidence_sources=["entropy", "stored"])
    with pytest.raises(InputError, match="no confidence source 'sure'"):
        read_tiers(cheap, strong, confidence_sources="sure")


def test_constant_confidence_is_told(tmp_path: Path, strong: Path) -> None:
    flat = write_rows(tmp_path / "flat.jsonl", [row(k, 0.75) for k in range(QUESTIONS)])
    assert [notice.kind for notice in read_tiers(flat, strong).notices] == ["constant-confidence"]


def test_replay_of_files(cheap: Path, strong: Path) -> None:
    found = replay_cascade(cheap, strong, budgets=(4 / 11,))
    assert (found.replay.n, found.replay.left_out) == (11, 1)
    assert found.replay.points[0].accuracy.value == 1.0
    assert found.replay.points[0].gap_closed.value == 1.0
    first = cascade_json(found)["at"][0]
    assert first["agreement"]["value"] == 1.0
    assert first["cheapest"]["value"] == pytest.approx(7 / 11)
    assert first["random"] == pytest.approx(7 / 11 + 4 / 11 * 4 / 11)


def test_without_labels_the_last_judge_counts(tmp_path: Path) -> None:
    one = write_rows(tmp_path / "one.jsonl", [[8, 5]] * 5 + [[5, 6]] * 5)
    other = write_rows(tmp_path / "other.jsonl", [[8, 5]] * 10)
    found = replay_cascade(one, other)
    assert found.truth == "last judge"
    assert "no-labels" in [notice.kind for notice in found.notices]
    assert found.replay.points[0].accuracy.value == found.replay.points[0].like_last == 1.0


def test_different_kinds_of_confidence_share_ranks(
    cheap: Path, strong: Path, tmp_path: Path
) -> None:
    scores = write_rows(tmp_path / "s.jsonl", [[9, place / 2] for place in range(QUESTIONS)])
    found = replay_cascade(cheap, scores, strong)
    assert found.scale == "ranks"
    assert any(notice.kind == "ranks" for notice in found.notices)
    same = replay_cascade(cheap, cheap, strong)
    assert same.scale == "as told"
    assert same.judges[0].judge == "cheap (cheap.test.jsonl) (1)"


def many(tmp_path: Path, count: int = 400) -> tuple[Path, Path, Path]:
    """Two judges over many pairs, three of a question, and labels of the first half of them."""
    rows, wins = [], []
    for k in range(count):
        right = k % 10 != 0
        one = row(k, (0.9 if right else 0.1) if k % 2 else (0.6 if k % 3 else 0.4))
        one["instruction"] = f"Question {k // 3}?"
        rows.append({**one, "preferences": {}})
        wins.append({**one, "preferences": {"human": 1}})
    cheap = write_rows(tmp_path / "cheap.jsonl", rows)
    strong = write_rows(tmp_path / "strong.jsonl", [{**one, "probs": [0.9, 0.1]} for one in rows])
    labels = [{key: one[key] for key in ("instruction", "outputs", "preferences")} for one in wins]
    return cheap, strong, write_rows(tmp_path / "labels.jsonl", labels[: count // 2])


def test_a_promise_on_a_part_of_the_pairs(tmp_path: Path) -> None:
    cheap, strong, labels = many(tmp_path)
    options = PromiseOptions(0.9, 0.1, (labels,))
    found = replay_cascade(cheap, strong, promise=options)
    assert found.promised is not None
    assert not found.promised.refusal
    assert found.promised.guarantee.n == 200
    assert found.promised.questions == 67
    assert found.promised.shared > 0
    assert found.promised.kept is not None
    assert found.promised.kept.n == 200
    assert found.promised.kept.agreement.value is None
    kinds = [notice.kind for notice in found.notices]
    assert "shared-questions" in kinds
    assert "judged-questions-known" in kinds
    one = replay_cascade(
        cheap, strong, promise=PromiseOptions(0.6, 0.1, (labels,), one_per_question=True)
    )
    assert one.promised is not None
    assert one.promised.guarantee.n == 67
    assert "shared-questions" not in [notice.kind for notice in one.notices]


def test_a_promise_is_refused_politely(tmp_path: Path) -> None:
    cheap, strong, labels = many(tmp_path, 40)
    found = replay_cascade(cheap, strong, promise=PromiseOptions(0.95, 0.05, (labels,)))
    assert found.promised is not None
    assert "20 calibration pairs are too few. About" in found.promised.refusal
    assert found.promised.kept is not None
    assert found.promised.kept.coverage.value == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((None, 0.1), "give that too"),
        ((0.9, None, ("x",)), "--risk 0.1"),
        ((85.0, 0.1), "such as 0.85"),
        ((0.85, 10.0), "such as 0.1"),
    ],
)
def test_wrong_promises_are_said(options: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        PromiseOptions(*options)


def test_the_command(
    cheap: Path, strong: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    command = ["cascade", "replay", str(cheap), str(strong), "--budget", "0.25", "--curve"]
    command += ["--price", "strong=0.5", "--max-cost", "3", "--compare-confidence"]
    command += ["--target-agreement", "0.9", "--risk", "0.2", "--html", str(page)]
    assert main(command) == 0
    told = capsys.readouterr()
    assert "25 %" in told.out
    assert "$3" in told.out
    assert "The curve" in told.out
    assert "best, chosen on other questions" in told.out
    assert "cannot be promised" in told.out
    html = page.read_text("utf-8")
    assert "<script" not in html
    assert "<polygon" in html
    assert "cannot be promised" in html
    assert main([*command[:4], "--json", "--budget", "0.5"]) == 0
    assert json.loads(capsys.readouterr().out)["at"][0]["budget"] == 0.5
    assert main([*command[:4], "--price", "strong"]) == 2
    assert main([*command[:4], "--budget", "2"]) == 2


def test_pandalm_gpt4_and_pandalm_7b(data_folder: Path) -> None:
    found = replay_cascade(
        data_folder / "pandalm" / "pandalm-7b-testset-v1.json",
        data_folder / "unlimitedjudge" / "CrossEvalGpt" / "pandalm-gpt4.jsonl",
        labels=data_folder / "pandalm" / "testset-v1.json",
        reading=ReadOptions(confidence=["length-gap", "score-gap"]),
    )
    assert found.replay.n == 993  # GPT-4's six unreadable ones are left out, not ties
    assert found.replay.alone[1].value == pytest.approx(0.7805, abs=5e-5)
    point = found.replay.points[0]
    assert point.gap_closed.value == pytest.approx(0.664, abs=5e-4)
    assert point.asked[-1] == pytest.approx(0.5)


def test_calibration_pairs_that_are_judged_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [row(k, 0.5 + k / 400, exchanged=k % 2 == 0) for k in range(150)]
    known = [write_rows(tmp_path / f"known-{name}.jsonl", rows) for name in ("a", "b")]
    few = [row(k, 0.9) for k in range(30)] + [row(k, 0.9) for k in range(200, 230)]
    few[-1]["instruction"] = "Question 140?"
    judged = [write_rows(tmp_path / f"{name}.jsonl", few) for name in ("a", "b")]
    options = PromiseOptions(0.8, 0.1, known)
    found = replay_cascade(*judged, promise=options).promised
    assert found is not None
    assert (found.left_out, found.guarantee.n, found.shared) == (30, 120, 1)
    command = ["cascade", "replay", *map(str, judged), "--target-agreement", "0.8", "--risk", "0.1"]
    for one in known:
        command += ["--calibrate-on", str(one)]
    assert main(command) == 0
    told = capsys.readouterr()
    assert "30 calibration pairs, since they are to be judged" in told.out
    assert "1 pair to be judged on questions of calibration pairs" in told.out
    with pytest.raises(InputError, match="all 150 calibration pairs are among the pairs to be"):
        replay_cascade(*known, promise=options)


def test_a_dearest_judge_that_is_no_better_is_told(
    cheap: Path, strong: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cascade", "replay", str(strong), str(cheap)]) == 0
    assert "No gap to close: cheap alone is not better than strong" in capsys.readouterr().out
    assert main(["cascade", "replay", str(cheap), str(strong)]) == 0
    assert "No gap to close" not in capsys.readouterr().out
