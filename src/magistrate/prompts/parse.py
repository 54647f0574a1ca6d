r"""Text in, verdict or a named reason out. Pure; every rule has its example.

One function reads every kind of verdict: scores, a label, a ranking, or one of these in JSON. It
leaves out what the model only thought (:func:`_replies`), and gives the rest to the reader of the
kind, which finds the place where the verdict must stand, reads it and checks it. Whatever does not
fit is named and never guessed: numbers are not joined, not clipped to the scale, not picked out of
prose; labels are not taken from a sentence that weighs them.

>>> from magistrate.prompts.rules import ScoreRules
>>> pair = ScoreRules(count=2, low=1, high=10)
>>> [parse(reply, pair).scores for reply in ("8, 9", "**8 9**", "8/10 9/10", "\n\n8\t9\nBecause.")]
[(8.0, 9.0), (8.0, 9.0), (8.0, 9.0), (8.0, 9.0)]
>>> parse("8 7 9", pair).error
"too_many_scores: found 3 where 2 are due in '8 7 9'"
>>> parse("[[90]]", ScoreRules(count=1, low=1, high=10)).error
"out_of_scale: 90 is not within 1 to 10 in '[[90]]'"
>>> parse("I'm sorry, but I cannot evaluate this.", pair).status
'refused'
>>> parse("8 1", pair, finish_reason="length").status
'truncated'
>>> reasons_first = ScoreRules(count=2, low=1, high=10, place="last")
>>> parse("Both are fine.\nScores: 3 4\nNo, wait.\nScores: 8 9", reasons_first).scores
(8.0, 9.0)
>>> labels = (("A", "first"), ("B", "second"), ("C", "tie"))
>>> brackets = ChoiceRules(labels, place="last", frames=("[[{verdict}]]",))
>>> parse("I may say [[A]], [[B]] or [[C]].\nThe second is right: [[B]]", brackets).preference
'second'
>>> parse("I was torn between [[A]] and [[B]].", brackets).status
'unparsed'
>>> parse("C > A = B", RankingRules(("A", "B", "C"))).ranking
(2, 2, 1)
>>> parse('{"scores": [8, 9,]}', JsonRules(pair, ("scores",))).scores
(8.0, 9.0)
"""

from __future__ import annotations

import re
from typing import cast

from magistrate.messages import FinishReason
from magistrate.prompts.base import Verdict
from magistrate.prompts.outcome import verdict_from_ranks, verdict_from_scores
from magistrate.prompts.read_choice import read_choice
from magistrate.prompts.read_json import read_json
from magistrate.prompts.read_ranking import read_ranking
from magistrate.prompts.read_scores import read_scores
from magistrate.prompts.refusals import looks_like_refusal
from magistrate.prompts.rules import (
    STATUS_OF,
    ChoiceRules,
    Failure,
    Found,
    JsonRules,
    RankingRules,
    Rules,
    cut,
    show,
)
from magistrate.records import Preference

PARSER_VERSION = 2
"""Raised whenever the same text may read otherwise; part of every family's prompt hash."""

_THOUGHT = r"(?:think|thinking|thought|thoughts|reasoning)"
_THOUGHT_OPENS = re.compile(rf"\s*<{_THOUGHT}>", re.IGNORECASE)
_THOUGHT_CLOSES = re.compile(rf"</{_THOUGHT}>", re.IGNORECASE)
_MOST_CLOSINGS = 8


def parse(text: str, rules: Rules, finish_reason: FinishReason = "stop") -> Verdict:
    """Read a verdict from what a judge wrote. Never raises on any text.

    Args:
        text: The completion alone, with the start that the family fixed; never the prompt.
        rules: What is due.
        finish_reason: Anything but ``stop`` means that the text may lack its end.

    Returns:
        A verdict with status ``ok``, or another status whose ``error`` starts with a
        :data:`~magistrate.prompts.rules.Reason`.
    """
    outcome = _read(text, rules, is_cut=finish_reason != "stop")
    if isinstance(outcome, Found):
        return _verdict(outcome, rules)
    if finish_reason == "content_filter":
        outcome = Failure("content_filter", "the provider's content filter stopped the reply")
    status = STATUS_OF.get(outcome.reason, "unparsed")
    return Verdict(status=status, error=f"{outcome.reason}: {outcome.words}")


def _verdict(found: Found, rules: Rules) -> Verdict:
    # A fence or a few asterisks around the verdict are no reasons.
    reasons = found.reasons.strip() if any(map(str.isalnum, found.reasons)) else None
    kind = rules.holds if isinstance(rules, JsonRules) else rules
    if isinstance(kind, ChoiceRules):
        return Verdict(status="ok", preference=cast(Preference, found.value), reasons=reasons)
    if isinstance(kind, RankingRules):
        return verdict_from_ranks(cast(tuple[int, ...], found.value), reasons=reasons)
    return verdict_from_scores(
        cast(tuple[float, ...], found.value), tie_gap=kind.tie_gap, reasons=reasons
    )


def _read(text: str, rules: Rules, *, is_cut: bool) -> Found | Failure:
    replies = _replies(text, rules)
    if isinstance(replies, Failure):
        return cut("its thoughts") if is_cut else replies
    outcomes = [_read_reply(reply, rules, is_cut=is_cut) for reply in replies]
    if len({o.value if isinstance(o, Found) else None for o in outcomes}) > 1:
        return Failure(
            "ambiguous_thinking", "the reply closes its thoughts several times; its parts disagree"
        )
    return outcomes[0]


def _replies(text: str, rules: Rules) -> list[str] | Failure:
    """Return what may be the reply proper, with the model's thoughts left out.

    Thoughts stand in ``<think>`` ... ``</think>`` at the start; some servers swallow the opening
    tag. A closing tag may also be a quotation from a hostile answer, in thoughts or in reasons. So
    the reply may begin after each closing tag, and all readings must agree.
    """
    opened = False
    while _THOUGHT_OPENS.match(text):
        opened = True
        close = _THOUGHT_CLOSES.search(text)
        if close is None:
            return Failure("unclosed_thinking", "the reply is a thought that never ends")
        text = text[close.end() :]
    tails = [text[close.end() :] for close in _THOUGHT_CLOSES.finditer(text)]
    if len(tails) > _MOST_CLOSINGS:
        return Failure("ambiguous_thinking", f"the reply closes its thoughts {len(tails)} times")
    if opened or not tails:
        return [text, *tails]
    # Without an opening tag the start is a thought, unless the verdict already stands there.
    if rules.place == "first" and isinstance(_read_reply(text, rules, is_cut=False), Found):
        return [text]
    return tails


def _read_reply(text: str, rules: Rules, *, is_cut: bool) -> Found | Failure:
    if not text.strip():
        return cut("a word") if is_cut else Failure("blank", "the judge wrote nothing")
    outcome = _read_kind(text, rules, is_cut=is_cut)
    if (
        isinstance(outcome, Failure)
        and outcome.reason in ("no_verdict", "cut")
        and looks_like_refusal(text)
    ):
        return Failure("refused", f"the judge declined: {show(text)}")
    return outcome


def _read_kind(text: str, rules: Rules, *, is_cut: bool) -> Found | Failure:
    if isinstance(rules, JsonRules):
        return read_json(text, rules, is_cut=is_cut)
    lines = text.splitlines(keepends=True)
    if isinstance(rules, ChoiceRules):
        return read_choice(lines, rules, is_cut=is_cut)
    if isinstance(rules, RankingRules):
        return read_ranking(lines, rules, is_cut=is_cut)
    return read_scores(lines, rules, is_cut=is_cut)
