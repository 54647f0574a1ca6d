"""Other tools' rules on pairs small enough to count by hand; the goldens have their real files."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from magistrate.errors import InputError
from magistrate.metrics.columns import NOTHING, PairCollector, PairColumns
from magistrate.metrics.rules.table import RULES, apply_rule
from magistrate.records import Answer, Decision, Gold, Judgment, Preference, Probabilities, Sample

NAMES: dict[int, Preference] = {1: "first", 0: "tie", -1: "second"}
X = NOTHING


def pairs_of(
    given: Sequence[int],
    swapped: Sequence[int] | None = None,
    gold: Sequence[int | tuple[int, ...] | None] | None = None,
    categories: Sequence[str] = (),
    soft: Sequence[float] = (),
) -> PairColumns:
    """Return pairs with outcomes by order; where the two orders differ the decision is a tie."""
    collector = PairCollector()
    for row, outcome in enumerate(given):
        labels = () if gold is None else gold[row]
        golds = labels if isinstance(labels, tuple) else (labels,) if labels is not None else ()
        sample = Sample(
            question=f"q{row}",
            answers=(Answer(text="a", model="m1"), Answer(text="bb", model="m2")),
            gold=tuple(
                Gold(annotator=f"h{k}", preference=NAMES[code]) for k, code in enumerate(golds)
            ),
            category=categories[row] if categories else None,
        )
        judgments = [_judgment(sample, outcome, (0, 1))]
        if swapped is not None:
            judgments.append(_judgment(sample, swapped[row], (1, 0)))
        collector.add(row, sample, judgments, _decision(row, sample, judgments, soft))
    return collector.result()


def _judgment(sample: Sample, outcome: int, order: tuple[int, int]) -> Judgment:
    return Judgment(
        key=f"{sample.id}{order}",
        sample_id=sample.text_id,
        judge="j",
        order=order,
        status="unparsed" if outcome == X else "ok",
        preference=None if outcome == X else NAMES[outcome],
    )


def _decision(
    row: int, sample: Sample, judgments: list[Judgment], soft: Sequence[float]
) -> Decision:
    said = {judgment.preference for judgment in judgments}
    ok = None not in said
    preference = (said.pop() if len(said) == 1 else "tie") if ok else None
    second = soft[row] if soft and ok else None
    return Decision(
        row=row,
        sample_id=sample.id,
        status="ok" if ok else "unparsed",
        preference=preference,
        probabilities=None
        if second is None
        else Probabilities(first=1 - second, tie=0, second=second),
        rule="test",
    )


def test_pandalm_counts_unreadable_as_ties_and_says_so() -> None:
    found = apply_rule("pandalm", pairs_of([1, X, -1, X], gold=[1, 0, -1, 1]))
    assert found.values["accuracy"] == 75
    assert found.not_ok == 2
    assert found.not_ok_counts_as == "a tie"
    assert found.categories["m1 vs m2"] == {
        "human_win": 2,
        "human_lose": 1,
        "human_tie": 1,
        "judge_win": 1,
        "judge_lose": 1,
        "judge_tie": 2,
    }


def test_judgelm_has_its_own_spelling_and_drops_pairs_without_a_label() -> None:
    found = apply_rule("judgelm", pairs_of([1, 1, X, 0], [1, -1, 1, 0], [1, 1, 0, None]))
    values = found.values
    assert values["total_num"] == 3
    assert values["agreement"] == 100
    assert values["consistency"] == pytest.approx(100 / 3)
    # 1 against -1 gained by standing first; the unreadable tie against 1 by standing second.
    assert values["perfer_before_rate"] == pytest.approx(100 / 3)
    assert values["perfer_after_rate"] == pytest.approx(100 / 3)
    assert values["delta_bias"] == 0
    assert values["total_bias"] == pytest.approx(200 / 3)


def test_judgelm_without_the_other_order_has_no_consistency() -> None:
    found = apply_rule("judgelm", pairs_of([1, 0], gold=[1, 1]))
    assert found.values["consistency"] is None
    assert found.values["agreement"] == 50


def test_auto_j_wants_both_orders_right() -> None:
    found = apply_rule(
        "auto-j", pairs_of([1, 1, -1, X], [1, -1, -1, X], [1, 1, 1, 1], list("ssrr"))
    )
    assert found.values == {"agreement": 25, "consistency": 50, "single": 50}
    assert found.categories["s"] == {"n": 2, "agreement": 50, "consistency": 100 / 2, "single": 100}


def test_llmbar_counts_no_winner_as_wrong_but_equal() -> None:
    found = apply_rule("llmbar", pairs_of([1, X, -1, 1], [1, X, 1, -1], [1, 1, -1, -1]))
    values = found.values
    assert (values["correct_False"], values["correct_True"]) == (50, 50)
    assert values["correct_average"] == 50
    assert values["correct_both"] == 25
    assert values["equal"] == 50
    # Winner is 1: True, False, False, True against True, False, True, False.
    assert values["kappa_agreement"] == 0


def test_judgebench_adds_up_both_orders() -> None:
    found = apply_rule(
        "judgebench",
        pairs_of(
            [1, 1, 1, X, 0],
            [1, -1, 0, 1, 0],
            [1, 1, 1, 1, 1],
            ["mmlu-pro-x", "mmlu-pro-x", "livebench-math", "livecodebench", "livecodebench"],
        ),
    )
    # Right twice; once each way; right and a tie; unreadable and right; two ties.
    assert found.values["overall"] == 60
    assert found.categories["knowledge"] == {"n": 2, "overall": 50}
    assert found.categories["coding"] == {"n": 2, "overall": 50}
    assert "reasoning" not in found.categories


def test_alpaca_eval_leaves_unreadable_out_and_takes_the_second_as_the_model() -> None:
    found = apply_rule("alpaca-eval", pairs_of([-1, -1, 0, 1, X]))
    values = found.values
    assert (values["n_wins"], values["n_wins_base"], values["n_draws"]) == (2, 1, 1)
    assert values["n_total"] == 4
    assert values["win_rate"] == 62.5
    assert values["standard_error"] == pytest.approx(100 * np.std([1, 1, 0.5, 0], ddof=1) / 2)


def test_alpaca_eval_weighs_by_probability() -> None:
    values = apply_rule("alpaca-eval", pairs_of([-1, 1], soft=[0.9, 0.2])).values
    assert values["win_rate"] == pytest.approx(55)
    assert values["discrete_win_rate"] == 50


def test_mt_bench_pairs_single_votes_with_and_without_ties() -> None:
    found = apply_rule(
        "mt-bench", pairs_of([1, 1, -1, X], [1, -1, -1, 1], [(1, 1), (0, 1), (-1, 1), (1, 1)])
    )
    values = found.values
    # The judge says first, tie (inconsistent), second; the last pair is not read.
    assert (values["judge_human_S1"], values["judge_human_S1_votes"]) == (100 * 4 / 6, 6)
    assert (values["judge_human_S2"], values["judge_human_S2_votes"]) == (75, 4)
    assert (values["human_human_S1"], values["human_human_S1_votes"]) == (50, 4)
    assert values["human_human_S2_votes"] == 3
    assert found.not_ok == 1


@pytest.mark.parametrize("rule", ["pandalm", "judgelm", "auto-j", "llmbar", "judgebench"])
def test_a_rule_that_lacks_labels_says_what_to_give(rule: str) -> None:
    with pytest.raises(InputError, match=f"rule '{rule}'.*--labels"):
        apply_rule(rule, pairs_of([1, 0], [1, 0]))


@pytest.mark.parametrize("rule", ["auto-j", "llmbar"])
def test_a_rule_that_lacks_an_order_says_so(rule: str) -> None:
    with pytest.raises(InputError, match="both orders"):
        apply_rule(rule, pairs_of([1, -1], gold=[1, 1]))


def test_an_unknown_rule_names_the_known_ones() -> None:
    with pytest.raises(InputError, match=", ".join(RULES)):
        apply_rule("elo", pairs_of([1]))


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_names_its_source_and_what_becomes_of_not_ok(rule: str) -> None:
    found = apply_rule(rule, pairs_of([1, 0, -1, X], [1, 1, -1, 1], [(1, 1), -1, -1, 1]))
    assert found.rule == rule
    assert found.source
    assert found.not_ok_counts_as
    assert found.n
