"""The append-only file of judgments and its index."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from magistrate.errors import RunDamagedError, RunError
from magistrate.ids import content_id
from magistrate.records import Judgment, Status, Usage
from magistrate.store.index import last_judgments, read_index
from magistrate.store.journal import Journal
from magistrate.store.lines import to_line


def judgment(number: int, status: Status = "ok", **more: Any) -> Judgment:
    key = content_id(["key", number])
    return Judgment(
        key=key, sample_id=content_id(number), judge="j", order=(0, 1), status=status, **more
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "judgments.jsonl"


def write(path: Path, *judgments: Judgment) -> None:
    with Journal(path) as journal:
        journal.append(judgments)


def test_what_is_appended_is_read_back_in_sequence(path: Path) -> None:
    first = [judgment(1, raw="one\ntwo\u2028three"), judgment(2, raw="lone \ud800 surrogate")]
    write(path, *first)
    write(path, judgment(3))
    assert list(last_judgments(path, read_index(path))) == [*first, judgment(3)]


def test_only_ok_judgments_count_as_done(path: Path) -> None:
    statuses: list[Status] = ["ok", "unparsed", "refused", "truncated", "error"]
    batch = [judgment(number, status) for number, status in enumerate(statuses)]
    write(path, *batch)
    with Journal(path) as journal:
        assert [one.key in journal for one in batch] == [True, False, False, False, False]
        assert journal.settled == 1
        assert judgment(9).key not in journal
    with Journal(path, retry=("error",)) as journal:
        assert [one.key in journal for one in batch] == [True, True, True, True, False]


def test_the_last_line_of_a_key_wins(path: Path) -> None:
    write(path, judgment(1, "error"), judgment(2), judgment(1, "ok"), judgment(3, "refused"))
    index = read_index(path)
    assert index.counts() == {"ok": 2, "unparsed": 0, "refused": 1, "truncated": 0, "error": 0}
    assert (len(index), index.lines) == (3, 4)
    kept = [(one.key, one.status) for one in last_judgments(path, index)]
    assert kept == [
        (judgment(2).key, "ok"),
        (judgment(1).key, "ok"),
        (judgment(3).key, "refused"),
    ]


def test_sums_count_every_line_because_each_was_paid_for(path: Path) -> None:
    usage = Usage(prompt_tokens=10, completion_tokens=3, requests=1)
    write(path, judgment(1, "error", usage=usage, cost=0.5))
    with Journal(path) as journal:
        journal.append([judgment(1, "ok", usage=usage, cost=0.25)])
        live = journal.index.totals
    stored = read_index(path).totals
    assert live == stored
    assert stored.as_usage() == usage + usage
    assert stored.cost == 0.75


TAILS: dict[str, Callable[[bytes], bytes]] = {
    "half a line": lambda line: line[: len(line) // 2],
    "a whole line without its newline": lambda line: line[:-1],
    "one byte": lambda line: line[:1],
    "zeros after a power loss": lambda line: bytes(4096),
    "half a line, then zeros": lambda line: line[:20] + bytes(100),
    "zeros, then the end of a line": lambda line: bytes(100) + line[-20:],
    "two lines with zeros": lambda line: bytes(9) + b"\n" + bytes(9) + b"\n",
    "half a character": lambda line: '{"raw":"é'.encode()[:-1],
}


@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS)
def test_a_torn_tail_is_cut_with_a_notice_and_nothing_else_is_lost(
    path: Path, tail: Callable[[bytes], bytes]
) -> None:
    write(path, judgment(1), judgment(2))
    whole = path.read_bytes()
    path.write_bytes(whole + tail(to_line(judgment(3))))
    assert len(list(last_judgments(path, read_index(path)))) == 2  # reading changes nothing
    assert path.stat().st_size > len(whole)
    with Journal(path) as journal:
        assert [notice.kind for notice in journal.notices] == ["half-written-line"]
        assert str(path) in journal.notices[0].message
        assert judgment(3).key not in journal
        journal.append([judgment(3)])
    assert path.read_bytes() == whole + to_line(judgment(3))


def test_a_sound_file_gives_no_notice(path: Path) -> None:
    write(path, judgment(1))
    with Journal(path) as journal:
        assert journal.notices == ()


BAD_LINES = {
    "half a line": to_line(judgment(7))[:30] + b"\n",
    "not an object": b"[1, 2]\n",
    "no key": b'{"status":"ok"}\n',
    "a key of another kind": b'{"key":"abc","status":"ok"}\n',
    "a key that is not hex": b'{"key":"zzzzzzzzzzzzzzzzzzzzzzzz","status":"ok"}\n',
    "an unknown status": to_line(judgment(7)).replace(b'"ok"', b'"fine"'),
    "zeros": bytes(50) + b"\n",
    "an empty line": b"\n",
}


@pytest.mark.parametrize("bad", BAD_LINES.values(), ids=BAD_LINES)
def test_damage_before_the_end_is_an_error_that_names_line_and_way_out(
    path: Path, bad: bytes
) -> None:
    content = to_line(judgment(1)) + bad + to_line(judgment(2))
    path.write_bytes(content)
    with pytest.raises(RunDamagedError, match=r"line 2: .*--repair"):
        Journal(path)
    assert path.read_bytes() == content


def test_a_last_line_that_ends_but_is_no_judgment_is_damage_too(path: Path) -> None:
    path.write_bytes(to_line(judgment(1)) + b"{}\n")
    with pytest.raises(RunDamagedError, match="line 2"):
        Journal(path)


class FullDisk:
    """Stands in for :func:`os.write`: takes so many bytes, then says that the disk is full."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.write = os.write

    def __call__(self, descriptor: int, data: bytes) -> int:
        if self.room <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = self.write(descriptor, bytes(data[: self.room]))
        self.room -= written
        return written


@pytest.mark.parametrize("lines_that_fit", [0, 1, 2])
def test_a_full_disk_leaves_whole_lines_and_an_index_that_agrees(
    path: Path, monkeypatch: pytest.MonkeyPatch, lines_that_fit: int
) -> None:
    batch = [judgment(2), judgment(3), judgment(4)]
    room = sum(len(to_line(one)) for one in batch[:lines_that_fit]) + 25
    write(path, judgment(1))
    with Journal(path) as journal:
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", FullDisk(room))
            with pytest.raises(RunError, match=r"No space left.*are safe.*same command again"):
                journal.append(batch)
        expected = b"".join(map(to_line, [judgment(1), *batch[:lines_that_fit]]))
        assert path.read_bytes() == expected
        assert journal.index == read_index(path)
        journal.append(batch[lines_that_fit:])  # room again
    assert path.read_bytes() == expected + b"".join(map(to_line, batch[lines_that_fit:]))


def test_a_failed_flush_is_a_run_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    journal = Journal(path)
    journal.append([judgment(1)])
    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(RunError, match="Input/output error"):
        journal.close()
    journal.close()


def test_every_batch_has_left_the_process_when_append_returns(path: Path) -> None:
    with Journal(path) as journal:
        journal.append([judgment(1)])
        assert path.read_bytes() == to_line(judgment(1))


def test_a_missing_file_is_an_empty_journal(path: Path) -> None:
    assert len(read_index(path)) == 0
    assert list(last_judgments(path, read_index(path))) == []
    write(path)
    assert path.read_bytes() == b""
