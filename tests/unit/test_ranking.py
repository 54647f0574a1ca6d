"""Rankings against published fits, other implementations, and simulations with known truth."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy.optimize import minimize

from magistrate.metrics.draws import SEED
from magistrate.metrics.ranking import davidson, elo
from magistrate.metrics.ranking.battles import BattleCollector, Battles, battles_of
from magistrate.metrics.ranking.components import beyond_the_scale, components
from magistrate.metrics.ranking.counts import Pairs, cells_of, counts_of, resampled_counts
from magistrate.metrics.ranking.davidson import ELO, PRIOR, chances, fit, refit
from magistrate.metrics.ranking.estimates import METHODS, Method
from magistrate.metrics.ranking.ranking import ModelRanking, rank_models
from magistrate.metrics.ranking.simultaneous import _still_true, adjusted_pairs
from magistrate.metrics.ranking.style import style_counts, style_differences
from magistrate.records import Answer, Decision, Sample


def of_wins(wins: np.ndarray, ties: np.ndarray | None = None) -> Battles:
    """Return battles of a matrix of wins (row over column), and of ties."""
    k = len(wins)
    first, second, outcome = [], [], []
    for i in range(k):
        for j in range(k):
            first += [i] * int(wins[i, j])
            second += [j] * int(wins[i, j])
            outcome += [1] * int(wins[i, j])
            if ties is not None and i < j:
                first += [i] * int(ties[i, j])
                second += [j] * int(ties[i, j])
                outcome += [0] * int(ties[i, j])
    return battles_of(tuple("abcdefghij"[:k]), first, second, outcome)


def table(battles: Battles) -> tuple[Pairs, np.ndarray]:
    pairs, cells = cells_of(battles)
    return pairs, counts_of(pairs, cells, battles.weight)


def simulated(
    strength: np.ndarray, n: int, rng: np.random.Generator, log_tie: float = math.log(0.5)
) -> Battles:
    k = len(strength)
    first = rng.integers(0, k, n)
    second = (first + rng.integers(1, k, n)) % k
    win, tie, _ = chances(strength[first] - strength[second], log_tie)
    drawn = rng.random(n)
    outcome = np.where(drawn < win, 1, np.where(drawn < win + tie, 0, -1))
    names = tuple(f"m{place}" for place in range(k))
    return battles_of(names, first, second, outcome, np.arange(n) // 2)


def by_name(ranking: ModelRanking) -> dict[str, float]:
    return {model.model: model.strength.value or math.nan for model in ranking.models}


# --- against others -----------------------------------------------------------------------------

# American League 1987, wins of the row's team: Agresti, Categorical Data Analysis (2002), table
# 10.10; its fitted abilities, Baltimore being 0, in table 10.11 and in R's BradleyTerry2.
BASEBALL = np.array(
    [
        [0, 7, 9, 7, 7, 9, 11],
        [6, 0, 7, 5, 11, 9, 9],
        [4, 6, 0, 7, 7, 8, 12],
        [6, 8, 6, 0, 6, 7, 10],
        [6, 2, 6, 7, 0, 7, 12],
        [4, 4, 5, 6, 6, 0, 6],
        [2, 4, 1, 3, 1, 7, 0],
    ]
)
ABILITIES = [1.581, 1.436, 1.294, 1.248, 1.108, 0.684, 0.0]


def test_baseball_comes_out_as_published() -> None:
    pairs, counts = table(of_wins(BASEBALL))
    strength = fit(pairs, counts).strength[0]
    assert strength - strength[-1] == pytest.approx(ABILITIES, abs=0.01)


def test_without_ties_it_agrees_with_choix_and_evalica(monkeypatch: pytest.MonkeyPatch) -> None:
    wins = np.array([[0, 12, 9, 14], [5, 0, 8, 11], [6, 7, 0, 10], [1, 4, 6, 0]])
    with_prior = fit(*table(of_wins(wins))).strength[0]
    monkeypatch.setattr(davidson, "PRECISION", 1e-10)
    strength = fit(*table(of_wins(wins))).strength[0]
    # choix 0.4.1 opt_pairwise(alpha=0), evalica 0.4.2 bradley_terry: equal to seven digits.
    theirs = [0.84952521, 0.06608776, -0.01275671, -0.90285626]
    assert strength - strength.mean() == pytest.approx(theirs, abs=1e-6)
    # With fifty battles a model the prior moves it by half an Elo point.
    assert with_prior - with_prior.mean() == pytest.approx(theirs, abs=0.5 / ELO)


def test_with_ties_it_is_the_maximum_that_a_general_optimiser_finds() -> None:
    rng = np.random.default_rng(3)
    wins, ties = rng.integers(1, 9, (5, 5)), rng.integers(0, 6, (5, 5))
    np.fill_diagonal(wins, 0)
    battles = of_wins(wins, ties)
    found = fit(*table(battles))

    def loss(values: np.ndarray) -> float:
        gap = values[battles.first] - values[battles.second]
        parts = np.stack([gap / 2, np.full_like(gap, values[-1]), -gap / 2])
        said = np.take_along_axis(parts, (1 - battles.outcome)[None], axis=0)[0]
        likelihood = (said - np.log(np.exp(parts).sum(axis=0))).sum()
        return float(-likelihood + (ELO / PRIOR) ** 2 / 2 * values @ values)

    best = minimize(loss, np.zeros(6), tol=1e-12)
    assert found.converged
    assert found.strength[0] == pytest.approx(best.x[:5], abs=1e-4)
    assert found.log_tie[0] == pytest.approx(best.x[5], abs=1e-4)


def test_points_decide_the_sequence_where_everyone_meets_everyone() -> None:
    wins = np.array([[0, 3, 6, 5], [4, 0, 5, 2], [2, 3, 0, 6], [4, 5, 1, 0]])
    ties = np.array([[0, 3, 2, 1], [0, 0, 2, 3], [0, 0, 0, 3], [0, 0, 0, 0]])
    ranking = rank_models(of_wins(wins, ties), resamples=10)
    points = wins.sum(1) + (ties + ties.T).sum(1) / 2
    assert [m.model for m in ranking.models] == ["abcd"[k] for k in np.argsort(-points)]


def test_elo_of_one_sequence_agrees_with_evalica() -> None:
    wins = np.array([[0, 12, 9, 14], [5, 0, 8, 11], [6, 7, 0, 10], [1, 4, 6, 0]])
    battles = of_wins(wins).take(np.arange(20))
    one = elo._play(battles, np.arange(20)[:, None], 4.0)[0]
    # evalica 0.4.2: elo(..., k=4), which starts at 1000 as well
    assert one[:3] == pytest.approx([1036.9199748, 977.4591132, 985.6209119], abs=1e-6)


# --- what it recovers ---------------------------------------------------------------------------


@pytest.mark.parametrize("log_tie", [math.log(0.5), -20.0])
def test_planted_strengths_are_covered_by_their_intervals(log_tie: float) -> None:
    """95 % intervals of 60 rankings of 5 models: 300 intervals, of which 285 should hold."""
    strength = np.array([0.9, 0.4, 0.0, -0.3, -1.0])
    truth = ELO * (strength - strength.mean()) + 1000
    held = 0
    for seed in range(60):
        battles = simulated(strength, 400, np.random.default_rng(seed), log_tie)
        ranking = rank_models(battles, resamples=300)
        for model in ranking.models:
            low, high = model.strength.low, model.strength.high
            assert low is not None
            assert high is not None
            held += low <= truth[int(model.model[1:])] <= high
    assert 0.91 <= held / 300 <= 0.98


def test_rank_ranges_hold_the_true_ranks() -> None:
    strength = np.linspace(0.6, -0.6, 6)
    wrong = 0
    for seed in range(40):
        ranking = rank_models(simulated(strength, 500, np.random.default_rng(seed)), resamples=200)
        wrong += sum(
            not model.best_rank <= int(model.model[1:]) + 1 <= model.worst_rank
            for model in ranking.models
        )
    assert wrong / 240 <= 0.05


def test_battles_of_one_question_widen_the_intervals() -> None:
    battles = simulated(np.zeros(3), 300, np.random.default_rng(0))
    alone = rank_models(battles, resamples=300)
    together = np.repeat(np.arange(30), 10)
    repeated = battles_of(
        battles.models, *(np.repeat(column[:30], 10) for column in
                          (battles.first, battles.second, battles.outcome)), together,
    )  # fmt: skip
    clustered = rank_models(repeated, resamples=300)

    def width(ranking: ModelRanking) -> float:
        return float(
            np.mean([(m.strength.high or 0) - (m.strength.low or 0) for m in ranking.models])
        )

    assert width(clustered) > 2 * width(alone)


def test_refitting_resamples_equals_fitting_each() -> None:
    battles = simulated(np.array([0.5, 0.0, -0.5, 3.0]), 90, np.random.default_rng(5))
    pairs, cells = cells_of(battles)
    found = fit(pairs, counts_of(pairs, cells, battles.weight))
    (part,) = resampled_counts(pairs, cells, battles, 40)
    assert part.sum(axis=(1, 2)) == pytest.approx(90)
    together = refit(pairs, part, found)
    alone = np.concatenate([fit(pairs, counts).strength for counts in part])
    tied = part[..., 1].any(axis=1)
    assert together.strength[tied] == pytest.approx(alone[tied], abs=1e-3)


# --- what the data do not bound -----------------------------------------------------------------


def test_a_model_that_only_won_is_beyond_the_scale_and_open_above() -> None:
    wins = np.array([[0, 4, 4, 4], [0, 0, 6, 9], [0, 5, 0, 7], [0, 2, 3, 0]])
    ranking = rank_models(of_wins(wins), resamples=200)
    top = ranking.models[0]
    assert (top.model, top.beyond) == ("a", "above")
    assert top.strength.high is None
    assert top.strength.low is not None
    assert top.strength.low < (top.strength.value or 0) < 4000
    # Its closed end: so many wins have a chance of 2.5 % there.
    others = np.array([by_name(ranking)[name] for name in "bcd"])
    chance = np.prod(1 / (1 + 10 ** ((others - top.strength.low) / 400)) ** 4)
    assert chance == pytest.approx(0.025, rel=0.02)
    # The others are anchored without it.
    assert others.mean() == pytest.approx(1000)


def test_three_wins_do_not_make_a_first_rank() -> None:
    wins = np.array([[0, 1, 1, 1], [0, 0, 6, 9], [0, 5, 0, 7], [0, 2, 3, 0]])
    top = rank_models(of_wins(wins), resamples=200).models[0]
    assert (top.model, top.beyond) == ("a", "above")
    assert top.worst_rank > 1


def test_sides_beyond_the_scale() -> None:
    pairs = Pairs(5, np.array([0, 1, 1, 0]), np.array([1, 2, 3, 4]))
    # 0 and 1 beat each other; 2 always lost to 1; 3 always beat 1; 4 tied 0.
    counts = np.array([[2, 0, 1], [4, 0, 0], [0, 0, 4], [0, 3, 0.0]])
    assert beyond_the_scale(pairs, counts) == [None, None, "below", "above", None]
    aside = Pairs(4, np.array([0, 0, 2]), np.array([1, 3, 3]))
    one_sided = np.array([[1, 0, 1], [1, 0, 0], [1, 0, 0.0]])
    assert beyond_the_scale(aside, one_sided) == [None, None, "aside", "below"]


def test_groups_that_never_met_have_no_ranks_across() -> None:
    wins = np.zeros((5, 5), dtype=int)
    wins[0, 1], wins[1, 0], wins[1, 2], wins[2, 1] = 5, 3, 4, 4
    wins[3, 4], wins[4, 3] = 6, 2
    battles = of_wins(wins)
    assert components(cells_of(battles)[0]).tolist() == [0, 0, 0, 1, 1]
    ranking = rank_models(battles, resamples=50)
    assert {frozenset(names) for names in ranking.components} == {frozenset("abc"), frozenset("de")}
    ranks = {model.model: model.rank for model in ranking.models}
    assert ranks["a"] == ranks["d"] == 1
    for group in ("abc", "de"):
        assert np.mean([by_name(ranking)[name] for name in group]) == pytest.approx(1000)


def test_all_ties_and_a_single_battle_are_ranked_without_a_fault() -> None:
    ties = np.array([[0, 5, 5], [0, 0, 5], [0, 0, 0]])
    ranking = rank_models(of_wins(np.zeros((3, 3)), ties), resamples=50)
    assert list(by_name(ranking).values()) == pytest.approx([1000, 1000, 1000])
    assert {model.rank for model in ranking.models} == {1}
    single = rank_models(battles_of(("x", "y"), [0], [1], [1]), resamples=20)
    assert [model.model for model in single.models] == ["x", "y"]
    assert single.models[1].best_rank == 1


def test_the_baseline_is_1000_and_shifts_nothing_else() -> None:
    battles = simulated(np.array([0.5, 0.0, -0.5]), 300, np.random.default_rng(1))
    free, fixed = rank_models(battles), rank_models(battles, baseline="m1")
    assert by_name(fixed)["m1"] == pytest.approx(1000)
    gaps = [by_name(one)["m0"] - by_name(one)["m2"] for one in (free, fixed)]
    assert gaps[0] == pytest.approx(gaps[1])
    with pytest.raises(ValueError, match="in no battle"):
        rank_models(battles, baseline="nobody")


def test_win_rates_stay_within_bounds_and_elo_finds_the_order() -> None:
    battles = simulated(np.array([1.0, 0.0, -1.0]), 240, np.random.default_rng(2))
    rates = rank_models(battles, "win-rate")
    for model in rates.models:
        assert model.strength.value == pytest.approx(model.win_rate)
        assert 0 <= (model.strength.low or 0) <= model.win_rate <= (model.strength.high or 1) <= 1
    assert [m.model for m in rank_models(battles, "elo", resamples=20).models] == ["m0", "m1", "m2"]
    assert elo.elo_ratings(battles).tolist() == elo.elo_ratings(battles).tolist()
    # 12 wins of 12 are not certainty.
    sure = rank_models(battles_of(("a", "b"), [0] * 12, [1] * 12, [1] * 12), "win-rate")
    assert (sure.models[0].strength.low or 0) == pytest.approx(0.7575, abs=0.01)


# --- battles ------------------------------------------------------------------------------------


def sample(first: str, second: str, models: tuple[str | None, str | None]) -> Sample:
    answers = (Answer(text=first, model=models[0]), Answer(text=second, model=models[1]))
    return Sample(question="q", answers=answers)


def decided(preference: str | None, status: str = "ok", **more: object) -> Decision:
    values = {"row": 0, "sample_id": "s", "status": status, "preference": preference, "rule": "r"}
    return Decision.model_validate(values | more)


def test_two_answers_judged_in_both_orders_count_once() -> None:
    collector = BattleCollector()
    collector.add(sample("x", "y", ("a", "b")), decided("first"))
    collector.add(sample("y", "x", ("b", "a")), decided("second"))  # the same answers, again a
    collector.add(sample("x", "z", ("a", "b")), decided("second"))
    battles = collector.result()
    assert battles.weight.tolist() == [0.5, 0.5, 1.0]
    assert collector.met().repeated == 1
    ranking = rank_models(battles, resamples=10)
    assert {(m.model, m.wins, m.losses) for m in ranking.models} == {("a", 1, 1), ("b", 1, 1)}


def test_what_is_not_ok_is_counted_and_never_a_tie() -> None:
    collector = BattleCollector()
    collector.add(sample("x", "y", ("a", "b")), decided(None, "unparsed"))
    collector.add(sample("x", "y", ("a", "b")), None)
    collector.add(sample("x", "y", (None, "b")), decided("first"))
    collector.add(sample("x", "y", ("b", "b")), decided("first"))
    collector.add(Sample(question="q", answers=(Answer(text="x"),)), decided(None))
    assert len(collector.result()) == 0
    met = collector.met()
    counted = (met.not_ok, met.pending, met.unnamed, met.own)
    assert counted == (1, 1, 1, 1)
    assert met.single == 1


def test_a_ranking_of_three_is_three_battles_of_one_question() -> None:
    answers = tuple(Answer(text=name, model=name) for name in "abc")
    collector = BattleCollector()
    collector.add(Sample(question="q", answers=answers), decided(None, ranking=(2, 1, 2)))
    battles = collector.result()
    assert battles.outcome.tolist() == [-1, 0, 1]
    assert battles.questions == 1


def test_collectors_add_up() -> None:
    one, other = BattleCollector(), BattleCollector()
    one.add(sample("x", "y", ("a", "b")), decided("first"))
    other.add(sample("y", "x", ("b", "a")), decided("first"))
    other.add(sample("x", "w", ("a", "c")), decided(None, "error"))
    one.extend(other)
    met = one.met()
    assert (len(one.result()), met.not_ok, met.decided, met.repeated) == (2, 1, 3, 1)


# --- style --------------------------------------------------------------------------------------


def test_markdown_is_counted_outside_code() -> None:
    prose = "# Head\n\nSome **bold** and __bold__ text\n\n1. one\n- two\n  * three\n\n"
    text = f"{prose}```\n# no\n- no\n```\n"
    assert style_counts(Answer(text=text)) == (len(text), 1, 2, 3)
    assert style_counts(Answer(text="snake__case__name and 2 * 3")) == (27, 0, 0, 0)


def test_style_differences_are_normalised_and_mirror() -> None:
    style = np.array([[[10, 0, 2, 1], [30, 0, 2, 0]], [[8, 1, 0, 0], [8, 0, 0, 0.0]]])
    apart = style_differences(style)
    assert apart.std(axis=0)[[0, 1, 3]] == pytest.approx(1)
    assert not apart[:, 2].any()
    assert style_differences(style[:, ::-1]) == pytest.approx(-apart)


def test_style_control_recovers_strengths_behind_a_judge_that_likes_length() -> None:
    rng = np.random.default_rng(4)
    n, k = 6000, 4
    strength = np.array([0.4, 0.1, -0.1, -0.4])
    wordy = np.array([0.0, 0.0, 0.6, 0.6])  # the worse models write longer
    first = rng.integers(0, k, n)
    second = (first + rng.integers(1, k, n)) % k
    length = np.exp(5 + wordy[np.stack([first, second], 1)] + 0.3 * rng.normal(size=(n, 2)))
    style = np.zeros((n, 2, 4))
    style[:, :, 0] = length
    pull = 0.8 * style_differences(style)[:, 0]
    win, tie, _ = chances(strength[first] - strength[second] + pull, math.log(0.4))
    drawn = rng.random(n)
    outcome = np.where(drawn < win, 1, np.where(drawn < win + tie, 0, -1))
    battles = battles_of(("a", "b", "c", "d"), first, second, outcome, np.arange(n) // 4)
    battles = dataclasses.replace(battles, style=style)
    raw, held = rank_models(battles, resamples=20), rank_models(battles, style_control=True)
    assert [model.model for model in raw.models] != list("abcd")
    assert [model.model for model in held.models] == list("abcd")
    for model in held.models:
        truth = 1000 + ELO * strength["abcd".index(model.model)]
        assert (model.strength.low or 0) - 10 <= truth <= (model.strength.high or 0) + 10
    assert held.style is not None
    effect = held.style[0].effect
    assert (effect.low or 0) <= ELO * 0.8 <= (effect.high or 0)
    assert held.style[1].unknown == "absent"  # nobody writes headers


def test_without_style_columns_and_for_other_methods_style_is_refused() -> None:
    battles = simulated(np.zeros(3), 30, np.random.default_rng(0))
    with pytest.raises(ValueError, match="style=True"):
        rank_models(battles, style_control=True)
    with pytest.raises(ValueError, match="bradley-terry alone"):
        rank_models(battles, "elo", style_control=True)
    with pytest.raises(ValueError, match="no battles"):
        rank_models(battles.take(np.zeros(30, dtype=bool)))


# --- which ranks the data allow -----------------------------------------------------------------

# What the small judge said of the examples' pairs: alder, cedar, birch.
EXAMPLES = np.array([[0, 6, 9], [3, 0, 6], [1, 1, 0]])


def ranks(ranking: ModelRanking) -> dict[str, tuple[int, int]]:
    return {model.model: (model.best_rank, model.worst_rank) for model in ranking.models}


@pytest.mark.parametrize("method", ["bradley-terry", "win-rate"])
def test_a_long_tail_of_a_strength_does_not_hide_who_is_last(method: Method) -> None:
    # No resample has the third model above the first, and their intervals do not overlap.
    ranking = rank_models(of_wins(EXAMPLES), method)
    assert ranks(ranking) == {"a": (1, 2), "b": (1, 2), "c": (3, 3)}


@pytest.mark.parametrize("method", METHODS)
def test_few_questions_give_no_certain_rank(method: Method) -> None:
    three_wins = battles_of(("a", "b", "c"), [0, 0, 0], [1, 2, 2], [1, 1, 1])
    assert set(ranks(rank_models(three_wins, method)).values()) == {(1, 3)}
    for n, certain in ((5, False), (6, True)):  # the sign test: 2 / 2**n
        sweep = battles_of(("a", "b"), [0] * n, [1] * n, [1] * n)
        assert (ranks(rank_models(sweep, method))["a"] == (1, 1)) is certain
        # Many battles on as few questions say no more.
        repeated = battles_of(("a", "b"), [0] * 50, [1] * 50, [1] * 50, np.arange(50) % n)
        assert (ranks(rank_models(repeated, method))["a"] == (1, 1)) is certain


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("strength", "questions", "battles_each"),
    [([0.0] * 3, 24, 1), ([0.0] * 3, 15, 4), ([0.0] * 5, 60, 1), ([0.0, 0.0, 0.0, 3.0], 40, 1)],
)
def test_false_ranks_are_as_rare_as_they_claim_for_the_whole_table(
    method: Method, strength: list[float], questions: int, battles_each: int
) -> None:
    """Tables of 80 in which any model's true ranks are ruled out: 4 expected at most."""
    truth = np.array(strength)
    wrong = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        battles = simulated(truth, questions * battles_each, rng)
        battles = dataclasses.replace(
            battles, question=np.repeat(np.arange(questions, dtype=np.uint64), battles_each)
        )
        ranking = rank_models(battles, method, resamples=20)
        equals = [
            (1 + (truth > own).sum(), (truth >= own).sum())
            for own in (truth[int(model.model[1:])] for model in ranking.models)
        ]
        wrong += any(
            model.best_rank > best or model.worst_rank < worst
            for model, (best, worst) in zip(ranking.models, equals, strict=True)
        )
    assert wrong <= 9  # 98.7 % of binomial(80, 0.05) is at most 8


