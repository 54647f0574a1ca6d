"""The report of runs of every kind: what stands in it, and what it says of what is not there."""

from __future__ import annotations

import csv
import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from report_help import Node, judgments_of, parse, plain_samples, stored

import magistrate as mg
from magistrate.cli.main import main
from magistrate.records import Gold, Sample
from magistrate.report.evaluation import evaluate

Make = Callable[..., Path]


@pytest.fixture
def run(tmp_path: Path) -> Make:
    """Return a function that makes a run of a scripted judge."""

    def make(samples: list[Sample], judge: str = "scripted:longer", name: str = "run") -> Path:
        mg.judge(samples, judge, tmp_path / name, cache=False)
        return tmp_path / name

    return make


def page_of(*runs: Path, **options: Any) -> Node:
    out = runs[0].parent / "report.html"
    mg.write_report(*runs, out=out, **options)
    return parse(out.read_text("utf-8"))


def absent(page: Node, section: str) -> str:
    return " ".join(node.text for node in page.by_id(section).all("p", "absent"))


def singles() -> list[Sample]:
    return [
        mg.Sample(
            question=f"q{k}",
            answers=(mg.Answer(text="a " * k, model=("x", "y")[k % 2]),),
            gold=(Gold(scores=(k % 5,)),),
        )
        for k in range(1, 9)
    ]


def rankings() -> list[Sample]:
    answers = ("a", "b" * 5, "c" * 9)
    return [
        mg.Sample(
            question=f"q{k}",
            answers=tuple(
                mg.Answer(text=text * (1 + (k + j) % 3), model="xyz"[j])
                for j, text in enumerate(answers)
            ),
        )
        for k in range(6)
    ]


CASES: dict[str, tuple[Callable[[], list[Sample]], str]] = {
    "pairs": (lambda: plain_samples(40), "scripted:swayed,position=0.5"),
    "without labels": (lambda: plain_samples(40, labels=False), "scripted:first"),
    "single answers": (singles, "scripted:longer#single"),
    "three answers": (rankings, "scripted:longer#n-way"),
    "all failed": (lambda: plain_samples(6), "scripted:fail"),
    "one sample": (lambda: plain_samples(1), "scripted:longer"),
    "ties": (lambda: plain_samples(12), "scripted:tie"),
}


@pytest.fixture(scope="module", params=CASES)
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Node:
    """The page of a run of each kind."""
    make, judge = CASES[request.param]
    folder = tmp_path_factory.mktemp("case") / "run"
    mg.judge(make(), judge, folder, cache=False)
    return page_of(folder)


def test_a_page_is_sound_whatever_the_run_holds(page: Node) -> None:
    assert len(page.all("h1")) == 1
    levels = [int(node.tag[1]) for node in page.walk() if re.fullmatch(r"h[1-4]", node.tag)]
    assert all(later <= earlier + 1 for earlier, later in itertools.pairwise(levels))
    ids = [node.attributes["id"] for node in page.walk() if "id" in node.attributes]
    assert len(ids) == len(set(ids))
    links = {node.attributes["href"][1:] for node in page.all("a")}
    assert links <= set(ids)
    assert not re.search(r"\b(nan|None|inf|NO_RATE)\b", page.by_id("main").text)


def test_a_section_shows_something_or_says_why_not(page: Node) -> None:
    for section in page.by_id("main").all("section"):
        if "id" in section.attributes and section.attributes["id"] != "how":
            shown = section.all("figure") + section.all("article", "card")
            assert shown or section.all("p", "absent"), section.attributes["id"]


def test_every_plot_has_words_and_a_table(page: Node) -> None:
    for figure in page.all("figure"):
        assert figure.all("table")
        assert all(table.all("caption")[0].text.strip() for table in figure.all("table"))
        for plot in figure.all("div", "forest") + figure.all("div", "curve-box"):
            assert plot.attributes["role"] == "img"
            (heading,) = figure.all("h3")
            label = plot.attributes["aria-label"]
            assert label.startswith(heading.text.strip())
            assert len(label) > len(heading.text) + 20
    assert all(region.attributes.get("aria-label") for region in page.all("div", "scroll"))


def test_without_labels_agreement_is_not_known(run: Make) -> None:
    page = page_of(run(plain_samples(40, labels=False), "scripted:first"))
    assert "no pair has a label" in absent(page, "agreement").lower()
    assert "--labels" in absent(page, "confidence")
    assert "contradicts itself" in page.by_id("samples-title").text
    assert len(page.all("article", "card")) == 30
    assert not page.by_id("position").all("p", "absent")


def test_without_confidence_there_is_no_reliability(run: Make) -> None:
    page = page_of(run(plain_samples(20)))
    assert absent(page, "confidence") == "This judge gives no confidence."


def test_single_answers_have_scores_and_no_pairs(run: Make) -> None:
    page = page_of(run(singles(), "scripted:longer#single"))
    assert page.by_id("scores").all("figure")
    assert absent(page, "position") == "There are no pairs of answers in it."
    assert "single answers are not compared" in absent(page, "ranking").lower()


