"""Images on their way from a file to the judge: paths, prompts, engines, failures."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from judging_help import WordEngine, say

import magistrate as mg
from magistrate.engines.api.bodies import Dialect, body_of
from magistrate.engines.api.settings import ApiOptions
from magistrate.formats.images import image_path
from magistrate.judging.judge import Judge, make_judge
from magistrate.prompts.catalog import load_family
from magistrate.records import Answer, Sample

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
URL = "https://example.org/cat.png"


def row(number: int, image: Any) -> dict[str, Any]:
    answers = {"answer1": "A longer answer.", "answer2": "Short."}
    return {"id": str(number), "question": f"What is it, {number}?", "images": image, **answers}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a file of three pairs in a folder of its own: an image, a URL, one that is missing."""
    folder = tmp_path / "data"
    (folder / "pictures").mkdir(parents=True)
    (folder / "pictures" / "one.png").write_bytes(PNG)
    path = folder / "pairs.jsonl"
    rows = [row(1, "pictures/one.png"), row(2, [URL]), row(3, "pictures/none.png")]
    path.write_text("".join(json.dumps(each) + "\n" for each in rows), "utf-8")
    return path


def seeing(**values: Any) -> tuple[Judge, WordEngine]:
    engine = WordEngine(say("8 5\nBecause."), {"images": True, **values})
    return make_judge("seeing", load_family("pair-images"), engine), engine


def test_relative_paths_start_from_the_file_that_names_them(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [sample.images for sample in mg.read_samples(file)]
    folder = str(tmp_path / "data" / "pictures")
    assert found == [(f"{folder}/one.png",), (URL,), (f"{folder}/none.png",)]
    monkeypatch.chdir(tmp_path)
    relative = [sample.text_id for sample in mg.read_samples("data/pairs.jsonl")]
    assert relative == [sample.text_id for sample in mg.read_samples(file)]
    monkeypatch.chdir(tmp_path / "data")
    assert image_path("x.png", "-") == str(tmp_path / "data" / "x.png")
    assert image_path("/a/x.png", "b/c.jsonl") == "/a/x.png"
    for whole in (URL, "data:image/png;base64,AAAA", "file:///a/b.png", ""):
        assert image_path(whole, "b/c.jsonl") == whole


def test_pictures_of_a_file_of_questions_start_from_that_file(tmp_path: Path) -> None:
    (tmp_path / "q").mkdir()
    question = {"question_id": "v1_0", "imagename": "v1_0.png", "question": "x?", "answer": "1"}
    questions = [question, {**question, "question_id": "v1_1"}]
    text = "".join(json.dumps(one) + "\n" for one in questions)
    (tmp_path / "q" / "questions.jsonl").write_text(text, "utf-8")
    (tmp_path / "model.json").write_text(json.dumps({"v1_0": "a", "v1_1": "b"}), "utf-8")
    (sample, *_) = mg.read_samples(
        tmp_path / "model.json",
        format="mm-vet-predictions",
        questions=tmp_path / "q" / "questions.jsonl",
    )
    assert sample.images == (str(tmp_path / "q" / "v1_0.png"),)


def test_a_family_that_shows_images_hands_them_to_the_engine(file: Path, tmp_path: Path) -> None:
    judge, engine = seeing()
    run = mg.judge(file, judge, tmp_path / "run")
    assert {one.status for one in run.judgments()} == {"ok"}
    shown = [message.images for request in engine.seen for message in request.messages]
    assert shown[:2] == [(), (str(tmp_path / "data" / "pictures" / "one.png"),)]
    assert len(engine.seen) == 6, "both orders"
    options = ApiOptions()
    body = body_of(engine.seen[0], "m", options, Dialect(options, is_openai=False))
    image, text = body["messages"][1]["content"]
    assert image["image_url"]["url"].startswith("data:image/png;base64,iVBOR")
    assert "<question>" in text["text"]


def test_an_engine_that_reads_text_alone_says_so_of_every_sample(
    file: Path, tmp_path: Path
) -> None:
    judge, engine = seeing(images=False)
    run = mg.judge(file, judge, tmp_path / "run")
    assert not engine.seen, "nothing was sent"
    errors = [one.error or "" for one in run.judgments()]
    assert len(errors) == 6
    assert all("shows 1 image, and engine 'words' reads text alone" in error for error in errors)


def test_a_sample_without_images_is_told_apart(tmp_path: Path) -> None:
    judge, _ = seeing()
    blind = Sample(question="q", answers=(Answer(text="a"), Answer(text="b")))
    run = mg.judge([blind], judge, tmp_path / "run", orders="given")
    (one,) = run.judgments()
    assert one.status == "error"
    assert "family 'pair-images' needs images" in (one.error or "")


def test_a_family_of_text_says_that_images_are_not_seen(file: Path, tmp_path: Path) -> None:
    run = mg.judge(file, "scripted:longer", tmp_path / "run")
    assert "3 samples have images" in " ".join(notice.message for notice in run.notices())
    assert {one.status for one in run.judgments()} == {"ok"}
    shown = mg.judge(file, "scripted:longer#pair-images", tmp_path / "other")
    assert not list(shown.notices())


def test_a_dry_run_names_the_images(file: Path) -> None:
    judge, _ = seeing()
    prompts = mg.dry_run(file, judge).preview.prompts
    assert prompts[1].messages[-1].images == (URL,)


def test_images_need_chat(tmp_path: Path) -> None:
    from magistrate.errors import FamilyError
    from magistrate.prompts import catalog

    source = catalog._BUNDLED / "judgelm-multimodal-text" / "family.toml"
    folder = tmp_path / "x"
    folder.mkdir()
    text = source.read_text("utf-8").replace('"judgelm-multimodal-text"', '"x"')
    (folder / "family.toml").write_text(
        text.replace("min_answers = 1", "min_answers = 1\nshows_images = true"), "utf-8"
    )
    with pytest.raises(FamilyError, match="'shows_images' needs messages of chat"):
        load_family(str(folder))
