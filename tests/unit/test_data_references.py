"""References written, joined and filtered, and samples translated."""

from __future__ import annotations

import doctest
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import magistrate as mg
from magistrate.data import given_references, reference_checks, translating
from magistrate.data.given_references import read_references
from magistrate.data.questions import Question
from magistrate.data.reference_checks import WordRule, fault_of, irrelevant
from magistrate.data.references import ReferenceFilters, add_references
from magistrate.data.translating import lost, texts_of, translate_samples
from magistrate.errors import InputError
from magistrate.records import Answer, Gold, Sample, Turn

LONG = "The answer has quite a few words so that rules of words may apply."


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def pairs(tmp_path: Path, *samples: Sample) -> Path:
    path = tmp_path / "pairs.jsonl"
    mg.write_samples(samples, str(path), to="samples")
    return path


def pair(question: str, *answers: str, **fields: Any) -> Sample:
    texts = answers or ("one", "two")
    return Sample(question=question, answers=tuple(Answer(text=t) for t in texts), **fields)


def lines(path: str | Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        (LONG, None),
        ("  \n", "empty"),
        ("I'm sorry, but I can't help with that.", "refusal"),
        ("What is the largest city of the whole wide world, please?", "echo"),
        ("what is the largest city of the whole wide world please", "echo"),
        ("it is Tokyo, the capital of Japan, by all means!", "answer"),
        ("Tokyo", None),  # a right answer may well be this one word
    ],
)
def test_rules(reference: str, reason: str | None) -> None:
    fault = fault_of(
        reference,
        "What is the largest city of the whole wide world?",
        ["Tokyo", "It is Tokyo, the capital of Japan, by all means."],
    )
    assert (fault and fault.reason) == reason


def test_a_cut_reference_is_no_reference() -> None:
    fault = fault_of(LONG, "q", [], is_cut=True)
    assert fault is not None
    assert fault.reason == "cut"


def test_words_tell_references_of_other_questions() -> None:
    topics = [
        *("copper mining chile", "violin concerto composer", "python sorting list", "apple cake"),
        *("moon landing astronaut", "tax income deduction", "football penalty rules", "glacier"),
    ]
    questions = [f"Tell me about {topic} case {i}" for topic in topics for i in range(3)]
    texts = [f"This says what there is about {topic} and about nothing else." for topic in topics]
    own = irrelevant(texts, questions, list(range(0, 24, 3)))
    assert own == [None] * 8
    shifted = irrelevant(texts, questions, [(i + 6) % 24 for i in range(0, 24, 3)])
    assert all(getattr(fault, "reason", None) == "irrelevant" for fault in shifted)
    assert irrelevant(["Paris."], questions, [0]) == ["unchecked"]
    assert irrelevant(texts[:1], questions[:5], [0]) == ["unchecked"]


def test_lists_of_words() -> None:
    rule = WordRule(["bomb", r"poison\w*"])
    assert rule.fault_of("Bombast is no crime.") is None
    fault = rule.fault_of("How POISONOUS!")
    assert fault is not None
    assert fault.detail == "has 'POISONOUS'"
    with pytest.raises(InputError):
        WordRule(["("])


@pytest.mark.parametrize(
    "row",
    [
        {"question_id": 81, "model_id": "gpt-4", "choices": [{"turns": ["first", "second"]}]},
        {"question_id": 81, "reference": ["first", "second"]},
        {"id": "81", "question": "q", "reference_answer": ["first", "second"]},
    ],
)
def test_references_of_several_turns(tmp_path: Path, row: Any) -> None:
    found = read_references(write(tmp_path / "r.jsonl", row))
    one = Question(id="81", turns=(Turn(role="user", text="q"),), later=("and?",))
    assert found.of(one) == ("first", "second")
    assert found.of(one.model_copy(update={"later": ()})) == ("first",)
    other = one.model_copy(update={"id": "9", "turns": (Turn(role="user", text="other"),)})
    assert found.of(other) is None


def test_references_of_a_file_go_to_their_questions(tmp_path: Path) -> None:
    file = pairs(tmp_path, pair("q1", source_id="a"), pair("q2", source_id="b"), pair("q3"))
    given_file = write(
        tmp_path / "given.jsonl",
        {"question": "q1", "reference": "r1"},
        {"idx": "b", "pandalm_reference": "r2"},
        {"idx": "c"},
    )
    out = tmp_path / "out.jsonl"
    made = add_references(file, out=out, given=given_file)
    assert [s.reference for s in mg.read_samples(out)] == ["r1", "r2", None]
    assert (made.given, made.missing, made.with_reference) == (2, 1, 2)
    assert made.notices[-1].kind == "no-reference"
    assert next(iter(mg.read_samples(out))).meta["reference_from"] == str(given_file)
    with pytest.raises(InputError, match="no references"):
        read_references(write(tmp_path / "none.jsonl", {"a": 1}))


