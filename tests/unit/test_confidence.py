"""Sources of confidence over stored judgments, and what judgments store for them."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import entropy as scipy_entropy

from magistrate.errors import InputError
from magistrate.judging.merge import merge_judgments
from magistrate.messages import Completion, TokenLogprob
from magistrate.metrics.confidence import (
    SOURCES,
    SignalCollector,
    available,
    base_readings,
    confidence,
    confidence_of,
    minus_base,
)
from magistrate.metrics.learned import fold_of, learned_confidence
from magistrate.prompts.approximate import with_probabilities
from magistrate.prompts.base import Verdict
from magistrate.prompts.distribution import (
    Distribution,
    verdict_from_alone,
    verdict_from_joint,
    verdict_from_labels,
)
from magistrate.prompts.rules import ScoreRules
from magistrate.records import (
    Answer,
    Decision,
    Judgment,
    Preference,
    Probabilities,
    Sample,
    from_json_line,
    to_json_line,
)

OTHER: dict[str, Preference] = {"first": "second", "second": "first", "tie": "tie"}
shares = st.tuples(*[st.floats(0.01, 1)] * 3).map(lambda p: [x / sum(p) for x in p])


def pair(question: str = "Q?", first: str = "one", second: str = "three words here") -> Sample:
    return Sample(question=question, answers=(Answer(text=first), Answer(text=second)))


def judgment(
    sample: Sample,
    p: list[float] | None,
    order: tuple[int, ...] = (0, 1),
    repeat: int = 0,
    preference: Preference | None = None,
    **more: object,
) -> Judgment:
    known = Probabilities(first=p[0], tie=p[1], second=p[2]) if p else None
    return Judgment.model_validate(
        {
            "key": f"{order}{repeat}".encode().hex().ljust(24, "0")[:24],
            "sample_id": sample.text_id,
            "judge": "j",
            "order": order,
            "repeat": repeat,
            "status": "ok",
            "preference": preference or (known.preference if known else None),
            "probabilities": known,
            **more,
        }
    )


def told(source: str, sample: Sample, *judgments: Judgment, **more: object) -> float | None:
    decision = merge_judgments(0, sample, judgments)
    return confidence_of(source, sample, judgments, decision, **more)  # type: ignore[arg-type]


def test_sources_worked_by_hand() -> None:
    sample = pair()
    readings = (
        judgment(sample, [0.7, 0.1, 0.2], (0, 1), entropy=1.0, verdict_logprob=-0.5, scores=(8, 5)),
        judgment(sample, [0.3, 0.2, 0.5], (1, 0), entropy=2.0, verdict_logprob=-1.5, scores=(6, 6)),
    )
    expected = {
        "probability": 0.5,
        "margin": 0.15,
        "outcome-entropy": -scipy_entropy([0.5, 0.15, 0.35]),
        "entropy": -1.5,
        "logprob": -1.0,
        "orders": 0.5,
        "repeats": None,
        "annotators": None,
        "score-gap": 1.5,
        "length-gap": (16 - 3) / 19,
        "entropy-minus-base": None,
    }
    for source, value in expected.items():
        assert told(source, sample, *readings) == (
            value if value is None else pytest.approx(value)
        ), source


def test_the_base_models_confidence_is_taken_off() -> None:
    sample = pair()
    own = [
        judgment(sample, [0.8, 0.0, 0.2], (0, 1), entropy=0.4),
        judgment(sample, [0.6, 0.0, 0.4], (1, 0), entropy=0.8),
    ]
    base = base_readings(
        [
            judgment(sample, [0.5, 0.1, 0.4], (0, 1), entropy=1.0),
            judgment(sample, [0.3, 0.1, 0.6], (1, 0), entropy=2.0),
        ]
    )
    assert told("entropy-minus-base", sample, *own, base=base) == pytest.approx(-0.6 + 1.5)
    assert told("entropy-minus-half-base", sample, *own, base=base) == pytest.approx(-0.6 + 0.75)
    assert told("logprob-minus-base", sample, *own, base=base) == pytest.approx(
        math.log(0.7) - math.log(0.4)
    )
    # A base model that did not read both orders says nothing, rather than half of it.
    some = base_readings([judgment(sample, [0.5, 0.1, 0.4], (0, 1), entropy=1.0)])
    assert told("entropy-minus-base", sample, *own, base=some) is None


def test_published_correction_ranks_as_ours() -> None:
    own, base = np.array([-0.2, -1.0, -0.5]), np.array([-0.1, -0.9, -2.0])
    for factor in (0.0, 0.5, 1.0):
        published = (own - factor * base) / 2
        assert (np.argsort(published) == np.argsort(minus_base(own, base, factor))).all()


def test_simulated_annotators_and_repeats() -> None:
    sample = pair()
    own = [judgment(sample, [0.9, 0.0, 0.1])]

    def other(p: list[float]) -> dict[str, Decision]:
        return {sample.text_id: merge_judgments(0, sample, [judgment(sample, p)])}

    runs = [other([0.6, 0.0, 0.4]), other([0.2, 0.0, 0.8])]
    assert told("annotators", sample, *own, annotators=runs) == pytest.approx(2 / 3)
    assert told("annotators-probability", sample, *own, annotators=runs) == pytest.approx(1.7 / 3)
    assert told("annotators", sample, *own, annotators=[*runs, {}]) is None
    again = [
        judgment(sample, None, repeat=k, preference=p)
        for k, p in enumerate(("first", "first", "second"))
    ]
    assert told("repeats", sample, *again) == pytest.approx(2 / 3)
    assert told("probability", sample, *again) is None


@settings(max_examples=30, deadline=None)
@given(st.lists(shares, min_size=2, max_size=2), st.lists(st.floats(0, 3), min_size=2, max_size=2))
def test_answers_that_change_places_leave_every_source_as_it_was(
    given_shares: list[list[float]], entropies: list[float]
) -> None:
    sample = pair()
    other = Sample(question="Q?", answers=sample.answers[::-1])
    orders = ((0, 1), (1, 0))
    one = [
        judgment(sample, p, order, entropy=h, scores=(9 * p[0], 9 * p[2]))
        for p, order, h in zip(given_shares, orders, entropies, strict=True)
    ]
    # The same readings, told in the frame of the exchanged sample.
    two = [
        judgment(other, p[::-1], order[::-1], entropy=h, scores=(9 * p[2], 9 * p[0]))
        for p, order, h in zip(given_shares, orders, entropies, strict=True)
    ]
    for source in SOURCES:
        left, right = told(source, sample, *one), told(source, other, *two)
        assert (left is None) == (right is None), source
        if left is not None:
            assert left == pytest.approx(right, abs=1e-9), source


@settings(deadline=None)
@given(st.lists(st.floats(1e-6, 1), min_size=4, max_size=4))
def test_entropy_is_scipys_and_is_of_probabilities(weights: list[float]) -> None:
    whole = sum(weights)
    distribution = Distribution(tuple(w / whole for w in weights), 0.9)
    verdict = verdict_from_joint(distribution, (1.0, 2.0), 2)
    assert verdict.entropy == pytest.approx(scipy_entropy(weights), abs=1e-9)
    # Logits are known but for a constant; an entropy does not move with it, as sum p x logit does.
    logits = np.log(weights)
    p = np.exp(logits) / np.exp(logits).sum()
    assert verdict.entropy == pytest.approx(-(p * np.log(p)).sum(), abs=1e-9)
    assert not math.isclose(-(p * (logits + 5)).sum(), -(p * logits).sum(), abs_tol=1e-3)


def test_the_log_probability_of_what_is_not_written() -> None:
    joint = Distribution((0.1, 0.2, 0.6, 0.1), mass=0.5)
    verdict = verdict_from_joint(joint, (1.0, 2.0), 2)
    assert verdict.preference == "first"
    assert verdict.verdict_logprob == pytest.approx(math.log(0.6 * 0.5) / 2)
    alone = verdict_from_alone(
        [Distribution((0.1, 0.9), 1.0), Distribution((0.7, 0.3), 0.5)], (1.0, 2.0)
    )
    assert alone.verdict_logprob == pytest.approx(math.log(0.9 * 0.7 * 0.5) / 2)
    assert alone.entropy == pytest.approx(scipy_entropy([0.1, 0.9]) + scipy_entropy([0.7, 0.3]))
    labels = verdict_from_labels(Distribution((0.1, 0.6, 0.3), 1.0), ("first", "second", "tie"))
    assert labels.verdict_logprob == pytest.approx(math.log(0.6))


def test_each_verdict_token_has_the_distribution_that_it_was_drawn_from() -> None:
    """No off-by-one: the first score's own distribution is in, that after the last is not."""
    tokens = (
        TokenLogprob("8", math.log(0.5), (("8", math.log(0.5)), ("6", math.log(0.5)))),
        TokenLogprob(" ", 0.0, ((" ", 0.0),)),
        TokenLogprob("7", math.log(0.25), (("7", math.log(0.25)), ("9", math.log(0.75)))),
        TokenLogprob("\n", math.log(0.001), (("\n", math.log(0.001)),)),
    )
    completion = Completion("k", "8 7\n", logprobs=tokens)
    rules = ScoreRules(low=1, high=10, place="first", count=2)
    verdict = Verdict("ok", "first", scores=(8.0, 7.0))
    found = with_probabilities(verdict, completion, rules)
    assert found.verdict_logprob == pytest.approx((math.log(0.5) + math.log(0.25)) / 2)
    assert found.entropy == pytest.approx(scipy_entropy([0.5, 0.5]) + scipy_entropy([0.25, 0.75]))