def test_many_models_can_be_told_apart_although_random_signs_are_few() -> None:
    rng = np.random.default_rng(0)
    wins = rng.binomial(9, 0.5, (16, 16))
    wins[0, 1:], wins[1:, 0] = 9, 0
    np.fill_diagonal(wins, 0)
    battles = battles_of(
        tuple(f"m{place:02}" for place in range(16)),
        *(np.repeat(column.ravel(), wins.ravel()) for column in np.indices(wins.shape)),
        np.ones(wins.sum()),
    )
    assert ranks(rank_models(battles, resamples=20))["m00"] == (1, 1)


def test_equalities_that_can_still_hold_are_shaffers_counts() -> None:
    p = np.ones((3, 3))
    for (one, other), value in {(0, 1): 0.01, (0, 2): 0.03, (1, 2): 0.5}.items():
        p[one, other] = p[other, one] = value
    adjusted = adjusted_pairs(p)
    assert adjusted[[0, 0, 1], [1, 2, 2]] == pytest.approx([0.03, 0.03, 0.5])
    assert adjusted.diagonal().tolist() == [1, 1, 1]
    # Groups of equals among five models make 0, 1, 2, 3, 4, 6 or 10 equal pairs, never 5, 7, 8, 9.
    assert _still_true(5) == (10, 6, 6, 6, 6, 4, 4, 3, 2, 1)


