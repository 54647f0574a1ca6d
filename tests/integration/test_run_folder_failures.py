"""Disks that are full and folders that refuse: a clear error, and nothing that was there harmed."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import magistrate as mg
from magistrate.errors import RunError
from magistrate.records import Answer, Sample
from magistrate.store.repair import repair_run

if sys.platform == "win32":
    pytest.skip("needs POSIX limits and mounts", allow_module_level=True)

JUDGE = "scripted:longer"
COUNT = 120


def pairs() -> list[Sample]:
    return [
        Sample(question=f"q {i}", answers=(Answer(text="x" * i), Answer(text="y" * 40)))
        for i in range(COUNT)
    ]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> mg.Run:
    """The run as it should end."""
    return mg.judge(pairs(), JUDGE, tmp_path_factory.mktemp("whole") / "run")


def contents(run: mg.Run) -> tuple[bytes, list[mg.Judgment], list[mg.Decision]]:
    return (
        run.folder.samples.read_bytes(),
        [one.model_copy(update={"seconds": 0.0}) for one in run.judgments()],
        list(run.decisions()),
    )


def mount(*arguments: str) -> bool:
    done = subprocess.run(["mount", *arguments], capture_output=True, check=False)
    return done.returncode == 0


class SmallDisk:
    """A file system of a given size, in memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        if not mount("-t", "tmpfs", "-o", "size=64k", "tmpfs", str(path)):
            pytest.skip("needs the right to mount a file system")

    def resize(self, pages: int) -> None:
        assert mount("-o", f"remount,size={pages * 4}k", str(self.path))

    def allow_writing(self, *, allowed: bool) -> None:
        assert mount("-o", f"remount,{'rw' if allowed else 'ro'}", str(self.path))

    def unmount(self) -> None:
        subprocess.run(["umount", str(self.path)], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    disk = SmallDisk(tmp_path / "disk")
    yield disk
    disk.unmount()


def test_a_disk_that_fills_up_anywhere_stops_the_run_and_harms_nothing(
    disk: SmallDisk, whole: mg.Run
) -> None:
    """The disk is given room page by page, so it runs full at every file that a run writes."""
    out = disk.path / "run"
    judged = [0]
    needed = sum(file.stat().st_size for file in whole.path.iterdir()) // 4096
    messages = set()
    for pages in range(3, 2 * needed + 30, 2):
        disk.resize(pages)
        try:
            run = mg.judge(pairs(), JUDGE, out)
        except RunError as error:
            messages.add(str(error))
        else:
            break
        if (out / "run.json").exists():
            assert mg.verify_run(out).findings == ()
            judged.append(len(list(mg.open_run(out).judgments())))
    else:
        pytest.fail("the run never ended, though there is room for it")
    assert contents(run) == contents(whole)
    assert mg.verify_run(out).ok
    assert judged == sorted(judged), "judgments were lost"
    assert len(set(judged)) > 5, "the disk never ran full while judging"
    for message in messages:
        assert "No space left on device" in message
        assert "run the same command again" in message
    for name in ("samples.jsonl", "judgments.jsonl"):
        assert any(name in message for message in messages)
    assert not [entry.name for entry in out.iterdir() if entry.name.endswith(".new")]


def test_a_disk_full_at_the_start_leaves_no_half_made_run(disk: SmallDisk) -> None:
    disk.resize(4)
    with pytest.raises(RunError, match=r"samples\.jsonl cannot be written: No space left"):
        mg.judge(pairs(), JUDGE, disk.path / "run")
    assert list(disk.path.iterdir()) == []


def test_repair_on_a_full_disk_changes_nothing(disk: SmallDisk) -> None:
    disk.resize(400)
    out = mg.judge(pairs(), JUDGE, disk.path / "run").path
    journal = out / "judgments.jsonl"
    journal.write_bytes(b"damage\n" + journal.read_bytes())
    before = journal.read_bytes()
    used = os.statvfs(disk.path)
    disk.resize(used.f_blocks - used.f_bfree + 2)
    with pytest.raises(RunError, match="No space left"):
        repair_run(out)
    assert journal.read_bytes() == before
    disk.resize(400)
    assert repair_run(out) == 1
    assert mg.verify_run(out).ok


def test_a_folder_that_became_read_only_can_be_read_but_not_resumed(
    disk: SmallDisk, whole: mg.Run
) -> None:
    disk.resize(400)
    out = mg.judge(pairs(), JUDGE, disk.path / "run").path
    disk.allow_writing(allowed=False)
    with pytest.raises(RunError, match=r"cannot be written: Read-only file system.*--out"):
        mg.judge(pairs(), JUDGE, out)
    with pytest.raises(RunError, match=r"cannot be written: Read-only file system"):
        mg.judge(pairs(), JUDGE, disk.path / "other")
    assert mg.verify_run(out).ok
    assert contents(mg.open_run(out)) == contents(whole)
    disk.allow_writing(allowed=True)
    assert mg.judge(pairs(), JUDGE, out).manifest.lines == 2 * COUNT


@pytest.fixture
def unwritable(tmp_path: Path) -> Iterator[Path]:
    """A folder that refuses new files even to the superuser, where that can be had."""
    path = tmp_path / "unwritable"
    path.mkdir()
    path.chmod(0o555)
    immutable = False
    if os.access(path, os.W_OK):
        done = subprocess.run(["chattr", "+i", str(path)], capture_output=True, check=False)
        immutable = done.returncode == 0
        if not immutable:
            pytest.skip("this user may write everywhere, and chattr does not work here")
    yield path
    if immutable:
        subprocess.run(["chattr", "-i", str(path)], check=True)
    path.chmod(0o755)


def test_an_unwritable_folder_is_named(unwritable: Path) -> None:
    for out in (unwritable, unwritable / "run"):
        with pytest.raises(RunError, match=r"unwritable.* cannot be written: .*write access"):
            mg.judge(pairs(), JUDGE, out)
    assert list(unwritable.iterdir()) == []


LIMITED = """
import resource, sys, magistrate as mg
sys.path.insert(0, sys.argv[3])
from test_run_folder_failures import JUDGE, pairs
samples = pairs()
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    mg.judge(samples, JUDGE, sys.argv[1])
except mg.MagistrateError as error:
    print(error)
    sys.exit(error.exit_code)
"""


def test_a_file_size_limit_stops_the_run_and_a_later_call_finishes_it(
    tmp_path: Path, whole: mg.Run
) -> None:
    """As on a full disk, for machines where nothing can be mounted."""
    out = tmp_path / "run"
    room = whole.folder.samples.stat().st_size + 10
    assert room < whole.folder.judgments.stat().st_size
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(out), str(room), str(Path(__file__).parent)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (4, "")
    assert "judgments.jsonl cannot be written: File too large" in done.stdout
    stopped = mg.open_run(out)
    assert stopped.manifest.state == "stopped"
    assert stopped.manifest.judged == len(list(stopped.judgments())) > 0
    assert f"the {stopped.manifest.judged} judgments before are safe" in done.stdout
    assert stopped.folder.judgments.read_bytes().endswith(b"\n")
    assert mg.verify_run(out).ok
    assert contents(mg.judge(pairs(), JUDGE, out)) == contents(whole)
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
