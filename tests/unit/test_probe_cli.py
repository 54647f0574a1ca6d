"""Whole audits through the command: scripted judges with a planted bias of known size."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from magistrate.cli.main import main
from magistrate.engines.tastes import sums_of_tastes
from magistrate.probes import perturbations as p
from magistrate.probes.audit import PROBES, probe
from magistrate.probes.bench import Bench
from magistrate.probes.swaying import Change, changed_arm
from magistrate.probes.table import probes_table
from magistrate.records import Answer, Gold, Preference, Sample
from magistrate.report.table import plain_text

Json = dict[str, Any]
PAIRS = 60


def pairs(count: int = PAIRS) -> list[Sample]:
    """Return labelled pairs of plain text; the model ``own`` wrote every other first answer."""
    made = []
    for number in range(count):
        texts = [
            f"Answer {place} to question {number} is plain. It has a second sentence. "
            + "It goes on a little. " * ((number + place) % 3)
            for place in range(2)
        ]
        models = ("own", "other") if number % 2 else ("other", "own")
        preference: Preference = "first" if number % 3 else "second"
        made.append(
            Sample(
                question=f"Question {number}?",
                answers=tuple(Answer(text=t, model=m) for t, m in zip(texts, models, strict=True)),
                reference=f"reference words of number {number}",
                gold=(Gold(preference=preference),),
            )
        )
    return made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    path.write_text(
        "".join(
            json.dumps(
                {
                    "question": one.question,
                    "answer1": one.answers[0].text,
                    "answer2": one.answers[1].text,
                    "model1": one.answers[0].model,
                    "model2": one.answers[1].model,
                    "reference": one.reference,
                    "label": 1 if one.gold[0].preference == "first" else 2,
                }
            )
            + "\n"
            for one in pairs()
        ),
        encoding="utf-8",
    )
    return path


def audit(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Json:
    assert main(["probe", *map(str, arguments), "--json"]) == 0
    report: Json = json.loads(capsys.readouterr().out)
    return report


def effect_in(report: Json, name: str) -> Json:
    (found,) = [one for one in report["effects"] if f"{one['probe']}: {one['name']}" == name]
    return dict(found)


def chance(sample: Sample, tastes: dict[str, float], side: int) -> float:
    """Return how probable it is that the judge ``swayed`` prefers an answer."""
    sums = sums_of_tastes([answer.text for answer in sample.answers], tastes)
    return 1 / (1 + math.exp(sums[1 - side] - sums[side]))


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def planted(tastes: dict[str, float], change: p.Perturbation, control: p.Perturbation) -> float:
    """Return what a change of one answer wins it from the judge, in truth."""
    samples = pairs()
    bench = Bench(None, Path(), tuple(samples))  # type: ignore[arg-type]
    arms = [changed_arm(bench, Change("x", "x", one, "", "")) for one in (change, control)]
    after, before = (
        [chance(one, tastes, side) for one, side in zip(arm.samples, arm.side, strict=True)]
        for arm in arms
    )
    return mean(after) - mean(before)


def as_it_is(text: str, seed: int) -> str:
    return text + " "  # a change that none of the tastes but length can see


SWAYED: tuple[tuple[str, str, float, p.Perturbation, p.Perturbation], ...] = (
    ("length: padded", "length", 3.0, p.padded, as_it_is),
    ("length: trimmed", "length", 3.0, p.trimmed, as_it_is),
    ("format: markdown", "format", 2.0, p.as_markdown, as_it_is),
    ("format: emoji", "format", -2.0, p.with_emoji, as_it_is),
    ("authority: citations", "citation", 2.0, p.cited, p.noted),
    ("authority: confident", "confidence", 2.0, p.confident, p.opened),
    ("authority: hedged", "confidence", 2.0, p.hedged, p.opened),
)


@pytest.mark.parametrize(("name", "taste", "size", "change", "control"), SWAYED)
def test_a_planted_taste_is_measured(
    name: str,
    taste: str,
    size: float,
    change: p.Perturbation,
    control: p.Perturbation,
    file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    which = name.partition(":")[0]
    judge = f"scripted:swayed,{taste}={size}"
    found = effect_in(audit(capsys, judge, file, "--probes", which, "--out", tmp_path / "a"), name)
    truth = planted({taste: size}, change, control)
    assert abs(truth) > 0.1
    assert found["low"] <= truth <= found["high"]
    assert found["n"] == PAIRS
    assert found["finding"] == "bias"
    assert found["fix"]


def test_length_controlled_win_rates_stand_beside_the_raw_ones(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = audit(capsys, "scripted:longer", file, "--probes=length", "--out", tmp_path / "a")
    found = effect_in(report, "length: controlled, own")
    assert found["n"] == PAIRS
    assert found["finding"] == "observed"
    assert "over other as if both were equally long" in found["means"]


def test_position_is_measured(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = audit(
        capsys, "scripted:swayed,position=1", file, "--probes=position", "--out", tmp_path / "a"
    )
    found = effect_in(report, "position: shown first")
    truth = 2 / (1 + math.exp(-1)) - 1
    assert found["low"] <= truth <= found["high"]
    assert found["finding"] == "bias"


def test_obedience_is_measured(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = audit(
        capsys, "scripted:swayed,obedience=1", file, "--probes=null", "--out", tmp_path / "a"
    )
    found = effect_in(report, "null: instruction")
    assert found["low"] <= 1 / (1 + math.exp(-1)) <= found["high"]
    appended = effect_in(report, "null: instruction-appended")
    assert appended["low"] <= 1 / (1 + math.exp(-1)) - 0.5 <= appended["high"]
    # A judge that draws lots lets constants win half of the time.
    assert effect_in(report, "null: dot")["finding"] == "bias"


def test_an_honest_judge_is_not_deceived(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = audit(capsys, "scripted:longer", file, "--probes=null", "--out", tmp_path / "a")
    for name in ("empty", "dot", "i-do-not-know"):
        found = effect_in(report, f"null: {name}")
        assert (found["value"], found["finding"]) == (0, "too few to tell")


def test_a_judge_that_follows_references_is_found_to(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = audit(
        capsys, "scripted:swayed,reference=40", file, "--probes=knowledge", "--out", tmp_path / "a"
    )
    level = effect_in(report, "knowledge: no reference")["value"]
    fake = effect_in(report, "knowledge: fake")
    assert fake["finding"] == "bias"
    assert fake["value"] + level < 0.2, "it takes the worse answer, which is the reference"


def test_templates_and_the_other_format_change_nothing_for_a_fixed_rule(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = audit(
        capsys, "scripted:longer", file, "--probes=template,format", "--out", tmp_path / "a"
    )
    flips = [one for one in report["effects"] if one["measure"] == "flips"]
    assert len(flips) == 4
    assert {one["value"] for one in flips} == {0}


def test_self_preference_is_the_excess_over_errors_in_general(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = (file, "--probes=self", "--own-model", "own", "--out", tmp_path / "a")
    found = effect_in(audit(capsys, "scripted:swayed", *common), "self: own answers")
    assert found["low"] <= 0 <= found["high"]


def test_an_audit_goes_on_where_it_stopped(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("scripted:swayed,length=1", file, "--out", tmp_path / "a", "--limit", "20")
    whole = audit(capsys, *arguments)
    journal = tmp_path / "a" / "length" / "padded" / "judgments.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:7]) + lines[7][:30])
    assert audit(capsys, *arguments) == whole
    assert len(journal.read_bytes().splitlines()) == len(lines)
    kept = json.loads((tmp_path / "a" / "probes.json").read_text("utf-8"))
    assert kept["effects"] == json.loads(json.dumps(whole["effects"]))


def test_what_is_not_ok_is_left_out_and_counted(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = audit(
        capsys, "scripted:swayed,nonsense=0.2", file, "--probes=length", "--out", tmp_path / "a"
    )
    found = effect_in(report, "length: padded")
    assert 0 < found["n"] < PAIRS
    assert found["not_ok"]["value"] == pytest.approx(1 - found["n"] / PAIRS)


def test_a_judge_that_reads_alone_has_no_position_by_construction(tmp_path: Path) -> None:
    report = probe("scripted:longer#single", pairs(3), probes=["position"], out=tmp_path / "a")
    (only,) = report.effects
    assert (only.finding, only.value) == ("by construction", None)


STYLES = (
    "Short.",
    "A plain answer. It has details.",
    "### A plain answer.\n\n- **It has details.**",
)


def test_the_style_matrix_is_rm_bench_s(tmp_path: Path) -> None:
    rows = [
        {
            "id": str(n),
            "prompt": f"Question {n}?",
            "chosen": [f"{s} {n}" for s in STYLES],
            "rejected": [f"{s} wrong {n}" for s in STYLES],
        }
        for n in range(30)
    ]
    path = tmp_path / "rm.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    report = probe("scripted:swayed,format=50", path, probes=["style-matrix"], out=tmp_path / "a")
    values = {one.name: one.value for one in report.effects}
    # Only Markdown counts: two of three easy cells are sure, and two of three hard ones are lost.
    assert values["easy"] == pytest.approx(2 / 3 + 1 / 3 * 0.25, abs=0.1)
    assert values["hard"] == pytest.approx(1 / 3 * 0.25, abs=0.1)
    assert values["easy - hard"] == pytest.approx(2 / 3, abs=0.15)
    assert "rows by the right answer's style" in report.effects[0].means
    assert (report.pairs, report.others, report.left_out) == (0, 30, 0)
    assert str(report).startswith("scripted:swayed,format=50 probed on 30 questions of several")


def perturbed_files(folder: Path) -> tuple[Path, Path]:
    """Write raw pairs and perturbed ones, in another sequence, as judgement-bias keeps them."""

    def row(n: int, texts: Sequence[str], side: int | None) -> Json:
        answers = {
            f"answer{place + 1}": {"answer": text}
            | ({"perturb": "reference"} if place == side else {})
            for place, text in enumerate(texts)
        }
        return {
            "question_id": f"{n}",
            "question": f"Question {n}?",
            "model_id": "m",
            "answers": answers,
        }

    raw, changed = [], []
    for n in range(40):
        texts = [f"One {n}.", f"Two {n}."]
        raw.append(row(n, texts, None))
        texts[n % 2] += " Dvorak (2003)."
        changed.append(row(n, texts, n % 2))
    paths = folder / "raw.json", folder / "reference.json"
    for path, rows in zip(paths, (raw, changed[::-1]), strict=True):
        text = "".join(json.dumps(one) + "\n" for one in rows)
        path.write_text(text, encoding="utf-8")
    return paths


def test_a_limit_takes_pairs_that_stand_in_all_files(tmp_path: Path) -> None:
    raw, reference = perturbed_files(tmp_path)
    extra = [json.loads(line) for line in raw.read_text("utf-8").splitlines()[:7]]
    text = "".join(
        json.dumps(one | {"question_id": f"x{k}", "question": f"Another {k}?"}) + "\n"
        for k, one in enumerate(extra)
    )
    raw.write_text(text + raw.read_text("utf-8"), encoding="utf-8")
    report = probe(
        "scripted:longer", [raw, reference], probes=["perturbed"], limit=5, out=tmp_path / "a"
    )
    (found,) = report.effects
    assert (report.pairs, found.n, found.measure) == (10, 5, "win points")


def test_raw_pairs_that_fit_none_are_not_said_to_be_missing(tmp_path: Path) -> None:
    raw, reference = perturbed_files(tmp_path)
    raw.write_text(raw.read_text("utf-8").replace("Question", "Demand"), encoding="utf-8")
    report = probe("scripted:longer", [raw, reference], probes=["perturbed"], out=tmp_path / "a")
    assert "none of the 40 raw pairs of the input has the same question" in report.effects[0].means
    assert "No effect was tested" in str(report)
    assert "corrected over" not in str(report)


def test_perturbed_files_are_compared_with_their_raw_pairs(tmp_path: Path) -> None:
    paths = perturbed_files(tmp_path)
    report = probe("scripted:swayed,citation=50", paths, probes=["perturbed"], out=tmp_path / "a")
    (found,) = report.effects
    assert (found.name, found.n, found.finding) == ("reference", 40, "bias")
    assert found.low is not None
    assert found.low <= 0.5 <= (found.high or 0)
    alone = probe("scripted:swayed,citation=50", paths[1], probes=["perturbed"], out=tmp_path / "b")
    assert (alone.effects[0].value, alone.effects[0].finding) == (1, "observed")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--probes=colour",), "no probe 'colour'; Probes:"),
        (("--probes=positon",), "no probe 'positon'; did you mean 'position'? Probes: position,"),
        (
            ("--probes=length,self", "--own-model=nobody"),
            "no answer is by nobody; models of the input:",
        ),
        (("--probes=style-matrix,position", "--limit=0"), "--limit"),
    ],
)
def test_mistakes_are_told(
    arguments: Sequence[str],
    words: str,
    file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = main(["probe", "scripted:tie", str(file), "--out", str(tmp_path / "a"), *arguments])
    assert code == 2
    assert words in capsys.readouterr().err


def test_the_table_names_every_effect_and_its_fix(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(
        [
            "probe",
            "scripted:first",
            str(file),
            "--probes=position,self",
            "--out",
            str(tmp_path / "a"),
        ]
    )
    out = capsys.readouterr().out
    assert code == 0
    for words in (
        "position: shown first",
        "+100.0 [",
        "bias",
        "What helps",
        "judge both orders",
        "say which models are the judge's own family",
    ):
        assert words in out


@pytest.mark.parametrize("width", [100, 80, 70])
def test_effects_stand_below_each_other_in_a_table(width: int, tmp_path: Path) -> None:
    report = probe(
        "scripted:first#single", pairs(8), probes=["position", "length"], out=tmp_path / "a"
    )
    text = plain_text(probes_table(report), width)
    table = text.split("What the effects mean")[0].splitlines()
    assert max(map(len, table)) <= width
    (header,) = [line for line in table if "detectable" in line]
    end, start = header.index("detectable") + len("detectable"), header.index("finding")
    rows = [line for line in table if " %  " in line or "by construction" in line]
    assert len(rows) >= 3
    for row in rows:
        assert row[end - 1] in "–0123456789"
        assert row[start - 1] == " "
        assert row[start].isalpha()


def test_an_effect_without_a_value_has_no_dangling_sign(tmp_path: Path) -> None:
    report = probe("scripted:first#single", pairs(3), probes=["position"], out=tmp_path / "a")
    text = plain_text(probes_table(report), 40)
    assert "\n  by construction" in text
    assert "–;" not in text


def test_every_probe_has_a_place_in_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "probes.md").read_text("utf-8")
    assert [name for name in PROBES if f"`{name}`" not in page] == []
