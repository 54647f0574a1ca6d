"""Questions out of files of every kind, and how they are drawn."""

from __future__ import annotations

import doctest
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magistrate.data import embedding, sampling
from magistrate.data.embedding import auroc_between, energy_distance, vectorise
from magistrate.data.questions import Question, load_questions, write_questions
from magistrate.data.sampling import (
    draw_questions,
    nearest_unused,
    shared_out,
    total_variation,
)
from magistrate.errors import InputError
from magistrate.records import Turn


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def user(text: str) -> tuple[Turn, ...]:
    return (Turn(role="user", text=text),)


USER = {"role": "user", "content": "a"}
ASSISTANT = {"role": "assistant", "content": "b"}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            {"question_id": 81, "category": "math", "turns": ["a", "b"], "reference": ["r", "s"]},
            Question(
                id="81",
                turns=user("a"),
                later=("b",),
                category="math",
                reference="Turn 1: r\n\nTurn 2: s",
            ),
        ),
        ({"id": "x", "question": "a"}, Question(id="x", turns=user("a"))),
        ({"idx": 3, "instruction": "a", "input": "b"}, Question(id="3", turns=user("a\n\nb"))),
        ({"id": 1, "instruction": "a", "input": ""}, Question(id="1", turns=user("a"))),
        ({"id": 1, "messages": [USER, ASSISTANT]}, Question(id="1", turns=user("a"))),
        (
            {"question": "a", "answer1": "x", "answer2": "y", "id": "7", "category": "c"},
            Question(id="7", turns=user("a"), category="c"),
        ),
        (
            {"question_id": 5, "text": "a", "category": "c"},
            Question(id="5", turns=user("a"), category="c"),
        ),
    ],
)  # fmt: skip
def test_rows_of_every_kind(tmp_path: Path, row: Any, expected: Question) -> None:
    assert load_questions(write(tmp_path / "q.jsonl", row)).rows == [expected]


def test_plain_lines_tables_and_named_columns(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("What, pray, is this?\n\nAnd, well, that?\n")
    (tmp_path / "q.csv").write_text("key,ask,kind\n1,What?,math\n2,Why?,\n")
    columns = {"question": "ask", "id": "key", "category": "kind"}
    assert [q.asked for q in load_questions(tmp_path / "q.txt").rows] == [
        "What, pray, is this?",
        "And, well, that?",
    ]
    found = load_questions(tmp_path / "q.csv", columns=columns).rows
    assert [(q.id, q.asked, q.category) for q in found] == [
        ("1", "What?", "math"),
        ("2", "Why?", None),
    ]


def test_each_question_comes_once_and_ids_are_made_different(tmp_path: Path) -> None:
    first = write(tmp_path / "a.jsonl", {"id": 1, "question": "a"}, {"id": 2, "question": "b"})
    second = write(tmp_path / "b.jsonl", {"id": 9, "question": "a"}, {"id": 1, "question": "c"})
    found = load_questions(first, second)
    assert [q.asked for q in found.rows] == ["a", "b", "c"]
    assert found.repeated == 1
    assert len({q.id for q in found.rows}) == 3
    assert found.notices[0].kind == "duplicate-id"
    assert len(load_questions(first, second, limit=2).rows) == 2


def test_bad_rows_lose_no_good_ones(tmp_path: Path) -> None:
    file = write(tmp_path / "q.jsonl", {"question": "a"}, {"nothing": 1}, {"question": "b"})
    found = load_questions(file)
    assert [q.asked for q in found.rows] == ["a", "b"]
    assert "no field of questions" in found.bad[0].reason
    assert found.bad[0].row == 2
    with pytest.raises(InputError, match="row 2"):
        load_questions(file, strict=True)
    with pytest.raises(InputError, match="no question"):
        load_questions(write(tmp_path / "n.jsonl", {"nothing": 1}))


TEXTS = st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip)


