"""Probabilities from the few likeliest tokens that a server returns."""

from __future__ import annotations

import math

import pytest

from magistrate.messages import Completion, TokenLogprob
from magistrate.prompts.base import Verdict
from magistrate.prompts.catalog import load_family
from magistrate.records import Answer, Sample

PAIR = Sample(question="Q", answers=(Answer(text="a"), Answer(text="b")))

Token = tuple[str, dict[str, float]]


def token(written: str, alternatives: dict[str, float]) -> TokenLogprob:
    top = tuple((text, math.log(p)) for text, p in alternatives.items())
    return TokenLogprob(written, math.log(alternatives[written]), top)


def sure(text: str) -> TokenLogprob:
    return token(text, {text: 1.0})


def reply(*tokens: TokenLogprob) -> Completion:
    text = "".join(each.token for each in tokens)
    return Completion(key="0", text=text, logprobs=tokens)


def read(name: str, *completions: Completion) -> Verdict:
    return load_family(name, mode="score").read(completions, PAIR, (0, 1))


def outcome(verdict: Verdict) -> tuple[float, float, float]:
    assert verdict.probabilities is not None, verdict
    assert verdict.approximate
    p = verdict.probabilities
    return p.first, p.tie, p.second


def test_labels_that_are_one_token() -> None:
    verdict = read("pandalm", reply(token("1", {"1": 0.6, "2": 0.2, "Tie": 0.1, "The": 0.1})))
    assert outcome(verdict) == pytest.approx((6 / 9, 1 / 9, 2 / 9))
    assert verdict.preference == "first"
    assert verdict.mass == pytest.approx(0.9)


def test_labels_behind_a_fixed_start_and_a_blank() -> None:
    verdict = read("prometheus-relative", reply(token(" B", {" B": 0.7, " A": 0.2, "B": 0.05})))
    first, tie, second = outcome(verdict)
    assert (first, tie) == pytest.approx((0.2 / 0.95, 0))
    assert second == pytest.approx(0.75 / 0.95)


def test_labels_of_several_tokens() -> None:
    verdict = read(
        "auto-j-pair",
        reply(
            token(" Response", {" Response": 0.8, " Tie": 0.2}),
            sure(" "),
            token("2", {"2": 0.75, "1": 0.25}),
            sure("."),
        ),
    )
    assert outcome(verdict) == pytest.approx((0.2, 0.2, 0.6))
    assert verdict.preference == "second"


def test_labels_inside_a_longer_token_and_in_the_last_place() -> None:
    verdict = load_family("mt-bench-pair").read(
        [
            reply(
                sure("Not [[B]] but"),
                sure("\n"),
                token("[[A", {"[[A": 0.5, "[[B": 0.3, "[[C": 0.1, "[": 0.1}),
                sure("]]"),
            )
        ],
        PAIR,
        (0, 1),
    )
    assert outcome(verdict) == pytest.approx((5 / 9, 1 / 9, 3 / 9))


def test_two_scores() -> None:
    verdict = read(
        "pair",
        reply(
            token("8", {"8": 0.5, "7": 0.5}),
            sure(" "),
            token("7", {"7": 0.5, "8": 0.25, "6": 0.25}),
            sure("\n"),
        ),
    )
    first, tie, second = outcome(verdict)
    assert (first, tie, second) == pytest.approx((0.5, 0.375, 0.125))
    assert (verdict.preference, verdict.scores) == ("first", (8.0, 7.0)), "as it was written"


def test_ten_written_as_two_tokens() -> None:
    verdict = read(
        "pair",
        reply(
            token("1", {"1": 0.6, "9": 0.4}),
            token("0", {"0": 0.5, " ": 0.5}),
            sure(" "),
            sure("9"),
            sure("\n"),
        ),
    )
    # 0.3 for 10, 0.3 for 1, 0.4 for 9, against a sure 9.
    assert outcome(verdict) == pytest.approx((0.3, 0.4, 0.3))


def test_one_where_ten_may_follow() -> None:
    verdict = read(
        "pair",
        reply(sure("1"), token(" ", {" ": 0.75, "0": 0.25}), sure("9"), sure("\n")),
    )
    assert outcome(verdict) == pytest.approx((0.25, 0.0, 0.75))


def test_an_alternative_that_begins_several_scores_is_left_out() -> None:
    verdict = read(
        "pair",
        reply(token("8", {"8": 0.5, "1": 0.5}), sure(" "), sure("7"), sure("\n")),
    )
    first, _, second = outcome(verdict)
    assert first + second == pytest.approx(1)
    assert verdict.mass is not None
    assert verdict.mass <= 1


def test_answers_read_alone() -> None:
    verdict = read(
        "single",
        reply(token("8", {"8": 0.5, "6": 0.5}), sure("\n")),
        reply(token("7", {"7": 0.8, "8": 0.2}), sure("\n")),
    )
    assert outcome(verdict) == pytest.approx((0.4, 0.1, 0.5))
    assert verdict.preference == "first"


@pytest.mark.parametrize(
    "tokens",
    [
        (TokenLogprob("8 7", -0.1),),
        (TokenLogprob("8", -0.1), TokenLogprob(" 7", -0.1)),
        (sure("9"), sure(" 7")),
        (sure("8.5"), sure(" 7")),
    ],
)
def test_without_alternatives_or_with_other_tokens_there_are_no_probabilities(
    tokens: tuple[TokenLogprob, ...],
) -> None:
    text = "8.5 7\n" if tokens[0].token == "8.5" else "8 7\n"
    verdict = read("pair", Completion(key="0", text=text, logprobs=tokens))
    assert verdict.status == "ok"
    assert (verdict.probabilities, verdict.approximate, verdict.mass) == (None, False, None)


def test_a_verdict_that_is_not_ok_stays_so() -> None:
    verdict = read("pandalm", reply(token("Both", {"Both": 0.5, "1": 0.5})))
    assert (verdict.status, verdict.probabilities) == ("unparsed", None)
