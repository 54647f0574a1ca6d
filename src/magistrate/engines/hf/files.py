"""Finds a model's files: a folder, a GGUF file, or the hub. Safetensors and GGUF only.

Pickled weights (``.bin``, ``.pt``) can run code when they are loaded, so they are never loaded, nor
even fetched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from magistrate.errors import EngineError

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[\w.-]+)?")
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
_DESCRIPTIONS = ("*.json", "*.jinja", "*.model", "*.txt", "*.tiktoken")
_NOT_OURS = ("original/*", "consolidated*", "onnx/*", "optimizer*")
_TOKENIZERS = ("tokenizer.json", "vocab.json", "vocab.txt", "tekken.json")
_TOKENIZER_KINDS = (".model", ".tiktoken")
_INDEX = "model.safetensors.index.json"
_ADAPTER = "adapter_model.safetensors"
_ADAPTER_CONFIG = "adapter_config.json"


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model on disk.

    Attributes:
        name: The hub's id, or the name of folder or file.
        folder: Holds configuration, tokenizer and weights.
        weights: The files that are hashed.
        gguf: Name of the GGUF file in the folder; None for safetensors.
    """

    name: str
    folder: Path
    weights: tuple[Path, ...]
    gguf: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """How to look for a model: see the options of the same names."""

    revision: str | None = None
    gguf_file: str | None = None
    offline: bool = False
    remote_code: bool = False


def find_model(name: str, source: Source) -> ModelFiles:
    """Find a model by path or by its id on the hub.

    Raises:
        EngineError: There is none, it holds no weights that may be loaded, or the hub cannot be
            reached.
    """
    path = Path(name).expanduser()
    if path.is_file():
        if path.suffix.lower() != ".gguf":
            raise EngineError(
                f"{name} is a file, but not GGUF; give the folder of a model with safetensors "
                f"weights, or a file that ends with .gguf"
            )
        return ModelFiles(path.name, path.parent, (path,), path.name)
    if path.is_dir():
        return _in_folder(path, path.resolve().name, source)
    folder = _fetch(name, source, _patterns(source))
    return _in_folder(folder, name, source)


def find_adapter(name: str, source: Source) -> ModelFiles:
    """Find a LoRA adapter by path or by its id on the hub.

    Raises:
        EngineError: There is none, or it has no safetensors weights.
    """
    path = Path(name).expanduser()
    if not path.is_dir():
        path = _fetch(name, source, [_ADAPTER, _ADAPTER_CONFIG])
    missing = [file for file in (_ADAPTER_CONFIG, _ADAPTER) if not (path / file).is_file()]
    if missing:
        raise EngineError(
            f"{name} is not a LoRA adapter that can be loaded: {' and '.join(missing)} missing; "
            f"it needs {_ADAPTER_CONFIG} and {_ADAPTER} (pickled weights are not loaded)"
        )
    return ModelFiles(name, path, (path / _ADAPTER, path / _ADAPTER_CONFIG))


def _in_folder(folder: Path, name: str, source: Source) -> ModelFiles:
    if source.gguf_file is not None:
        file = folder / source.gguf_file
        if not file.is_file():
            raise EngineError(f"{name} holds no file {source.gguf_file}{_others(folder, '.gguf')}")
        return ModelFiles(f"{name}/{source.gguf_file}", folder, (file,), source.gguf_file)
    weights = _safetensors(folder, name)
    if weights:
        if not (folder / "config.json").is_file():
            raise EngineError(f"{name} holds weights, but no config.json to say what they are")
        if not any(
            path.suffix in _TOKENIZER_KINDS or path.name in _TOKENIZERS for path in folder.iterdir()
        ):
            raise EngineError(f"{name} holds no tokenizer, such as tokenizer.json")
        return ModelFiles(name, folder, weights)
    ggufs = sorted(folder.glob("*.gguf"))
    if len(ggufs) == 1:
        return ModelFiles(name, folder, (ggufs[0],), ggufs[0].name)
    if ggufs:
        raise EngineError(
            f"{name} holds several GGUF files{_others(folder, '.gguf')}; choose one with the "
            f"engine option gguf_file=NAME"
        )
    raise EngineError(_nothing_to_load(folder, name))


def _safetensors(folder: Path, name: str) -> tuple[Path, ...]:
    """Return the weight files that transformers would load."""
    index = folder / _INDEX
    if index.is_file():
        try:
            files = sorted(set(json.loads(index.read_text("utf-8"))["weight_map"].values()))
        except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
            raise EngineError(f"{index}: not an index of weights ({error})") from error
        missing = [file for file in files if not (folder / file).is_file()]
        if missing:
            raise EngineError(
                f"{name} lacks {', '.join(missing)}, which {_INDEX} names; fetch it again"
            )
        return tuple(folder / file for file in files)
    single = folder / "model.safetensors"
    return (single,) if single.is_file() else ()


def _nothing_to_load(folder: Path, name: str) -> str:
    if (folder / _ADAPTER_CONFIG).is_file():
        return (
            f"{name} is a LoRA adapter, not a model; give its base model, and the adapter with the "
            f"engine option adapter={name}"
        )
    pickles = sorted(p.name for p in folder.iterdir() if p.suffix.lower() in _PICKLES)
    if pickles:
        return (
            f"{name} holds only pickled weights ({', '.join(pickles[:3])}), which can run code and "
            f"are not loaded; convert them to safetensors"
        )
    return (
        f"{name} holds no weights; needed: model.safetensors, {_INDEX} with its files, or a GGUF "
        f"file (on the hub, name it with the engine option gguf_file=NAME)"
    )


def _others(folder: Path, suffix: str) -> str:
    names = sorted(path.name for path in folder.glob(f"*{suffix}"))
    return f" ({', '.join(names)})" if names else ""


def _patterns(source: Source) -> list[str]:
    weights = "*.safetensors" if source.gguf_file is None else source.gguf_file
    code = ["*.py"] if source.remote_code else []
    return [*_DESCRIPTIONS, weights, *code]


def _fetch(name: str, source: Source, patterns: Sequence[str]) -> Path:
    """Return the folder of a model of the hub, fetched where needed."""
    if not _HUB_ID.fullmatch(name):
        raise EngineError(f"there is no file or folder {name}, and no model on the hub is named so")
    from huggingface_hub import errors, snapshot_download

    try:
        folder = snapshot_download(
            name,
            revision=source.revision,
            allow_patterns=list(patterns),
            ignore_patterns=list(_NOT_OURS),
            local_files_only=source.offline,
        )
    except errors.GatedRepoError as error:
        raise EngineError(
            f"the hub lets only some read {name}; ask for access on its page, then sign in with "
            f"'hf auth login'"
        ) from error
    except errors.RevisionNotFoundError as error:
        raise EngineError(f"the hub's {name} has no revision {source.revision}") from error
    except (errors.RepositoryNotFoundError, errors.HFValidationError) as error:
        raise EngineError(
            f"there is no folder {name} here, and no model of that name on the hub (private ones "
            f"need 'hf auth login')"
        ) from error
    except errors.LocalEntryNotFoundError as error:
        raise EngineError(_unreachable(name, source, error)) from error
    except (OSError, ValueError) as error:
        raise EngineError(f"{name} cannot be fetched from the hub: {error}") from error
    return Path(folder)


def _unreachable(name: str, source: Source, error: Any) -> str:
    why = "offline=true was given" if source.offline else "the hub cannot be reached"
    return (
        f"there is no folder {name} here, {why}, and {name} has not been fetched before; give the "
        f"path of a model, or connect to the network"
    )
