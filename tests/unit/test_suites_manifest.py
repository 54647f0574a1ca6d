"""Manifests of data sets: what they say, what is missing, and how mistakes are told."""

from __future__ import annotations

from pathlib import Path

import pytest
from suites_help import manifest, pairs, write

from magistrate.errors import InputError
from magistrate.suites.manifest import PUBLIC, find_manifest, read_manifest_file


def test_a_folder_s_own_manifest_is_used_and_missing_files_are_named(tmp_path: Path) -> None:
    write(tmp_path / "here.jsonl", pairs(["first"]))
    manifest(
        tmp_path,
        {"name": "here", "files": "here.jsonl", "roles": ["benchmark"]},
        {"name": "gone", "files": ["gone.jsonl"], "roles": ["benchmark"], "title": "Gone"},
    )
    found = find_manifest(tmp_path)
    assert [one.entry.name for one in found.of("benchmark")] == ["here"]
    assert found.missing("benchmark") == (f"Gone: no gone.jsonl in {tmp_path}",)
    assert found.missing("aspect") == ()


def test_a_compressed_file_and_a_pattern_are_found(tmp_path: Path) -> None:
    write(tmp_path / "sets" / "b.jsonl", pairs(["first"]))
    write(tmp_path / "sets" / "a.jsonl", pairs(["first"]))
    write(tmp_path / "zipped.jsonl.gz", pairs(["first"]))
    manifest(
        tmp_path,
        {"name": "all", "files": ["sets/*.jsonl"], "roles": ["benchmark"]},
        {"name": "zipped", "files": ["zipped.jsonl"], "roles": ["benchmark"]},
    )
    found = find_manifest(tmp_path / "magistrate.toml")
    assert [path.name for path in found.sets[0].paths] == ["a.jsonl", "b.jsonl"]
    assert [path.name for path in found.sets[1].paths] == ["zipped.jsonl.gz"]


def test_a_folder_without_a_manifest_is_read_by_the_bundled_one(tmp_path: Path) -> None:
    write(tmp_path / "llmbar" / "LLMBar" / "Natural" / "dataset.json", pairs(["first"]))
    found = find_manifest(tmp_path)
    assert found.path == PUBLIC
    assert [one.entry.name for one in found.of("natural")] == ["llmbar-natural"]
    assert len(found.missing("adversarial")) == 4


def test_the_bundled_manifest_names_no_data_and_every_licence() -> None:
    found = read_manifest_file(PUBLIC, Path("nowhere"))
    assert all(one.entry.licence for one in found.sets)
    assert all(one.missing for one in found.sets)
    assert {one.entry.aspect for one in found.sets if one.has("aspect")} == {
        "factuality",
        "safety",
    }


def test_yaml_says_the_same(tmp_path: Path) -> None:
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    write(tmp_path / "here.jsonl", pairs(["first"]))
    text = "set:\n  - name: here\n    files: [here.jsonl]\n    roles: [natural]\n"
    (tmp_path / "magistrate.yaml").write_text(text, "utf-8")
    assert find_manifest(tmp_path).of("natural")[0].entry.name == "here"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[set]]\nname = 'a'\n", "set 'a', files"),
        ("[[set]]\nname = 'a b'\nfiles = ['x']\nroles = ['benchmark']", "set 'a b', name"),
        ("[[set]]\nname = 'a'\nfiles = ['x']\nroles = ['best']", "set 'a', roles"),
        (
            "[[set]]\nname = 'a'\nfiles = ['x']\nroles = ['aspect']\nholds = 'answers'",
            "needs 'good_label'",
        ),
        ("[[set]]\nname = 'a'\nfiles = ['x']\nroles = ['benchmark']\nfile = 'y'", "Extra inputs"),
        (
            "[[set]]\nname = 'a'\nfiles = ['x']\nroles = ['natural']\n" * 2,
            "two sets have the name a",
        ),
        ("set = 3", "set"),
        ("[[set", "not valid TOML"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "magistrate.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError, match=r"magistrate\.toml") as told:
        find_manifest(tmp_path)
    assert said in str(told.value)


def test_no_data_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MAGISTRATE_DATA", raising=False)
    with pytest.raises(InputError, match="--data"):
        find_manifest(None)
    with pytest.raises(InputError, match="has none of the files"):
        find_manifest(tmp_path)
    with pytest.raises(InputError, match="there is no file or folder"):
        find_manifest(tmp_path / "nowhere")
    monkeypatch.setenv("MAGISTRATE_DATA", str(tmp_path))
    write(tmp_path / "a.jsonl", pairs(["first"]))
    manifest(tmp_path, {"name": "a", "files": "a.jsonl", "roles": ["natural"]})
    assert find_manifest(None).base == tmp_path


def test_an_unknown_set_is_told_with_near_names(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", pairs(["first"]))
    manifest(tmp_path, {"name": "pandalm", "files": "a.jsonl", "roles": ["natural"]})
    with pytest.raises(InputError, match="did you mean pandalm"):
        find_manifest(tmp_path).only(["panda-lm"])


def test_sets_that_are_left_out_still_demonstrate_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", pairs(["first"]))
    manifest(
        tmp_path,
        {"name": "one", "files": "a.jsonl", "roles": ["natural"]},
        {"name": "two", "files": "a.jsonl", "roles": ["natural", "demonstrations"]},
        {"name": "three", "files": "a.jsonl", "roles": ["natural"]},
    )
    found = find_manifest(tmp_path).only(["one"])
    assert [one.entry.name for one in found.of("natural")] == ["one"]
    assert [one.entry.name for one in found.of("demonstrations")] == ["two"]
