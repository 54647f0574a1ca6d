"""A judge on disk: a folder with ``judge.toml``, weights and a card (``docs/judge-folder.md``)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationError, model_validator

from magistrate.engines.base import Engine
from magistrate.engines.judge_model import JUDGE_FILE as JUDGE_FILE
from magistrate.engines.judge_model import BaseSection, ModelSection, find_base
from magistrate.engines.table import open_engine
from magistrate.errors import EngineError, FamilyError, JudgeNotFoundError, what_is_needed
from magistrate.judging.calibration import Calibration
from magistrate.judging.judge import Judge, Mode, make_judge
from magistrate.prompts.base import Family
from magistrate.prompts.schema import FAMILY_FILE
from magistrate.records import Record, Sample

HEAD_ENGINES = ("encoder", "head")
"""Engines that run a scoring or classifying head."""

WRITING_ENGINE = "hf"

_FAMILY_NAME = re.compile(r"[\w-]+\.toml")

_KINDS = {"scorer": HEAD_ENGINES, "classifier": HEAD_ENGINES, "text": (WRITING_ENGINE,)}


class SettingsSection(Record):
    """Section ``[settings]``: how the judge is run unless the user says otherwise."""

    mode: Mode | None = None
    """Of a judge that writes: what it was trained for."""
    dtype: str | None = None
    """Precision, as the engine's option of that name takes it."""
    chat_template: str | None = None
    """As the engine's option of that name takes it."""

    @property
    def options(self) -> dict[str, str]:
        """Options of the engine."""
        return self.model_dump(exclude={"mode"}, exclude_none=True)


class JudgeFile(Record):
    """The contents of ``judge.toml``."""

    name: str
    version: str
    engine: str
    model: ModelSection
    base: BaseSection | None = None
    """The model that a LoRA adapter changes; None where the folder holds all weights."""
    family: dict[str, Any]
    """Read by the family that ``kind`` names."""
    families: dict[str, str] = Field(default_factory=dict)
    """Of a judge that writes: the files of all families that it was trained on, by their names;
    that of ``family.toml`` is asked unless another is named."""
    verdict: dict[str, Any] = Field(default_factory=dict)
    """How outputs become probabilities; read by the family."""
    settings: SettingsSection = SettingsSection()
    made: dict[str, Any] = Field(default_factory=dict)
    """How the judge came to be; for people."""
    calibration: Calibration | None = None
    """Written by ``magistrate calibrate``; read by :mod:`magistrate.judging.calibrated`."""

    @property
    def has_head(self) -> bool:
        """Whether the judge has a head, so that it writes nothing."""
        return self.engine in HEAD_ENGINES

    @property
    def kind(self) -> str:
        """``scorer``, ``classifier`` or ``text``."""
        return str(self.family["kind"])

    @model_validator(mode="after")
    def _kind_and_engine_fit(self) -> Self:
        kind = self.family.get("kind")
        if not isinstance(kind, str) or kind not in _KINDS:
            raise ValueError(f"family.kind is {kind!r}; it must be one of {', '.join(_KINDS)}")
        if self.engine not in _KINDS[kind]:
            raise ValueError(
                f"engine is '{self.engine}'; a judge of kind '{kind}' runs on "
                f"{' or '.join(_KINDS[kind])}"
            )
        if (self.engine == "encoder") != (self.model.file is not None):
            raise ValueError(
                f"engine '{self.engine}' needs "
                + ("model.file, an ONNX model" if self.engine == "encoder" else "[model.files]")
            )
        if self.families and kind != "text":
            raise ValueError("[families] is for judges that write; others have one [family]")
        for place in self.families.values():
            if not _FAMILY_NAME.fullmatch(place):
                raise ValueError(f"families: '{place}' must be the name of a .toml file beside it")
        if self.base is not None and self.engine == "encoder":
            raise ValueError("an ONNX model holds all weights: it has no [base]")
        return self


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