@given(
    st.lists(
        st.builds(
            Question,
            id=st.from_regex(r"[a-z0-9]{1,8}", fullmatch=True),
            turns=TEXTS.map(user),
            later=st.lists(TEXTS, max_size=2).map(tuple),
            category=st.none() | st.sampled_from(["a", "b"]),
        ),
        min_size=1,
        max_size=6,
        unique_by=(lambda q: q.id, lambda q: (q.turns, q.later)),
    )
)
@settings(max_examples=40, deadline=None)
def test_written_questions_are_read_again(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Question]
) -> None:
    path = tmp_path_factory.mktemp("q") / "q.jsonl"
    write_questions(rows, path)
    assert load_questions(path).rows == rows


@pytest.mark.data
def test_mt_bench_as_it_is(data_folder: Path) -> None:
    found = load_questions(data_folder / "fastchat" / "llm_judge" / "mt_bench" / "question.jsonl")
    assert len(found.rows) == 80
    assert {len(q.later) for q in found.rows} == {1}
    assert not found.bad
    assert {q.category for q in found.rows if q.reference} >= {"math", "reasoning", "coding"}


# --- drawing -----------------------------------------------------------------------------------

SHARES = st.dictionaries(st.sampled_from("abcdef"), st.floats(0.01, 1), min_size=1)


@given(st.integers(1, 200), SHARES, st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 80)))
def test_sharing_out_gives_all_that_there_is_room_for(
    number: int, shares: dict[str, float], room: dict[str, int]
) -> None:
    given_out = shared_out(number, shares, room)
    assert all(0 <= n <= room.get(k, 0) for k, n in given_out.items())
    assert sum(given_out.values()) == min(number, sum(room.get(k, 0) for k in shares))


@given(st.integers(1, 200), SHARES)
def test_with_room_enough_nobody_is_off_by_one(number: int, shares: dict[str, float]) -> None:
    total = sum(shares.values())
    for key, amount in shared_out(number, shares, dict.fromkeys(shares, number)).items():
        assert abs(amount - number * shares[key] / total) < 1


WORDS = {
    "cooking": "boil soup salt pepper onion butter pan oven dough spice roast simmer carrot",
    "code": "python function list sort integer loop class variable compile string array debug",
    "law": "contract clause liability tenant damages court appeal statute breach lease witness",
}


def sentences(topic: str, count: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS[topic].split(), 8)) for _ in range(count)]


def pool(tmp_path: Path) -> Path:
    rows = [
        {"id": f"{topic}{i}", "category": topic, "question": text}
        for topic in WORDS
        for i, text in enumerate(sentences(topic, 40, 1))
    ]
    return write(tmp_path / "pool.jsonl", *rows)


def target(tmp_path: Path, topic: str) -> Path:
    rows = ({"question": text, "category": topic} for text in sentences(topic, 25, 2))
    return write(tmp_path / "target.jsonl", *rows)


def drawn(path: Path) -> list[str]:
    return [q.id for q in load_questions(path).rows]


def test_at_random_and_by_seed(tmp_path: Path) -> None:
    file, out = pool(tmp_path), tmp_path / "out.jsonl"
    made = draw_questions(file, out=out, number=30, seed=1)
    first = drawn(out)
    assert (made.drawn, made.pool, made.before) == (30, 120, None)
    assert len(set(first)) == 30
    draw_questions(file, out=out, number=30, seed=1)
    assert drawn(out) == first
    draw_questions(file, out=out, number=30, seed=2)
    assert drawn(out) != first


def test_by_category(tmp_path: Path) -> None:
    sizes = {"a": 60, "b": 20, "c": 4}
    rows = [{"question": f"{c} {i}", "category": c} for c, n in sizes.items() for i in range(n)]
    file, out = write(tmp_path / "pool.jsonl", *rows), tmp_path / "out.jsonl"

    def counts(**options: Any) -> dict[str, int]:
        made = draw_questions(file, out=out, number=21, by="category", **options)
        return {share.category: share.drawn_count for share in made.categories}

    assert counts() == {"a": 15, "b": 5, "c": 1}
    assert sum(counts(even=True).values()) == 21
    assert counts(even=True)["c"] == 4
    like = write(tmp_path / "t.jsonl", *({"question": f"t{i}", "category": "c"} for i in range(5)))
    made = draw_questions(file, out=out, number=10, by="category", like=[like])
    assert {s.category: s.drawn_count for s in made.categories}["c"] == 4
    assert made.notices[0].kind == "category-short"
    assert made.before is not None
    assert made.after is not None
    assert made.after.category is not None
    assert made.before.category is not None
    assert made.after.category < made.before.category


