"""Several replies to one prompt become a distribution."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from magistrate.messages import Completion
from magistrate.prompts.base import Verdict
from magistrate.prompts.catalog import load_family
from magistrate.records import Answer, Sample

PAIR = Sample(question="q", answers=(Answer(text="a"), Answer(text="b")))
TRIPLE = Sample(question="q", answers=(Answer(text="a"), Answer(text="b"), Answer(text="c")))


def drawn(*texts: str, endings: Sequence[str] = ()) -> Completion:
    meta = {"samples": list(texts), "sample_finish_reasons": list(endings) or ["stop"] * len(texts)}
    return Completion("k/0", text=texts[0], meta=meta)


def read(family: str, *completions: Completion, sample: Sample = PAIR) -> Verdict:
    order = range(len(sample.answers))
    return load_family(family).read(completions, sample, tuple(order))


def test_shares_of_the_outcomes_are_the_probabilities() -> None:
    verdict = read("pair", drawn("5 8\nNo.", "8 5\nYes.", "9 5", "7 7", "Both are fine."))
    assert (verdict.status, verdict.preference, verdict.approximate) == ("ok", "first", True)
    assert verdict.probabilities is not None
    shares = verdict.probabilities
    assert (shares.first, shares.tie, shares.second) == (0.5, 0.25, 0.25)
    assert shares.confidence == 0.5
    assert verdict.mass == 0.8, "one reply of five is no verdict"
    assert verdict.scores == (7.25, 6.25)
    assert verdict.reasons == "Yes.", "those of the first reply that says what most say"


def test_labels_are_counted_too() -> None:
    verdict = read("mt-bench-pair", drawn("x [[B]]", "y [[B]]", "z [[C]]", "w [[B]]"))
    assert verdict.preference == "second"
    assert verdict.probabilities is not None
    assert (verdict.probabilities.second, verdict.probabilities.tie) == (0.75, 0.25)
    assert verdict.mass == 1.0


def test_where_no_reply_is_a_verdict_the_first_one_says_why() -> None:
    verdict = read("pair", drawn("Both.", "8", "I cannot evaluate this."))
    assert verdict.status == "unparsed"
    assert verdict.probabilities is None


def test_a_reply_that_was_cut_short_is_no_verdict() -> None:
    verdict = read("pair", drawn("8 1", "8 5\nYes.", endings=("length", "stop")))
    assert (verdict.preference, verdict.scores, verdict.mass) == ("first", (8.0, 5.0), 0.5)
    cut = read("pair", drawn("8", "8 1", endings=("length", "length")))
    assert cut.status == "truncated"


def test_answers_read_alone_are_compared_each_with_each() -> None:
    verdict = read("single", drawn("9", "7"), drawn("7", "7"))
    assert verdict.scores == (8.0, 7.0)
    assert verdict.preference == "tie" or verdict.preference == "first"
    assert verdict.probabilities is not None
    assert (verdict.probabilities.first, verdict.probabilities.tie) == (0.5, 0.5)
    assert verdict.approximate
    failed = read("single", drawn("9", "7"), drawn("no", "nothing"))
    assert (failed.status, failed.scores) == ("unparsed", None)
    assert "(answer 2)" in (failed.error or "")
    one = read(
        "single",
        drawn("9", "6", "none"),
        sample=PAIR.model_copy(update={"answers": PAIR.answers[:1]}),
    )
    assert (one.scores, one.probabilities, one.mass) == ((7.5,), None, pytest.approx(2 / 3))


def test_more_answers_have_mean_scores_or_mean_ranks() -> None:
    verdict = read("n-way", drawn("9 5 1", "3 7 1"), sample=TRIPLE)
    assert (verdict.scores, verdict.ranking) == ((6.0, 6.0, 1.0), (1, 1, 3))
    names = ("model_1", "model_2", "model_3")
    orders = ((1, 2, 3), (2, 1, 3))
    lists = [
        json.dumps([{"model": name, "rank": rank} for name, rank in zip(names, ranks, strict=True)])
        for ranks in orders
    ]
    ranked = read("alpaca-eval-ranking", drawn(*lists), sample=TRIPLE)
    assert ranked.ranking == (1, 1, 3)


def test_one_reply_stays_a_reply() -> None:
    verdict = read("pair", drawn("8 5"))
    assert (verdict.probabilities, verdict.approximate, verdict.mass) == (None, False, None)
