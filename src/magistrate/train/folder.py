"""Writes judge folders: weights, tokenizer, family, ``judge.toml`` and the card, in one step."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from magistrate.engines.hf.hashing import hash_weights
from magistrate.engines.judge_model import JUDGE_FILE
from magistrate.prompts.importing.toml import dumps
from magistrate.prompts.schema import FAMILY_FILE
from magistrate.train.bases import find_base, forget_quantisation
from magistrate.train.card import CARD_FILE, card_of
from magistrate.train.head import Finished
from magistrate.train.recipe import Recipe

if TYPE_CHECKING:
    from magistrate.prompts.base import Family
    from magistrate.prompts.text_family import TextFamily

_WEIGHTS = (".safetensors", ".onnx")
_SAYS_HOW = (
    "config.json",
    "generation_config.json",
    "adapter_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
)
"""Files beside the weights that change what they do."""

_NOT_NEEDED = ("README.md",)


def write_judge_folder(
    folder: Path,
    *,
    finished: Finished,
    engine: str,
    family: Family,
    other_family: TextFamily | None = None,
    max_tokens: int,
    outputs: int | None = None,
    mode: str | None = None,
    fitted_on: int = 0,
    licences: Mapping[str, str] | None = None,
) -> None:
    """Write the folder of a judge that was trained.

    Files are written beside each other in a folder of their own and then put in place, the file
    that makes it a judge last: there is never half a judge. What else is in the folder stays.

    Args:
        folder: Where the judge will be.
        finished: The training.
        engine: ``hf`` for a judge that writes, ``head`` for one with a head.
        family: How it is asked and read.
        other_family: Another that it was trained on; it is asked so where that is named.
        max_tokens: Longest prompt (and reply) that it was trained on, in tokens.
        outputs: How many numbers its head returns; None for a judge that writes.
        mode: Of a judge that writes: ``score`` or ``reason``.
        fitted_on: Dev samples that the verdict's constants were fitted on.
        licences: Of base and data, as the user gave them; for the card.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        _save_model(draft, finished)
        finished.loaded.tokenizer.save_pretrained(draft)
        section, verdict = _family_sections(draft, family)
        made = {
            "recipe": "training/recipe.toml",
            # What `magistrate bench` compares judges by.
            "training_samples": finished.data.get("samples"),
            **dict(finished.made),
            "data": dict(finished.data),
            "licences": dict(licences or {}),
            "recipe_settings": finished.recipe.model_dump(mode="json", exclude_none=True),
        }
        table: dict[str, Any] = {
            "name": finished.recipe.judge.name,
            "version": "1",
            "engine": engine,
            "model": {"max_tokens": max_tokens, "files": hashes_of(draft)},
            "base": _base(folder, finished, outputs) if finished.adapter else None,
            "family": section,
            "families": _add_family(draft, family, other_family) if other_family else None,
            "verdict": verdict or None,
            "settings": {
                "mode": mode,
                "chat_template": finished.recipe.judge.chat_template if engine == "hf" else None,
            },
            "made": made,
        }
        (draft / CARD_FILE).write_text(card_of(finished, fitted_on, licences or {}), "utf-8")
        (draft / JUDGE_FILE).write_text(dumps(_without_nothing(table)), "utf-8")
        put_in_place(draft, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def licences_of(recipe: Recipe) -> dict[str, str]:
    """Return the licences that the user gave, by what they are of."""
    given = {"base": recipe.judge.licence, "data": recipe.data.licence}
    return {name: text for name, text in given.items() if text}


def put_in_place(draft: Path, folder: Path) -> None:
    """Move the files of a draft into a folder, ``judge.toml`` last."""
    if not folder.exists():
        draft.chmod(0o755)
        draft.replace(folder)
        return
    for path in sorted(draft.iterdir(), key=lambda path: path.name == JUDGE_FILE):
        if path.is_dir():
            shutil.rmtree(folder / path.name, ignore_errors=True)
        path.replace(folder / path.name)


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _save_model(draft: Path, finished: Finished) -> None:
    model = finished.loaded.model
    if not finished.adapter:
        forget_quantisation(model)
        model.save_pretrained(draft)
    else:
        model.save_pretrained(draft, save_embedding_layers=False)
        _forget_place(draft / "adapter_config.json", finished)
    for name in _NOT_NEEDED:
        (draft / name).unlink(missing_ok=True)


def _forget_place(path: Path, finished: Finished) -> None:
    """Name the base by its name in the adapter's own file: its place is in ``judge.toml``."""
    config = json.loads(path.read_text("utf-8"))
    config["base_model_name_or_path"] = find_base(finished.recipe.judge).name
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", "utf-8")


def _family_sections(draft: Path, family: Family) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return sections ``[family]`` and ``[verdict]``; of a judge that writes, write its file."""
    from magistrate.prompts.text_family import TextFamily

    if isinstance(family, TextFamily):
        _write_family(draft / FAMILY_FILE, family)
        return {"kind": "text"}, {}
    section: dict[str, Any] = family.section.model_dump(mode="json")  # type: ignore[attr-defined]
    verdict: dict[str, Any] = family.verdict.model_dump(mode="json")  # type: ignore[attr-defined]
    return section, verdict


def _add_family(draft: Path, family: Family, other: TextFamily) -> dict[str, str]:
    """Write a second family beside the first; return the files of both, by name."""
    stem, suffix = Path(FAMILY_FILE).stem, Path(FAMILY_FILE).suffix
    name = f"{stem}-{'reference' if other.shows_reference else 'plain'}{suffix}"
    _write_family(draft / name, other)
    return {family.name: FAMILY_FILE, other.name: name}


def _write_family(path: Path, family: TextFamily) -> None:
    path.write_text(dumps(family.file.model_dump(mode="json", exclude_none=True)), "utf-8")


def hashes_of(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of the files of a folder that decide what its model does, by name."""
    return {
        path.name: hash_file(path)
        for path in sorted(folder.iterdir())
        if path.suffix in _WEIGHTS or path.name in _SAYS_HOW
    }


def _base(folder: Path, finished: Finished, outputs: int | None) -> dict[str, Any]:
    judge = finished.recipe.judge
    files = find_base(judge)
    found: dict[str, Any] = {"sha256": hash_weights(files.weights), "outputs": outputs}
    given = Path(judge.base).expanduser()
    if given.exists():
        place = os.path.relpath(given.resolve(), folder.resolve())
        return {"path": Path(place).as_posix(), "gguf_file": judge.gguf_file, **found}
    return {
        "hub": judge.base,
        "revision": judge.revision,
        "gguf_file": judge.gguf_file,
        **found,
    }


def _without_nothing(table: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is None or empty, which TOML cannot say."""
    kept: dict[str, Any] = {}
    for key, value in table.items():
        plain = _without_nothing(value) if isinstance(value, Mapping) else value
        if plain is not None and plain != {}:
            kept[key] = plain
    return kept
