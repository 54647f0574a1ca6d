"""Starting vLLM: its prints are kept from the screen, its last error is found, its time kept."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import time
import types
from pathlib import Path

import pytest

from magistrate.engines import table
from magistrate.engines.vllm import opening, starting
from magistrate.engines.vllm.settings import VllmOptions
from magistrate.errors import EngineError, MissingExtraError


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A module in place of vLLM, whose start can fail or hang as the real one's does."""
    module = types.ModuleType("vllm")
    monkeypatch.setitem(sys.modules, "vllm", module)
    monkeypatch.delenv(starting.LEVEL, raising=False)
    monkeypatch.setenv("VLLM_ENGINE_READY_TIMEOUT_S", "60")
    return module


def sleep_long() -> None:
    time.sleep(60)


@pytest.mark.parametrize("late", [0, 2], ids=["at once", "after the time is over"])
def test_a_start_that_hangs_is_ended(vllm: types.ModuleType, late: float) -> None:
    children: list[multiprocessing.process.BaseProcess] = []

    def hang(**_: object) -> None:
        time.sleep(late)
        child = multiprocessing.get_context("spawn").Process(target=sleep_long, daemon=True)
        child.start()
        children.append(child)
        child.join()
        raise RuntimeError("Engine core initialization failed.")

    vllm.LLM = hang  # type: ignore[attr-defined]
    begun = time.monotonic()
    with pytest.raises(EngineError, match=r"did not start m within 1 s.*start_timeout"):
        starting.start({}, "m", 1, starting.Log())
    assert time.monotonic() - begun < 30
    assert not children[0].is_alive()


def test_the_error_is_what_the_processes_printed(
    vllm: types.ModuleType, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(**_: object) -> None:
        os.write(1, b"loading\n")
        os.write(2, b"(EngineCore) ERROR ValueError: No room for 4 GiB.\n")
        os.write(2, b"RuntimeError: Engine core initialization failed. See root cause above.\n")
        raise RuntimeError("Engine core initialization failed. See root cause above.")

    vllm.LLM = fail  # type: ignore[attr-defined]
    log = starting.Log()
    with pytest.raises(EngineError, match=r"^vLLM cannot run m: ValueError: No room for 4 GiB\.$"):
        starting.start({}, "m", 60, log)
    assert capfd.readouterr() == ("", "")
    assert starting.LEVEL not in os.environ


def test_whoever_asks_for_the_log_sees_it(
    vllm: types.ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(starting.LEVEL, "INFO")
    vllm.LLM = lambda **_: os.write(2, b"loading\n")  # type: ignore[attr-defined]
    assert starting.start({}, "m", 60, starting.Log()) == 8
    assert capfd.readouterr().err == "loading\n"
    assert os.environ[starting.LEVEL] == "INFO"


# --- what is said before vLLM is started --------------------------------------------------------


@pytest.fixture
def model(tmp_path: Path) -> Path:
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (tmp_path / name).write_text("{}")
    return tmp_path


def test_a_missing_package_is_named(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "find_spec", lambda name: None if name == "vllm" else object())
    with pytest.raises(MissingExtraError, match=r"'vllm', which is not.*magistrate\[vllm\]"):
        table.open_engine("vllm", str(model))


def test_wrong_options_and_models_are_refused(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "find_spec", lambda _: object())
    with pytest.raises(EngineError, match="openai:MODEL@http"):
        table.open_engine("vllm", str(model), "http://127.0.0.1:1/v1")
    with pytest.raises(EngineError, match="gpu_memory"):
        table.open_engine("vllm", str(model), None, {"gpu_memory": "2"})
    with pytest.raises(EngineError, match="no option 'device'; options: adapter"):
        table.open_engine("vllm", str(model), None, {"device": "cpu"})
    (model / "model.safetensors").rename(model / "m.gguf")
    with pytest.raises(EngineError, match="GGUF weights, which vLLM does not read"):
        table.open_engine("vllm", str(model))


@pytest.mark.parametrize(("ranks", "taken"), [((4, {}), 8), ((8, {"q": 20}), 32), ((16, None), 16)])
def test_the_rank_of_an_adapter(tmp_path: Path, ranks: tuple[int, object], taken: int) -> None:
    files = opening.ModelFiles("a", tmp_path, ())
    config = tmp_path / "adapter_config.json"
    config.write_text(json.dumps({"r": ranks[0], "rank_pattern": ranks[1]}))
    assert opening._rank(files) == taken
    config.write_text("{}")
    with pytest.raises(EngineError, match="not the configuration of a LoRA adapter"):
        opening._rank(files)


def test_options_are_those_of_the_documentation(repo: Path) -> None:
    page = (repo / "docs" / "engines.md").read_text("utf-8")
    section = page.split("\n## vllm:")[1].split("\n## ")[0]
    assert {name for name in VllmOptions.model_fields if f"`{name}`" not in section} == set()
