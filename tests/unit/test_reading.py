"""read_samples, read_judgments and inspect_files as their users see them."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import magistrate as mg
from magistrate.errors import FormatError, InputError
from magistrate.formats import reading
from magistrate.formats.sniff import known_readers

PAIRS = [
    {"id": i, "question": f"q{i}", "answer1": f"a{i}", "answer2": f"b{i}", "label": label}
    for i, label in enumerate([1, 2, "tie", 1, None], start=1)
]
Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(content: Any, name: str = "file.jsonl") -> str:
        path = tmp_path / name
        if isinstance(content, list):
            content = "".join(json.dumps(row) + "\n" for row in content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write_file


class TestSamples:
    def test_iterates_again_from_the_start(self, write: Write) -> None:
        reader = mg.read_samples(write([*PAIRS, {"question": "q", "answer1": None, "answer2": ""}]))
        for _ in range(2):
            samples = list(reader)
            assert [s.source_id for s in samples] == ["1", "2", "3", "4", "5"]
            assert (reader.rows, reader.bad_count, len(reader.bad)) == (6, 1, 1)
        assert reader.format == "table"

    def test_bad_rows_have_file_row_and_reason(self, write: Write) -> None:
        path = write('{"question": "q", "answer": "a"}\n{"question": "q"\n5\n{"question": "q"}\n')
        reader = mg.read_samples(path)
        assert len(list(reader)) == 1
        assert [(bad.file, bad.row) for bad in reader.bad] == [(path, 2), (path, 3), (path, 4)]
        assert reader.bad[0].reason.startswith("cut off")
        assert "the row is 5" in reader.bad[1].reason
        assert "no answer" in reader.bad[2].reason

    def test_strict_stops_at_the_first_bad_row(self, write: Write) -> None:
        path = write([PAIRS[0], {"question": "q", "answer1": "a", "answer2": None}, PAIRS[1]])
        found = []
        with pytest.raises(InputError, match=f"{path}, row 2: answer2 is null"):
            found.extend(mg.read_samples(path, strict=True))
        assert len(list(mg.read_samples(path))) == 2

    def test_limit_counts_samples(self, write: Write) -> None:
        path = write([{"question": "q", "answer": None}, *PAIRS])
        reader = mg.read_samples(path, limit=2)
        assert [s.source_id for s in reader] == ["1", "2"]

    def test_bad_rows_are_bounded_in_memory(
        self, write: Write, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(reading, "MAX_BAD_KEPT", 3)
        reader = mg.read_samples(write([*PAIRS, *[{"question": "q", "answer": 1}] * 4, *[5] * 9]))
        list(reader)
        assert (len(reader.bad), reader.bad_count) == (3, 9)

    def test_a_bad_beginning_loses_nothing(self, write: Write) -> None:
        broken = '{"question": "q"\n' * 30
        good = "".join(json.dumps(row) + "\n" for row in PAIRS * 10)
        reader = mg.read_samples(write(broken + good))
        assert reader.format == "table"
        assert len(list(reader)) == 50
        assert reader.bad_count == 30

    def test_duplicate_ids_are_named_and_kept(self, write: Write) -> None:
        path = write([PAIRS[0], PAIRS[1], {**PAIRS[2], "id": 1}])
        reader = mg.read_samples(path)
        assert len(list(reader)) == 3
        (notice,) = reader.notices
        assert notice.kind == "duplicate-id"
        assert "id '1' stands in rows 1 and 3; both are kept" in notice.message

    def test_one_id_for_answers_of_other_models_is_no_duplicate(self, write: Write) -> None:
        rows = [{**PAIRS[0], "model1": m} for m in ("x", "y")]
        reader = mg.read_samples(write(rows))
        assert len(list(reader)) == 2
        assert reader.notices == ()

    def test_no_rows_is_an_error(self, write: Write) -> None:
        for content in ("[]", "question,answer\n"):
            with pytest.raises(InputError, match="no rows"):
                mg.read_samples(write(content))

    def test_no_readable_row_is_an_error(self, write: Write) -> None:
        with pytest.raises(InputError, match="no row can be read; row 1"):
            mg.read_samples(write('{"a": \n{"b": \n'))
        reader = mg.read_samples(write([{"question": "q", "answer": None}] * 3))
        with pytest.raises(InputError, match=r"none of the 3 rows.*answer is null"):
            list(reader)

    def test_no_path_is_an_error(self) -> None:
        with pytest.raises(InputError, match="no file was given"):
            mg.read_samples()

    def test_options_that_make_no_sense(self, write: Write) -> None:
        path = write(PAIRS)
        for limit in (0, -1):
            with pytest.raises(InputError, match=f"limit is {limit}; needed: 1 or more"):
                mg.read_samples(path, limit=limit)
            with pytest.raises(InputError, match=f"limit is {limit}"):
                mg.inspect_files(path, limit=limit)
        with pytest.raises(InputError, match="join is 'x'; known: pairs, nway, off"):
            mg.read_samples(path, join="x")  # type: ignore[arg-type]

    def test_rows_before_damage_are_samples(self, write: Write) -> None:
        lines = "".join(json.dumps(row) + "\n" for row in PAIRS)
        reader = mg.read_samples(write(gzip.compress(lines.encode()) + b"garbage"))
        assert len(list(reader)) == 5
        assert [bad.row for bad in reader.bad] == [6]

    def test_readers_that_trip_over_a_row_lose_only_that_row(
        self, write: Write, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reader = mg.read_samples(write(PAIRS))
        real = type(reader._files[0].reader).read

        def tripping(self: Any, row: Any, *rest: Any) -> Any:
            if row["id"] == 2:
                raise KeyError("surprise")
            return real(self, row, *rest)

        monkeypatch.setattr(type(reader._files[0].reader), "read", tripping)
        assert len(list(reader)) == 4
        assert "KeyError: 'surprise'" in reader.bad[0].reason

    def test_notices_of_rows_are_merged(self, write: Write) -> None:
        rows = [{**row, "answer1": True} for row in PAIRS]
        reader = mg.read_samples(write(rows))
        assert [s.answers[0].text for s in reader] == ["true"] * 5
        (notice,) = reader.notices
        assert notice.message.endswith("read as its text (5 rows: 1, 2, 3, 4, 5)")

    def test_empty_answers_are_samples(self, write: Write) -> None:
        (sample,) = mg.read_samples(write([{"question": "q", "answer1": "", "answer2": "b"}]))
        assert [a.text for a in sample.answers] == ["", "b"]

    @pytest.mark.parametrize("container", ["jsonl", "json", "csv", "tsv", "gz"])
    def test_one_content_in_every_container(self, write: Write, container: str) -> None:
        rows = [{k: "" if v is None else v for k, v in row.items()} for row in PAIRS]
        columns = list(rows[0])
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        tables = {
            sep: "\n".join([sep.join(columns), *(sep.join(map(str, r.values())) for r in rows)])
            for sep in ",\t"
        }
        contents: dict[str, Any] = {
            "jsonl": lines,
            "json": json.dumps(rows),
            "csv": tables[","],
            "tsv": tables["\t"],
            "gz": gzip.compress(lines.encode()),
        }
        found = list(mg.read_samples(write(contents[container], f"file.{container}")))
        assert [s.source_id for s in found] == ["1", "2", "3", "4", "5"]
        assert [s.answers[1].text for s in found] == ["b1", "b2", "b3", "b4", "b5"]
        labels = [s.gold[0].preference if s.gold else None for s in found]
        assert labels == ["first", "second", "tie", "first", None]


class TestFormats:
    def test_columns(self, write: Write) -> None:
        path = write([{"prompt": "q", "x": "a", "y": "b"}])
        (sample,) = mg.read_samples(
            path, columns={"question": "prompt", "answer1": "x", "answer2": "y"}
        )
        assert (sample.question, sample.answers[1].text) == ("q", "b")

    def test_unknown_columns_are_named_with_those_that_exist(self, write: Write) -> None:
        path = write([{"prompt": "q", "x": "a"}])
        with pytest.raises(InputError, match=r"no column 'promt'; its columns are prompt, x"):
            mg.read_samples(path, columns={"question": "promt", "answer": "x"})
        with pytest.raises(InputError, match=r"no field query; the fields are id, question"):
            mg.read_samples(path, columns={"query": "prompt"})

    def test_unknown_format_of_a_file(self, write: Write) -> None:
        path = write([{"the_prompt": "q", "response_x": "a", "response_y": "b"}])
        with pytest.raises(FormatError) as caught:
            mg.read_samples(path)
        message = str(caught.value)
        assert "its fields are the_prompt, response_x, response_y" in message
        assert "--columns question=the_prompt,answer1=response_x,answer2=response_y" in message
        assert "table" in message
        with pytest.raises(FormatError, match="rows of type list"):
            mg.read_samples(write('[1, "a"]\n["b"]\n'))

    def test_forced_format(self, write: Write) -> None:
        path = write(PAIRS)
        assert mg.read_samples(path, format="table").format == "table"
        with pytest.raises(FormatError, match="did you mean 'table'"):
            mg.read_samples(path, format="tabel")
        with pytest.raises(FormatError, match=r"no format 'x'; nearest: .* and .* more"):
            mg.read_samples(path, format="x")
        with pytest.raises(FormatError, match="these formats are read:\n  samples: "):
            mg.read_samples(path, format="list")
        with pytest.raises(FormatError, match=r"rows without any field \(\{\}\)"):
            mg.read_samples(write("{}\n", "empty.jsonl"))
        with pytest.raises(InputError, match="none of the 5 rows can be read as 'samples'"):
            list(mg.read_samples(path, format="samples"))

    def test_names_of_formats_are_unique(self) -> None:
        names = [reader.name for reader in known_readers()]
        assert len(names) == len(set(names))

    def test_questions_file_without_ids(self, write: Write) -> None:
        questions = write([{"text": "q"}], "questions.jsonl")
        with pytest.raises(InputError, match="a question needs question_id or id; found text"):
            mg.read_samples(write([{"id": 1, "answer": "a"}]), questions=questions)


class TestPublicData:
    def test_json_true_is_text(self, data_folder: Path) -> None:
        samples = list(mg.read_samples(data_folder / "pandalm" / "testset-v1.json"))
        true = [(s.source_id, i) for s in samples for i, a in enumerate(s.answers, 1)
                if a.text == "true"]  # fmt: skip
        assert true == [("157", 1), ("158", 1), ("159", 1), ("161", 2), ("162", 2), ("164", 1)]

    def test_labels_of_pandalm(self, data_folder: Path) -> None:
        found = mg.inspect_files(data_folder / "pandalm" / "testset-v1.json")
        assert (found.rows, found.bad_count, found.empty_answers) == (999, 0, 54)
        assert found.labels == {"first": 422, "second": 472, "tie": 105, "none": 0}
        assert list(found.annotators) == ["annotator1", "annotator2", "annotator3"]

    def test_verdicts_alone_are_nothing_to_judge(self, data_folder: Path) -> None:
        path = data_folder / "pandalm" / "gpt-3.5-turbo-testset-v1.json"
        with pytest.raises(InputError, match="holds verdicts without the answers"):
            mg.read_samples(path)
        judgments = list(mg.read_judgments(path))
        assert len(judgments) == 999
        assert sum(j.status == "unparsed" for j in judgments) == 25
        found = mg.inspect_files(path)
        assert (found.samples, found.judgments) == (0, 999)
        assert found.statuses == {"ok": 974, "unparsed": 25}

    def test_two_model_outputs_make_pairs(self, data_folder: Path) -> None:
        results = data_folder / "alpaca_eval" / "results"
        reader = mg.read_samples(
            *(results / model / "model_outputs.json" for model in ("gpt4", "alpaca-7b"))
        )
        samples = list(reader)
        assert len(samples) == 805
        assert {tuple(a.model for a in s.answers) for s in samples} == {("gpt4", "alpaca-7b")}
        assert reader.notices == ()

    def test_questions_by_id(self, data_folder: Path) -> None:
        table = data_folder / "fastchat" / "eval_table"
        files = [table / "answer" / f"answer_{model}.jsonl" for model in ("bard", "gpt35")]
        reader = mg.read_samples(*files, questions=table / "question.jsonl")
        assert len(list(reader)) == 80

    def test_two_objects_on_the_first_line(self, data_folder: Path) -> None:
        path = data_folder / "unlimitedjudge" / "CrossEvalGpt" / "scores_list.jsonl"
        found = mg.inspect_files(path)
        assert (found.rows, found.bad_count) == (1000, 0)
        assert "several-on-a-line" in [notice.kind for notice in found.notices]


class TestInspection:
    def test_counts(self, write: Write) -> None:
        rows = [
            {**PAIRS[0], "model1": "x", "model2": "y", "category": "c", "language": "en"},
            {**PAIRS[1], "model1": "x", "reference": "r"},
            {**PAIRS[1], "id": 9},
            {**PAIRS[2], "answer1": " "},
            {"question": "q", "answer1": None, "answer2": "b"},
            PAIRS[4],
        ]
        path = write(rows)
        found = mg.inspect_files(path)
        assert (found.format, found.containers) == ("table", {path: "json lines"})
        assert (found.rows, found.samples, found.bad_count) == (6, 5, 1)
        assert [(bad.row, bad.reason[:16]) for bad in found.bad] == [(5, "answer1 is null;")]
        assert found.labels == {"first": 1, "second": 2, "tie": 1, "none": 1}
        assert found.models == {"x": 2, "y": 1}
        assert (found.categories, found.languages) == ({"c": 1}, {"en": 1})
        assert found.answers_per_sample == {2: 5}
        assert found.empty_answers == 1
        assert (found.duplicate_ids, found.duplicate_texts) == (0, 1)
        assert found.fields == {"category": 1, "gold": 4, "id": 5, "language": 1, "reference": 1}
        lengths = found.answer_characters
        assert lengths is not None
        assert (lengths.n, lengths.min, lengths.max, lengths.median) == (10, 1, 2, 2.0)
        assert lengths.mean == pytest.approx(1.9)
        assert lengths.median_is_exact

    def test_median_of_many_is_a_close_draw(self, write: Write) -> None:
        rows = [{"question": "q", "answer": "x" * (i % 101)} for i in range(20_000)]
        lengths = mg.inspect_files(write(rows)).answer_characters
        assert lengths is not None
        assert (lengths.n, lengths.min, lengths.max) == (20_000, 0, 100)
        assert not lengths.median_is_exact
        assert abs(lengths.median - 50) < 5

    def test_many_names_are_bounded(self, write: Write) -> None:
        rows = [{"question": "q", "answer": "a", "model": f"m{i}"} for i in range(1500)]
        models = mg.inspect_files(write(rows)).models
        assert len(models) == 1001
        assert models["(others)"] == 500

    def test_nothing_but_bad_rows_is_listed(self, write: Write) -> None:
        found = mg.inspect_files(write([{"question": "q", "answer": None}] * 2))
        assert (found.samples, found.bad_count) == (0, 2)

    def test_annotators_that_disagree(self, write: Write) -> None:
        golds = [["first", "second"], ["first", "first", "tie"], []]
        rows = [
            {
                "question": "q",
                "answers": [{"text": "a"}, {"text": "b"}],
                "gold": [{"annotator": f"n{i}", "preference": p} for i, p in enumerate(given)],
            }
            for given in golds
        ]
        found = mg.inspect_files(write(rows))
        assert found.format == "samples"
        assert found.labels == {"first": 1, "second": 0, "tie": 0, "split": 1, "none": 1}
        assert found.annotators["n1"] == {"first": 1, "second": 1}


def test_reading_loads_nothing_heavy(write: Write) -> None:
    code = (
        "import sys, magistrate as mg; list(mg.read_samples(sys.argv[1])); "
        "print([m for m in ('polars', 'numpy', 'torch', 'sklearn') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, write(PAIRS)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("kind", ["lines", "array", "csv"])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, kind: str) -> None:
    """Sixteen times the rows take less than 12 MB more (the ids seen take most of that)."""
    code = (
        "import sys, resource, magistrate as mg; n = sum(1 for _ in mg.read_samples(sys.argv[1])); "
        "print(n, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    peaks = []
    for count in (1_000, 16_000):
        path = tmp_path / f"{kind}-{count}"
        text = "word " * 150
        with path.open("w") as file:
            file.write({"lines": "", "array": "[\n", "csv": "id,question,answer1,answer2\n"}[kind])
            for i in range(count):
                if kind == "csv":
                    file.write(f'{i},"{text}",a,b\n')
                else:
                    row = {"id": i, "question": text, "answer1": "a", "answer2": "b"}
                    file.write((",\n" if i and kind == "array" else "") + json.dumps(row))
                    file.write("\n" if kind == "lines" else "")
            file.write("\n]" if kind == "array" else "")
        command = [sys.executable, "-c", code, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        rows, peak = map(int, done.stdout.split())
        assert rows == count
        peaks.append(peak / 1024)
    assert peaks[1] - peaks[0] < 12
