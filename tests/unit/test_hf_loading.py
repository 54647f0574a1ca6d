"""Models from disk: what is loaded, what is refused, and what the engine then says of itself."""

from __future__ import annotations

import importlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hf_help import byte_tokenizer, pair_prompt, tiny_model, torch, transformers

from magistrate.engines.hf import loading
from magistrate.engines.hf.engine import HfEngine
from magistrate.engines.hf.files import Source, find_model
from magistrate.engines.hf.opening import open_engine
from magistrate.engines.hf.settings import HfOptions
from magistrate.errors import EngineError, MissingExtraError
from magistrate.messages import Choices, Request

GRADES = Choices(tuple(map(str, range(1, 11))), " ", 2)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAGISTRATE_HOME", str(tmp_path / "home"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a model."""
    tokenizer = byte_tokenizer()
    tiny_model(vocab=len(tokenizer)).save_pretrained(tmp_path / "judge")
    tokenizer.save_pretrained(tmp_path / "judge")
    return tmp_path / "judge"


def open_here(folder: Path, **options: Any) -> HfEngine:
    return open_engine(str(folder), None, {"device": "cpu", **options})


def distribution(engine: HfEngine) -> tuple[float, ...]:
    (completion,) = engine.complete([Request("a", pair_prompt("q", "a", "b"), choices=GRADES)])
    assert completion.error is None
    return completion.choices


def test_a_folder_is_loaded(folder: Path) -> None:
    engine = open_here(folder)
    info = engine.info
    assert (info.engine, info.model) == ("hf", "judge")
    assert info.weights_hash is not None
    assert info.settings["dtype"] == "fp32"
    assert len(distribution(engine)) == 100


def test_other_weights_have_another_hash_and_another_verdict(folder: Path, tmp_path: Path) -> None:
    before = open_here(folder)
    tiny_model(seed=1, vocab=len(byte_tokenizer())).save_pretrained(folder)
    after = open_here(folder)
    assert before.info.weights_hash != after.info.weights_hash
    assert distribution(before) != distribution(after)


def test_half_precision_is_near_and_told(folder: Path) -> None:
    engine = open_here(folder, dtype="bf16")
    assert engine.info.settings["dtype"] == "bf16"
    assert distribution(engine) == pytest.approx(distribution(open_here(folder)), abs=1.5)


def test_half_precision_does_not_make_unlike_verdicts_equal(folder: Path) -> None:
    full, half = open_here(folder), open_here(folder, dtype="bf16")
    assert "output_layer" not in full.info.settings
    assert half.info.settings["output_layer"] == "fp32"
    ids = torch.tensor([[5, 6, 7, 8]])
    with torch.inference_mode():
        logits = half._model(ids).logits
    assert logits.dtype == torch.float32
    # Rounded to bf16 many of the logits fall together; they do not here.
    assert len(logits[0, -1].unique()) > len(logits[0, -1].bfloat16().unique())


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")  # peft's own
def test_an_adapter_changes_verdicts_and_is_told(folder: Path, tmp_path: Path) -> None:
    peft = pytest.importorskip("peft", reason="the extra [hf] is not installed: no peft")
    base = transformers.AutoModelForCausalLM.from_pretrained(folder)
    torch.manual_seed(3)
    config = peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    peft.get_peft_model(base, config).save_pretrained(tmp_path / "lora")
    engine = open_here(folder, adapter=str(tmp_path / "lora"))
    bare = open_here(folder)
    assert len(engine.info.settings["adapter"]) == 64
    assert "adapter" not in bare.info.settings
    assert engine.info.weights_hash == bare.info.weights_hash
    assert distribution(engine) != pytest.approx(distribution(bare), abs=1e-3)
    other = json.loads((tmp_path / "lora" / "adapter_config.json").read_text())
    (tmp_path / "lora" / "adapter_config.json").write_text(json.dumps({**other, "r": 8}))
    with pytest.raises(EngineError, match="does not fit the model"):
        open_here(folder, adapter=str(tmp_path / "lora"))


def test_missing_weights_are_not_made_up(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(EngineError, match=r"judge lacks model.layers.1.mlp.up_proj.weight"):
        open_here(folder)


def test_a_damaged_file_is_named(folder: Path) -> None:
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    with pytest.raises(EngineError, match="judge cannot be loaded"):
        open_here(folder)


def test_an_unknown_architecture_is_named(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "never-heard-of"}))
    with pytest.raises(EngineError, match=r"judge cannot be loaded.*never-heard-of"):
        open_here(folder)


def test_code_of_a_model_is_not_run(folder: Path, tmp_path: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.Own"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(EngineError, match="trust_remote_code=true"):
        open_here(folder)
    assert not (tmp_path / "ran").exists()


def test_pickles_are_not_loaded_beside_a_broken_folder(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({"x": torch.zeros(1)}, folder / "pytorch_model.bin")
    with pytest.raises(EngineError, match="only pickled weights"):
        open_here(folder)


def test_a_folder_without_a_tokenizer(folder: Path) -> None:
    for path in folder.glob("*token*"):
        path.unlink()
    with pytest.raises(EngineError, match="judge holds no tokenizer"):
        open_here(folder)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"dtype": "4bit"}, "dtype=4bit needs a CUDA GPU"),
        ({"device": "cuda:77"}, "device=cuda:77: torch finds . CUDA GPUs"),
    ],
)
def test_what_this_machine_lacks_is_named(folder: Path, options: dict[str, str], says: str) -> None:
    with pytest.raises(EngineError, match=says):
        open_here(folder, **options)


def test_a_gguf_file_without_the_package_that_reads_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "x.gguf").write_bytes(b"GGUF")
    files = find_model(str(folder / "x.gguf"), Source())
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"x.gguf needs the package 'gguf'"):
        loading.load_model(files, None, HfOptions())


def test_a_file_that_only_calls_itself_gguf(folder: Path) -> None:
    pytest.importorskip("gguf", reason="the extra [hf] is not installed: no gguf")
    (folder / "x.gguf").write_bytes(b"GGUF" + b"\0" * 100)
    with pytest.raises(EngineError, match=r"x.gguf cannot be loaded"):
        open_here(folder / "x.gguf")


def test_nothing_is_printed(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    distribution(open_here(folder))
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")


def test_a_moved_folder_is_the_same_judge(folder: Path, tmp_path: Path) -> None:
    before = open_here(folder).info
    shutil.copytree(folder, tmp_path / "elsewhere" / "judge")
    assert open_here(tmp_path / "elsewhere" / "judge").info == before


def test_images_are_refused(folder: Path) -> None:
    from dataclasses import replace

    messages = pair_prompt("q", "a", "b")
    shown = (messages[0], replace(messages[1], images=("a.png",)))
    (completion,) = open_here(folder).complete([Request("a", shown)])
    assert "shows 1 images" in (completion.error or "")


def test_gguf_files_are_loaded_without_a_bar(capsys: pytest.CaptureFixture[str]) -> None:
    reader = importlib.import_module("transformers.modeling_gguf_pytorch_utils")
    bar = reader.tqdm
    with loading.quiet():
        assert list(reader.tqdm([1, 2], desc="Converting")) == [1, 2]
    assert capsys.readouterr().err == ""
    assert reader.tqdm is bar
