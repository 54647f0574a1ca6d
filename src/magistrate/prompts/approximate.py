"""Probabilities from the alternatives that an engine returns with every written token.

Most servers give the likeliest few tokens of each place and no more. The reply went one way; where
another verdict would have branched off, the alternatives say how probable that was. What lies below
the few, or behind a branch that was not taken, is unknown, so the result is an approximation and
says so. The verdict itself stays what the judge wrote. For two scores the second is taken to be as
it was behind the first score that was written.

The entropy is of the same alternatives: of each score's, added up; of the labels'. The
log-probability is of the tokens in which the verdict stands, each under the distribution that it
was drawn from: engines return it with the token itself, so nothing is shifted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from magistrate.messages import Completion, TokenLogprob
from magistrate.prompts.base import Verdict
from magistrate.prompts.distribution import LEAST_MASS
from magistrate.prompts.frames import start_pattern
from magistrate.prompts.labels import labels_of
from magistrate.prompts.rules import VERDICT, ChoiceRules, JsonRules, Place, Rules, ScoreRules
from magistrate.records import Preference, Probabilities

_NUMBER = re.compile(r"(?<![\w.])[0-9]+(?:\.[0-9]+)?(?!\w|\.[0-9])")
_WIDEST_SCALE = 101


@dataclass(frozen=True, slots=True)
class _Written:
    """A verdict, or one score of it, where it stands in the reply."""

    text: str
    start: int


def with_probabilities(
    verdict: Verdict, completion: Completion, rules: Rules, start: str = ""
) -> Verdict:
    """Return a pair's verdict with approximate probabilities, where these can be read.

    Args:
        verdict: What was read from the completion; ``ok``.
        completion: The reply with its log-probabilities.
        rules: What it was read by.
        start: The fixed start of the reply, which is not part of the completion.
    """
    verdict = replace(verdict, verdict_logprob=written_logprob(verdict, completion, rules, start))
    if isinstance(rules, ChoiceRules):
        shares = _label_shares(verdict, completion, rules, start)
        if not shares:
            return verdict
        found = _with(verdict, shares, min_mass=sum(shares.values()))
        return replace(found, entropy=_entropy(shares)) if found.probabilities else found
    marginals = score_marginals(verdict, completion, rules)
    if marginals is None or len(marginals) != 2:
        return verdict
    return with_marginals(verdict, marginals, tie_gap=_tie_gap(rules))


def with_marginals(
    verdict: Verdict, marginals: Sequence[dict[float, float]], *, tie_gap: float
) -> Verdict:
    """Return a pair's verdict with the probabilities of two independent scores."""
    shares: dict[Preference, float] = {"first": 0.0, "second": 0.0, "tie": 0.0}
    first, second = marginals
    for one, p in first.items():
        for two, q in second.items():
            gap = one - two
            outcome: Preference = "tie" if abs(gap) <= tie_gap else "first" if gap > 0 else "second"
            shares[outcome] += p * q
    found = _with(verdict, shares, min_mass=min(sum(first.values()), sum(second.values())))
    if found.probabilities is None:
        return found
    return replace(found, entropy=_entropy(first) + _entropy(second))


def written_logprob(
    verdict: Verdict, completion: Completion, rules: Rules, start: str = ""
) -> float | None:
    """Return the mean log-probability of the tokens in which a verdict stands; None if not known.

    Arguments as :func:`with_probabilities`.
    """
    reply = _Reply.of(completion)
    if reply is None:
        return None
    held = rules.holds if isinstance(rules, JsonRules) else rules
    places: list[_Written] | None = None
    if isinstance(held, ScoreRules) and verdict.scores is not None:
        places = _find_scores(completion.text, verdict.scores, rules.place)
    elif isinstance(rules, ChoiceRules):
        label = _find_label(start + completion.text, verdict, rules)
        places = [_Written(label.text, label.start - len(start))] if label else None
    found = reply.logprobs(places or ())
    return sum(found) / len(found) if found else None