def test_elo_is_open_where_a_model_only_won_or_only_lost() -> None:
    wins = np.array([[0, 4, 4, 4], [0, 0, 6, 9], [0, 5, 0, 7], [0, 2, 3, 0]])
    top = rank_models(of_wins(wins), "elo", resamples=50).models[0]
    assert (top.model, top.beyond, top.strength.high) == ("a", "above", None)
    assert top.strength.low is not None
    assert top.strength.low <= (top.strength.value or 0)
    three = rank_models(battles_of(("a", "b"), [0] * 3, [1] * 3, [1] * 3), "elo")
    winner, loser = three.models
    assert (loser.beyond, loser.strength.low) == ("below", None)
    assert (loser.strength.high or 0) > 1000
    assert (winner.strength.low, winner.strength.high) == (None, None)


def test_elo_ratings_are_the_points_that_questions_moved() -> None:
    battles = simulated(np.array([1.0, 0.0, -1.0]), 60, np.random.default_rng(2))
    moved = elo.points_moved(battles, shuffles=3)
    ratings = elo.elo_ratings(battles, shuffles=3)
    sequences = np.random.default_rng(SEED)
    played = elo._play(battles, np.stack([sequences.permutation(60) for _ in range(3)], 1), 4.0)
    assert ratings == pytest.approx(played.mean(axis=0))
    assert np.abs(moved).max() < 4