def test_an_engine_writes_each_questions_reference_once(tmp_path: Path) -> None:
    samples = [pair("why is the sky blue today?", f"{i}", "two") for i in range(3)]
    samples.append(pair("has one", reference="Given."))
    out = tmp_path / "out.jsonl"
    file = pairs(tmp_path, *samples)
    made = add_references(file, out=out, engine="gpt=scripted:words")
    assert (made.asked, made.usage.requests, made.had_one, made.with_reference) == (1, 1, 1, 4)
    found = list(mg.read_samples(out))
    assert len({sample.reference for sample in found[:3]}) == 1
    assert found[0].meta["reference_from"] == "gpt"
    assert found[3].reference == "Given."
    assert add_references(file, out=out, engine="gpt=scripted:words").usage.requests == 1
    replaced = add_references(file, out=out, engine="gpt=scripted:words", replace=True)
    assert replaced.asked == 2


def test_what_is_dropped_is_listed_with_reasons_and_the_sample_stays(tmp_path: Path) -> None:
    file = pairs(tmp_path, pair("what is it that nobody likes to hear?"), pair("x", reference="ok"))
    out = tmp_path / "out.jsonl"
    made = add_references(file, out=out, engine="scripted:echo")
    assert made.dropped == {"echo": 1}
    assert [sample.reference for sample in mg.read_samples(out)] == [None, "ok"]
    assert made.dropped_file == str(tmp_path / "out.dropped.jsonl")
    (row,) = lines(made.dropped_file)
    assert (row["row"], row["reason"], row["from"]) == (1, "echo", "echo")
    add_references(file, out=out, engine="scripted:words")
    assert not (tmp_path / "out.dropped.jsonl").exists()


def test_failures_of_the_engine_are_told(tmp_path: Path) -> None:
    made = add_references(
        pairs(tmp_path, pair("q")), out=tmp_path / "o.jsonl", engine="scripted:fail"
    )
    assert (made.failed, made.missing, made.with_reference) == (1, 1, 0)
    assert "told to fail" in made.failures[0]["reason"]


def test_gold_answers_tell_wrong_references(tmp_path: Path) -> None:
    file = pairs(
        tmp_path,
        pair("6 x 7?", reference="That makes 42."),
        pair("6 x 8?", reference="That makes 42."),
        pair("free", reference="Anything."),
    )
    rows = ({"question": "6 x 7?", "gold": 42}, {"question": "6 x 8?", "gold": "48"})
    gold = write(tmp_path / "g.jsonl", *rows)
    made = add_references(file, out=tmp_path / "o.jsonl", filters=ReferenceFilters(gold=gold))
    assert made.dropped == {"wrong": 1}
    assert lines(tmp_path / "o.dropped.jsonl")[0]["detail"] == "the right answer is '48'"


def test_a_judge_grades_references(tmp_path: Path) -> None:
    samples = [pair(f"question {i}", reference=f"reference {i}") for i in range(12)]
    samples += samples[:2]
    filters = ReferenceFilters(check_with="scripted:random", min_score=5)
    out = tmp_path / "o.jsonl"
    made = add_references(pairs(tmp_path, *samples), out=out, filters=filters)
    dropped = made.dropped["low-score"]
    assert 0 < dropped < 14
    assert made.with_reference == 14 - dropped
    assert all(
        row["detail"].startswith("scripted:random grades it")
        for row in lines(str(made.dropped_file))
    )
    again = add_references(pairs(tmp_path, *samples), out=out, filters=filters)
    assert again == made
    unread = ReferenceFilters(check_with="scripted:nonsense")
    made = add_references(pairs(tmp_path, *samples), out=out, filters=unread)
    assert (made.unchecked_judge, made.with_reference) == (14, 14)


def test_a_judge_of_harm_sees_what_to_grade(tmp_path: Path) -> None:
    filters = ReferenceFilters(harm_with="scripted:random,refuse=0", min_score=10.5)
    made = add_references(
        pairs(tmp_path, pair("q", reference="r")), out=tmp_path / "o.jsonl", filters=filters
    )
    assert made.dropped == {"harmful": 1}
    (folder,) = (tmp_path / "o.asked" / "harm").iterdir()
    assert "could do harm" in lines(folder / "samples.jsonl")[0]["rubric"]