def score_marginals(
    verdict: Verdict, completion: Completion, rules: Rules
) -> list[dict[float, float]] | None:
    """Return for each written score how probable it and the others were, as far as is known."""
    held = rules.holds if isinstance(rules, JsonRules) else rules
    scores = verdict.scores
    if not isinstance(held, ScoreRules) or scores is None or not _is_whole(held, scores):
        return None
    reply = _Reply.of(completion)
    if reply is None:
        return None
    places = _find_scores(completion.text, scores, rules.place)
    if places is None:
        return None
    options = [str(score) for score in range(int(held.low), int(held.high) + 1)]
    found = [reply.shares(written, options) for written in places]
    if any(sum(shares.values()) < LEAST_MASS for shares in found):
        return None
    return [{float(option): share for option, share in shares.items()} for shares in found]


def mean_logprob(
    verdicts: Sequence[Verdict], completions: Sequence[Completion], rules: Rules
) -> float | None:
    """Return the mean of :func:`written_logprob` over answers that were read alone."""
    found = [
        written_logprob(verdict, completion, rules)
        for verdict, completion in zip(verdicts, completions, strict=True)
    ]
    known = [one for one in found if one is not None]
    return sum(known) / len(known) if known and len(known) == len(found) else None


class _Reply:
    """The tokens of a reply, and where they stand in its text."""

    def __init__(self, tokens: Sequence[TokenLogprob]) -> None:
        self._tokens = tokens
        self._starts = [0, *accumulate(len(token.token) for token in tokens)]

    @classmethod
    def of(cls, completion: Completion) -> _Reply | None:
        """Return the reply; None where its tokens are not its text."""
        text = "".join(token.token for token in completion.logprobs)
        fits = text.startswith(completion.text) or completion.text.startswith(text)
        return cls(completion.logprobs) if text and fits else None

    def shares(self, written: _Written, options: Sequence[str]) -> dict[str, float]:
        """Return the probability of each option in the place of the one that was written."""
        shares = dict.fromkeys(options, 0.0)
        path = 1.0
        last = None
        for index, done, head in self._along(written):
            token = self._tokens[index]
            if not token.top:
                return dict.fromkeys(options, 0.0)
            for alternative, share in self._others(index, head):
                option = _option_of(written.text[:done] + alternative, options)
                if option is not None:
                    shares[option] += path * share
            path *= math.exp(min(token.logprob, 0.0))
            last = index
        if last is None:
            return shares
        own = _option_of(written.text, options)
        if own is None:
            return shares
        longer = self._longer(last, written, options) if self._ends(last, written) else {}
        for option, share in longer.items():
            shares[option] += path * share
        shares[own] += path * max(0.0, 1.0 - sum(longer.values()))
        return shares

    def logprobs(self, places: Sequence[_Written]) -> list[float]:
        """Return the log-probability of each token in which something stands, once."""
        tokens = dict.fromkeys(index for one in places for index, _, _ in self._along(one))
        return [min(self._tokens[index].logprob, 0.0) for index in tokens]

    def _along(self, written: _Written) -> Iterator[tuple[int, int, str]]:
        """Yield the tokens of what was written: index, characters done, text before it."""
        end = written.start + len(written.text)
        for index, start in enumerate(self._starts[:-1]):
            if start < end and self._starts[index + 1] > written.start:
                done = max(0, start - written.start)
                head = self._tokens[index].token[: max(0, written.start - start)]
                yield index, done, head

    def _others(self, index: int, head: str) -> Iterator[tuple[str, float]]:
        """Yield the alternatives to a token, without what stands before the verdict in it."""
        token = self._tokens[index]
        for text, logprob in token.top:
            if text == token.token:
                continue
            share = math.exp(min(logprob, 0.0))
            if text.startswith(head):
                yield text[len(head) :], share
            elif not head.strip():
                yield text.lstrip(), share

    def _ends(self, index: int, written: _Written) -> bool:
        return self._starts[index + 1] == written.start + len(written.text)

    def _longer(self, last: int, written: _Written, options: Sequence[str]) -> dict[str, float]:
        """Return the probability of going on to a longer option after what was written."""
        if last + 1 >= len(self._tokens):
            return {}
        shares: dict[str, float] = {}
        for alternative, share in self._others(last + 1, ""):
            option = _option_of(written.text + alternative, options)
            if option is not None and len(option) > len(written.text):
                shares[option] = shares.get(option, 0.0) + share
        return shares


def _option_of(text: str, options: Sequence[str]) -> str | None:
    """Return the option that a text says, or the only one that it begins."""
    said = [
        option
        for option in options
        if text.startswith(option)
        and not (text[len(option) : len(option) + 1].isalnum() and option[-1:].isalnum())
    ]
    if said:
        return max(said, key=len)
    begun = [option for option in options if text.strip() and option.startswith(text)]
    return begun[0] if len(begun) == 1 else None


