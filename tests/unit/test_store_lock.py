"""One writer per run folder."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from magistrate.errors import RunError, RunLockedError
from magistrate.store.lock import HOLDER_FILE, RunLock


def test_a_second_writer_is_told_who_holds_the_folder_and_what_to_do(tmp_path: Path) -> None:
    with RunLock(tmp_path):
        with pytest.raises(RunLockedError) as caught, RunLock(tmp_path):
            pytest.fail("two writers")
        message = str(caught.value)
    assert str(tmp_path) in message
    assert f"process {os.getpid()} on " in message
    assert " since 20" in message
    assert "--out" in message


def test_a_failed_attempt_does_not_harm_the_holder(tmp_path: Path) -> None:
    with RunLock(tmp_path):
        for _ in range(2):
            with pytest.raises(RunLockedError, match=f"process {os.getpid()}"), RunLock(tmp_path):
                pytest.fail("two writers")


def test_the_lock_is_free_after_use_and_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), RunLock(tmp_path):
        1 / 0  # noqa: B018
    with RunLock(tmp_path):
        pass
    assert not (tmp_path / HOLDER_FILE).exists()


def test_what_a_killed_holder_left_does_not_lock(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    (tmp_path / HOLDER_FILE).write_text(json.dumps({"pid": 1, "host": "h", "since": "then"}))
    with RunLock(tmp_path):
        assert json.loads((tmp_path / HOLDER_FILE).read_text())["pid"] == os.getpid()


@pytest.mark.parametrize("content", ["", "{", "[]", "{}"])
def test_an_unreadable_holder_is_another_process(tmp_path: Path, content: str) -> None:
    with RunLock(tmp_path):
        (tmp_path / HOLDER_FILE).write_text(content)
        with pytest.raises(RunLockedError, match="another process"), RunLock(tmp_path):
            pytest.fail("two writers")


def test_a_folder_that_is_gone_is_a_run_error(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")
    path.chmod(stat.S_IRUSR)
    with pytest.raises(RunError, match="cannot be written"), RunLock(path):
        pytest.fail("locked a file")
