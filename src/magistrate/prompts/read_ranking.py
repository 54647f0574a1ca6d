"""An order over named answers: ``B > A = C``, a numbered list, or a list of names with ranks.

>>> rules = RankingRules(("A", "B", "C"))
>>> read_ranking(["B > A = C"], rules, is_cut=False).value
(2, 1, 2)
>>> models = RankingRules(("model_1", "model_2"))
>>> listed = "[{'model': 'model_2', 'rank': 1}, {'model': 'model_1', 'rank': 2}]"
>>> read_ranking([listed], models, is_cut=False).value
(2, 1)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

from magistrate.prompts.jsonish import Piece, find_json, stands_alone
from magistrate.prompts.labels import WORD_END, Labels, answer_labels, plain_text
from magistrate.prompts.numerals import fold_line
from magistrate.prompts.phrases import Body, Phrase, read_phrase
from magistrate.prompts.rules import Failure, Found, RankingRules, cut, show

WORDS = r"ranking|ranks?|order(?:ing)?(?:\s+of\s+\w+)?|verdict|排名|排序"
STEMS = ("rank", "order", "verdict", "排名", "排序")
FIRST_WORDS = r"answer|result|答案|结果"
_BETTER = r"\s*(?:>{1,3}|≻|»)\s*"
_WORSE = r"\s*<{1,3}\s*"
_EQUAL = r"\s*(?:={1,2}|~|≈)\s*"
_AFTER = r"\s*(?:,|;|、|\band\b|\bthen\b)\s*"
_NUMBERED = re.compile(r"[\s*_#>(-]*(?P<rank>[1-9][0-9]?)[*_]*\s*[.):](?P<name>.*)", re.DOTALL)


def read_ranking(lines: Sequence[str], rules: RankingRules, *, is_cut: bool) -> Found | Failure:
    """Read the ranking of a reply, given as lines with their ends; at least one is not blank."""
    listed = _listed(lines, rules, is_cut=is_cut)
    if listed is not None:
        return listed
    outcome = read_phrase(lines, _phrase(rules), is_cut=is_cut)
    if isinstance(outcome, Failure) and outcome.reason in ("no_verdict", "unknown_label"):
        return _numbered(lines, rules, is_cut=is_cut) or outcome
    return outcome


def ranking_of_value(value: Any, rules: RankingRules) -> Found | Failure:
    """Read a ranking that stands by itself, such as the value of a JSON key.

    A list of names, best first; a list of objects with a name and a rank; an object of ranks by
    name; or text such as ``B > A``.
    """
    ranks = _ranks_of_value(value, rules)
    if isinstance(ranks, Failure):
        return ranks
    if ranks is None:
        return Failure("no_verdict", f"found {show(str(value))} where {due(rules)} is due")
    return _checked(ranks, rules, str(value))


def due(rules: RankingRules) -> str:
    """Return in words what should be found."""
    return "an order of " + ", ".join(rules.names)


class _Chain:
    """Reads ``B > A = C``."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._labels = _labels(names)
        name = self._labels.pattern
        joint = rf"(?:{_BETTER}|{_WORSE}|{_EQUAL}|{_AFTER})"
        self._steps = re.compile(rf"{name}(?:{joint}{name})*", re.IGNORECASE)
        self._name = re.compile(name, re.IGNORECASE)

    def read(self, text: str, announced: bool) -> Body | Failure | None:
        """Read a chain at the start of a text; commas join names only where it is announced."""
        plain = plain_text(text)
        found = self._steps.match(plain)
        if found is None:
            return None
        names = list(self._name.finditer(found[0]))
        joints = [_joint(found[0][one.end() : two.start()].strip()) for one, two in pairwise(names)]
        kinds = set(joints)
        if len(names) < 2 or {"better", "worse"} <= kinds or ("after" in kinds and not announced):
            return None
        if "after" in kinds and len(kinds) > 1:
            return None
        if "worse" in kinds:
            names.reverse()
            joints.reverse()
        ranks: list[tuple[int, int]] = []
        rank = 1
        for above, name in enumerate(names):
            if above and joints[above - 1] != "equal":
                rank = above + 1
            ranks.append((self._labels.value_of(name[0]), rank))
        outcome = _checked(ranks, RankingRules(self._names), found[0])
        if isinstance(outcome, Failure):
            return outcome
        return Body(outcome.value, plain[found.end() :].strip())


def _joint(sign: str) -> str:
    """Return what a sign between two names means."""
    if sign[0] in "=~≈":
        return "equal"
    if sign[0] in ">≻»":
        return "better"
    return "worse" if sign[0] == "<" else "after"


