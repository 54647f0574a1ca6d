"""A judge on disk: a folder with ``judge.toml``, weights and a card (``docs/judge-folder.md``)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from magistrate.engines.table import open_engine
from magistrate.errors import JudgeNotFoundError, what_is_needed
from magistrate.judging.calibration import Calibration
from magistrate.judging.judge import Judge, make_judge
from magistrate.records import Record

JUDGE_FILE = "judge.toml"


class ModelSection(Record):
    """Section ``[model]``: the weights."""

    file: str
    """File name inside the folder."""
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    max_tokens: int = Field(gt=0)
    """Longest input, template included."""


class JudgeFile(Record):
    """The contents of ``judge.toml``."""

    name: str
    version: str
    engine: str
    model: ModelSection
    family: dict[str, Any]
    """Read by the family that ``kind`` names."""
    verdict: dict[str, Any]
    """How outputs become probabilities; read by the family."""
    made: dict[str, Any] = Field(default_factory=dict)
    """How the judge came to be; for people."""
    calibration: Calibration | None = None
    """Written by ``magistrate calibrate``; read by :mod:`magistrate.judging.calibrated`."""


def read_judge_file(folder: Path) -> JudgeFile:
    """Read and check ``judge.toml``.

    Raises:
        JudgeNotFoundError: The file is missing, is not TOML, or lacks or misspells a key.
    """
    path = folder / JUDGE_FILE
    try:
        return JudgeFile.model_validate(tomllib.loads(path.read_text("utf-8")))
    except OSError as error:
        raise JudgeNotFoundError(f"{path}: cannot be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise JudgeNotFoundError(f"{path}: not valid TOML ({error})") from error
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, problem['loc']))}: {what_is_needed(problem)}"
            for problem in error.errors()
        )
        raise JudgeNotFoundError(f"{path}: {problems} (see docs/judge-folder.md)") from error


def load_judge_folder(name: str, folder: Path, options: Mapping[str, str] | None = None) -> Judge:
    """Load the judge of a folder; ``options`` go to its engine.

    Raises:
        JudgeNotFoundError: ``judge.toml`` is missing or wrong.
        EngineError: The weights are missing, damaged or cannot be run.
        FamilyError: The family section is wrong.
    """
    from magistrate.prompts.scorer import ScorerFamily  # brings Jinja2: on use

    file = read_judge_file(folder)
    family = ScorerFamily.from_sections(file.name, file.family, file.verdict)
    return make_judge(name, family, open_engine(file.engine, str(folder), None, options))