def test_what_a_judgment_lacks_is_missing_and_no_middle_value() -> None:
    collector = SignalCollector()
    sample = pair()
    whole = [judgment(sample, [0.7, 0.1, 0.2], entropy=0.5)]
    bare = [judgment(sample, None, preference="first")]
    failed = [judgment(sample, None).model_copy(update={"status": "unparsed"})]
    for readings in (whole, bare, failed):
        collector.add(sample, readings, merge_judgments(0, sample, readings))
    collector.add(sample, (), None)
    collector.add(Sample(question="Q?", answers=sample.answers[:1]), (), None)
    signals = collector.result()
    assert len(signals) == 4
    for source in SOURCES:
        # No 'variance', or any other key, can be asked for and be silently absent.
        values = confidence(signals, source)
        assert values.shape == (4,)
        assert np.isnan(values[2:]).all()
    assert np.isnan(confidence(signals, "probability")[1])
    assert np.isnan(confidence(signals, "entropy")[1])
    assert "entropy" in available(signals)
    assert "logprob" not in available(signals)
    with pytest.raises(InputError, match="no confidence source 'variance'"):
        confidence(signals, "variance")


def test_judgments_of_older_runs_still_load() -> None:
    whole = judgment(pair(), [0.7, 0.1, 0.2], entropy=0.5, verdict_logprob=-1.0)
    assert from_json_line(Judgment, to_json_line(whole)) == whole
    old = whole.model_dump(mode="json", exclude={"entropy", "verdict_logprob"})
    assert Judgment.model_validate(old).entropy is None