def _label_shares(
    verdict: Verdict, completion: Completion, rules: ChoiceRules, start: str
) -> dict[Preference, float] | None:
    reply = _Reply.of(completion)
    found = _find_label(start + completion.text, verdict, rules) if reply else None
    written = _Written(found.text, found.start - len(start)) if found else None
    if reply is None or written is None or written.start < 0:
        return None
    meaning = dict(rules.labels)
    # Alternatives are compared in the letter case of what was written.
    options = {label: label for label in meaning}
    if written.text not in options:
        same = [label for label in meaning if label.casefold() == written.text.casefold()]
        if not same:
            return None
        options = {written.text: same[0], **{k: v for k, v in options.items() if k != same[0]}}
    shares: dict[Preference, float] = {"first": 0.0, "second": 0.0, "tie": 0.0}
    for label, share in reply.shares(written, list(options)).items():
        shares[meaning[options[label]]] += share
    return shares if sum(shares.values()) >= LEAST_MASS else None


def _find_label(text: str, verdict: Verdict, rules: ChoiceRules) -> _Written | None:
    """Return the label of the verdict: the first or the last one with its meaning."""
    labels = labels_of(rules.labels)
    flags = 0 if labels.same_case else re.IGNORECASE
    found: list[re.Match[str]] = []
    for frame in rules.frames:
        before = r"(?<!\w)" if frame == VERDICT else start_pattern(frame)
        pattern = re.compile(f"{before}(?P<label>{labels.pattern})", flags)
        found += [
            match
            for match in pattern.finditer(text)
            if labels.value_of(match["label"]) == verdict.preference
        ]
    if not found:
        return None
    match = found[0] if rules.place == "first" else found[-1]
    # Of a label with a noun before it (``Answer A``), the label alone.
    label = max(
        (name for name, _ in rules.labels if match["label"].casefold().endswith(name.casefold())),
        key=len,
        default="",
    )
    if not label:
        return None
    return _Written(match["label"][-len(label) :], match.end("label") - len(label))


def _find_scores(text: str, scores: Sequence[float], place: Place) -> list[_Written] | None:
    """Return where the scores stand: side by side on the first or the last line that has them."""
    position = 0
    lines: list[tuple[int, str]] = []
    for line in text.splitlines(keepends=True):
        lines.append((position, line))
        position += len(line)
    for start, line in lines if place == "first" else reversed(lines):
        numbers = list(_NUMBER.finditer(line))
        runs = range(len(numbers) - len(scores) + 1)
        for first in runs if place == "first" else reversed(runs):
            run = numbers[first : first + len(scores)]
            if [float(number[0]) for number in run] == list(scores):
                return [_Written(number[0], start + number.start()) for number in run]
    return None


def _is_whole(rules: ScoreRules, scores: Sequence[float]) -> bool:
    """Whether the scale and the scores on it are whole numbers, and not too many."""
    numbers = (rules.low, rules.high, *scores)
    whole = all(number == int(number) for number in numbers)
    return whole and rules.high - rules.low < _WIDEST_SCALE


def _entropy(shares: Mapping[Any, float]) -> float:
    """Return the entropy of shares that need not add up to 1, in nats."""
    whole = math.fsum(shares.values())
    parts = [share / whole for share in shares.values() if share > 0]
    return max(0.0, -math.fsum(part * math.log(part) for part in parts))


def _with(verdict: Verdict, shares: dict[Preference, float], *, min_mass: float) -> Verdict:
    whole = sum(shares.values())
    if min_mass < LEAST_MASS or whole <= 0:
        return verdict
    first, second = min(1.0, shares["first"] / whole), min(1.0, shares["second"] / whole)
    tie = max(0.0, 1.0 - first - second) if shares["tie"] else 0.0
    return replace(
        verdict,
        probabilities=Probabilities(first=first, tie=tie, second=second),
        approximate=True,
        mass=min(1.0, min_mass),
    )


def _tie_gap(rules: Rules) -> float:
    held = rules.holds if isinstance(rules, JsonRules) else rules
    return held.tie_gap if isinstance(held, ScoreRules) else 0.0
