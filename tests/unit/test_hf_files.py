"""Where a model's files are looked for, what is refused, and how weights are hashed."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub import errors

from magistrate.engines.hf import hashing
from magistrate.engines.hf.files import Source, find_adapter, find_model
from magistrate.engines.hf.hashing import hash_weights
from magistrate.errors import EngineError


def folder_of(tmp_path: Path, *names: str, name: str = "judge") -> Path:
    folder = tmp_path / name
    folder.mkdir()
    for file in names:
        (folder / file).write_bytes(f"content of {file}".encode())
    return folder


def test_a_folder_of_safetensors(tmp_path: Path) -> None:
    folder = folder_of(
        tmp_path, "config.json", "model.safetensors", "pytorch_model.bin", "tokenizer.json"
    )
    found = find_model(str(folder), Source())
    assert (found.name, found.folder, found.gguf) == ("judge", folder, None)
    assert found.weights == (folder / "model.safetensors",)


def test_a_folder_of_many_files(tmp_path: Path) -> None:
    shards = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    folder = folder_of(tmp_path, "config.json", "tokenizer.model", *shards)
    index = {"weight_map": {"a": shards[1], "b": shards[0], "c": shards[1]}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert find_model(str(folder), Source()).weights == tuple(folder / name for name in shards)
    (folder / shards[1]).unlink()
    with pytest.raises(EngineError, match="lacks model-00002-of-00002"):
        find_model(str(folder), Source())
    (folder / "model.safetensors.index.json").write_text("{")
    with pytest.raises(EngineError, match="not an index of weights"):
        find_model(str(folder), Source())


def test_a_gguf_file_or_a_folder_with_one(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "a.Q4.gguf")
    for name in (folder / "a.Q4.gguf", folder):
        found = find_model(str(name), Source())
        assert (found.gguf, found.weights) == ("a.Q4.gguf", (folder / "a.Q4.gguf",))
    (folder / "b.gguf").touch()
    with pytest.raises(EngineError, match=r"several GGUF files \(a.Q4.gguf, b.gguf\).*gguf_file="):
        find_model(str(folder), Source())
    assert find_model(str(folder), Source(gguf_file="b.gguf")).gguf == "b.gguf"
    with pytest.raises(EngineError, match=r"no file c.gguf \(a.Q4.gguf, b.gguf\)"):
        find_model(str(folder), Source(gguf_file="c.gguf"))


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["config.json", "pytorch_model.bin"], "only pickled weights .pytorch_model.bin.*convert"),
        (["model.pt"], "pickled weights"),
        (["adapter_config.json", "adapter_model.safetensors"], "is a LoRA adapter.*adapter="),
        (["config.json"], "holds no weights; needed: model.safetensors"),
        (["model.safetensors"], "no config.json"),
        (["model.safetensors", "config.json"], "no tokenizer"),
    ],
)
def test_folders_that_cannot_be_loaded(tmp_path: Path, names: list[str], says: str) -> None:
    with pytest.raises(EngineError, match=says):
        find_model(str(folder_of(tmp_path, *names)), Source())


def test_a_file_that_is_not_gguf(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "model.safetensors")
    with pytest.raises(EngineError, match="is a file, but not GGUF"):
        find_model(str(folder / "model.safetensors"), Source())


@pytest.mark.parametrize("name", ["/nowhere/model", "./model", "a/b/c", "model folder", "~/x"])
def test_a_path_that_is_not_there_never_asks_the_hub(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: pytest.fail("asked"))
    with pytest.raises(EngineError, match="there is no file or folder"):
        find_model(name, Source())


def hub_error(kind: str) -> Exception:
    """Make an error without the response that its constructor asks for."""
    found = getattr(errors, kind)
    error: Exception = found.__new__(found)
    error.args = (kind,)
    return error


@pytest.mark.parametrize(
    ("kind", "source", "says"),
    [
        ("GatedRepoError", Source(), "hf auth login"),
        ("RevisionNotFoundError", Source(revision="v9"), "no revision v9"),
        ("RepositoryNotFoundError", Source(), "no folder some/model here, and no model"),
        ("LocalEntryNotFoundError", Source(), "the hub cannot be reached.*give the path"),
        ("LocalEntryNotFoundError", Source(offline=True), "offline=true was given"),
        ("HFValidationError", Source(), "no model of that name"),
    ],
)
def test_what_the_hub_says_is_explained(
    monkeypatch: pytest.MonkeyPatch, kind: str, source: Source, says: str
) -> None:
    def refuse(*_: Any, **__: Any) -> str:
        raise hub_error(kind)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    with pytest.raises(EngineError, match=says):
        find_model("some/model", source)


def test_pickles_and_code_are_never_fetched(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = folder_of(tmp_path, "config.json", "model.safetensors", "tokenizer.json", "x.gguf")
    asked: dict[str, Any] = {}

    def fetch(name: str, **given: Any) -> str:
        asked.update(given, name=name)
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fetch)
    found = find_model("some/model", Source(revision="v1"))
    assert found.name == "some/model"
    assert (asked["revision"], asked["local_files_only"]) == ("v1", False)
    assert "*.safetensors" in asked["allow_patterns"]
    assert not {"*.bin", "*.pt", "*.py", "*"} & set(asked["allow_patterns"])
    find_model("some/model", Source(remote_code=True, offline=True))
    assert "*.py" in asked["allow_patterns"]
    assert asked["local_files_only"] is True
    find_model("some/model", Source(gguf_file="x.gguf"))
    assert "x.gguf" in asked["allow_patterns"]
    assert "*.safetensors" not in asked["allow_patterns"]


def test_adapters(tmp_path: Path) -> None:
    names = ("adapter_config.json", "adapter_model.safetensors")
    folder = folder_of(tmp_path, *names)
    assert {path.name for path in find_adapter(str(folder), Source()).weights} == set(names)
    (folder / names[1]).rename(folder / "adapter_model.bin")
    with pytest.raises(EngineError, match=r"adapter_model.safetensors missing.*pickled"):
        find_adapter(str(folder), Source())


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MAGISTRATE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_a_hash_is_that_of_the_file(tmp_path: Path, home: Path) -> None:
    folder = folder_of(tmp_path, "a", "b")
    expected = hashlib.sha256(b"content of a").hexdigest()
    assert hash_weights([folder / "a"]) == expected
    both = hash_weights([folder / "a", folder / "b"])
    assert both == hash_weights([folder / "b", folder / "a"])
    assert both != expected
    (folder / "b").rename(folder / "c")
    assert hash_weights([folder / "a", folder / "c"]) != both


def test_a_file_is_read_once_and_again_when_it_changes(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[str] = []
    real = hashing._hash_file
    monkeypatch.setattr(hashing, "_hash_file", lambda path: reads.append(path.name) or real(path))
    file = folder_of(tmp_path, "a") / "a"
    first = hash_weights([file])
    assert hash_weights([file]) == first
    assert reads == ["a"]
    file.write_bytes(b"CONTENT of a")
    os.utime(file, ns=(1, file.stat().st_mtime_ns + 1))
    assert hash_weights([file]) != first
    assert reads == ["a", "a"]


@pytest.mark.parametrize("damage", ["{", "[]", '{"x": 1}', "\xff"])
def test_a_damaged_list_of_hashes_is_made_anew(tmp_path: Path, home: Path, damage: str) -> None:
    home.mkdir()
    (home / "weights.json").write_text(damage, "latin-1")
    file = folder_of(tmp_path, "a") / "a"
    hash_weights([file])
    assert list(json.loads((home / "weights.json").read_text())) == [str(file.resolve())]


def test_a_home_that_cannot_be_written_costs_time_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("MAGISTRATE_HOME", str(tmp_path / "file" / "home"))
    file = folder_of(tmp_path, "a") / "a"
    assert hash_weights([file]) == hashlib.sha256(b"content of a").hexdigest()


def test_a_file_that_is_gone_is_named(tmp_path: Path, home: Path) -> None:
    with pytest.raises(EngineError, match=r"gone: cannot be read"):
        hash_weights([tmp_path / "gone"])
