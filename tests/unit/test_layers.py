"""The import direction of the package, its size limits, and what may be imported early."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

import magistrate

PACKAGE = Path(magistrate.__file__).parent

ROWS: tuple[tuple[str, ...], ...] = (
    ("_version", "errors", "ids"),
    ("records",),
    ("messages",),
    ("formats",),
    ("prompts",),
    ("engines",),
    ("judging",),
    ("store",),
    ("metrics",),
    ("cascade",),
    ("report",),
    ("data", "train", "scale", "suites", "probes"),
    ("web",),
    ("cli",),
    ("", "__main__"),
)
"""Top-level modules and folders, lowest row first; a module imports only from earlier rows, or
from its own folder. The empty name is ``magistrate/__init__.py``, which re-exports lazily."""

ROW_OF = {part: row for row, parts in enumerate(ROWS) for part in parts}

# fmt: off
HEAVY = frozenset({
    "accelerate", "aiohttp", "datasets", "gradio", "jinja2", "numpy", "onnxruntime", "openvino",
    "peft", "plotly", "polars", "ray", "rich", "scipy", "sklearn", "tokenizers", "torch",
    "transformers", "trl", "typer", "vllm",
})
# fmt: on
"""Libraries that cost start-up time or are not installed with the core."""

MAX_LINES = 450


@dataclass(frozen=True)
class Import:
    """One import statement: which module, on which line, and whether it runs at import time."""

    target: str
    line: int
    early: bool


def imports_of(name: str, source: str, known: frozenset[str], is_package: bool) -> list[Import]:
    """Return the modules that a module imports, each by its absolute name.

    Args:
        name: Absolute name of the module, such as ``magistrate.formats.source``.
        source: Its text.
        known: Names of all modules of the package, to tell ``from x import module`` from
            ``from x import name``.
        is_package: Whether the module is a package's ``__init__``.
    """
    found = []
    for node, early in _statements(ast.parse(source), early=True):
        if isinstance(node, ast.Import):
            found += [Import(alias.name, node.lineno, early) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, name, is_package)
            for alias in node.names:
                full = f"{base}.{alias.name}"
                found.append(Import(full if full in known else base, node.lineno, early))
    return found


def _absolute(node: ast.ImportFrom, name: str, is_package: bool) -> str:
    if not node.level:
        return node.module or ""
    parts = name.split(".")
    parts = parts[: len(parts) - node.level + int(is_package)]
    return ".".join([*parts, node.module] if node.module else parts)


def _statements(node: ast.AST, *, early: bool) -> Iterator[tuple[ast.AST, bool]]:
    """Walk a tree; functions and ``if TYPE_CHECKING`` blocks do not run at import time."""
    for child in ast.iter_child_nodes(node):
        runs = early and not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            for branch, branch_early in ((child.body, False), (child.orelse, early)):
                for statement in branch:
                    yield statement, branch_early
                    yield from _statements(statement, early=branch_early)
            continue
        yield child, runs
        yield from _statements(child, early=runs)


def direction_violations(sources: Mapping[str, str], packages: frozenset[str]) -> list[str]:
    """Return every import that goes against the rows; ``sources`` maps module names to text."""
    known = frozenset(sources)
    problems = []
    for name, source in sorted(sources.items()):
        part = _part(name)
        if part not in ROW_OF:
            problems.append(f"{name}: '{part}' is in no row; give it a place in design and test")
            continue
        for found in imports_of(name, source, known, name in packages):
            if found.target.split(".")[0] != "magistrate":
                continue
            other = _part(found.target)
            if part == other or ROW_OF.get(other, len(ROWS)) < ROW_OF[part]:
                continue
            if not part and not found.early:
                continue  # the lazy re-exports of the package, for type checkers alone
            problems.append(f"{name}:{found.line} imports {found.target}, which stands below it")
    return problems


def early_closure(start: str, sources: Mapping[str, str], packages: frozenset[str]) -> set[str]:
    """Return every module, ours and others', that importing ``start`` imports at once."""
    known = frozenset(sources)
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name not in known:
            continue
        if "." in name:
            waiting.append(name.rpartition(".")[0])
        found = imports_of(name, sources[name], known, name in packages)
        waiting += [each.target for each in found if each.early]
    return seen


