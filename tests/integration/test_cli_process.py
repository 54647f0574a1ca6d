"""The command as a process: what it writes where, how it ends, Ctrl-C and resuming."""

from __future__ import annotations

import json
import os
import pty
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("magistrate")
JUDGE = ("judge", "examples/pairs.jsonl", "--judge", "scripted:longer", "--out", "runs/a")
SLOW = ("judge", "examples/pairs.jsonl", "--judge", "scripted:longer,delay=0.05", "--out", "runs/s")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and terminals of POSIX")


@pytest.fixture
def folder(tmp_path: Path, repo: Path) -> Path:
    shutil.copytree(repo / "examples", tmp_path / "examples")
    return tmp_path


def environment(**changes: str) -> dict[str, str]:
    unset = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TTY_COMPATIBLE", "CI")
    kept = {key: value for key, value in os.environ.items() if key not in unset}
    return {**kept, "TERM": "xterm-256color", **changes}


def run(folder: Path, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(COMMAND), *arguments],
        cwd=folder,
        env=environment(**changes),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def in_terminal(folder: Path, columns: int, *arguments: str, **changes: str) -> tuple[int, str]:
    """Run with a terminal for all three streams; return the exit code and all that was drawn."""
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [str(COMMAND), *arguments],
        cwd=folder,
        env=environment(COLUMNS=str(columns), **changes),
        stdin=child,
        stdout=child,
        stderr=child,
        close_fds=True,
    )
    os.close(child)
    drawn = b""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if not select.select([parent], [], [], 0.1)[0]:
            continue
        try:
            block = os.read(parent, 65536)
        except OSError:  # Linux says so when the other side is closed
            break
        if not block:
            break
        drawn += block
    code = process.wait(timeout=30)
    os.close(parent)
    return code, drawn.decode()


def test_module_and_command_are_the_same(folder: Path) -> None:
    by_module = subprocess.run(
        [sys.executable, "-m", "magistrate", "inspect", "examples/pairs.csv"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        env=environment(),
    )
    assert by_module.stdout == run(folder, "inspect", "examples/pairs.csv").stdout


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_the_command_starts_fast(folder: Path, option: str) -> None:
    """Best of five, in processor time: a busy machine says nothing about the program."""
    times = []
    for _ in range(5):
        start = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert run(folder, option).returncode == 0
        end = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime)
    assert min(times) < 0.5