def load_judge_folder(
    name: str,
    folder: Path,
    options: Mapping[str, str] | None = None,
    *,
    mode: Mode | None = None,
    demonstrations: Sequence[Sample] = (),
    family: str | None = None,
) -> Judge:
    """Load the judge of a folder.

    Args:
        name: What the judge is called in runs.
        folder: Where it is.
        options: Of its engine; they beat the folder's own settings. Where the folder holds an
            adapter, ``base`` says where its base lies.
        mode: See :func:`magistrate.judging.resolve.load_judge`; None as the folder says. Judges
            with a head know scores only.
        demonstrations: Labelled samples that a judge which writes is shown solved.
        family: Which of the folder's families it is asked by; None for the first.

    Raises:
        JudgeNotFoundError: ``judge.toml`` is missing or wrong.
        EngineError: The weights are missing, damaged or cannot be run.
        FamilyError: The family is wrong, or cannot show the demonstrations.
    """
    file = read_judge_file(folder)
    asked = read_family(folder, file, mode=mode, demonstrations=demonstrations, name=family)
    own = {**file.settings.options, **(options or {})}
    if file.has_head:
        return make_judge(name, asked, open_engine(file.engine, str(folder), None, own))
    return make_judge(name, asked, _open_writing(folder, file, own))


def read_family(
    folder: Path,
    file: JudgeFile,
    *,
    mode: Mode | None = None,
    demonstrations: Sequence[Sample] = (),
    name: str | None = None,
) -> Family:
    """Return a family of a judge folder: how it is asked and read.

    Args:
        folder: The judge folder.
        file: Its ``judge.toml``.
        mode: None as the folder says.
        demonstrations: Labelled samples that a judge which writes is shown solved.
        name: Of one of its families; None for the first.

    Raises:
        FamilyError: It is missing or wrong, lacks the mode, or cannot show the demonstrations; or
            the folder holds none of that name.
    """
    if name is not None:
        _check_holds(folder, file, name)
    if file.has_head and demonstrations:
        raise FamilyError(
            f"judge '{file.name}' has a scoring head: it writes no replies, so it cannot be shown "
            f"solved ones; leave out the demonstrations, or take a judge that writes"
        )
    if file.kind == "scorer":
        from magistrate.prompts.scorer import ScorerFamily  # these bring Jinja2: on use

        return ScorerFamily.from_sections(file.name, file.family, file.verdict)
    if file.kind == "classifier":
        from magistrate.prompts.classifier import ClassifierFamily

        return ClassifierFamily.from_sections(file.name, file.family, file.verdict)
    from magistrate.prompts.text_family import TextFamily

    return TextFamily.from_folder(
        folder,
        file=FAMILY_FILE if name is None else file.families[name],
        mode=mode or file.settings.mode or "reason",
        demonstrations=demonstrations,
    )


def _check_holds(folder: Path, file: JudgeFile, name: str) -> None:
    if name in file.families:
        return
    held = f"it holds {', '.join(sorted(file.families))}" if file.families else "it holds one alone"
    raise FamilyError(
        f"judge folder {folder} was not trained on a family '{name}' ({held}); leave out #{name}"
    )


def _open_writing(folder: Path, file: JudgeFile, options: dict[str, str]) -> Engine:
    """Open the engine of a judge that writes: on the folder, or on the base with its adapter."""
    if options.get("trust_remote_code", "false").lower() not in ("false", "0", "no", "off"):
        raise EngineError(f"{folder}: code that comes with a judge folder is never run")
    file.model.check_files(folder)
    instead = options.pop("base", None)
    if file.base is None:
        return open_engine(file.engine, str(folder), None, options)
    offline = str(options.get("offline", "")).lower() in ("true", "1", "yes", "on")
    found = find_base(folder, file.base, instead, offline=offline)
    options |= {"adapter": str(folder), "tokenizer": str(folder)}
    if found.gguf is not None:
        options["gguf_file"] = found.gguf
    return open_engine(file.engine, str(found.folder), None, options)