def heavy_imports(start: str, sources: Mapping[str, str], packages: frozenset[str]) -> set[str]:
    """Return the heavy libraries that importing ``start`` imports at once."""
    return {name.split(".")[0] for name in early_closure(start, sources, packages)} & HEAVY


def _part(name: str) -> str:
    pieces = name.split(".")
    return pieces[1] if len(pieces) > 1 else ""


def _module_name(path: Path) -> str:
    parts = ("magistrate", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


PATHS = {_module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}
SOURCES = {name: path.read_text(encoding="utf-8") for name, path in PATHS.items()}
PACKAGES = frozenset(name for name, path in PATHS.items() if path.name == "__init__.py")


def test_modules_import_only_from_rows_above_their_own() -> None:
    assert direction_violations(SOURCES, PACKAGES) == []


def test_importing_the_package_imports_nothing_but_the_standard_library() -> None:
    outside = {name.split(".")[0] for name in early_closure("magistrate", SOURCES, PACKAGES)}
    assert not heavy_imports("magistrate", SOURCES, PACKAGES)
    assert "pydantic" not in outside


@pytest.mark.parametrize("home", sorted(set(magistrate._HOME.values())))
def test_using_a_public_name_imports_heavy_libraries_late(home: str) -> None:
    assert heavy_imports(home, SOURCES, PACKAGES) == set()


def test_only_the_command_line_knows_typer() -> None:
    known = frozenset(SOURCES)
    users = {
        name
        for name, source in SOURCES.items()
        for found in imports_of(name, source, known, name in PACKAGES)
        if found.target.split(".")[0] in {"typer", "click"}
    }
    assert {_part(name) for name in users} <= {"cli"}


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_modules_stay_short(name: str) -> None:
    lines = SOURCES[name].count("\n")
    assert lines <= MAX_LINES, f"{name} has {lines} lines; split it by job (limit {MAX_LINES})"


# The checker itself must see what it is there to see.

PLANTED = {
    "from magistrate.store import run": "magistrate.store",
    "import magistrate.judging.engine": "magistrate.judging.engine",
    "from ..judging import loop": "magistrate.judging",
    "def f():\n    from magistrate.cli.main import run": "magistrate.cli.main",
    "from magistrate import Sample": "magistrate",
    "from magistrate import report": "magistrate.report",
    "if TYPE_CHECKING:\n    from magistrate.report import tables": "magistrate.report",
}


@pytest.mark.parametrize(("planted", "target"), PLANTED.items())
def test_a_planted_import_from_below_is_found(planted: str, target: str) -> None:
    sources = dict.fromkeys(("magistrate", "magistrate.report", "magistrate.prompts"), "")
    sources["magistrate.prompts.planted"] = planted
    packages = frozenset({"magistrate", "magistrate.report", "magistrate.prompts"})
    problems = direction_violations(sources, packages)
    assert len(problems) == 1, problems
    assert problems[0].endswith(f"imports {target}, which stands below it")


@pytest.mark.parametrize(
    "allowed",
    [
        "from magistrate.records import Sample",
        "from magistrate.prompts.base import Verdict",
        "from .base import Verdict",
        "import json",
        "from magistrate import ids",
    ],
)
def test_an_import_from_above_or_from_the_own_folder_is_fine(allowed: str) -> None:
    names = ("magistrate", "magistrate.ids", "magistrate.prompts", "magistrate.prompts.base")
    sources = {**dict.fromkeys(names, ""), "magistrate.prompts.planted": allowed}
    assert direction_violations(sources, frozenset({"magistrate", "magistrate.prompts"})) == []


def test_a_module_without_a_row_is_found() -> None:
    assert "in no row" in direction_violations({"magistrate.utils": ""}, frozenset())[0]


def test_heavy_imports_are_followed_through_modules_but_not_into_functions() -> None:
    sources = {
        "magistrate": "from magistrate import records",
        "magistrate.records": "from magistrate.ids import a",
        "magistrate.ids": "import numpy.linalg\ndef f():\n    import torch\n"
        "if TYPE_CHECKING:\n    import polars\nelse:\n    import scipy\n"
        "class C:\n    import sklearn",
    }
    found = heavy_imports("magistrate", sources, frozenset({"magistrate"}))
    assert found == {"numpy", "scipy", "sklearn"}
