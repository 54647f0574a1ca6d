"""Rule-made wrong answers that look as good as right ones, or better.

The rules of ``negatives.py`` make answers that are visibly broken. These keep length and polish:
another number, a denied sentence, another answer's names, a list of the wrong size, or friendly
words around nothing.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from sentences import sentences

NUMBER = re.compile(r"\d+")
NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}(?: [A-Z][a-z]+)*")
VERB = re.compile(r"\b(is|are|was|were|can|should|will|has|have|does|do)\b( not)?")
ITEM = re.compile(r"^\s*(?:\d+[.)]|[-*\u2022])\s+", re.MULTILINE)

OPENINGS = (
    "Great question!",
    "Thank you for your interesting request.",
    "Certainly! I would be happy to help you with this.",
    "Sure, here is a complete and detailed answer.",
    "This is an important topic, and there is a lot to say about it.",
)
EMPTY_WORDS = (
    "There are many factors to take into account, and each of them matters in its own way.",
    "It is important to look at the matter from several sides before coming to a conclusion.",
    "Experts have thought about this for a long time and have come to different views.",
    "In general, a careful and structured approach leads to the best results.",
    "What works well in one case may be less suitable in another, so the context is decisive.",
    "By keeping these points in mind, you can make sure that the outcome fits your needs.",
    "A good first step is to gather all information that is relevant and to sort it by weight.",
    "Of course, the details depend on your own situation, goals and preferences.",
    "Many people find that patience and practice help them to improve over time.",
    "All in all, the subject is rich, and it rewards those who take the time to study it.",
)
CLOSINGS = (
    "I hope this helps! Let me know if you have further questions.",
    "Please feel free to ask if you would like to know more.",
    "I wish you much success with it!",
)


def wrong_number(answer: str, other: str, rng: random.Random) -> str:
    """Up to three numbers changed; the same text when there is none."""
    found = list(NUMBER.finditer(answer))
    for match in sorted(rng.sample(found, min(3, len(found))), key=lambda m: -m.start()):
        digits = len(match[0])
        low = 10 ** (digits - 1) if digits > 1 else 0
        value = str(rng.randint(low, 10**digits - 1))
        answer = answer[: match.start()] + value + answer[match.end() :]
    return answer


def denied(answer: str, other: str, rng: random.Random) -> str:
    """One to three statements turned into their opposite."""
    found = list(VERB.finditer(answer))
    for match in sorted(rng.sample(found, min(3, len(found))), key=lambda m: -m.start()):
        word = match[1] if match[2] else f"{match[1]} not"
        answer = answer[: match.start()] + word + answer[match.end() :]
    return answer


def wrong_names(answer: str, other: str, rng: random.Random) -> str:
    """Names inside sentences replaced by another answer's; the same text when there are none."""
    foreign = sorted({match[0] for match in NAME.finditer(other)})
    own = sorted({match[0] for match in NAME.finditer(answer)})
    if not foreign:
        return answer
    for name in own:
        if name not in foreign and rng.random() < 0.7:
            answer = answer.replace(name, rng.choice(foreign))
    return answer


def wrong_count(answer: str, other: str, rng: random.Random) -> str:
    """A list with its last items lost, or with items of another answer; else the same text."""
    starts = [match.start() for match in ITEM.finditer(answer)]
    if len(starts) < 3:
        return answer
    if rng.random() < 0.5:
        return answer[: starts[rng.randint(1, len(starts) - 2)]].rstrip()
    foreign = sentences(other)[:4]
    extra = "\n".join(f"{len(starts) + k + 1}. {line}" for k, line in enumerate(foreign))
    return f"{answer.rstrip()}\n{extra}"


def padding(question: str, rng: random.Random, least: int) -> str:
    """Friendly words about the question that answer nothing, of at least so many characters."""
    topic = sentences(question)[0].strip().rstrip(".?!:")
    body = rng.sample(EMPTY_WORDS, len(EMPTY_WORDS))
    lines = [rng.choice(OPENINGS), f'You ask: "{topic}".' if rng.random() < 0.6 else ""]
    as_list = rng.random() < 0.3
    for k, line in enumerate(body):
        lines.append(f"\n{k + 1}. {line}" if as_list else line)
        if k and sum(map(len, lines)) >= least:
            break
    lines.append(("\n\n" if as_list else "") + rng.choice(CLOSINGS))
    return " ".join(line for line in lines if line)


ERRORS: dict[str, tuple[Callable[[str, str, random.Random], str], float, float]] = {
    # name: (rule, share, probability that the good answer is better)
    "wrong number": (wrong_number, 1.5, 0.88),
    "denied": (denied, 1.5, 0.85),
    "wrong names": (wrong_names, 1.5, 0.88),
    "wrong count": (wrong_count, 1.5, 0.8),
}