def test_the_footer_says_whose_intervals_they_are() -> None:
    few = rank_models(of_wins(EXAMPLES), "win-rate")
    assert few.interval.startswith("Wilson's")
    assert few.resamples == 0
    many = rank_models(simulated(np.zeros(3), 300, np.random.default_rng(0)), "win-rate")
    assert many.interval == "bootstrap over questions"
    first = np.append(np.zeros(60, dtype=int), np.full(4, 2))
    second = np.append(np.ones(60, dtype=int), np.zeros(4, dtype=int))
    outcome = np.append(np.tile([1, -1], 30), [1, 1, -1, 1])
    mixed = rank_models(battles_of(("a", "b", "c"), first, second, outcome), "win-rate")
    assert mixed.interval.startswith("bootstrap over questions; Wilson's for models of fewer")
    assert mixed.resamples == 1000


# --- style that decides all ----------------------------------------------------------------------


def with_lengths(battles: Battles, lengths: np.ndarray) -> Battles:
    style = np.zeros((len(battles), 2, 4))
    style[:, :, 0] = lengths
    return dataclasses.replace(battles, style=style)


def test_strengths_behind_a_judge_that_is_length_alone_are_not_known() -> None:
    rng = np.random.default_rng(5)
    battles = simulated(np.zeros(3), 120, rng)
    lengths = rng.integers(10, 900, (120, 2)) + 100 * np.stack([battles.first, battles.second], 1)
    outcome = np.sign(lengths[:, 0] - lengths[:, 1])
    battles = with_lengths(dataclasses.replace(battles, outcome=outcome), lengths)
    ranking = rank_models(battles, style_control=True)
    assert {model.beyond for model in ranking.models} == {"aside"}
    assert set(ranks(ranking).values()) == {(1, 3)}
    assert {model.strength.value for model in ranking.models} == {None}
    assert ranking.style is not None
    assert [effect.unknown for effect in ranking.style] == ["above", "absent", "absent", "absent"]
    assert ranking.style[0].effect.value is None


