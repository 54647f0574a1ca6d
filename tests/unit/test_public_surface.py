"""The public names: they resolve, are documented, and are listed in the docs."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import magistrate

ROOT = Path(__file__).parents[2]
NAMES = [name for name in magistrate.__all__ if name != "__version__"]


def test_all_is_sorted_and_without_repeats() -> None:
    assert sorted(set(NAMES)) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_resolves_to_the_object_of_its_home(name: str) -> None:
    home = importlib.import_module(magistrate._HOME[name])
    assert getattr(magistrate, name) is getattr(home, name)


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_is_documented(name: str) -> None:
    value = getattr(magistrate, name)
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        pytest.skip("a constant or a type alias carries no docstring of its own")
    own = value.__doc__
    assert own, f"{name} has no docstring"
    assert not own.startswith(f"{name}("), f"{name} has only the docstring of its signature"


@pytest.mark.parametrize("name", NAMES)
def test_public_methods_are_documented(name: str) -> None:
    value = getattr(magistrate, name)
    bare = [member for member in _own_methods(value) if not getattr(value, member).__doc__]
    assert bare == []


def _own_methods(value: Any) -> list[str]:
    if not inspect.isclass(value):
        return []
    return [
        name
        for name, member in vars(value).items()
        if not name.startswith("_") and (inspect.isroutine(member) or isinstance(member, property))
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_is_listed_in_the_docs(name: str) -> None:
    text = "".join((ROOT / file).read_text("utf-8") for file in ("docs/index.md", "README.md"))
    assert re.search(rf"`(mg\.|magistrate\.)?{name}\b[^`]*`", text), f"list {name} in docs/index.md"


def test_an_unknown_name_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match="no attribute 'judge_everything'"):
        magistrate.judge_everything  # noqa: B018


def test_names_for_type_checkers_are_the_public_names() -> None:
    source = Path(magistrate.__file__).read_text("utf-8")
    listed = re.findall(r"^    from magistrate\.\S+ import (\w+) as \1$", source, re.MULTILINE)
    assert sorted(listed) == NAMES


def test_dir_lists_every_public_name() -> None:
    assert set(magistrate.__all__) <= set(dir(magistrate))


def test_the_version_is_a_version() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+|\.dev\d+)?", magistrate.__version__)
