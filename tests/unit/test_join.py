"""Files of single answers, joined by id or by question."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import magistrate as mg
from magistrate.errors import InputError
from magistrate.formats.join import default_models
from magistrate.formats.reading import SampleReader

Write = Callable[[str, list[dict[str, Any]]], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_rows(name: str, rows: list[dict[str, Any]]) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return str(path)

    return write_rows


def answers(name: str, ids: list[int], **more: Any) -> list[dict[str, Any]]:
    return [{"id": i, "question": f"question {i}", "answer": f"{name} on {i}", **more} for i in ids]


def texts(reader: SampleReader) -> dict[str, tuple[str, ...]]:
    return {str(s.source_id): tuple(a.text for a in s.answers) for s in reader}


def test_pairs_by_id_whatever_the_sequence(write: Write) -> None:
    ids = list(range(50))
    shuffled = random.Random(3).sample(ids, 50)
    a = write("a.jsonl", answers("a", ids))
    b = write("b.jsonl", answers("b", shuffled))
    reader = mg.read_samples(a, b)
    assert reader.joined == "pairs"
    assert texts(reader) == {str(i): (f"a on {i}", f"b on {i}") for i in ids}
    assert reader.notices == ()
    assert reader.rows == 100
    assert texts(reader) == {str(i): (f"a on {i}", f"b on {i}") for i in ids}


def test_files_in_one_sequence_keep_it(write: Write) -> None:
    a = write("a.jsonl", answers("a", [3, 1, 2]))
    b = write("b.jsonl", answers("b", [3, 1, 2]))
    assert list(texts(mg.read_samples(a, b))) == ["3", "1", "2"]


def test_models_from_the_files_or_their_names(write: Write) -> None:
    a = write("alpha.jsonl", answers("a", [1]))
    b = write("b.jsonl", answers("b", [1], model="beta"))
    (sample,) = mg.read_samples(a, b)
    assert [answer.model for answer in sample.answers] == ["alpha", "beta"]


def test_model_names_from_paths() -> None:
    assert default_models(["x/a.json.gz", "b.csv", "c.tsv"]) == ["a", "b", "c"]
    assert default_models(["m1/out.json", "m2/out.json"]) == ["m1", "m2"]
    assert default_models(["a/m/out.json", "b/m/out.json"]) == ["a/m/out.json", "b/m/out.json"]
    assert default_models(["gpt-3.5.jsonl", "gpt-4.1.jsonl"]) == ["gpt-3.5", "gpt-4.1"]


def test_unequal_length_names_counts_and_ids(write: Write) -> None:
    a = write("a.jsonl", answers("a", [1, 2, 3, 4]))
    b = write("b.jsonl", answers("b", [2, 9]))
    reader = mg.read_samples(a, b)
    assert list(texts(reader)) == ["2"]
    kinds = {notice.kind: notice.message for notice in reader.notices}
    assert f"{a} has 4, {b} has 2 answers" in kinds["unequal-length"]
    messages = [notice.message for notice in reader.notices if notice.kind == "unmatched-id"]
    assert any("3 ids of" in m and "1, 3, 4" in m for m in messages)
    assert any("1 id of" in m and m.endswith(": 9") for m in messages)


def test_equal_length_with_other_ids_is_no_zip(write: Write) -> None:
    a = write("a.jsonl", answers("a", [1, 2]))
    b = write("b.jsonl", answers("b", [2, 3]))
    reader = mg.read_samples(a, b)
    assert texts(reader) == {"2": ("a on 2", "b on 2")}
    assert [notice.kind for notice in reader.notices] == ["unmatched-id", "unmatched-id"]


def test_nothing_in_common_is_an_error(write: Write) -> None:
    a = write("a.jsonl", answers("a", [1, 2]))
    b = write("b.jsonl", answers("b", [3]))
    with pytest.raises(InputError, match=r"no id in common.*has 2 \(1, 2"):
        list(mg.read_samples(a, b))


def test_ids_that_stand_for_other_questions_throughout(write: Write) -> None:
    a = write("a.jsonl", answers("a", [1, 2]))
    rows = [{**row, "question": f"other {row['id']}"} for row in answers("b", [1, 2, 3])]
    rows[2]["question"] = "question 2"
    b = write("b.jsonl", rows)
    with pytest.raises(InputError) as caught:
        list(mg.read_samples(a, b))
    message = str(caught.value)
    assert "no id in common" not in message
    assert f"id 1 stands for different questions: 'question 1' in {a}, 'other 1' in {b}" in message
    assert "--columns id=question,question=question" in message
    by_question = {"id": "question", "question": "question"}
    (sample,) = mg.read_samples(a, b, columns=by_question)
    assert [answer.text for answer in sample.answers] == ["a on 2", "b on 3"]


def test_by_question_where_there_are_no_ids(write: Write) -> None:
    rows = [{"question": f"q{i}", "answer": f"a{i}"} for i in range(3)]
    other = [{"question": f"q{i}", "answer": f"b{i}"} for i in (2, 0, 1)]
    reader = mg.read_samples(write("a.jsonl", rows), write("b.jsonl", other))
    found = {s.question: tuple(a.text for a in s.answers) for s in reader}
    assert found == {f"q{i}": (f"a{i}", f"b{i}") for i in range(3)}


def test_one_id_for_two_questions_is_not_joined(write: Write) -> None:
    a = write("a.jsonl", answers("a", [1, 2]))
    rows = answers("b", [1, 2])
    rows[0]["question"] = "another"
    b = write("b.jsonl", rows)
    reader = mg.read_samples(a, b)
    assert list(texts(reader)) == ["2"]
    assert [bad.row for bad in reader.bad] == [1]
    assert "different questions" in reader.bad[0].reason


def test_duplicates_within_a_file_are_named(write: Write) -> None:
    a = write("a.jsonl", [*answers("a", [1, 2]), *answers("again", [1])])
    b = write("b.jsonl", answers("b", [1, 2]))
    reader = mg.read_samples(a, b)
    assert texts(reader) == {"1": ("a on 1", "b on 1"), "2": ("a on 2", "b on 2")}
    (notice,) = [n for n in reader.notices if n.kind == "duplicate-id"]
    assert "rows 1 and 3; the first is joined" in notice.message


def test_three_files_in_all_pairs_and_n_way(write: Write) -> None:
    files = [
        write(f"{m}.jsonl", answers(m, ids))
        for m, ids in (("a", [1, 2]), ("b", [2, 1]), ("c", [1]))
    ]
    pairs = [tuple(a.text for a in s.answers) for s in mg.read_samples(*files)]
    assert sorted(pairs) == [
        ("a on 1", "b on 1"),
        ("a on 1", "c on 1"),
        ("a on 2", "b on 2"),
        ("b on 1", "c on 1"),
    ]
    reader = mg.read_samples(*files, join="nway")
    assert texts(reader) == {"1": ("a on 1", "b on 1", "c on 1")}
    assert "unmatched-id" in [notice.kind for notice in reader.notices]


def test_bad_rows_of_one_file_cost_nothing_else(write: Write, tmp_path: Path) -> None:
    a = write("a.jsonl", answers("a", [1, 2, 3]))
    b = write("b.jsonl", answers("b", [1, 2, 3]))
    text = Path(b).read_text().splitlines()
    text[1] = text[1][:-5]
    Path(b).write_text("\n".join(text))
    reader = mg.read_samples(a, b)
    assert list(texts(reader)) == ["1", "3"]
    assert [(bad.file, bad.row) for bad in reader.bad] == [(b, 2)]
    with pytest.raises(InputError, match="row 2"):
        list(mg.read_samples(a, b, strict=True))


def test_what_both_files_say_is_kept(write: Write) -> None:
    a = write("a.jsonl", answers("a", [1], category="maths", score=3, cost=1))
    b = write("b.jsonl", answers("b", [1], reference="r", score=5, cost=2))
    (sample,) = mg.read_samples(a, b)
    assert (sample.category, sample.reference) == ("maths", "r")
    assert sample.gold == (mg.Gold(preference="second", scores=(3, 5)),)
    assert sample.meta == {"answer1": {"cost": 1}, "answer2": {"cost": 2}}


def test_files_of_pairs_are_read_one_after_the_other(write: Write) -> None:
    rows = [{"question": f"q{i}", "answer1": "a", "answer2": "b"} for i in range(2)]
    reader = mg.read_samples(write("a.jsonl", rows), write("b.jsonl", rows))
    assert reader.joined is None
    assert len(list(reader)) == 4


def test_single_answers_can_be_read_one_after_the_other(write: Write) -> None:
    a, b = write("a.jsonl", answers("a", [1])), write("b.jsonl", answers("b", [1]))
    assert [len(s.answers) for s in mg.read_samples(a, b, join="off")] == [1, 1]


def test_pairs_and_answers_do_not_mix(write: Write) -> None:
    pairs = write("p.jsonl", [{"question": "q", "answer1": "a", "answer2": "b"}])
    singles = write("s.jsonl", answers("a", [1]))
    with pytest.raises(InputError, match=r"p\.jsonl: 2.*s\.jsonl: 1"):
        mg.read_samples(pairs, singles)
    with pytest.raises(InputError, match="only files of one answer"):
        mg.read_samples(pairs, pairs, join="pairs")


def test_answers_that_hold_ids_only(write: Write) -> None:
    questions = write("question.jsonl", [{"question_id": i, "turns": [f"q{i}"]} for i in (1, 2)])
    a = write("a.jsonl", [{"id": i, "answer": f"a{i}"} for i in (1, 2)])
    b = write("b.jsonl", [{"id": i, "answer": f"b{i}"} for i in (2, 1, 3)])
    reader = mg.read_samples(a, b, questions=questions)
    assert {s.question: tuple(x.text for x in s.answers) for s in reader} == {
        "q1": ("a1", "b1"),
        "q2": ("a2", "b2"),
    }
    assert "no id 3" in reader.bad[0].reason


def test_memory_of_waiting_rows_is_freed(write: Write) -> None:
    """Files in one sequence are joined row by row: the first pair comes before the rest is read."""
    ids = list(range(2000))
    a, b = write("a.jsonl", answers("a", ids)), write("b.jsonl", answers("b", ids))
    reader = mg.read_samples(a, b)
    next(iter(reader))
    assert reader.rows == 2