def _listed(lines: Sequence[str], rules: RankingRules, *, is_cut: bool) -> Found | Failure | None:
    """Return the ranking of a list in brackets; None where there is no such list."""
    text = "".join(lines)
    pieces = list(find_json(text, "["))
    if rules.place == "last":
        pieces.reverse()
    for piece in pieces:
        if not stands_alone(text, piece):
            continue
        if piece.trouble is not None:
            if is_cut and piece.end == len(text):
                return cut("the ranking")
            continue
        ranks = _ranks_of_value(piece.value, rules)
        if ranks is None:
            continue
        outcome = (
            ranks
            if isinstance(ranks, Failure)
            else _checked(ranks, rules, text[piece.start : piece.end])
        )
        if isinstance(outcome, Found):
            return Found(outcome.value, _around(text, piece))
        return outcome
    return None


def _around(text: str, piece: Piece) -> str:
    parts = (text[: piece.start], text[piece.end :])
    return "\n".join(part.strip().strip("`").strip() for part in parts)


def _numbered(lines: Sequence[str], rules: RankingRules, *, is_cut: bool) -> Found | Failure | None:
    """Return the ranking of lines ``1. B``, ``2. A``: the first or last block of them."""
    labels = _labels(rules.names)
    run: list[tuple[int, int]] = []
    found: list[tuple[list[tuple[int, int]], int, int]] = []
    for place, line in enumerate(lines):
        match = _NUMBERED.match(fold_line(line))
        name = labels.whole(match["name"]) if match else None
        if match is None or name is None:
            continue
        if int(match["rank"]) == 1:
            run = []
            found.append((run, place, place))
        if found:
            run.append((name, int(match["rank"])))
            found[-1] = (run, found[-1][1], place)
    if not found:
        return None
    ranks, first, last = found[0] if rules.place == "first" else found[-1]
    if is_cut and len(ranks) < len(rules.names):
        return cut("the ranking")
    outcome = _checked(ranks, rules, "".join(lines[first : last + 1]))
    if isinstance(outcome, Failure):
        return outcome
    return Found(outcome.value, "".join(lines[:first]) + "".join(lines[last + 1 :]))


def _ranks_of_value(value: Any, rules: RankingRules) -> list[tuple[int, int]] | Failure | None:
    """Return pairs of an answer's place and its rank; None where the value is no ranking."""
    labels = _labels(rules.names)
    if isinstance(value, str):
        body = _chain(rules.names).read(value, True)
        if isinstance(body, Body) and not body.rest.strip(" ."):
            return list(enumerate(int(rank) for rank in body.value))
        return body if isinstance(body, Failure) else None
    if isinstance(value, dict):
        pairs = [(labels.whole(str(name)), _rank(rank)) for name, rank in value.items()]
    elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        pairs = [_named_rank(item, labels) for item in value]
    elif isinstance(value, list) and value:
        if not all(isinstance(item, str | int) and not isinstance(item, bool) for item in value):
            return None
        pairs = [(labels.whole(str(item)), place) for place, item in enumerate(value, 1)]
    else:
        return None
    known = [(name, rank) for name, rank in pairs if name is not None and rank is not None]
    if not known:
        return None
    if len(known) < len(pairs):
        return Failure("mixed_names", f"some names or ranks are unknown in {show(str(value))}")
    return known


def _named_rank(item: dict[str, Any], labels: Labels[int]) -> tuple[int | None, int | None]:
    """Return the answer and the rank that an object such as ``{"model": "A", "rank": 1}`` holds."""
    rank = _rank(item.get("rank"))
    names = [labels.whole(value) for value in item.values() if isinstance(value, str)]
    known = [name for name in names if name is not None]
    return (known[0] if len(known) == 1 else None), rank


def _rank(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _checked(ranks: Iterable[tuple[int, int]], rules: RankingRules, text: str) -> Found | Failure:
    """Return the ranks by answer, if each answer has one; equal ranks share the better one."""
    pairs = list(ranks)
    if sorted(place for place, _ in pairs) != list(range(len(rules.names))):
        return Failure(
            "mixed_names",
            f"{', '.join(rules.names)} should stand there once each in {show(text)}",
        )
    given = [rank for _, rank in sorted(pairs)]
    return Found(tuple(1 + sum(other < own for other in given) for own in given))


@lru_cache(maxsize=64)
def _phrase(rules: RankingRules) -> Phrase:
    return Phrase(
        _chain(rules.names).read,
        rules.frames,
        rules.place,
        due=due(rules),
        words=WORDS,
        first_words=FIRST_WORDS,
        stems=STEMS,
        ends_in_sentence=True,
    )


@lru_cache(maxsize=64)
def _chain(names: tuple[str, ...]) -> _Chain:
    return _Chain(names)


@lru_cache(maxsize=64)
def _labels(names: tuple[str, ...]) -> Labels[int]:
    return Labels(answer_labels(names), end=WORD_END)
