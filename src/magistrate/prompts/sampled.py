"""Several replies to one prompt: how often each verdict was given says how sure the judge is.

Where a server gives no log-probabilities, it can still be asked several times at a temperature
above 0 (option ``samples``). The share of replies that give a verdict estimates its probability: of
N replies, to about 1 / (2 sqrt(N)) at best. Replies that are no verdict have no share in it; they
are counted in :attr:`~magistrate.prompts.base.Verdict.mass`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from statistics import fmean

from magistrate.messages import Completion
from magistrate.prompts.base import Verdict
from magistrate.prompts.outcome import preference_of, ranking_of
from magistrate.records import Preference, Probabilities


def has_samples(completion: Completion) -> bool:
    """Whether a completion holds several replies, and no log-probabilities, which say more."""
    return len(completion.meta.get("samples", ())) > 1 and not completion.logprobs


def replies_of(completion: Completion) -> list[Completion]:
    """Return each of several replies as a completion of its own; the only one where there is one.

    >>> [one.text for one in replies_of(Completion("k", "8 5", meta={"samples": ["8 5", "5 5"]}))]
    ['8 5', '5 5']
    """
    texts = completion.meta.get("samples") or [completion.text]
    endings = completion.meta.get("sample_finish_reasons") or []
    if len(endings) != len(texts):
        endings = [completion.finish_reason] * len(texts)
    return [
        replace(completion, text=text, finish_reason=ending, meta={})
        for text, ending in zip(texts, endings, strict=True)
    ]


def verdict_of_samples(verdicts: Sequence[Verdict]) -> Verdict:
    """Return what several replies to one prompt say together.

    Of a pair: the share of each outcome, and the likeliest one. Of scores: their mean; of ranks:
    the ranks of the mean ranks. Where not one reply is a verdict, the failure of the first.

    Args:
        verdicts: What was read from each reply, at least one.

    >>> said = [Verdict("ok", "first"), Verdict("ok", "first"), Verdict("ok", "second")]
    >>> verdict = verdict_of_samples([*said, Verdict("unparsed", error="no_verdict")])
    >>> verdict.preference, round(verdict.probabilities.first, 3), verdict.mass
    ('first', 0.667, 0.75)
    """
    known = [verdict for verdict in verdicts if verdict.status == "ok"]
    if not known:
        return verdicts[0]
    scores = _means([verdict.scores for verdict in known])
    ranking = None
    if known[0].ranking is not None:
        means = scores or [-mean for mean in _means([verdict.ranking for verdict in known]) or ()]
        ranking = ranking_of(means)
    outcomes = [verdict.preference for verdict in known if verdict.preference is not None]
    return _joined(known, len(known) / len(verdicts), scores, ranking, outcomes)


def verdict_of_samples_alone(
    samples: Sequence[Sequence[Verdict]], *, tie_gap: float = 0.0
) -> Verdict:
    """Return what several replies to each of some answers, read alone, say together.

    The replies to two answers are independent, so each is compared with each.

    Args:
        samples: For each answer, what was read from each reply; each holds one score.
        tie_gap: Scores at most this far apart are a tie.

    >>> nine, seven = Verdict("ok", scores=(9.0,)), Verdict("ok", scores=(7.0,))
    >>> verdict = verdict_of_samples_alone([[nine, seven], [seven, seven]])
    >>> verdict.scores, verdict.probabilities.first, verdict.probabilities.tie
    ((8.0, 7.0), 0.5, 0.5)
    """
    known = [[verdict for verdict in verdicts if verdict.scores] for verdicts in samples]
    for place, verdicts in enumerate(known):
        if not verdicts:
            failed = samples[place][0]
            which = f" (answer {place + 1})" if len(samples) > 1 else ""
            return Verdict(status=failed.status, error=f"{failed.error}{which}")
    drawn = [[verdict.scores[0] for verdict in each if verdict.scores] for each in known]
    scores = [fmean(each) for each in drawn]
    mass = min(len(each) / len(all_) for each, all_ in zip(known, samples, strict=True))
    outcomes: list[Preference] = []
    if len(drawn) == 2:
        outcomes = [preference_of(*pair, tie_gap=tie_gap) for pair in product(*drawn)]
    ranking = ranking_of(scores, tie_gap=tie_gap) if len(scores) > 2 else None
    reasons = [each[0].reasons for each in known if each[0].reasons]
    joined = _joined([], mass, scores, ranking, outcomes)
    return Verdict(
        status="ok",
        preference=joined.preference,
        scores=joined.scores,
        ranking=joined.ranking,
        probabilities=joined.probabilities,
        approximate=joined.approximate,
        mass=mass,
        reasons="\n\n".join(reasons) or None,
    )


def _joined(
    known: Sequence[Verdict],
    mass: float,
    scores: Sequence[float] | None,
    ranking: tuple[int, ...] | None,
    outcomes: Sequence[Preference],
) -> Verdict:
    probabilities = _shares(outcomes) if outcomes else None
    preference = probabilities.preference if probabilities else None
    said = [one for one in known if one.preference == preference] or known
    return Verdict(
        status="ok",
        preference=preference,
        scores=tuple(scores) if scores else None,
        ranking=ranking,
        probabilities=probabilities,
        approximate=probabilities is not None,
        mass=mass,
        reasons=said[0].reasons if said else None,
    )


def _shares(outcomes: Sequence[Preference]) -> Probabilities:
    count = len(outcomes)
    first, second = outcomes.count("first") / count, outcomes.count("second") / count
    tie = outcomes.count("tie") / count
    return Probabilities(first=first, tie=tie, second=second)


def _means(columns: Iterable[Sequence[float] | None]) -> list[float] | None:
    """Return the mean in each place; None where a reply has no numbers."""
    rows = [row for row in columns if row is not None]
    return [fmean(column) for column in zip(*rows, strict=True)] or None
