"""The response cache on disk: exact, bounded, shared, and never the end of a run."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
from pathlib import Path

import pytest

import magistrate as mg
from magistrate.errors import RunError
from magistrate.formats.base import Notice
from magistrate.messages import Completion, TokenLogprob
from magistrate.records import Answer, Sample, Usage
from magistrate.store.cache import SqliteCache
from magistrate.store.cache_file import cache_file, cache_state, clear_cache
from magistrate.store.completion_json import from_json, to_json

FULL = Completion(
    key="",
    text="8 5\nBecause \ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
    finish_reason="length",
    logprobs=(TokenLogprob("8", -0.25, (("8", -0.25), ("9", -1.5))),),
    choices=(-1.0, -2.5),
    usage=Usage(prompt_tokens=7, completion_tokens=2, requests=1),
    truncated={"answer_1": 3},
    meta={"samples": ["8 5", "7 5"]},
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "responses.sqlite"


def test_a_completion_comes_back_as_it_was(path: Path) -> None:
    assert from_json(to_json(FULL)) == FULL
    scored = Completion(key="", score=0.0)
    assert from_json(to_json(scored)) == scored
    with SqliteCache(path) as cache:
        cache.keep([("a", FULL), ("b", scored)])
    with SqliteCache(path) as cache:
        assert cache.find(["b", "none", "a"]) == {"a": FULL, "b": scored}


def test_what_json_cannot_hold_is_not_kept_and_harms_nothing(path: Path) -> None:
    with SqliteCache(path) as cache:
        cache.keep([("a", Completion(key="", meta={"odd": object()})), ("b", FULL)])
        assert set(cache.find(["a", "b"])) == {"b"}


def test_more_keys_than_a_query_takes_are_found(path: Path) -> None:
    with SqliteCache(path) as cache:
        cache.keep((str(i), Completion(key="", text=str(i))) for i in range(1300))
        found = cache.find([str(i) for i in range(1300)])
    assert {key: kept.text for key, kept in found.items()} == {str(i): str(i) for i in range(1300)}


def test_it_is_bounded_and_what_was_not_used_goes_first(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_000_000.0
    monkeypatch.setattr("magistrate.store.cache.time.time", lambda: now)
    limit = 300_000
    with SqliteCache(path, limit=limit) as cache:
        for i in range(400):
            now += 10_000
            cache.keep([(f"{i:04}", Completion(key="", text=os.urandom(1000).hex()))])
            cache.find(["0000"])  # used all the time
        assert cache.find(["0000", "0399"]).keys() == {"0000", "0399"}
        assert not cache.find(["0001", "0050"])
    assert 0 < path.stat().st_size <= limit * 1.2


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"this is no database at all" * 100,
        lambda data: data[:5000] + b"\xff" * 3000 + data[8000:],
        lambda data: data[:4096],
        lambda data: b"\0" * len(data),
    ],
    ids=["text", "overwritten", "cut off", "zeros"],
)
def test_a_damaged_file_is_moved_aside_and_told(path: Path, damage: object) -> None:
    with SqliteCache(path) as cache:
        cache.keep((str(i), FULL) for i in range(200))
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    told: list[Notice] = []
    with SqliteCache(path, on_notice=told.append) as cache:
        cache.find([str(i) for i in range(200)])
        cache.keep([("new", FULL)])
        assert cache.find(["new"]) == {"new": FULL}
    assert [notice.kind for notice in told] == ["cache"]
    assert "was damaged" in told[0].message
    assert len(list(path.parent.glob("responses.damaged-*.sqlite"))) == 1


def test_a_cache_that_cannot_be_used_is_told_once_and_left_out(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file in the way")
    told: list[Notice] = []
    with SqliteCache(tmp_path / "cache" / "responses.sqlite", on_notice=told.append) as cache:
        cache.keep([("a", FULL)])
        assert cache.find(["a"]) == {}
    assert ["going on without it" in notice.message for notice in told] == [True]


def test_a_file_of_another_version_is_begun_anew(path: Path) -> None:
    with SqliteCache(path) as cache:
        cache.keep([("a", FULL)])
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with SqliteCache(path) as cache:
        assert cache.find(["a"]) == {}
        cache.keep([("a", FULL)])
        assert cache.find(["a"]) == {"a": FULL}


def test_another_process_that_writes_costs_an_answer_and_no_run(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("magistrate.store.cache_file._PATIENCE_SECONDS", 0.05)
    told: list[Notice] = []
    with SqliteCache(path, on_notice=told.append) as cache:
        other = sqlite3.connect(path)
        other.execute("BEGIN EXCLUSIVE")
        cache.keep([("a", FULL)])
        assert cache.find(["a"]) == {}
        other.rollback()
        other.close()
        cache.keep([("b", FULL)])
        assert cache.find(["a", "b"]) == {"b": FULL}
    assert told == []


def _fill(path: Path, number: int) -> None:
    with SqliteCache(path) as cache:
        for i in range(100):
            cache.keep([(f"{number}-{i}", Completion(key="", text=f"{number}-{i}"))])
            cache.find([f"{number}-{i}"])


def test_several_processes_at_once_lose_nothing(path: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    processes = [context.Process(target=_fill, args=(path, n)) for n in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert cache_state(path).responses == 400


def test_it_can_be_looked_at_and_cleared(path: Path) -> None:
    assert (cache_state(path).responses, clear_cache(path)) == (0, 0)
    with SqliteCache(path) as cache:
        cache.keep((str(i), FULL) for i in range(500))
    state = cache_state(path)
    assert (state.responses, state.path) == (500, path)
    assert 0 < clear_cache(path) <= state.bytes
    assert cache_state(path).responses == 0


def test_a_damaged_file_can_be_cleared(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"no database" * 100)
    with pytest.raises(RunError, match="'magistrate cache clear' removes it"):
        cache_state(path)
    assert clear_cache(path) == 1100
    assert not path.exists()


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_it_is_for_its_owner_alone(path: Path) -> None:
    SqliteCache(path).close()
    assert path.stat().st_mode & 0o077 == 0


# In runs.


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MAGISTRATE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def pairs(count: int) -> list[Sample]:
    return [
        Sample(question=f"q{i}", answers=(Answer(text="a"), Answer(text="bb")))
        for i in range(count)
    ]


def test_runs_share_it_when_asked_to(home: Path, tmp_path: Path) -> None:
    first = mg.judge(pairs(5), "scripted:random", tmp_path / "one", cache=True)
    seen: list[mg.Progress] = []
    second = mg.judge(
        pairs(6), "scripted:random", tmp_path / "two", cache=True, on_progress=seen.append
    )
    assert seen[-1].from_cache == 10
    assert second.manifest.usage.requests == 2
    same = {"usage": Usage(), "seconds": 0.0}
    assert [j.model_copy(update=same) for j in first.judgments()] == [
        j.model_copy(update=same) for j in second.judgments()
    ][:10]
    assert mg.verify_run(second.path).ok


@pytest.mark.parametrize("cache", [None, False])
def test_cheap_engines_do_without_it(home: Path, tmp_path: Path, cache: bool | None) -> None:
    mg.judge(pairs(2), "scripted:longer", tmp_path / "run", cache=cache)
    assert not cache_file().exists()


def test_a_damaged_cache_does_not_end_a_run(home: Path, tmp_path: Path) -> None:
    cache_file().parent.mkdir(parents=True)
    cache_file().write_bytes(b"damage" * 1000)
    run = mg.judge(pairs(3), "scripted:longer", tmp_path / "run", cache=True)
    assert run.manifest.state == "complete"
    assert [notice.kind for notice in run.notices()] == ["cache"]
