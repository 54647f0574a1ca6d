r"""One label of a few: ``[[A]]``, ``Tie``, ``[RESULT] B``.

>>> labels = (("A", "first"), ("B", "second"), ("C", "tie"))
>>> rules = ChoiceRules(labels, "last", ("[[{verdict}]]",))
>>> lines = ["I am to write [[A]] or [[B]].\n", "The second is right.\n", "Verdict: [[B]]"]
>>> read_choice(lines, rules, is_cut=False).value
'second'
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from magistrate.prompts.labels import labels_of
from magistrate.prompts.phrases import Body, Phrase, read_phrase
from magistrate.prompts.rules import ChoiceRules, Failure, Found, show

WORDS = (
    r"verdict|decision|choice|winner|judge?ment|preference|conclusion"
    r"|(?:final|better|best|preferred)\s+(?:answer|response|output|assistant|option|one)"
    r"|结论|最终判断|选择"
)
"""Nouns that announce a label."""

STEMS = (
    *("verdict", "decision", "choice", "winner", "judg", "preference", "conclusion"),
    *("final", "better", "best", "preferred", "结论", "最终判断", "选择"),
)

FIRST_WORDS = r"answer|result|response|label|答案|结果"
"""Further ones where the verdict comes first; further down they begin sentences about answers."""


def read_choice(lines: Sequence[str], rules: ChoiceRules, *, is_cut: bool) -> Found | Failure:
    """Read the label of a reply, given as lines with their ends; at least one is not blank."""
    return read_phrase(lines, _phrase(rules), is_cut=is_cut)


@lru_cache(maxsize=64)
def _phrase(rules: ChoiceRules) -> Phrase:
    labels = labels_of(rules.labels)

    def read(text: str, announced: bool) -> Body | None:
        found = labels.at_start(text)
        return Body(found.value, found.rest) if found else None

    return Phrase(
        read,
        rules.frames,
        rules.place,
        due=due(rules),
        words=WORDS,
        first_words=FIRST_WORDS,
        stems=STEMS,
    )


def choice_of(value: object, rules: ChoiceRules) -> Found | Failure:
    """Read a label that stands by itself, such as the value of a JSON key."""
    if isinstance(value, str | int) and not isinstance(value, bool):
        meaning = labels_of(rules.labels).whole(str(value))
        if meaning is not None:
            return Found(meaning)
    return Failure("unknown_label", f"found {show(str(value))} where {due(rules)} is due")


def due(rules: ChoiceRules) -> str:
    """Return in words what should be found."""
    return "one of " + ", ".join(label for label, _ in rules.labels)
