"""Writers: what is written, what is not, and files that appear whole or not at all."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import magistrate as mg
from magistrate.errors import FormatError, InputError
from magistrate.formats.writers import table, target_for, targets
from magistrate.records import Answer, Gold, Sample, Turn


def pair(number: int = 1, preference: Any = "first", **more: Any) -> Sample:
    return Sample(
        question=f"question {number}",
        answers=(Answer(text=f"a{number}", model="m1"), Answer(text=f"b{number}", model="m2")),
        gold=(Gold(preference=preference),) if preference else (),
        source_id=str(number),
        **more,
    )


def single(number: int = 1) -> Sample:
    return Sample(question=f"q{number}", answers=(Answer(text="a", model="m"),))


PAIRS = [pair(1), pair(2, "second"), pair(3, "tie"), pair(4, None)]
DIALOGUE = Sample(
    question=(Turn(role="user", text="u1"), Turn(role="assistant", text="s1"),
              Turn(role="user", text="u2")),
    answers=(Answer(text="x"), Answer(text="y")),
    gold=(Gold(preference="second"),),
)  # fmt: skip
FULL = pair(
    5,
    None,
    reference="r",
    rubric="be brief",
    context=("p1", "p2"),
    images=("https://example.org/i.png",),
    category="c",
    language="en",
    meta={"k": [1, None]},
).model_copy(
    update={
        "gold": (
            Gold(annotator="n1", preference="second", scores=(4, 9.5), reasons="because"),
            Gold(annotator="n2", preference="second", probability_second=0.75),
        )
    }
)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


class TestTargets:
    def test_ending_decides_unless_named(self) -> None:
        assert target_for("a.csv") == "csv"
        assert target_for("a.parquet") == "parquet"
        assert target_for("x/a.jsonl.gz") == "samples"
        assert target_for("a.csv", "judgelm") == "judgelm"
        with pytest.raises(FormatError, match=r"does not say which format.*--to list lists them"):
            target_for("a.txt")
        with pytest.raises(FormatError, match="did you mean 'judgelm'"):
            target_for("a.txt", "judgelm2")

    def test_every_target_writes(self, tmp_path: Path) -> None:
        for to in targets():
            report = mg.write_samples([FULL], tmp_path / to, to=to)
            assert (report.written + report.skipped_count) == 1
            assert (tmp_path / to).exists() == (report.written == 1)

    @pytest.mark.parametrize("there", [False, True])
    def test_nothing_written_makes_no_file_and_replaces_none(
        self, tmp_path: Path, there: bool
    ) -> None:
        for to in targets():
            path = tmp_path / to
            if there and to != "mt-bench":
                path.write_text("before")
            assert mg.write_samples([], path, to=to).written == 0
            if there and to != "mt-bench":
                assert path.read_text() == "before"
            else:
                assert not path.exists()
        assert len(list(tmp_path.iterdir())) == (len(targets()) - 1 if there else 0)

    def test_nothing_written_writes_nothing_to_standard_output(
        self, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        for to in sorted({*targets()} - {"mt-bench"}):
            mg.write_samples([], "-", to=to)
        assert capfdbinary.readouterr().out == b""

    @pytest.mark.parametrize("to", ["preference", "csv", "mt-bench"])
    def test_strict_stops_at_the_first_that_does_not_fit(self, tmp_path: Path, to: str) -> None:
        odd = DIALOGUE.model_copy(update={"answers": (Answer(text="x"),), "source_id": "odd"})
        words = rf"sample 2 \(odd\) cannot be written as '{to}': .*without --strict"
        with pytest.raises(InputError, match=words):
            mg.write_samples([pair(1), odd], tmp_path / "out", to=to, strict=True)
        assert not list(tmp_path.iterdir())


class TestOwnFormat:
    @pytest.mark.parametrize("name", ["s.jsonl", "s.json", "s.jsonl.gz"])
    def test_nothing_is_lost(self, tmp_path: Path, name: str) -> None:
        odd = Sample(question="x\ud800\0\u2028", answers=(Answer(text="", model="\udcff"),))
        samples = [*PAIRS, DIALOGUE, FULL, odd]
        report = mg.write_samples(samples, tmp_path / name)
        assert (report.to, report.written, report.notices) == ("samples", 7, ())
        reader = mg.read_samples(tmp_path / name)
        assert list(reader) == samples
        assert reader.format == "samples"

    def test_unknown_fields_are_no_sample(self, tmp_path: Path) -> None:
        path = tmp_path / "s.jsonl"
        mg.write_samples([FULL, FULL, FULL], path)
        text = path.read_text().splitlines()
        text[1] = text[1].replace('"text":"a5"', '"text":5')
        path.write_text("\n".join(text))
        reader = mg.read_samples(path)
        assert len(list(reader)) == 2
        assert reader.bad[0].reason.startswith("answers.0.text: ")


class TestJudgeLM:
    def test_judge_samples(self, tmp_path: Path) -> None:
        path = tmp_path / "j.jsonl"
        report = mg.write_samples([FULL], path, to="judgelm")
        assert rows(path) == [
            {
                "question_id": "5",
                "score": [],
                "question_body": "question 5",
                "answer1_body": "a5",
                "answer1_model_id": "m1",
                "answer1_metadata": {},
                "answer2_body": "b5",
                "answer2_model_id": "m2",
                "answer2_metadata": {},
                "reference": {"text": "r"},
                "category": "c",
                "gold": [
                    {
                        "annotator": "n1",
                        "preference": "second",
                        "scores": [4.0, 9.5],
                        "reasons": "because",
                    },
                    {"annotator": "n2", "preference": "second", "probability_second": 0.75},
                ],
            }
        ]
        (sample,) = mg.read_samples(path)
        assert (sample.question, sample.answers) == (FULL.question, FULL.answers)
        lost = " ".join(notice.message for notice in report.notices)
        for part in ("rubric", "context", "images", "language"):
            assert part in lost

    def test_labels_of_every_kind_come_back(self, tmp_path: Path) -> None:
        path = tmp_path / "j.jsonl"
        three = Sample(
            question="q",
            answers=tuple(Answer(text=t) for t in "abc"),
            gold=(Gold(ranking=(2, 1, 2)), Gold(label="odd", reasons="a \ud800 surrogate")),
            source_id="three",
        )
        samples = [*PAIRS, FULL, three]
        report = mg.write_samples(samples, path, to="judgelm")
        assert report.written == len(samples)
        assert [s.gold for s in mg.read_samples(path)] == [s.gold for s in samples]

    def test_labels_pass_through_judgelms_own_script(self, tmp_path: Path) -> None:
        """It reads the fields that it knows, adds its own, and in reverse swaps the bodies."""
        mg.write_samples(PAIRS[:2], tmp_path / "j.jsonl", to="judgelm")
        path = tmp_path / "judged-reverse.jsonl"
        judged = []
        for row in rows(tmp_path / "j.jsonl"):
            row["answer1_body"], row["answer2_body"] = row["answer2_body"], row["answer1_body"]
            judged.append(json.dumps({**row, "pred_text": "9 4", "pred_model_id": "judge"}))
        path.write_text("\n".join(judged))
        reader = mg.read_samples(path)
        found = list(reader)
        assert reader.format == "judgelm-judgements"
        assert [(s.answers, s.gold) for s in found] == [(s.answers, s.gold) for s in PAIRS[:2]]

    def test_ground_truth(self, tmp_path: Path) -> None:
        path = tmp_path / "t.jsonl"
        report = mg.write_samples([FULL, pair(1)], path, to="judgelm-ground-truth")
        assert [skip.place for skip in report.skipped] == [2]
        assert "no gold scores" in report.skipped[0].reason
        (row,) = rows(path)
        assert (row["question_id"], row["score"]) == ("5", [4, 9.5])
        assert row["text"] == "4 9.5\nbecause"
        (judgment,) = mg.read_judgments(path)
        assert (judgment.scores, judgment.preference) == ((4, 9.5), "second")

    def test_training_records(self, tmp_path: Path) -> None:
        path = tmp_path / "t.jsonl"
        mg.write_samples([FULL], path, to="judgelm-training")
        (sample,) = mg.read_samples(path)
        assert sample.gold[0].scores == (4, 9.5)
        assert sample.gold[0].preference == "second"
        assert sample.reference == "r"


class TestAlpacaEval:
    def test_annotations(self, tmp_path: Path) -> None:
        path = tmp_path / "a.json"
        mg.write_samples(PAIRS, path, to="alpaca-eval")
        found = json.loads(path.read_text())
        assert [row["preference"] for row in found] == [1, 2, 1.5, None]
        assert found[0]["generator_2"] == "m2"
        reader = mg.read_samples(path)
        assert reader.format == "alpaca-eval-annotations"
        labels = [s.gold[0].preference for s in reader]
        assert labels == ["first", "second", "tie", None]

    def test_soft_labels(self, tmp_path: Path) -> None:
        soft = pair(1, None).model_copy(update={"gold": (Gold(probability_second=0.125),)})
        path = tmp_path / "a.json"
        mg.write_samples([soft], path, to="alpaca-eval-annotations")
        (sample,) = mg.read_samples(path)
        assert sample.gold[0].probability_second == 0.125

    def test_outputs(self, tmp_path: Path) -> None:
        path = tmp_path / "o.json"
        report = mg.write_samples([single(1), pair(2), single(3)], path, to="alpaca-eval")
        assert (report.to, report.written) == ("alpaca-eval-outputs", 2)
        assert "2 answers, and this format holds 1" in report.skipped[0].reason
        assert [s.question for s in mg.read_samples(path)] == ["q1", "q3"]


class TestPreference:
    def test_only_decisive_labels(self, tmp_path: Path) -> None:
        path = tmp_path / "p.jsonl"
        split = pair(6).model_copy(
            update={"gold": (Gold(preference="first"), Gold(preference="second"))}
        )
        report = mg.write_samples([*PAIRS, split, single()], path, to="preference")
        assert [row["chosen"] for row in rows(path)] == ["a1", "b2"]
        assert [row["rejected_model"] for row in rows(path)] == ["m2", "m1"]
        assert report.written == 2
        assert [(s.place, s.id) for s in report.skipped][:3] == [(3, "3"), (4, "4"), (5, "6")]
        reasons = [skip.reason for skip in report.skipped]
        for reason, word in zip(reasons, ("tie", "no label", "disagree", "1 answer"), strict=True):
            assert word in reason

    def test_dialogues_are_messages(self, tmp_path: Path) -> None:
        path = tmp_path / "p.jsonl"
        mg.write_samples([DIALOGUE], path, to="preference")
        (row,) = rows(path)
        assert row["prompt"][1] == {"role": "assistant", "content": "s1"}
        assert row["chosen"] == [{"role": "assistant", "content": "y"}]
        (sample,) = mg.read_samples(path)
        assert sample.question == DIALOGUE.question
        assert [answer.text for answer in sample.answers] == ["y", "x"]


class TestTables:
    @pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.parquet", "t.csv.gz", "t.parquet.gz"])
    def test_labels_and_models(self, tmp_path: Path, name: str) -> None:
        report = mg.write_samples(PAIRS, tmp_path / name)
        assert report.notices == ()
        assert list(mg.read_samples(tmp_path / name)) == PAIRS

    def test_columns_are_those_in_use(self, tmp_path: Path) -> None:
        path = tmp_path / "t.csv"
        mg.write_samples([pair(1)], path)
        assert path.read_bytes().splitlines()[0] == (
            b"id,question,answer1,answer2,model1,model2,label"
        )
        report = mg.write_samples([FULL], path)
        (sample,) = mg.read_samples(path)
        assert sample.gold == (Gold(preference="second", scores=(4, 9.5)),)
        assert (sample.context, sample.images) == (("p1\n\np2",), ("https://example.org/i.png",))
        lost = {notice.message.split(" (")[0] for notice in report.notices}
        assert "'csv' has no place for several annotators" in lost
        assert "several context were joined into one cell" in lost

    @pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
    def test_other_fields_are_columns(self, tmp_path: Path, name: str) -> None:
        rows = [
            pair(1, meta={"source": "web", "year": 2024, "sure": True, "tags": ["a", "b"]}),
            pair(2, meta={"source": "book", "year": 2.5, "Label": "odd", "sure": None}),
        ]
        report = mg.write_samples(rows, tmp_path / name)
        one, two = mg.read_samples(tmp_path / name)
        typed = name.endswith("parquet")
        assert one.meta["source"] == "web"
        assert float(one.meta["year"]) == 2024
        assert one.meta["sure"] in ((True,) if typed else ("true",))
        assert json.loads(one.meta["tags"]) == ["a", "b"]
        assert float(two.meta["year"]) == 2.5
        assert [sample.gold for sample in (one, two)] == [sample.gold for sample in rows]
        said = " ".join(notice.message for notice in report.notices)
        assert f"'{name[2:]}' has no place for the fields Label (row 2)" in said
        assert f"'{name[2:]}' holds the fields tags as JSON text (row 1)" in said
        if typed:
            schema = pl.read_parquet_schema(tmp_path / name)
            assert (schema["year"], schema["sure"]) == (pl.Float64, pl.Boolean)

    def test_fields_that_a_format_has_no_place_for_are_named(self, tmp_path: Path) -> None:
        report = mg.write_samples([pair(1, meta={"b": 1, "a": 2})], tmp_path / "x.jsonl", "judgelm")
        said = [notice.message for notice in report.notices]
        assert any("'judgelm' has no place for the fields b, a" in message for message in said)

    def test_types_of_parquet(self, tmp_path: Path) -> None:
        mg.write_samples([FULL], tmp_path / "t.parquet")
        schema = pl.read_parquet_schema(tmp_path / "t.parquet")
        assert schema["score1"] == pl.Float64
        assert schema["label"] == pl.String

    def test_parquet_is_written_piece_by_piece(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(table, "_BATCH_BYTES", 300)
        monkeypatch.setattr(table, "_GROUP_BYTES", 1000)
        samples = [pair(n, ("first", None)[n % 2]) for n in range(200)]
        samples[150] = samples[150].model_copy(update={"category": "late", "question": "x" * 5000})
        mg.write_samples(samples, tmp_path / "t.parquet")
        assert list(mg.read_samples(tmp_path / "t.parquet")) == samples

    def test_other_numbers_of_answers_are_listed(self, tmp_path: Path) -> None:
        report = mg.write_samples([pair(1), single(2), pair(3)], tmp_path / "t.csv")
        assert (report.written, report.skipped_count) == (2, 1)
        assert "1 answer where the first sample has 2" in report.skipped[0].reason

    def test_surrogates(self, tmp_path: Path) -> None:
        odd = Sample(question="x\ud800", answers=(Answer(text="a"),))
        mg.write_samples([odd], tmp_path / "t.csv")
        assert list(mg.read_samples(tmp_path / "t.csv")) == [odd]
        report = mg.write_samples([odd], tmp_path / "t.parquet")
        (sample,) = mg.read_samples(tmp_path / "t.parquet")
        assert sample.question == "x\ufffd"
        assert [notice.kind for notice in report.notices] == ["encoding"]

    def test_best_of_three(self, tmp_path: Path) -> None:
        three = Sample(
            question="q",
            answers=tuple(Answer(text=t) for t in "abc"),
            gold=(Gold(ranking=(2, 1, 2)),),
        )
        full = three.model_copy(update={"gold": (Gold(ranking=(2, 1, 3)),)})
        mg.write_samples([three], tmp_path / "t.csv")
        assert list(mg.read_samples(tmp_path / "t.csv")) == [three]
        report = mg.write_samples([full], tmp_path / "t.csv")
        assert "no full ranking" in report.notices[0].message


class TestMTBench:
    def test_folder(self, tmp_path: Path) -> None:
        folder = tmp_path / "bench"
        report = mg.write_samples(PAIRS, folder, to="mt-bench")
        assert report.written == 4
        answers = [folder / "model_answer" / f"{model}.jsonl" for model in ("m1", "m2")]
        found = list(mg.read_samples(*answers, questions=folder / "question.jsonl"))
        assert [(s.question, s.answers) for s in found] == [(s.question, s.answers) for s in PAIRS]
        judgments = list(mg.read_judgments(folder / "model_judgment" / "gold_pair.jsonl"))
        first = [j.preference for j in judgments if j.order == (0, 1)]
        assert first == ["first", "second", "tie"]

    def test_answers_over_turns(self, tmp_path: Path) -> None:
        turns = (
            Turn(role="assistant", text="r1"),
            Turn(role="user", text="u2"),
            Turn(role="assistant", text="r2"),
        )
        sample = Sample(
            question="u1", answers=(Answer(text="r2", turns=turns, model="a/b"),), source_id="9"
        )
        mg.write_samples([sample], tmp_path / "bench", to="mt-bench")
        (row,) = rows(tmp_path / "bench" / "question.jsonl")
        assert row["turns"] == ["u1", "u2"]
        path = tmp_path / "bench" / "model_answer" / "a_b.jsonl"
        (found,) = mg.read_samples(path, questions=tmp_path / "bench" / "question.jsonl")
        assert found.answers == sample.answers

    def test_names_of_models_that_make_no_file_names(self, tmp_path: Path) -> None:
        names = ["m" * 300, "m" * 299 + "n", "模" * 100, "a/b", "a_b", "A_B"]
        sample = Sample(
            question="q", answers=tuple(Answer(text=n[:2], model=n) for n in names), source_id="1"
        )
        report = mg.write_samples([sample], tmp_path / "b", to="mt-bench")
        assert report.written == 1
        paths = sorted((tmp_path / "b" / "model_answer").iterdir())
        assert len(paths) == len(names)
        assert {row["model_id"] for path in paths for row in rows(path)} == set(names)
        assert {"a_b.jsonl"} < {path.name for path in paths}

    def test_what_does_not_fit(self, tmp_path: Path) -> None:
        other = pair(1).model_copy(update={"question": "another"})
        twice = pair(2).model_copy(update={"answers": (Answer(text="x", model="m"),) * 2})
        report = mg.write_samples([pair(1), pair(1), other, twice, DIALOGUE],
                                  tmp_path / "b", to="mt-bench")  # fmt: skip
        assert report.written == 2
        reasons = [skip.reason for skip in report.skipped]
        assert "another question" in reasons[0]
        assert "by one model" in reasons[1]
        assert "dialogue" in reasons[2]
        assert len(rows(tmp_path / "b" / "question.jsonl")) == 1

    def test_the_folder_is_read_back(self, tmp_path: Path) -> None:
        turned = pair(7).model_copy(update={"answers": pair(7).answers[::-1]})
        samples = [*PAIRS, turned, pair(8, "second", category="c", reference="r")]
        mg.write_samples(samples, tmp_path / "bench", to="mt-bench")
        reader = mg.read_samples(tmp_path / "bench")
        found = list(reader)
        kept = ("question", "answers", "gold", "category", "reference", "source_id")
        assert [[getattr(s, name) for name in kept] for s in found] == [
            [getattr(s, name) for name in kept] for s in samples
        ]
        assert reader.notices == ()
        assert [Path(path).name for path in reader.paths] == ["m1.jsonl", "m2.jsonl"]

    def test_single_answers_and_sets_of_more_are_read_back(self, tmp_path: Path) -> None:
        one = Sample(question="q", answers=(Answer(text="a", model="m"),), source_id="1")
        mg.write_samples([one], tmp_path / "one", to="mt-bench")
        (found,) = mg.read_samples(tmp_path / "one")
        assert (found.question, found.answers) == (one.question, one.answers)
        three = Sample(
            question="q",
            answers=tuple(Answer(text=t, model=t) for t in "abc"),
            source_id="1",
        )
        mg.write_samples([three], tmp_path / "three", to="mt-bench")
        (whole,) = mg.read_samples(tmp_path / "three", join="nway")
        assert whole.answers == three.answers
        assert len(list(mg.read_samples(tmp_path / "three"))) == 3

    def test_models_that_did_not_answer_everything_are_no_news(self, tmp_path: Path) -> None:
        other = pair(9, "second").model_copy(
            update={"answers": (Answer(text="x", model="m2"), Answer(text="y", model="m3"))}
        )
        lonely = Sample(question="?", answers=(Answer(text="z", model="m3"),), source_id="l")
        mg.write_samples([pair(1), other, lonely], tmp_path / "b", to="mt-bench")
        reader = mg.read_samples(tmp_path / "b")
        found = list(reader)
        assert [[a.model for a in s.answers] for s in found] == [["m1", "m2"], ["m2", "m3"]]
        assert [s.gold[0].preference for s in found] == ["first", "second"]
        assert [notice.message for notice in reader.notices] == [
            f"1 id of {tmp_path}/b/model_answer/m3.jsonl is not in any other file: l"
        ]

    def test_verdicts_beside_the_labels_are_named(self, tmp_path: Path) -> None:
        mg.write_samples(PAIRS, tmp_path / "b", to="mt-bench")
        verdicts = tmp_path / "b/model_judgment"
        (verdicts / "gpt-4_single.jsonl").write_text("{}")
        with (verdicts / "gold_pair.jsonl").open("a") as file:
            file.write('{"question_id": "1", "g1_winner": "error"}\n')
        reader = mg.read_samples(tmp_path / "b")
        assert len(list(reader)) == 4
        assert [notice.kind for notice in reader.notices] == ["not-read", "unknown-label"]
        assert "model_judgment/gpt-4_single.jsonl" in reader.notices[0].message

    def test_a_folder_that_cannot_be_read_says_why(self, tmp_path: Path) -> None:
        mg.write_samples(PAIRS, tmp_path / "b", to="mt-bench")
        with pytest.raises(InputError, match="which is read alone"):
            mg.read_samples(tmp_path / "b", tmp_path / "b")
        for path in (tmp_path / "b/model_answer").iterdir():
            path.unlink()
        with pytest.raises(InputError, match=r"no model_answer/MODEL\.jsonl"):
            mg.read_samples(tmp_path / "b")
        (tmp_path / "other").mkdir()
        with pytest.raises(InputError, match="is a folder, and a file is needed"):
            mg.read_samples(tmp_path / "other")

    @pytest.mark.parametrize("name", ["mt.csv", "mt.jsonl", "mt.json.gz", "-"])
    def test_the_name_of_a_file_names_no_folder(self, tmp_path: Path, name: str) -> None:
        target = name if name == "-" else tmp_path / name
        with pytest.raises(InputError, match="'mt-bench' is written as a folder"):
            mg.write_samples(PAIRS, target, "mt-bench")
        assert not list(tmp_path.iterdir())

    def test_a_folder_that_exists_is_kept(self, tmp_path: Path) -> None:
        (tmp_path / "b").mkdir()
        (tmp_path / "b" / "mine.txt").write_text("x")
        with pytest.raises(InputError, match="exists already"):
            mg.write_samples(PAIRS, tmp_path / "b", to="mt-bench")
        assert (tmp_path / "b" / "mine.txt").read_text() == "x"


class TestWholeOrNotAtAll:
    @pytest.mark.parametrize("to", ["samples", "judgelm", "csv", "parquet", "mt-bench"])
    def test_nothing_is_left_of_a_failed_write(self, tmp_path: Path, to: str) -> None:
        def failing() -> Iterator[Sample]:
            yield pair(1)
            raise RuntimeError("stop")

        path = tmp_path / "out"
        if to != "mt-bench":
            path.write_text("before")
        with pytest.raises(RuntimeError, match="stop"):
            mg.write_samples(failing(), path, to=to)
        assert [p.name for p in tmp_path.iterdir()] == ([] if to == "mt-bench" else ["out"])
        if to != "mt-bench":
            assert path.read_text() == "before"

    def test_a_file_can_be_converted_in_place(self, tmp_path: Path) -> None:
        path = tmp_path / "x.jsonl"
        mg.write_samples(PAIRS, path)
        mg.write_samples(mg.read_samples(path), path, to="judgelm")
        assert mg.read_samples(path).format == "judgelm"

    def test_a_folder_in_the_way(self, tmp_path: Path) -> None:
        (tmp_path / "x.csv").mkdir()
        with pytest.raises(InputError, match="cannot be written"):
            mg.write_samples(PAIRS, tmp_path / "x.csv")
        (tmp_path / "file").write_text("")
        with pytest.raises(InputError, match="cannot be written"):
            mg.write_samples(PAIRS, tmp_path / "file" / "x.csv")

    @pytest.mark.parametrize("to", ["samples", "csv", "parquet", "mt-bench"])
    def test_a_mistyped_folder_is_told_before_anything_is_read(
        self, tmp_path: Path, to: str
    ) -> None:
        def unread() -> Iterator[Sample]:
            raise AssertionError("read")
            yield pair(1)

        with pytest.raises(InputError, match=r"there is no folder .*typo; make it first"):
            mg.write_samples(unread(), tmp_path / "typo" / "out", to=to)
        assert list(tmp_path.iterdir()) == []
        with pytest.raises(InputError, match="names no file"):
            mg.write_samples(unread(), "", to=to)

    def test_a_long_name_is_written(self, tmp_path: Path) -> None:
        path = tmp_path / ("x" * 249 + ".jsonl")
        mg.write_samples([pair(1)], path)
        assert [p.name for p in tmp_path.iterdir()] == [path.name]

    def test_equal_samples_give_equal_files(self, tmp_path: Path) -> None:
        for name in ("a.jsonl.gz", "b.jsonl.gz"):
            mg.write_samples(PAIRS, tmp_path / name)
        assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
        assert gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()).count(b"\n") == 4

    def test_standard_output(self, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        mg.write_samples([pair(1)], "-", to="samples")
        mg.write_samples([pair(1)], "-", to="csv")
        out = capfdbinary.readouterr().out.splitlines()
        assert json.loads(out[0])["question"] == "question 1"
        assert out[1].startswith(b"id,question")

    def test_files_have_the_usual_mode(self, tmp_path: Path) -> None:
        plain = tmp_path / "plain"
        plain.write_text("")
        mg.write_samples(PAIRS, tmp_path / "x.jsonl")
        assert (tmp_path / "x.jsonl").stat().st_mode == plain.stat().st_mode