def test_the_learned_confidence_never_saw_what_it_speaks_of() -> None:
    rng = np.random.default_rng(0)
    n = 600
    collector = SignalCollector()
    right = np.zeros(n, dtype=bool)
    for k in range(n):
        strength = rng.random()
        right[k] = rng.random() < 0.5 + 0.45 * strength
        sample = pair(f"Q{k}", "x" * int(rng.integers(1, 50)))
        readings = [judgment(sample, [0.5 + strength / 2, 0.0, 0.5 - strength / 2])]
        collector.add(sample, readings, merge_judgments(0, sample, readings))
    signals, questions = collector.result(), np.arange(n)
    found = learned_confidence(signals, right, questions)
    assert found is not None
    names, values = found
    assert "probability" in names
    assert values[right].mean() > values[~right].mean()
    # Labels of one fold turned round: its own values stay, since they came from the others.
    fold = fold_of(questions)
    turned = learned_confidence(signals, np.where(fold == 0, ~right, right), questions)
    assert turned is not None
    assert np.allclose(turned[1][fold == 0], values[fold == 0])
    assert not np.allclose(turned[1][fold != 0], values[fold != 0])
    assert learned_confidence(signals.take(np.arange(50)), right[:50], questions[:50]) is None


def test_whole_runs_are_arrays() -> None:
    collector = SignalCollector()
    sample = pair()
    readings = [judgment(sample, [0.7, 0.1, 0.2], entropy=0.5)]
    collector.add(sample, readings, merge_judgments(0, sample, readings))
    signals = collector.result().take(np.zeros(100_000, dtype=int))
    started = time.perf_counter()
    for source in SOURCES:
        confidence(signals, source)
    assert time.perf_counter() - started < 10