def test_help_imports_nothing_heavy(folder: Path) -> None:
    code = (
        "import sys; from magistrate.cli.main import main; main(['judge', '--help']);"
        "heavy = {'numpy', 'polars', 'onnxruntime', 'tokenizers', 'jinja2', 'rich'};"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == "[]"


def test_without_a_terminal_there_is_no_bar_and_no_colour(folder: Path) -> None:
    done = run(folder, *JUDGE)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout + done.stderr
    assert "\r" not in done.stderr
    assert done.stderr.splitlines() == [
        "",
        "Run folder: runs/a",
        "Look again: magistrate runs show runs/a",
    ]


def test_json_leaves_standard_output_to_one_object(folder: Path) -> None:
    done = run(folder, "judge", "examples/broken.jsonl", *JUDGE[2:], "--json")
    assert json.loads(done.stdout)["samples"] == 8
    assert "bad rows" in done.stderr
    failed = run(folder, "judge", "nope.jsonl", "--json")
    assert json.loads(failed.stdout)["error"]["exit_code"] == failed.returncode == 2


def test_on_a_terminal_there_is_a_bar_and_the_table_fits(folder: Path) -> None:
    code, drawn = in_terminal(folder, 60, *JUDGE)
    assert code == 0
    assert "52/52" in drawn
    assert "\x1b[" in drawn
    assert drawn.count("\x1b[?25l") == drawn.count("\x1b[?25h")  # the cursor comes back
    _, table = in_terminal(folder, 60, "runs", "show", "runs/a", NO_COLOR="1")
    assert max(map(len, _visible(table).splitlines())) <= 60
    assert "win rate" in table


def test_no_color_is_honoured_on_a_terminal(folder: Path) -> None:
    code, drawn = in_terminal(folder, 80, *JUDGE, NO_COLOR="1")
    assert code == 0
    colours = [f"\x1b[{number}m" for number in (*range(30, 38), *range(90, 98))]
    assert not any(colour in drawn for colour in colours)


def test_quiet_on_a_terminal_draws_no_bar(folder: Path) -> None:
    code, drawn = in_terminal(folder, 80, *JUDGE, "--quiet")
    assert code == 0
    assert "52/52" not in drawn
    assert "Run folder" not in drawn
    assert "win rate" in drawn


def test_a_reader_that_goes_away_is_no_traceback(folder: Path) -> None:
    run(folder, *JUDGE)
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.Popen(
        [str(COMMAND), "runs", "show", "runs/a"],
        cwd=folder,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    os.close(writing)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (141, "")


def test_a_full_disk_under_the_output_is_told_in_a_line(folder: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    with full.open("w") as out:
        done = subprocess.run(
            [str(COMMAND), "families", "list"],
            cwd=folder,
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "magistrate: the output: No space left on device\n"


@pytest.mark.parametrize(
    ("file", "code", "redirection"),
    [
        ("examples/pairs.jsonl", 1, ">/dev/full"),
        ("nope.jsonl", 2, "2>/dev/full"),
        ("examples/pairs.jsonl", 0, ">&-"),
        ("nope.jsonl", 2, "2>&-"),
        ("-", 2, "<&-"),
    ],
)
def test_streams_that_are_full_or_closed_are_no_fault(
    folder: Path, file: str, code: int, redirection: str
) -> None:
    if "full" in redirection and not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" inspect "$1" --json {redirection}', str(COMMAND), file],
        cwd=folder,
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert "unexpected" not in done.stderr


def test_samples_come_from_standard_input_too(folder: Path) -> None:
    with (folder / "examples/pairs.jsonl").open() as pairs:
        done = subprocess.run(
            [str(COMMAND), "judge", "-", *JUDGE[2:]],
            cwd=folder,
            stdin=pairs,
            capture_output=True,
            text=True,
            env=environment(),
            check=False,
        )
    assert "judged 26 of 26 samples from standard input" in done.stdout


def test_a_terminal_without_unicode_gets_a_table_too(folder: Path) -> None:
    done = run(folder, "families", "list", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    table = run(folder, *JUDGE, PYTHONIOENCODING="ascii").stdout
    assert "?" not in table
    assert "-----" in table


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped_and_resumed_nothing_is_lost_or_judged_twice(
    folder: Path, number: signal.Signals, code: int
) -> None:
    process = subprocess.Popen(
        [str(COMMAND), *SLOW],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        # A shell that starts its jobs in the background lets them ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    judgments = folder / "runs/s/judgments.jsonl"
    wait_until(lambda: judgments.exists() and judgments.read_bytes().count(b"\n") >= 4)
    process.send_signal(number)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == code
    assert out == ""
    assert "the same command goes on" in errors
    assert "Traceback" not in errors
    assert len(errors.strip().splitlines()) == 1

    stood = judgments.read_bytes().count(b"\n")
    done = run(folder, *SLOW, "--json")
    view = json.loads(done.stdout)
    assert (view["already_judged"], view["judged_now"]) == (stood, 52 - stood)
    assert f"{stood} readings of 52 already judged; going on" in done.stderr
    keys = [json.loads(line)["key"] for line in judgments.read_text().splitlines()]
    assert len(keys) == len(set(keys)) == 52


def test_two_at_once_the_second_is_told(folder: Path) -> None:
    first = subprocess.Popen(
        [str(COMMAND), *SLOW, "--quiet"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(),
    )
    try:
        wait_until((folder / "runs/s/judgments.jsonl").exists)
        second = run(folder, *SLOW, "--json")
    finally:
        first.terminate()
        first.wait(timeout=60)
    assert second.returncode == 4
    assert json.loads(second.stdout)["error"]["type"] == "RunLockedError"


def test_progress_is_a_line_now_and_then_without_a_terminal(folder: Path) -> None:
    code = (
        "import magistrate.cli.progress as progress; progress.SECONDS_TO_FIRST_LINE = 0.0;"
        "import sys; from magistrate.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *SLOW],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0
    lines = [line for line in done.stderr.splitlines() if "of 52 readings" in line]
    assert len(lines) == 1
    assert lines[0].startswith("scripted:longer,delay=0.05: ")


def wait_until(condition: object) -> None:
    deadline = time.monotonic() + 60
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "waited a minute in vain"
        time.sleep(0.02)


def _visible(drawn: str) -> str:
    import re

    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", drawn).replace("\r", "")
