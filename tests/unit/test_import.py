"""What ``import magistrate`` costs: measured in fresh interpreters."""

from __future__ import annotations

import json
import subprocess
import sys

LIMIT_SECONDS = 0.3
TRIES = 7

NEVER_EARLY = (
    "aiohttp gradio httpx jinja2 numpy onnxruntime openai openvino orjson polars pydantic rich "
    "scipy sklearn tokenizers torch transformers typer"
)

MEASURE = """
import sys, time
start = time.perf_counter()
import magistrate
print(time.perf_counter() - start)
"""


def python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded_after(statement: str) -> set[str]:
    """Top-level names of all modules in memory after a statement."""
    code = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    names: list[str] = json.loads(python(code))
    return {name.split(".")[0] for name in names}


def test_import_is_fast() -> None:
    # The best of several: a busy machine can only make a try slower, never faster.
    best = float("inf")
    for _ in range(TRIES):
        best = min(best, float(python(MEASURE)))
        if best < LIMIT_SECONDS:
            return
    raise AssertionError(f"import magistrate took {best:.2f} s at best, limit {LIMIT_SECONDS} s")


def test_import_alone_loads_no_library_at_all() -> None:
    assert not loaded_after("import magistrate") & set(NEVER_EARLY.split())


def test_records_need_pydantic_only() -> None:
    loaded = loaded_after("import magistrate; magistrate.Sample")
    assert loaded & set(NEVER_EARLY.split()) == {"pydantic"}


def test_listing_the_public_names_loads_nothing() -> None:
    assert "pydantic" not in loaded_after("import magistrate; dir(magistrate); magistrate.__all__")


def test_the_command_starts_without_the_machinery_of_judging() -> None:
    loaded = loaded_after("import magistrate.cli.main")
    machinery = {"numpy", "onnxruntime", "polars", "scipy", "sklearn", "tokenizers", "torch"}
    assert not loaded & machinery


def test_the_test_would_notice() -> None:
    assert "pydantic" in loaded_after("import magistrate.records")
