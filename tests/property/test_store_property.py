"""What must hold of a run folder wherever it is cut and whatever is written to it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import magistrate as mg
from magistrate.errors import RunDamagedError
from magistrate.ids import content_id
from magistrate.judging.judge import Judge
from magistrate.judging.resolve import load_judge
from magistrate.records import STATUSES, Answer, Judgment, Sample, Status
from magistrate.store.index import last_judgments, read_index
from magistrate.store.journal import Journal
from magistrate.store.repair import repair_run


def samples() -> list[Sample]:
    return [
        Sample(
            question=f"naïve {i} \U0001f600 \ud83d",
            answers=(Answer(text="a" * i), Answer(text="é")),
        )
        for i in range(5)
    ]


@cache
def judge() -> Judge:
    return load_judge("scripted:random")


@pytest.fixture(scope="module")
def whole() -> Iterator[mg.Run]:
    """A run that nothing disturbed."""
    with tempfile.TemporaryDirectory() as folder:
        yield mg.judge(samples(), judge(), Path(folder) / "run")


@given(data=st.data(), zeros=st.sampled_from([0, 0, 1, 512]))
@settings(max_examples=60, deadline=None)
def test_a_run_cut_at_any_byte_resumes_to_what_it_would_have_been(
    whole: mg.Run, data: st.DataObject, zeros: int
) -> None:
    content = whole.folder.judgments.read_bytes()
    cut = data.draw(st.integers(0, len(content)), label="cut")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        shutil.copytree(whole.path, out)
        left = content[:cut] + bytes(zeros)
        (out / "judgments.jsonl").write_bytes(left)
        kept = content[:cut].count(b"\n")
        before = mg.verify_run(out)
        assert before.judgments == kept
        run = mg.judge(samples(), judge(), out)
        assert run.folder.judgments.read_bytes() == content
        assert list(run.decisions()) == list(whole.decisions())
        assert run.manifest.judgments == whole.manifest.judgments
        torn = zeros > 0 or not (content[:cut] == b"" or content[:cut].endswith(b"\n"))
        said = ["judgments-changed"] * (left != content) + ["half-written-line"] * torn
        assert [notice.kind for notice in run.notices()] == said
        assert mg.verify_run(out).ok


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_damage_anywhere_is_mended_by_repair_and_resume(whole: mg.Run, data: st.DataObject) -> None:
    content = whole.folder.judgments.read_bytes()
    start = data.draw(st.integers(0, len(content) - 1), label="start")
    length = data.draw(st.integers(1, 900), label="length")
    junk = data.draw(st.binary(max_size=20), label="junk")
    damaged = content[:start] + junk + content[start + length :]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        shutil.copytree(whole.path, out)
        (out / "judgments.jsonl").write_bytes(damaged)
        try:
            mg.judge(samples(), judge(), out)
        except RunDamagedError:
            assert (out / "judgments.jsonl").read_bytes() == damaged
            assert repair_run(out) > 0
        run = mg.judge(samples(), judge(), out)
        assert run.manifest.judged == whole.manifest.judged
        if mg.verify_run(out).ok:  # junk may change a text or a number and leave a whole line
            assert run.manifest.judgments == whole.manifest.judgments


KEYS = [content_id(number) for number in range(4)]
BATCHES = st.lists(
    st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(STATUSES)), max_size=4), max_size=6
)


@given(batches=BATCHES, reopen=st.booleans(), retry=st.sets(st.sampled_from(STATUSES[1:])))
@settings(deadline=None)
def test_the_journal_agrees_with_a_dictionary(
    batches: list[list[tuple[str, Status]]], reopen: bool, retry: set[Status]
) -> None:
    expected: dict[str, Status] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "judgments.jsonl"
        journal = Journal(path, retry=retry)
        for batch in batches:
            journal.append(
                Judgment(key=key, sample_id=key, judge="j", order=(0, 1), status=status, cost=0.5)
                for key, status in batch
            )
            expected.update(batch)
            if reopen:
                journal.close()
                journal = Journal(path, retry=retry)
        done = {key for key, status in expected.items() if status not in retry}
        assert {key for key in KEYS if key in journal} == done
        assert journal.settled == len(done)
        journal.close()
        index = read_index(path)
        assert index == journal.index
        assert {one.key: one.status for one in last_judgments(path, index)} == expected
        assert sum(index.counts().values()) == len(expected)
        assert index.totals.cost == 0.5 * sum(map(len, batches))
