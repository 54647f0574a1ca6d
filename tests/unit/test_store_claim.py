"""A run folder becomes one process's own: made, locked, and removed again if no run began."""

from __future__ import annotations

from errno import ENOSPC
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

import magistrate as mg
from magistrate.errors import InputError, RunError, RunLockedError
from magistrate.records import Answer, Sample
from magistrate.store.claim import claimed_folder
from magistrate.store.folder import RunFolder
from magistrate.store.lock import HOLDER_FILE, LOCK_FILE, RunLock

SAMPLES = [Sample(question="q", answers=(Answer(text="a"), Answer(text="bb")))]
JUDGE = "scripted:longer"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "new"


def make_then(monkeypatch: pytest.MonkeyPatch, *acts: object) -> None:
    """After each making of a folder, let another process do something before it is locked."""
    make, waiting = RunFolder.make, list(acts)

    def made(self: RunFolder) -> bool:
        is_new = make(self)
        if waiting:
            waiting.pop(0)(self.path)  # type: ignore[operator]
        return is_new

    monkeypatch.setattr(RunFolder, "make", made)


def test_a_new_folder_that_another_process_locked_first_is_left_to_it(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loser made the folder, and the winner has its first files there, but no run.json yet."""
    begun = {"samples.jsonl": b"{}", ".samples.jsonl.new": b"{", "judgments.jsonl": b""}
    winner: list[RunLock] = []

    def win(path: Path) -> None:
        winner.append(RunLock(path).__enter__())
        for name, content in begun.items():
            (path / name).write_bytes(content)

    make_then(monkeypatch, win)
    with pytest.raises(RunLockedError):
        mg.judge(SAMPLES, JUDGE, out)
    assert {name: (out / name).read_bytes() for name in begun} == begun
    assert (out / LOCK_FILE).exists()
    assert (out / HOLDER_FILE).exists()
    with pytest.raises(RunLockedError), RunLock(out):
        pytest.fail("the winner lost its lock")
    winner[0].__exit__(None, None, None)


def test_a_folder_that_vanished_before_it_was_locked_is_made_again(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    acquire, refusals = FileLock.acquire, [FileNotFoundError(2, "no folder")] * 2

    def vanish_then_acquire(self: FileLock, **arguments: Any) -> object:
        if refusals:
            Path(self.lock_file).parent.rmdir()
            raise refusals.pop()
        return acquire(self, **arguments)

    monkeypatch.setattr(FileLock, "acquire", vanish_then_acquire)
    assert mg.judge(SAMPLES, JUDGE, out).manifest.state == "complete"
    assert not refusals


def test_a_folder_that_cannot_be_locked_does_not_stay(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: FileLock, **arguments: Any) -> None:
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr(FileLock, "acquire", fail)
    with pytest.raises(RunError, match="No space left on device"):
        mg.judge(SAMPLES, JUDGE, out)
    assert not out.exists()


def test_traces_are_removed_while_the_lock_is_held(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove = RunFolder.remove_traces
    held: list[bool] = []

    def look_and_remove(self: RunFolder) -> None:
        with pytest.raises(RunLockedError), RunLock(self.path):
            pass
        held.append(True)
        remove(self)

    monkeypatch.setattr(RunFolder, "remove_traces", look_and_remove)
    with pytest.raises(InputError):
        mg.judge([], JUDGE, out)
    assert held == [True]
    assert not out.exists()


def test_removing_traces_leaves_what_others_put_there(out: Path) -> None:
    with claimed_folder(out, JUDGE) as folder:
        (out / "mine.txt").write_text("mine")
        (out / "deep").mkdir()
        folder.samples.write_text("half")
    assert {entry.name for entry in out.iterdir()} == {"mine.txt", "deep"}


def test_only_one_of_several_is_told_that_it_made_the_folder(out: Path) -> None:
    assert [RunFolder(out).make() for _ in range(3)] == [True, False, False]


def test_an_empty_folder_of_the_user_stays_when_no_run_began_in_it(out: Path) -> None:
    out.mkdir(parents=True)
    with pytest.raises(InputError):
        mg.judge([], JUDGE, out)
    assert out.is_dir()


def test_a_default_name_that_another_process_took_meanwhile_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = iter([Path("runs/taken"), Path("runs/free")])
    Path("runs/taken").mkdir(parents=True)
    monkeypatch.setattr("magistrate.store.claim.default_folder", lambda name: next(names))
    assert mg.judge(SAMPLES, JUDGE).path == Path("runs/free")