def test_rankings_of_three_answers_rank_their_models(run: Make) -> None:
    page = page_of(run(rankings(), "scripted:longer#n-way"))
    figures = [figure.all("h3")[0].text for figure in page.by_id("ranking").all("figure")]
    assert figures == [
        "Strength of each model",
        "Mean rank of each model, where several answers were ranked at once",
    ]
    assert page.by_id("wins").all("table", "matrix")


def test_failures_alone_are_told_and_nothing_is_drawn(run: Make) -> None:
    page = page_of(run(plain_samples(6), "scripted:fail"))
    assert "no labelled pair has a verdict" in absent(page, "agreement").lower()
    assert "no comparison has a verdict" in absent(page, "ranking").lower()
    text = page.by_id("failures").text
    assert "error" in text
    assert "The most frequent reasons" in text


def test_one_order_says_how_to_measure_position(tmp_path: Path) -> None:
    mg.judge(plain_samples(9), "scripted:longer", tmp_path / "run", orders="given", cache=False)
    page = page_of(tmp_path / "run")
    assert "--order both" in absent(page, "position")


def test_the_numbers_are_those_of_evaluate(tmp_path: Path) -> None:
    samples = plain_samples(60)
    said, labels = stored(tmp_path, samples, judgments_of(samples))
    mg.write_report(said, labels=labels, csv=tmp_path / "csv")
    with (tmp_path / "csv/headline.csv").open(encoding="utf-8") as file:
        rows = {row["measure"].strip(): row for row in csv.DictReader(file)}
    found = evaluate(said, labels=labels).pairs
    assert found is not None
    assert found.agreement is not None
    assert found.position is not None
    for name, rate in (
        ("agreement, decisive pairs", found.agreement.decisive),
        ("agreement, tie as a class", found.agreement.accuracy),
        ("same verdict in both orders", found.position.consistent),
        ("longer wins", found.baselines[1].decisive),
    ):
        row = rows[name]
        assert [float(row["hand"]), int(row["hand n"])] == [rate.value, rate.n]
        assert [float(row["hand low"]), float(row["hand high"])] == [rate.low, rate.high]


def test_confidence_gives_a_diagram_and_sorts_the_samples(tmp_path: Path) -> None:
    samples = plain_samples(80)
    said, labels = stored(tmp_path, samples, judgments_of(samples, reasons="Because."))
    page = page_of(said, labels=labels)
    plot, kept = page.by_id("confidence").all("div", "curve-box")
    assert "surer half" in kept.attributes["aria-label"]
    assert "ECE" in plot.attributes["aria-label"]
    cards = page.all("article", "card")
    kinds = [card.attributes["data-why"] for card in cards]
    assert kinds == sorted(kinds, key=["opposite", "tie"].index)
    sure = [
        float(match[1])
        for card in cards
        if card.attributes["data-why"] == "opposite"
        and (match := re.search(r"\(([\d.]+)\s%\ssure\)", card.text))
    ]
    assert len(sure) > 5
    assert sure == sorted(sure, reverse=True)
    assert "Because." in cards[0].text


def test_runs_over_the_same_pairs_are_compared_pair_by_pair(run: Make) -> None:
    samples = plain_samples(50)
    runs = [
        run(samples, judge, name)
        for judge, name in (
            ("scripted:longer", "one"),
            ("scripted:shorter", "two"),
            ("scripted:longer", "three"),
        )
    ]
    page = page_of(*runs, samples=9)
    titles = [node.text for node in page.by_id("runs").all("h3")]
    assert titles == ["Difference in agreement with people", "How often two judges say the same"]
    names = [node.text for node in page.all("article")[0:3]]
    assert "scripted:longer (one)" in names[0]
    assert "scripted:longer (three)" in names[2]
    assert len(page.all("article", "card")) == 9
    assert len([box for box in page.all("input") if "data-toggle-run" in box.attributes]) == 3


def test_runs_over_other_pairs_are_shown_by_themselves(run: Make) -> None:
    first = run(plain_samples(20), name="one")
    second = run(plain_samples(20, models=("x", "y")), name="two")
    page = page_of(first, second)
    assert "No two runs have a verdict on the same pair" in absent(page, "runs")


def test_markdown_has_the_same_sections_and_tables(run: Make) -> None:
    folder = run(plain_samples(30))
    out = [folder / "a.html", folder / "a.md"]
    written = mg.write_report(folder, out=out)
    page, text = parse(out[0].read_text("utf-8")), out[1].read_text("utf-8")
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings == [node.text for node in page.by_id("main").all("h2")][1:]
    tables = len(re.findall(r"^\|.*\n\| ?---", text, re.MULTILINE))
    assert tables == len(list(written.contents.tables()))


