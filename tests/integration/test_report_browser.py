"""Reports in a real browser: nothing of the data runs, nothing is loaded, all of it is drawn.

Skipped without Chromium and playwright; ``make test-browser`` installs both.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import magistrate as mg

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))
from report_help import (
    ATTACKS,
    hostile_samples,
    judgments_of,
    plain_samples,
    stored,
)

pytestmark = pytest.mark.slow

CHROMIUM = os.environ.get("MAGISTRATE_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
QUIET = (
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@dataclass
class Seen:
    """What a page did that it should not have done."""

    logged: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def nothing(self) -> bool:
        return not (self.logged or self.dialogs or self.requests)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed; make test-browser installs it"
    )
    if CHROMIUM is None:
        pytest.skip("no Chromium here; make test-browser installs it")
    # Chromium refuses its sandbox to root, as which containers run.
    sandbox = () if os.getuid() else ("--no-sandbox",)
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=[*QUIET, *sandbox])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    hostile = hostile_samples()
    readings = [
        judgment.model_copy(update={"reasons": ATTACKS[k % len(ATTACKS)]})
        for k, judgment in enumerate(judgments_of(hostile))
    ]
    said, labels = stored(folder / "hostile", hostile, readings)
    mg.write_report(said, labels=labels, out=folder / "hostile.html", samples=100)
    samples = plain_samples(90)
    said, labels = stored(folder / "plain", samples, judgments_of(samples, reasons="Because."))
    mg.judge(samples, "scripted:longer", folder / "run", cache=False)
    mg.write_report(said, folder / "run", labels=labels, out=folder / "plain.html", samples=200)
    mg.judge(plain_samples(1, labels=False), "scripted:fail", folder / "failed", cache=False)
    mg.write_report(folder / "failed", out=folder / "failed.html")
    return {name: folder / f"{name}.html" for name in ("hostile", "plain", "failed")}


def look(browser: Any, path: Path, **options: Any) -> tuple[Any, Seen]:
    """Open a page from the disk; return it with what it did."""
    page = browser.new_context(**options).new_page()
    seen = Seen()
    page.on("console", lambda message: seen.logged.append(message.text))
    page.on("pageerror", lambda error: seen.logged.append(str(error)))

    def dismiss(dialog: Any) -> None:
        seen.dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", dismiss)
    page.on("request", lambda request: seen.requests.append(request.url))
    page.goto(path.as_uri())
    assert seen.requests == [path.as_uri()]
    seen.requests.clear()
    return page, seen


@pytest.mark.parametrize("name", ["hostile", "plain", "failed"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_a_page_draws_itself_and_does_nothing_else(
    browser: Any, reports: dict[str, Path], name: str, scheme: str, width: int
) -> None:
    size = {"width": width, "height": 900}
    page, seen = look(browser, reports[name], color_scheme=scheme, viewport=size)
    # Nothing is wider than the screen but what scrolls by itself.
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    red = int(background.split("(")[1].split(",")[0])
    assert (red < 60) == (scheme == "dark")
    for plot in page.query_selector_all("[role=img]"):
        assert plot.get_attribute("aria-label")
        box = plot.bounding_box()
        assert box is not None
        assert box["width"] > 200
        assert 20 < box["height"] < 3_000
    page.mouse.wheel(0, 5_000)
    page.wait_for_timeout(100)
    assert seen.nothing(), seen
    page.context.close()


def test_nothing_in_an_answer_runs_when_everything_is_opened_and_clicked(
    browser: Any, reports: dict[str, Path]
) -> None:
    page, seen = look(browser, reports["hostile"])
    assert page.title().startswith("How far hand")
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    for button in page.query_selector_all("th button"):
        button.click()
    for passage in page.query_selector_all(".passage"):
        passage.click()
    page.wait_for_timeout(200)
    assert seen.nothing(), seen
    assert page.evaluate("document.images.length + document.scripts.length + frames.length") == 1
    assert page.url == reports["hostile"].as_uri()
    texts = page.eval_on_selector_all(".passage", "all => all.map(one => one.textContent)")
    for attack in ATTACKS[:9]:
        assert attack in texts
    page.context.close()


def test_the_policy_stops_what_would_slip_through(browser: Any, reports: dict[str, Path]) -> None:
    page, seen = look(browser, reports["plain"])
    page.evaluate(
        """() => {
            const slipped = document.createElement("div");
            slipped.innerHTML = "<img src='file:///nowhere.png' onerror='alert(1)'>";
            document.body.append(slipped);
            const script = document.createElement("script");
            script.textContent = "alert(2)";
            document.body.append(script);
        }"""
    )
    page.wait_for_timeout(200)
    assert seen.dialogs == []
    assert any("Content Security Policy" in line for line in seen.logged)
    page.context.close()


def test_plots_tables_and_samples_answer_to_their_reader(
    browser: Any, reports: dict[str, Path]
) -> None:
    page, seen = look(browser, reports["plain"], viewport={"width": 1280, "height": 900})
    page.locator(".forest-row g").first.hover(force=True)
    assert "n = " in page.locator("#tip").inner_text()
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()

    page.locator("#ranking summary").first.click()
    heading = page.locator("#ranking table.sortable").first.locator("th", has_text="model")
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "descending"

    cards = page.locator("article.card:visible")
    before = cards.count()
    page.locator(".filter select").select_option("tie")
    assert 0 < cards.count() < before
    page.locator(".filter input").fill("no such text anywhere")
    assert cards.count() == 0
    assert page.locator(".filter output").inner_text() == "0 shown"
    page.locator(".filter input").fill("")

    page.locator("[data-toggle-run='0']").uncheck()
    assert page.locator(".summary article:visible").count() == 1
    groups = page.locator("#agreement .forest-group")
    shown = page.locator("#agreement .forest-group:visible")
    assert (groups.count(), shown.count()) == (4, 2)
    button = page.locator("button.theme")
    assert button.inner_text() == "Dark"
    button.click()
    assert button.inner_text() == "Light"
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert seen.nothing(), seen
    page.context.close()


def test_without_script_the_whole_report_is_there(browser: Any, reports: dict[str, Path]) -> None:
    page, seen = look(browser, reports["plain"], java_script_enabled=False)
    assert page.locator("article.card").count() > 10
    assert page.locator("svg title").count() > 10
    assert page.locator(".filter").is_hidden()
    assert seen.nothing(), seen
    page.context.close()


def test_it_prints_with_its_numbers_on_paper_of_usual_size(
    browser: Any, reports: dict[str, Path], tmp_path: Path
) -> None:
    page, seen = look(browser, reports["plain"], color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("nav").is_hidden()
    printed = page.pdf(path=str(tmp_path / "report.pdf"), format="A4", print_background=True)
    assert printed.startswith(b"%PDF")
    assert seen.nothing(), seen
    page.context.close()