def test_by_embedding_the_like_is_drawn_and_the_measures_show_it(tmp_path: Path) -> None:
    like = target(tmp_path, "code")
    out = tmp_path / "out.jsonl"
    made = draw_questions(pool(tmp_path), out=out, number=20, like=[like])
    assert made.by == "embedding"
    assert all(ident.startswith("code") for ident in drawn(out))
    assert made.before is not None
    assert made.after is not None
    assert made.before.category == pytest.approx(2 / 3)
    assert made.after.category == 0
    assert made.after.energy is not None
    assert made.before.energy is not None
    assert made.after.energy < made.before.energy / 2
    assert made.after.auroc is not None
    assert made.before.auroc is not None
    assert made.after.auroc < made.before.auroc


def test_no_question_is_drawn_twice_even_where_one_is_nearest_to_all() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(50, 4))
    aims = np.tile(vectors[:1], (7, 1))
    places = nearest_unused(vectors, aims, 30, seed=0)
    assert len(set(places)) == 30
    best = np.argsort(-(vectors @ aims[0]))[:30]
    assert set(places) == set(best.tolist())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"number": 500}, "500 questions"),
        ({"number": 3, "by": "embedding"}, "--like"),
        ({"number": 3, "even": True}, "--by category"),
    ],
)
def test_what_cannot_be_drawn_is_told(tmp_path: Path, options: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        draw_questions(pool(tmp_path), out=tmp_path / "o.jsonl", **options)


def test_categories_that_are_not_there_are_told(tmp_path: Path) -> None:
    file = write(tmp_path / "p.jsonl", *({"question": f"q{i}"} for i in range(5)))
    with pytest.raises(InputError, match="category"):
        draw_questions(file, out=tmp_path / "o.jsonl", number=2, by="category")


# --- distances ---------------------------------------------------------------------------------


def test_energy_distance_is_zero_for_equal_distributions_and_grows() -> None:
    rng = np.random.default_rng(1)
    base = rng.normal(size=(400, 3))
    same, near, far = (rng.normal(size=(400, 3)) + shift for shift in (0, 0.5, 2))
    distances = [energy_distance(base, other) for other in (same, near, far)]
    assert distances[0] == pytest.approx(0, abs=0.02)
    assert distances == sorted(distances)  # type: ignore[type-var]
    assert energy_distance(base[:1], same) is None


def test_energy_distance_of_points_by_hand() -> None:
    first, second = np.array([[0.0], [2.0]]), np.array([[1.0], [3.0]])
    # E|X - Y| = (1 + 3 + 1 + 1) / 4 = 1.5; E|X - X'| = E|Y - Y'| = 2
    assert energy_distance(first, second) == pytest.approx(2 * 1.5 - 2 - 2)


def test_a_classifier_tells_topics_apart_and_not_one_topic_from_itself() -> None:
    cooking, code = (sentences(topic, 80, 3) for topic in ("cooking", "code"))
    assert auroc_between(cooking, code) == pytest.approx(1)
    apart = auroc_between(cooking[:40], cooking[40:])
    assert apart is not None
    assert 0.2 < apart < 0.8
    assert auroc_between(cooking[:3], code) is None


def test_vectors_have_length_one_and_like_texts_are_near() -> None:
    first, second = vectorise(["red apples and pears", "", "日本の首都は"], ["red pears", "日本"])
    assert np.linalg.norm(first[0]) == pytest.approx(1)
    assert first[0] @ second[0] > first[0] @ second[1]
    assert first[2] @ second[1] > first[2] @ second[0]
    (empty,) = vectorise(["", "!"])
    assert not empty.any()


def test_total_variation() -> None:
    assert total_variation({"a": 0.5, "b": 0.5}, {"b": 1.0}) == 0.5
    assert doctest.testmod(sampling).failed == 0
    assert doctest.testmod(embedding).failed == 0