def test_markdown_shows_both_answers_under_the_name_of_the_run(run: Make) -> None:
    samples = plain_samples(30)
    runs = [run(samples, "scripted:longer", "one"), run(samples, "scripted:first", "two")]
    out = runs[0].parent / "report.md"
    written = mg.write_report(*runs, out=out, samples=6)
    text = out.read_text("utf-8").partition("## Where judge and people differ most")[2]
    parts = re.split(r"^### (.*)$", text.partition("\n## ")[0], flags=re.MULTILINE)[1:]
    assert parts[::2] == ["scripted:longer", "scripted:first"]
    (section,) = [one for one in written.contents.sections if one.id == "samples"]
    assert len(section.cards) == 6
    for card in section.cards:
        of_run = parts[2 * card.run + 1]
        shown = of_run.partition(f"#### {card.number}\\. row {card.row}")[2].partition("#### ")[0]
        for side in card.sides:
            assert f"```text\n{side.answer.text}\n```" in shown
        assert shown.count("the judge prefers it") == (card.judge_says != "a tie")
        assert f"Question {card.row // 2}" in shown


def by_parts(sizes: dict[str, int]) -> list[Sample]:
    """Return pairs of which people prefer the longer answer: always in 'strong', else 3 of 4."""
    return [
        mg.Sample(
            question=f"{name} {k}",
            answers=tuple(
                mg.Answer(text="a b c" if place == k % 2 else "a", model="xy"[place])
                for place in range(2)
            ),
            category=name,
            language="en",
            gold=(
                Gold(
                    preference=("first", "second")[
                        k % 2 if k % 8 < 6 or name == "strong" else 1 - k % 2
                    ]
                ),
            ),
        )
        for name, size in sizes.items()
        for k in range(size)
    ]


def said_of(*runs: Path, section: str) -> str:
    (found,) = page_of(*runs).by_id(section).all("figcaption")
    return " ".join(found.text.split())


def test_the_weakest_and_the_strongest_category_are_named_per_run(run: Make) -> None:
    samples = by_parts({"strong": 40, "weak": 40, "tiny": 2})
    one, two = run(samples, name="one"), run(samples, "scripted:first", "two")
    said = said_of(one, section="categories")
    assert said.startswith("Weakest by its upper bound: weak, 75.0")
    assert "strongest by its lower bound: strong, 100.0" in said
    assert "tiny" not in said
    both = said_of(one, two, section="categories")
    assert both.startswith("scripted:longer: weakest by its upper bound: weak, 75.0")
    assert "scripted:first: no category of 10 such pairs or more stands out." in both
    few = run(by_parts({"strong": 4, "weak": 4}), name="few")
    assert said_of(few, section="categories").startswith("Fewer than two categories have 10 pairs")


def test_one_language_has_a_rate_per_run(run: Make) -> None:
    samples = by_parts({"strong": 40, "weak": 40})
    one, two = run(samples, name="one"), run(samples, "scripted:first", "two")
    said = said_of(one, two, section="languages")
    assert said.startswith("All pairs are of one language: en, scripted:longer 87.5")
    assert "; scripted:first 50.0" in said
    assert "eakest" not in said


def test_names_of_csv_files_are_unique(run: Make) -> None:
    samples = plain_samples(30)
    runs = [run(samples, name=f"run{k}") for k in range(3)]
    written = mg.write_report(*runs, csv=runs[0].parent / "csv")
    assert len(set(written.files)) == len(written.files) == len(list(written.contents.tables()))


def test_the_report_of_one_run_goes_into_its_folder(run: Make) -> None:
    folder = run(plain_samples(5))
    assert mg.write_report(folder).files == (folder / "report.html",)
    assert mg.write_report(mg.open_run(folder)).files == (folder / "report.html",)
    assert mg.verify_run(folder).ok


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing argument"),
        (("nowhere",), "nowhere"),
        (("run", "run"), "add -o report.html"),
        (("run", "-o", "report.pdf"), "names no form of report"),
        (("run", "-o", "run"), "names no form of report"),
        (("run", "--labels", "nope.jsonl"), "nope.jsonl"),
    ],
)
def test_mistakes_are_told_without_a_traceback(
    run: Make,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    folder = run(plain_samples(3))
    monkeypatch.chdir(folder.parent)
    assert main(["report", *arguments]) in (2, 4)
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err


def test_the_command_says_what_it_found_and_where_it_wrote(
    run: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run(plain_samples(30))
    monkeypatch.chdir(folder.parent)
    capsys.readouterr()
    assert main(["report", "run", "-o", "new/report.html", "--csv", "tables"]) == 0
    told = capsys.readouterr().out
    assert "Agrees with people on" in told
    assert re.search(r"new/report.html {2}\d+ kB", told)
    assert Path("new/report.html").is_file()
    assert main(["report", "run", "--json", "--samples", "0"]) == 0
    view = json.loads(capsys.readouterr().out)
    assert set(view) == {"files", "title", "runs", "sections"}
    assert view["files"][0]["path"] == "run/report.html"
    sections = {section["id"]: section for section in view["sections"]}
    assert sections["samples"]["absent"] == ["Samples were left out of this report on demand."]
    assert all(section["figures"] or section["absent"] for section in view["sections"])
