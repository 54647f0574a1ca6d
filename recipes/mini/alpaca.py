"""AlpacaEval annotations (CC BY-NC 4.0): 17 answers an instruction, judged by GPT-4.

Every answer but the baseline's has one verdict against the baseline, for two models there is also
a soft one against GPT-4-turbo's answer. A pair of other answers is labelled by what is known of
both: their verdicts, and how strong their writers are over all clean instructions::

    logit P(i better) = 0.8 (v_i - v_j) + 0.5 (s_i - s_j)

v is 1, 0 or -1 (won, tied, lost against the baseline), s the logit of a writer's share of wins.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leaks import read_rows
from negatives import Neighbours
from sources import Group, sigmoid

BASELINE = "text_davinci_003"
STRONG, WEAK = 1.0, 0.0  # logits of win rates: at least, at most
SHORTER_WINS = 1.3
"""Weight of pairs that the shorter answer wins: the annotator likes length more than people do."""


@dataclass
class Answers:
    """One instruction: each writer's answer, its verdict against the baseline, soft verdicts."""

    text: dict[str, str] = field(default_factory=dict)
    verdict: dict[str, int] = field(default_factory=dict)
    soft: list[tuple[str, str, float]] = field(default_factory=list)


def read_answers(data: Path) -> dict[str, Answers]:
    """Everything known of every instruction."""
    found: dict[str, Answers] = defaultdict(Answers)
    root = data / "alpaca_eval/results"

    def put(row: dict[str, Any], path: Path) -> tuple[Answers, str, str]:
        entry = found[row["instruction"]]
        base, other = str(row["generator_1"]), path.parent.parent.name
        entry.text.setdefault(base, row["output_1"].strip())
        entry.text.setdefault(other, row["output_2"].strip())
        return entry, base, other

    for path in sorted(root.glob("*/alpaca_eval_gpt4/annotations.json*")):
        for row in read_rows(path):
            if row["preference"] is None:
                continue
            entry, _, other = put(row, path)
            entry.verdict[other] = {1.0: -1, 2.0: 1}.get(float(row["preference"]), 0)
    for path in sorted(root.glob("*/weighted_alpaca_eval_gpt4_turbo/annotations.json.gz")):
        for row in read_rows(path):
            if row["preference"] is not None:
                entry, base, other = put(row, path)
                entry.soft.append((other, base, float(row["preference"]) - 1.0))
    return dict(found)


def strengths(answers: dict[str, Answers]) -> dict[str, float]:
    """The logit of each writer's share of wins against the baseline, which has 0."""
    wins: dict[str, list[float]] = defaultdict(list)
    for entry in answers.values():
        for writer, verdict in entry.verdict.items():
            wins[writer].append((verdict + 1) / 2)
    found = {BASELINE: 0.0}
    for writer, marks in wins.items():
        share = (sum(marks) + 1) / (len(marks) + 2)
        found[writer] = math.log(share / (1 - share))
    return found


def preferences(answers: dict[str, Answers]) -> Iterator[Group]:
    """One group an instruction with every labelled pair of its answers."""
    strength = strengths(answers)
    for question, entry in sorted(answers.items()):
        group = Group("alpaca", question, [])
        place = {w: group.add(text) for w, text in sorted(entry.text.items()) if text}

        def say(i: str, j: str, p: float, weight: float, kind: str) -> None:
            if i in place and j in place:  # noqa: B023 (called within its own round)
                shorter = (len(entry.text[i]) < len(entry.text[j])) == (p > 0.5)  # noqa: B023
                weight *= SHORTER_WINS if shorter else 1.0
                group.better(place[i], place[j], p, weight, kind)  # noqa: B023

        writers = sorted(entry.verdict)
        for writer in writers:
            p = sigmoid(2.2 * entry.verdict[writer] + 0.3 * strength[writer])
            say(writer, BASELINE, p if entry.verdict[writer] else 0.5, 1.0, "gpt-4")
        for i in writers:
            for j in writers:
                if i < j:
                    verdict = entry.verdict[i] - entry.verdict[j]
                    p = sigmoid(0.8 * verdict + 0.5 * (strength[i] - strength[j]))
                    p = min(max(p, 0.06), 0.94)
                    kind = "by way of the baseline" if abs(verdict) == 2 else "by strength"
                    if abs(p - 0.5) > 0.1:
                        say(i, j, p, abs(p - 0.5) * 1.6, kind)
        for other, base, p in entry.soft:
            say(other, base, min(max(p, 0.03), 0.97), 1.0, "gpt-4-turbo")
        yield group


def off_topic(
    answers: dict[str, Answers], near: Neighbours, rng: random.Random, rounds: int
) -> Iterator[Group]:
    """A weak writer's answer to the question against a strong writer's to a near question.

    Both ways in one group, so that no question is marked as the one with bad answers. The strong
    answer is mostly the longer and better-looking one, as in LLMBar's Neighbor set.
    """
    strength = strengths(answers)

    def draw(question: str, low: float, high: float) -> str | None:
        texts = answers[question].text
        fit = [w for w in sorted(texts) if low <= strength.get(w, 3.0) <= high and texts[w]]
        return texts[rng.choice(fit)] if fit else None

    for _ in range(rounds):
        for question in sorted(answers):
            other = near.pick(question, rng)
            if rng.random() < 0.25:  # the same writers on both sides, length left to chance
                own, foreign = draw(question, -9, 9), draw(other, -9, 9)
                own_other, foreign_other = foreign, own
            else:
                own, foreign = draw(question, -9, WEAK), draw(other, STRONG, 9)
                own_other, foreign_other = draw(other, -9, WEAK), draw(question, STRONG, 9)
            if None in (own, foreign, own_other, foreign_other):
                continue
            group = Group("alpaca off topic", question, [])
            for asked, right, wrong in (
                (question, own, foreign),
                (other, own_other, foreign_other),
            ):
                group.contest(asked, str(right), str(wrong), 0.93, "weak on topic against strong")
            yield group
