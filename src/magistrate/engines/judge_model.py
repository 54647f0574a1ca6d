"""Which model a judge folder holds: sections ``[model]`` and ``[base]`` of its ``judge.toml``."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field, StringConstraints, ValidationError, model_validator

from magistrate.errors import EngineError, what_is_needed
from magistrate.records import Record

if TYPE_CHECKING:
    from magistrate.engines.hf.files import ModelFiles

JUDGE_FILE = "judge.toml"

_SAFE = (".onnx", ".safetensors", ".gguf", ".json", ".jinja")

Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class ModelSection(Record):
    """Section ``[model]``: the weights. Either one file with its hash, or several."""

    file: str | None = None
    """File name inside the folder: the ONNX model."""
    sha256: Hash | None = None
    """Of ``file``."""
    files: dict[str, Hash] = Field(default_factory=dict)
    """SHA-256 by file name inside the folder: safetensors weights, and what says how they are
    used."""
    max_tokens: int = Field(gt=0)
    """Longest input, template included."""

    @model_validator(mode="after")
    def _one_file_or_several(self) -> Self:
        if (self.file is None) == (not self.files):
            raise ValueError("give either 'file' with 'sha256', or [model.files]")
        if (self.file is None) != (self.sha256 is None):
            raise ValueError("'file' needs 'sha256', the hash of its contents")
        for name in self.files or [self.file or ""]:
            if Path(name).name != name:
                raise ValueError(f"'{name}' must be the name of a file in the judge folder")
            if Path(name).suffix not in _SAFE:
                raise ValueError(
                    f"'{name}' is not {', '.join(_SAFE)}; weights of other kinds can run code and "
                    f"are not loaded"
                )
        return self

    def check_files(self, folder: Path) -> None:
        """Check that the files are there and unchanged.

        Raises:
            EngineError: A file is missing, or has another hash than ``judge.toml`` says.
        """
        from magistrate.engines.hf.hashing import hash_each

        for name, due in (self.files or {self.file or "": self.sha256 or ""}).items():
            found = hash_each([folder / name])[0]
            if found != due:
                raise EngineError(
                    f"{folder / name}: SHA-256 is {found}, but judge.toml says {due}; the file is "
                    f"damaged or was replaced, so it is not loaded"
                )


class BaseSection(Record):
    """Section ``[base]``: the model that the adapter of the folder changes."""

    path: str | None = None
    """Where it lies, relative to the judge folder; a folder or a GGUF file."""
    hub: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][\w.-]*(/[\w.-]+)?$")
    """Or its id on the hub."""
    revision: str | None = None
    """Branch, tag or commit on the hub."""
    gguf_file: str | None = None
    """Name of the GGUF file, in folders and on the hub, where there are several."""
    sha256: Hash
    """Of its weights, as ``magistrate judges show`` prints it."""
    outputs: int | None = Field(default=None, ge=1)
    """How many numbers the head returns; of a judge that writes, nothing."""

    @model_validator(mode="after")
    def _has_one_place(self) -> Self:
        if (self.path is None) == (self.hub is None):
            raise ValueError("give either 'path' or 'hub'")
        return self

    @property
    def place(self) -> str:
        """Path or hub id, as the file has it."""
        return self.path or self.hub or ""


def read_model_section(folder: Path) -> tuple[ModelSection, BaseSection | None]:
    """Read what a judge folder says of its model.

    Raises:
        EngineError: ``judge.toml`` cannot be read, or the sections are wrong.
    """
    path = folder / JUDGE_FILE
    try:
        data: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
        base = data.get("base")
        return (
            ModelSection.model_validate(data["model"]),
            None if base is None else BaseSection.model_validate(base),
        )
    except OSError as error:
        raise EngineError(f"{path}: cannot be read ({error.strerror})") from error
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        name = ".".join(map(str, problem["loc"]))
        raise EngineError(f"{path}, [model] or [base] {name}: {what_is_needed(problem)}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise EngineError(f"{path}: no usable [model] section ({error})") from error


def find_base(
    folder: Path, base: BaseSection, instead: str | None = None, *, offline: bool = False
) -> ModelFiles:
    """Find the base of an adapter, and check that it is the one that the adapter was made for.

    Args:
        folder: The judge folder.
        base: What it says.
        instead: Where the user says that the base lies.
        offline: Whether the hub may not be asked.

    Raises:
        EngineError: It is not there, or is another model.
    """
    from magistrate.engines.hf.files import Source, find_model
    from magistrate.engines.hf.hashing import hash_weights

    place = instead or (str(folder / Path(base.path).expanduser()) if base.path else base.place)
    if (instead or base.path) and not Path(place).expanduser().exists():
        raise EngineError(
            f"{folder} holds a LoRA adapter, and its base model is not at "
            f"{Path(place).expanduser().resolve()}; bring it there, or say where it is: --set "
            f"base=PATH (engine option 'base')"
        )
    files = find_model(place, Source(base.revision, base.gguf_file, offline))
    found = hash_weights(files.weights)
    if found != base.sha256:
        raise EngineError(
            f"the base model {place} has SHA-256 {found}, but {folder / JUDGE_FILE} says "
            f"{base.sha256}: it is not the model that the adapter was trained on; say where that "
            f"is: --set base=PATH (engine option 'base')"
        )
    return files
