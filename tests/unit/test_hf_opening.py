"""What is wrong is said before torch is loaded."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from magistrate.engines.hf import opening
from magistrate.engines.table import ENGINES, open_engine
from magistrate.errors import EngineError, MissingExtraError


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Let packages look as if they were installed; tests take some away."""
    names = {"torch", "transformers", "huggingface_hub", "safetensors"}
    real = importlib.util.find_spec

    def find(name: str, package: str | None = None) -> Any:
        if name in ("torch", "transformers", "huggingface_hub", "safetensors"):
            return object() if name in names else None
        return real(name, package)

    monkeypatch.setattr(opening, "find_spec", find)
    return names


def test_the_engine_stands_in_the_table() -> None:
    assert ENGINES["hf"][0] == "magistrate.engines.hf.opening:open_engine"


@pytest.mark.parametrize("missing", ["torch", "transformers"])
def test_a_missing_package_names_the_extra(installed: set[str], missing: str) -> None:
    installed.discard(missing)
    with pytest.raises(MissingExtraError, match=rf"'{missing}'.*pip install 'magistrate\[hf\]'"):
        open_engine("hf", "some/model")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"dtype": "int8"}, "option dtype=int8"),
        ({"device": "tpu"}, "option device=tpu"),
        ({"batch_tokens": "0"}, "option batch_tokens=0"),
        ({"colour": "red"}, "no option 'colour'; options: adapter, batch_replies"),
        ({"trust_remote_code": "perhaps"}, "option trust_remote_code=perhaps"),
    ],
)
def test_wrong_options_are_named(installed: set[str], options: dict[str, str], says: str) -> None:
    with pytest.raises(EngineError, match=says):
        open_engine("hf", "some/model", None, options)


def test_a_url_is_refused(installed: set[str]) -> None:
    with pytest.raises(EngineError, match=r"no use for http://127\.0\.0\.1:1"):
        open_engine("hf", "some/model", "http://127.0.0.1:1")


def test_a_missing_path_is_named(installed: set[str]) -> None:
    with pytest.raises(EngineError, match="there is no file or folder /nowhere/model"):
        open_engine("hf", "/nowhere/model")
