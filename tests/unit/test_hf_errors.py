"""What the engine says when its packages are missing."""

from __future__ import annotations

from magistrate.errors import EngineError, MissingExtraError


def test_a_missing_extra_names_the_command_that_brings_it() -> None:
    error = MissingExtraError("engine 'hf'", "hf", "torch")
    assert isinstance(error, EngineError)
    assert error.exit_code == 3
    assert str(error) == (
        "engine 'hf' needs the package 'torch', which is not installed; "
        "run: pip install 'magistrate[hf]'"
    )
