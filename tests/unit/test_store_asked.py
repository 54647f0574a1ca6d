"""What callers of ``mg.judge`` hand over by mistake: told what was found and what is needed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import magistrate as mg
from magistrate.errors import InputError, JudgeNotFoundError, MagistrateError, RunError
from magistrate.records import Answer, Sample

JUDGE = "scripted:longer"
ONE = Sample(question="q", answers=(Answer(text="a"), Answer(text="bb")))
FILE = Path("pairs.jsonl")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "run"


SAMPLES: dict[str, tuple[Callable[[], Any], str]] = {
    "None": (lambda: None, "samples is None; samples are a list"),
    "a number": (lambda: 3, r"samples is 3 \(int\); samples are a list"),
    "bytes": (lambda: b"pairs", r"samples is b'pairs' \(bytes\); "),
    "a class": (lambda: Sample, "samples is <class"),
    "a dict": (lambda: {"question": "q"}, r"samples is {'question': 'q'} \(dict\); "),
    "one sample": (lambda: ONE, r"one Sample; put it into a list: \[sample\]"),
    "an answer": (lambda: ONE.answers[0], r"samples is Answer\(text='a'.*\(Answer\); "),
    "dicts": (
        lambda: [{"question": "q"}],
        r"sample 1 is {'question': 'q'} \(dict\); it must be a Sample, such as Sample\(question=",
    ),
    "a dict further on": (lambda: [ONE, {}], r"sample 2 is {} \(dict\); it must be a Sample"),
    "None among samples": (lambda: iter([ONE, None]), "sample 2 is None; it must be a Sample"),
    "a set of paths": (lambda: {FILE}, r"sample 1 is .*\('pairs.jsonl'\).*list of paths"),
    "a generator of paths": (
        lambda: (name for name in ["pairs.jsonl"]),
        r"sample 1 is 'pairs.jsonl' \(str\); .*list of paths",
    ),
    "a sample among paths": (lambda: [FILE, ONE], "path 2 is Sample.*not both in one list"),
    "a path among samples": (lambda: [ONE, FILE], "sample 2 is .*list of paths"),
}


@pytest.mark.parametrize(("samples", "words"), SAMPLES.values(), ids=SAMPLES)
def test_what_are_no_samples_is_an_input_error_that_says_what_is_needed(
    out: Path, samples: Callable[[], Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        mg.judge(samples(), JUDGE, out)
    assert not out.exists()


@pytest.mark.parametrize("judge", [None, 3, b"mini", ONE, ["mini"]], ids=str)
def test_what_is_no_judge_is_a_judge_error_that_says_what_is_needed(out: Path, judge: Any) -> None:
    with pytest.raises(JudgeNotFoundError, match=r"judge is .*; it takes a name such as 'mini'"):
        mg.judge([ONE], judge, out)
    assert not out.exists()


def test_a_judge_folder_may_be_a_path(out: Path) -> None:
    with pytest.raises(JudgeNotFoundError, match="no judge 'nowhere/judge' here"):
        mg.judge([ONE], Path("nowhere/judge"), out)


@pytest.mark.parametrize("value", [3, b"run", ["run"]], ids=str)
def test_what_is_no_folder_is_a_run_error(value: Any) -> None:
    with pytest.raises(RunError, match=r"out is .*; it takes the path of a folder"):
        mg.judge([ONE], JUDGE, value)


@pytest.mark.parametrize("limit", [0, -1, 10**30, 1.5, "many", [1]], ids=str)
def test_a_limit_that_is_none_says_what_it_takes(out: Path, limit: Any) -> None:
    with pytest.raises(MagistrateError, match=r"limit is .*; it takes a whole number from 1 to"):
        mg.judge([ONE], JUDGE, out, limit=limit)
    assert not out.exists()


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"repeats": 10**30}, "repeats is 1000.*; it takes a whole number from 1 to"),
        ({"orders": None}, "orders is None; it takes 'both' or 'given'"),
        ({"strict": "perhaps"}, "strict is 'perhaps' .*; it takes True or False"),
        ({"retry": "error"}, "retry is 'error' .*; it takes a list of error, "),
        ({"retry": None}, "retry is None; it takes a list of error, "),
        ({"retry": [["error"], 3]}, r"retry has 3, \['error'\]; it takes any of error, "),
    ],
    ids=str,
)
def test_a_setting_of_another_type_says_what_it_takes(
    out: Path, setting: dict[str, Any], words: str
) -> None:
    with pytest.raises(MagistrateError, match=words):
        mg.judge([ONE], JUDGE, out, **setting)
    assert not out.exists()


def test_the_largest_limit_is_all_samples(out: Path) -> None:
    assert mg.judge([ONE], JUDGE, out, limit=2**53).manifest.samples == 1


def with_meta(**meta: Any) -> Sample:
    return ONE.model_copy(update={"meta": meta})


def test_numpy_scalars_in_meta_are_stored_as_plain_numbers(out: Path) -> None:
    numbers = {
        "int": np.int64(-3),
        "small": np.uint8(200),
        "double": np.float64(0.1),
        "float": np.float32(0.5),
        "bool": np.bool_(True),
        "nan": np.float32("nan"),
        "zero-dimensional": np.array(7),
        "day": np.datetime64("2024-02-29"),
        "nested": [{"x": (np.int16(1), 2)}],
    }
    run = mg.judge([with_meta(**numbers)], JUDGE, out)
    (sample,) = run.samples()
    assert sample.meta == {
        "int": -3,
        "small": 200,
        "double": 0.1,
        "float": 0.5,
        "bool": True,
        "nan": None,
        "zero-dimensional": 7,
        "day": date(2024, 2, 29).isoformat(),
        "nested": [{"x": [1, 2]}],
    }
    assert type(sample.meta["bool"]) is bool
    assert mg.verify_run(out).ok


@pytest.mark.parametrize("value", [object(), np.array([1, 2]), np.longdouble(1), {1: {2: print}}])
def test_what_json_cannot_hold_is_an_input_error_that_names_sample_and_field(
    out: Path, value: Any
) -> None:
    with pytest.raises(InputError, match="sample 2: meta 'strange' cannot be stored as JSON: "):
        mg.judge([ONE, with_meta(fine=1, strange=value)], JUDGE, out)
    assert not out.exists()
