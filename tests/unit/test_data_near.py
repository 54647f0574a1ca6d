"""Near-duplicates and contained texts: what is planted is found, what is reported is true."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("rensa")

from magistrate.data.checks import near as near_module
from magistrate.data.checks.contained import contained_in
from magistrate.data.checks.near import Nearness, found, near_pairs
from magistrate.data.checks.shingles import LONGEST, ShingleSets, jaccard, shingle_batches
from magistrate.data.checks.texts import normalised
from magistrate.errors import InputError, MissingExtraError


def shingles(text: str, length: int = 5) -> set[str]:
    text = text.ljust(length, "\x00")
    return {text[k : k + length] for k in range(len(text) - length + 1)}


def true_jaccard(one: str, other: str) -> float:
    a, b = shingles(one), shingles(other)
    return len(a & b) / len(a | b)


def random_text(rng: random.Random, words: int) -> str:
    return " ".join(
        "".join(rng.choices("abcdefghijklmnop", k=rng.randint(3, 8))) for _ in range(words)
    )


def changed(rng: random.Random, text: str, words: int) -> str:
    parts = text.split()
    for place in rng.sample(range(len(parts)), words):
        parts[place] = random_text(rng, 1)
    return " ".join(parts)


@given(st.text(max_size=40), st.text(max_size=40))
@settings(max_examples=200, deadline=None)
def test_hashed_shingles_have_the_jaccard_of_the_texts(one: str, other: str) -> None:
    sets = ShingleSets([one, other], 5)
    assert jaccard(sets[0], sets[1]) == pytest.approx(true_jaccard(one, other))


def test_texts_in_one_batch_share_no_shingles_across_their_borders() -> None:
    (batch,) = shingle_batches(["abcdefg", "xy", "", "abcde"], 5)
    counts = [int(n) for n in batch.offsets[1:] - batch.offsets[:-1]]
    assert counts == [3, 1, 1, 1]
    assert batch.hashes[0] == batch.hashes[-1]  # 'abcde' in both


@pytest.mark.parametrize("threshold", [0.5, 0.7, 0.9])
def test_planted_pairs_are_found_as_often_as_is_said(threshold: float) -> None:
    rng = random.Random(1)
    texts = [random_text(rng, rng.randint(20, 60)) for _ in range(600)]
    planted = [changed(rng, text, rng.randint(1, 6)) for text in texts]
    known = {
        (k, 600 + k)
        for k, (one, other) in enumerate(zip(texts, planted, strict=True))
        if true_jaccard(one, other) >= threshold
    }
    assert len(known) > 40
    nearness = Nearness(threshold)
    got = near_pairs(texts + planted, nearness)
    pairs = set(zip(got.one.tolist(), got.other.tolist(), strict=True))
    # Every planted pair has at least the stated probability; six standard errors of room.
    least = nearness.found_at_threshold
    room = 6 * (least * (1 - least) * len(known)) ** 0.5
    assert len(pairs & known) >= least * len(known) - room
    for one, other, similarity in zip(got.one, got.other, got.similarity, strict=True):
        both = texts + planted
        assert similarity >= threshold
        assert similarity == pytest.approx(true_jaccard(both[one], both[other]))


def test_bands_are_chosen_so_that_the_threshold_is_found() -> None:
    for hundredths in range(30, 101):
        nearness = Nearness(hundredths / 100)
        assert nearness.bands * nearness.rows <= 128
        assert found(nearness.threshold, nearness.rows, nearness.bands) >= 0.98
    with pytest.raises(InputError, match=r"from 0[.]3"):
        Nearness(0.1)


def test_large_buckets_stay_connected_and_quick() -> None:
    rng = random.Random(2)
    base = random_text(rng, 60)
    texts = list(dict.fromkeys(f"{base} {number}" for number in range(1_000)))
    begin = time.process_time()
    got = near_pairs(texts, Nearness(0.7))
    assert time.process_time() - begin < 5
    linked = set(got.one.tolist()) | set(got.other.tolist())
    assert len(linked) == len(texts)


def test_other_scripts() -> None:
    texts = [
        normalised("请写一篇关于春天的短文，要求语言优美，不少于三百字。"),
        normalised("请写一篇关于春天的短文,要求语言优美,不少于三百字!"),
        normalised("请写一篇关于秋天和冬天的长诗。"),
        normalised("वसंत ऋतु पर एक सुंदर निबंध लिखिए जिसमें तीन सौ शब्द हों"),
        normalised("वसंत ऋतु पर एक सुंदर निबंध लिखिए जिसमें चार सौ शब्द हों"),
        "\ud800 lone surrogate text that goes on",
        "\ud800 lone surrogate text that goes on!",
    ]
    unique = list(dict.fromkeys(texts))
    assert len(unique) == 6  # the first two are the same text with other marks
    got = near_pairs(unique, Nearness(0.5))
    assert set(zip(got.one.tolist(), got.other.tolist(), strict=True)) == {(2, 3), (4, 5)}


def test_no_one_and_enormous_texts() -> None:
    assert len(near_pairs([], Nearness())) == 0
    assert len(near_pairs(["one"], Nearness())) == 0
    assert len(near_pairs(["", "a"], Nearness())) == 0
    rng = random.Random(3)
    long = random_text(rng, 40_000)
    got = near_pairs([long, "short", long + " and more"], Nearness())
    assert len(long) > LONGEST
    assert list(zip(got.one, got.other, strict=True)) == [(0, 2)]


def test_without_rensa_the_error_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "rensa", None)
    with pytest.raises(MissingExtraError, match=r"magistrate\[data\]"):
        near_module.near_pairs(["a", "b"], Nearness())


words = st.lists(st.sampled_from(["a", "bc", "def", "é", "中文", "x-1"]), max_size=12).map(" ".join)


@given(st.lists(words, max_size=8), st.lists(words, max_size=8), st.integers(1, 6))
@settings(max_examples=200, deadline=None)
def test_contained_texts_are_those_a_comparison_of_all_finds(
    inner: list[str], outer: list[str], shortest: int
) -> None:
    got = set(contained_in(inner, outer, shortest))
    for i, text in enumerate(inner):
        for j, other in enumerate(outer):
            if len(text) >= shortest and f" {text} " in f" {other} " and text != other:
                assert (i, j) in got
    for i, j in got:
        assert inner[i] in outer[j]
        assert len(inner[i]) >= shortest
        assert inner[i] != outer[j]


def test_contained_texts_end_where_words_do() -> None:
    assert list(contained_in(["plan an art"], ["plan an artful day"], 5)) == []
    assert list(contained_in(["plan an art"], ["do plan an art, or plan an artful day"], 5)) == [
        (0, 0)
    ]
    # Scripts without blanks have no such borders.
    assert list(contained_in(["写一篇关于春天"], ["请写一篇关于春天的短文"], 5)) == [(0, 0)]


def test_normalised_is_idempotent_and_keeps_what_matters() -> None:
    assert normalised("x[0] = 1;") != normalised("x(0) = 1;")
    assert normalised("5-3") != normalised("5 3")
    assert normalised("What is C++?") != normalised("What is C?")
    assert normalised("\u201cWhy?\u201d\n") == normalised("why") == "why"


@given(st.text())
def test_normalising_twice_changes_nothing_but_odd_cases(text: str) -> None:
    once = normalised(text)
    assert " ".join(once.split()) == once
    assert normalised(text) == once
