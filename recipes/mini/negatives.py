"""Rule-made bad answers, most of them of a kind that length does not give away.

Each rule takes a good answer and makes one that is worse for a known reason: about another
question, cut short, out of order, looping, echoing, running on into another task, or empty.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
from made_errors import ERRORS, padding
from sentences import sentences
from sklearn.feature_extraction.text import TfidfVectorizer


class Neighbours:
    """Nearest other questions by TF-IDF, for answers that look right and are about another task."""

    def __init__(self, questions: list[str], near: int = 8, most: float = 0.75) -> None:
        self.questions = questions
        matrix = TfidfVectorizer(sublinear_tf=True, stop_words="english").fit_transform(questions)
        self.row = {question: i for i, question in enumerate(questions)}
        self.near: list[list[int]] = []
        for start in range(0, len(questions), 512):
            similarity = (matrix[start : start + 512] @ matrix.T).toarray()
            # Near duplicates ask the same thing, so their answers are not wrong.
            similarity[similarity > most] = -1.0
            best = np.argpartition(-similarity, near, axis=1)[:, :near]
            self.near += best.tolist()

    def pick(self, question: str, rng: random.Random) -> str:
        """A near question, drawn by chance among the nearest."""
        return self.questions[rng.choice(self.near[self.row[question]])]


def truncated(answer: str, other: str, rng: random.Random) -> str:
    """Stops in the middle of a word or sentence."""
    return answer[: max(1, int(len(answer) * rng.uniform(0.1, 0.7)))].rstrip()


def shuffled(answer: str, other: str, rng: random.Random) -> str:
    """The same sentences in another order."""
    pieces = sentences(answer)
    rng.shuffle(pieces)
    return " ".join(pieces)


def looping(answer: str, other: str, rng: random.Random) -> str:
    """Gets stuck on one sentence, as weak models do; often longer than the good answer."""
    pieces = sentences(answer)
    keep = rng.randint(1, max(1, len(pieces) // 2))
    return " ".join(pieces[:keep] + [pieces[keep - 1]] * rng.randint(2, 12))


def spliced(answer: str, other: str, rng: random.Random) -> str:
    """Begins on the topic and goes on with another answer, at about the same length."""
    own, foreign = sentences(answer), sentences(other)
    cut = max(1, int(len(own) * rng.uniform(0.2, 0.6)))
    return " ".join(own[:cut] + foreign[-max(1, len(own) - cut) :])


def word_salad(answer: str, other: str, rng: random.Random) -> str:
    """Some words replaced by words of another answer."""
    words, foreign = answer.split(" "), other.split() or ["thing"]
    share = rng.uniform(0.1, 0.4)
    return " ".join(rng.choice(foreign) if rng.random() < share else word for word in words)


RULES: dict[str, tuple[Callable[[str, str, random.Random], str], float, float]] = {
    # name: (rule, share, probability that the good answer is better)
    "truncated": (truncated, 2.0, 0.9),
    "shuffled": (shuffled, 1.0, 0.8),
    "looping": (looping, 1.5, 0.95),
    "spliced": (spliced, 2.0, 0.95),
    "word salad": (word_salad, 1.0, 0.95),
    **ERRORS,
}
TEXT_RULES: dict[str, tuple[float, float]] = {
    # made from questions and answers of other tasks; name: (share, probability)
    "neighbour": (6.0, 0.95),
    "random": (1.5, 0.97),
    "runs on": (2.0, 0.92),
    "echo": (1.0, 0.95),
    "empty": (0.7, 0.97),
    "padding": (2.5, 0.93),
    "padded": (1.5, 0.93),
}


def bad_answer(
    question: str, answer: str, answers: dict[str, str], near: Neighbours, rng: random.Random
) -> tuple[str, float, str]:
    """Make one bad answer to ``question``.

    Args:
        question: The task.
        answer: A good answer to it.
        answers: Good answers of every question known to ``near``.
        near: The neighbour index; must know ``question``.
        rng: Source of chance.

    Returns:
        The bad answer, the probability that the good one is better, and the name of the rule.
    """
    names = [*RULES, *TEXT_RULES]
    shares = [RULES[n][1] if n in RULES else TEXT_RULES[n][0] for n in names]
    name = rng.choices(names, shares)[0]
    other_question = near.pick(question, rng)
    other = answers[other_question]
    if name in RULES:
        rule, _, p = RULES[name]
        if len(sentences(answer)) < 3 and name in ("shuffled", "spliced"):
            name, p = "neighbour", 0.95
            return other, p, name
        made = rule(answer, other, rng)
        # Nothing to change (no number, no list): an answer to a near question instead.
        return (made, p, name) if made.strip() != answer.strip() else (other, 0.95, "neighbour")
    if name == "random":
        other = answers[rng.choice(near.questions)]
    elif name == "runs on":
        opening = rng.choice(("\n\nInstruction: ", "\n\nQuestion: ", "\n\nUser: ", "\n\n## "))
        other = f"{answer}{opening}{other_question}\n{other}"
    elif name == "echo":
        other = question if rng.random() < 0.5 else f"{question} {sentences(question)[-1]}"
    elif name == "empty":
        other = ""
    elif name == "padding":
        other = padding(question, rng, rng.randint(len(answer) // 2, 2 * len(answer) + 100))
    elif name == "padded":
        other = f"{padding(question, rng, 100)}\n\n{other}"
    return other, TEXT_RULES[name][1], name
