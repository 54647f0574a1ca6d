"""A LoRA adapter merged into its base: full weights, which need no base any more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from magistrate.engines.hf.files import Source, find_adapter
from magistrate.engines.judge_model import find_base, read_model_section
from magistrate.errors import InputError
from magistrate.train.bases import forget_quantisation
from magistrate.train.export.folders import new_folder, write_judge_file
from magistrate.train.folder import hashes_of


def merge_adapter(folder: Path, out: Path, base: str | None = None) -> None:
    """Write a judge folder with the full weights of one that holds an adapter.

    Args:
        folder: The judge.
        out: Where the new one goes; nothing may be there.
        base: Where the base lies, if not where the folder says.

    Raises:
        InputError: The judge has full weights already, or ``out`` is there.
        EngineError: The base cannot be found, is another model, or cannot be loaded.
    """
    section, told = read_model_section(folder)
    if told is None:
        raise InputError(f"{folder} has full weights already: there is no adapter to merge")
    section.check_files(folder)
    files = find_base(folder, told, base)
    adapter = find_adapter(str(folder), Source())
    with new_folder(folder, out) as draft:
        model = _merged(files, adapter, told.outputs)
        forget_quantisation(model)
        model.save_pretrained(draft)
        changes = {
            "base": None,
            "model": {"max_tokens": section.max_tokens, "files": hashes_of(draft)},
        }
        write_judge_file(folder, draft, changes, {"merged_base": told.place})


def _merged(files: Any, adapter: Any, outputs: int | None) -> Any:
    """Return the model in fp32, on the processor."""
    from magistrate.engines.hf.loading import load_model
    from magistrate.engines.hf.settings import HfOptions

    options = HfOptions(dtype="fp32", device="cpu")
    if outputs is None:
        return load_model(files, adapter, options).model
    from magistrate.engines.hf.head_models import join_adapter, load_head_model

    model, _, _ = load_head_model(files, outputs, options)
    return join_adapter(model, adapter, merge=True)