@pytest.mark.data
def test_mt_benchs_references_pass_and_exchanged_ones_do_not(
    tmp_path: Path, data_folder: Path
) -> None:
    bench = data_folder / "fastchat" / "llm_judge" / "mt_bench"
    rows = lines(bench / "question.jsonl")
    samples = [pair(row["turns"][0], source_id=str(row["question_id"])) for row in rows]
    given_file = bench / "reference_answer" / "gpt-4.jsonl"
    out = tmp_path / "o.jsonl"
    made = add_references(pairs(tmp_path, *samples), out=out, given=given_file)
    assert (made.given, made.with_reference, made.dropped) == (30, 30, {})
    references = lines(given_file)
    for row, other in zip(references, references[7:] + references[:7], strict=True):
        row["question_id"], other["keep"] = other["question_id"], None
    moved = write(tmp_path / "moved.jsonl", *references)
    made = add_references(pairs(tmp_path, *samples), out=out, given=moved)
    assert made.dropped.get("irrelevant", 0) >= 15


# --- translation -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("original", "translation", "said"),
    [
        ("1,234.5 and 7", "1.234,5 und 7", None),
        ("7 and 7", "7", "the number 7 is lost"),
        ("none", "keine 3", "the number 3 was not there"),
        ("Use `ls -l`.", "Nimm `ls -l`.", None),
        ("Use `ls -l`.", "Nimm ls -l.", "the code 'ls -l' is lost"),
        ("```py\nx = 1\n```", "```\nx = 1\n```", None),
        ("```py\nx = 1\n```", "```py\nx = 2\n```", "a block of code is changed"),
    ],
)
def test_what_must_survive(original: str, translation: str, said: str | None) -> None:
    assert lost(original, translation) == said


@given(st.text())
@settings(deadline=None)
def test_every_text_survives_itself(text: str) -> None:
    assert lost(text, text) is None


def sample_with_all() -> Sample:
    return Sample(
        question=(Turn(role="user", text="Hi 1"), Turn(role="assistant", text="Yo")),
        answers=(
            Answer(text="A 2", model="m", turns=(Turn(role="assistant", text="A 2"),)),
            Answer(text="", model="n"),
        ),
        reference="Turn 1: R\n\nTurn 2: S",
        rubric="Be short",
        context=("Passage",),
        gold=(Gold(annotator="g", scores=(8, 2), preference="first", reasons="Answer 1 is it"),),
        language="en",
        meta={"x": 1},
    )


def test_texts_change_and_labels_stay(tmp_path: Path) -> None:
    original = sample_with_all()
    made = translate_samples(
        pairs(tmp_path, original),
        out=tmp_path / "t.jsonl",
        engine="scripted:echo",
        language="Dutch",
    )
    (found,) = mg.read_samples(tmp_path / "t.jsonl")
    assert list(texts_of(found)) == list(texts_of(original))
    assert found.gold == original.gold
    assert found.language == "Dutch"
    assert found.meta == {
        "x": 1,
        "translated": {"from": "en", "to": "Dutch", "by": "echo", "of": original.text_id},
    }
    assert (made.written, made.texts, made.failed) == (1, 8, 0)


def test_a_sample_whose_numbers_are_lost_is_left_out_and_listed(tmp_path: Path) -> None:
    file = pairs(tmp_path, pair("What is 12 and 13 and 14 and 15 and 16?"), pair("b", "c", "d"))
    made = translate_samples(file, out=tmp_path / "t.jsonl", engine="scripted:words", language="X")
    assert (made.written, made.failed) == (1, 1)
    (row,) = lines(str(made.dropped_file))
    assert (row["row"], row["field"]) == (1, "question")
    assert "number" in row["reason"]
    assert made.usage.requests == made.texts + 1, "what is lost is tried once more"


def test_what_cannot_be_translated_is_told(tmp_path: Path) -> None:
    file = pairs(tmp_path, pair("a"))
    with pytest.raises(InputError, match="no language"):
        translate_samples(file, out=tmp_path / "t.jsonl", engine="scripted:echo", language=" ")
    with pytest.raises(InputError, match="replace the input"):
        translate_samples(file, out=file, engine="scripted:echo", language="Dutch")
    made = translate_samples(
        file, out=tmp_path / "t.jsonl", engine="scripted:fail", language="Dutch"
    )
    assert (made.written, made.failed) == (0, 1)


@pytest.mark.parametrize("module", [reference_checks, given_references, translating])
def test_examples_in_docstrings(module: Any) -> None:
    assert doctest.testmod(module).failed == 0