def test_a_rare_feature_that_always_won_leaves_strengths_known() -> None:
    rng = np.random.default_rng(6)
    battles = simulated(np.array([0.8, 0.0, -0.8]), 300, rng)
    battles = with_lengths(battles, rng.integers(10, 900, (300, 2)))
    assert battles.style is not None
    battles.style[:, :, 2] = 3
    won = int(np.flatnonzero(battles.outcome == 1)[0])
    battles.style[won, 0, 1] = 2  # the only header, and it won
    ranking = rank_models(battles, style_control=True)
    assert ranking.style is not None
    assert [effect.unknown for effect in ranking.style] == [None, "above", "equal", "absent"]
    assert {model.beyond for model in ranking.models} == {None}
    assert all(model.strength.low is not None for model in ranking.models)
    assert ranks(ranking) == {"m0": (1, 1), "m1": (2, 2), "m2": (3, 3)}


def test_style_that_is_the_models_own_cannot_be_told_from_their_strengths() -> None:
    rng = np.random.default_rng(7)
    battles = simulated(np.array([0.8, 0.0]), 200, rng)
    lengths = np.array([400, 100])[np.stack([battles.first, battles.second], 1)]
    ranking = rank_models(with_lengths(battles, lengths), style_control=True)
    assert ranking.style is not None
    assert ranking.style[0].unknown == "aside"
    assert set(ranks(ranking).values()) == {(1, 2)}
