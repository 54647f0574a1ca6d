"""``magistrate data questions``: draw questions, at will or as real users ask them.

Matched to a target by embedding, each query of the target takes the nearest question of the pool
that is not taken yet (the idea of MixEval, arXiv 2406.06565, section 3, with a cheaper embedding).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from magistrate.data.embedding import auroc_between, energy_distance, vectorise
from magistrate.data.questions import AnyPath, Question, load_questions, write_questions
from magistrate.errors import InputError
from magistrate.formats.base import BadRow, Notice
from magistrate.formats.source import keep_inputs
from magistrate.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

By: TypeAlias = Literal["category", "embedding"]

NO_CATEGORY = "(none)"


class CategoryShare(Record):
    """One category in the pool, in the target and among the questions drawn; shares from 0 to 1."""

    category: str
    pool: float
    target: float | None
    drawn: float
    drawn_count: int


class Distance(Record):
    """How far a set of questions is from the target; None where it cannot be measured."""

    category: float | None
    """Total variation distance of the categories' shares: half the sum of differences, 0 to 1."""
    energy: float | None
    """Energy distance of the embeddings; 0 for equal distributions."""
    auroc: float | None
    """How well a classifier tells the set from the target: 0.5 not at all, 1 always."""


class QuestionsDrawn(Record):
    """What was drawn, and how like the target it is."""

    output: str
    drawn: int
    pool: int
    """Questions to draw from, each counted once."""
    repeated: int
    by: By | None
    seed: int
    categories: tuple[CategoryShare, ...]
    target: int | None
    """Questions of the target; None without one."""
    in_target: int
    """Questions drawn that stand in the target word for word."""
    before: Distance | None
    """Of the whole pool from the target."""
    after: Distance | None
    """Of the questions drawn from the target."""
    bad: tuple[BadRow, ...]
    bad_count: int
    notices: tuple[Notice, ...]


def draw_questions(
    *files: AnyPath,
    out: AnyPath,
    number: int,
    like: Sequence[AnyPath] = (),
    by: By | None = None,
    even: bool = False,
    encoder: str | None = None,
    seed: int = 0,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    strict: bool = False,
) -> QuestionsDrawn:
    """Draw questions and write them.

    Args:
        files: The pool; see :func:`magistrate.data.questions.load_questions`.
        out: File to write, as MT-bench keeps questions.
        number: How many.
        like: Files of the target's questions, such as a log of real users' queries.
        by: ``category``: each category gets its share in the target (without a target: in the
            pool). ``embedding``: the nearest question to each of the target's. None draws at
            random, or by embedding where there is a target.
        even: With ``category``: all categories get equally many, as far as they go.
        encoder: A sentence encoder for ``embedding``, as transformers loads it; TF-IDF and SVD by
            default.
        seed: Equal seeds draw equally.
        format: Format of the files.
        columns: Our field name to the file's column name.
        strict: Stop at the first bad row.

    Raises:
        InputError: There are too few questions; or what is asked needs a target or categories that
            are not there.
        MissingExtraError: A package is missing.
    """
    keep_inputs((*files, *like), out)
    pool = load_questions(*files, format=format, columns=columns, strict=strict)
    target = load_questions(*like, columns=columns, strict=strict) if like else None
    wanted = target.rows if target else None
    by = by or ("embedding" if wanted else None)
    _check(pool.rows, wanted, number, by, even=even)
    notices = [*pool.notices, *(target.notices if target else ())]
    vectors = _vectors(pool.rows, wanted, encoder, seed) if wanted else None
    if by == "category":
        quotas, short = _quotas(pool.rows, wanted, number, even=even)
        places = _by_category(pool.rows, quotas, seed)
        notices += short
    elif by == "embedding" and vectors is not None:
        places = nearest_unused(vectors[0], vectors[1], number, seed)
    else:
        places = _at_random(len(pool.rows), number, seed)
    chosen = [pool.rows[place] for place in places]
    write_questions(chosen, out)
    before = after = None
    if wanted and vectors is not None:
        before = _distance(pool.rows, wanted, vectors[0], vectors[1], seed)
        after = _distance(chosen, wanted, vectors[0][places], vectors[1], seed)
    known = {question.text for question in wanted or ()}
    return QuestionsDrawn(
        output=str(out),
        drawn=len(chosen),
        pool=len(pool.rows),
        repeated=pool.repeated,
        by=by,
        seed=seed,
        categories=_shares(pool.rows, wanted, chosen),
        target=None if wanted is None else len(wanted),
        in_target=sum(question.text in known for question in chosen),
        before=before,
        after=after,
        bad=tuple(pool.bad[:1000]),
        bad_count=len(pool.bad),
        notices=tuple(notices),
    )


def nearest_unused(
    pool: NDArray[np.float64], target: NDArray[np.float64], number: int, seed: int
) -> list[int]:
    """Return places in the pool: for each query of the target, the nearest one not taken yet.

    The target's queries come in a random sequence, all of them before any comes again, so each
    stands for as many questions as any other, give or take one.

    Args:
        pool: Vectors of length 1, shape (n, dimensions).
        target: Likewise.
        number: How many, at most n.
        seed: Of the sequence.
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    free = np.zeros(len(pool))
    chosen: list[int] = []
    while len(chosen) < number:
        for query in rng.permutation(len(target))[: number - len(chosen)]:
            place = int(np.argmax(pool @ target[query] + free))
            free[place] = -np.inf
            chosen.append(place)
    return chosen


def total_variation(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    """Return half the sum of the differences of two distributions.

    >>> total_variation({"a": 1.0}, {"a": 0.5, "b": 0.5})
    0.5
    """
    return sum(abs(first.get(k, 0) - second.get(k, 0)) for k in first.keys() | second.keys()) / 2


def shared_out(number: int, shares: Mapping[str, float], room: Mapping[str, int]) -> dict[str, int]:
    """Give out a number by shares (largest remainder), nobody above the room that there is.

    What does not fit goes to those that have room, by their shares.

    >>> shared_out(10, {"a": 0.5, "b": 0.5}, {"a": 2, "b": 90})
    {'a': 2, 'b': 8}
    """
    given = dict.fromkeys(shares, 0)
    while (left := number - sum(given.values())) > 0:
        open_to = {k: w for k, w in shares.items() if w > 0 and given[k] < room.get(k, 0)}
        if not open_to:
            break
        total = sum(open_to.values())
        exact = {k: left * w / total for k, w in open_to.items()}
        step = {k: int(exact[k]) for k in open_to}
        by_remainder = sorted(open_to, key=lambda k: (int(exact[k]) - exact[k], k))
        for key in by_remainder[: left - sum(step.values())]:
            step[key] += 1
        for key, more in step.items():
            given[key] += min(more, room[key] - given[key])
    return given


def _check(
    pool: Sequence[Question],
    target: Sequence[Question] | None,
    number: int,
    by: By | None,
    *,
    even: bool,
) -> None:
    if number < 1 or number > len(pool):
        raise InputError(f"{number:,} questions are wanted; there are {len(pool):,} to draw from")
    if by == "embedding" and target is None:
        raise InputError("drawing by embedding needs a target: name its files with --like")
    if even and by != "category":
        raise InputError("--even shares out categories: it needs --by category")
    if by == "category":
        for name, rows in (("files", pool), ("target", target)):
            if rows is not None and not any(question.category for question in rows):
                raise InputError(
                    f"no question of the {name} has a category, so none can be drawn by it; add a "
                    f"field 'category' (or map one with --columns), or draw by embedding"
                )


def _category(question: Question) -> str:
    return question.category or NO_CATEGORY


def _distribution(rows: Sequence[Question]) -> dict[str, float]:
    return {k: n / len(rows) for k, n in Counter(map(_category, rows)).items()} if rows else {}


def _quotas(
    pool: Sequence[Question], target: Sequence[Question] | None, number: int, *, even: bool
) -> tuple[dict[str, int], list[Notice]]:
    room = Counter(map(_category, pool))
    shares = _distribution(pool if target is None else target)
    if even:
        shares = dict.fromkeys(shares, 1 / len(shares))
    ideal = shared_out(number, shares, dict.fromkeys(shares, number))
    quotas = shared_out(number, shares, room)
    if sum(quotas.values()) < number:
        rest = {k: n - quotas.get(k, 0) for k, n in room.items()}
        more = shared_out(
            number - sum(quotas.values()), {k: float(n) for k, n in rest.items()}, rest
        )
        quotas = {k: quotas.get(k, 0) + more.get(k, 0) for k in quotas.keys() | more.keys()}
    notices = [
        Notice(
            kind="category-short",
            message=f"category '{name}' ought to have {wanted:,} questions and the files have "
            f"{room.get(name, 0):,}; others take their places",
        )
        for name, wanted in sorted(ideal.items())
        if room.get(name, 0) < wanted
    ]
    return quotas, notices


def _by_category(pool: Sequence[Question], quotas: Mapping[str, int], seed: int) -> list[int]:
    left, chosen = dict(quotas), []
    for place in _at_random(len(pool), len(pool), seed):
        name = _category(pool[place])
        if left.get(name, 0):
            left[name] -= 1
            chosen.append(place)
    return chosen


def _at_random(size: int, number: int, seed: int) -> list[int]:
    import numpy as np

    places: list[int] = np.random.default_rng(seed).permutation(size)[:number].tolist()
    return places


def _vectors(
    pool: Sequence[Question], target: Sequence[Question], encoder: str | None, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    first, second = vectorise(
        [q.text for q in pool], [q.text for q in target], encoder=encoder, seed=seed
    )
    return first, second


def _distance(
    rows: Sequence[Question],
    target: Sequence[Question],
    vectors: NDArray[np.float64],
    aims: NDArray[np.float64],
    seed: int,
) -> Distance:
    named = all(any(question.category for question in each) for each in (rows, target))
    return Distance(
        category=total_variation(_distribution(rows), _distribution(target)) if named else None,
        energy=energy_distance(vectors, aims, seed),
        auroc=auroc_between([q.text for q in rows], [q.text for q in target], seed),
    )


def _shares(
    pool: Sequence[Question], target: Sequence[Question] | None, drawn: Sequence[Question]
) -> tuple[CategoryShare, ...]:
    counts = Counter(map(_category, drawn))
    of_pool, of_drawn = _distribution(pool), _distribution(drawn)
    of_target = None if target is None else _distribution(target)
    names = sorted(of_pool.keys() | (of_target or {}).keys())
    return tuple(
        CategoryShare(
            category=name,
            pool=of_pool.get(name, 0.0),
            target=None if of_target is None else of_target.get(name, 0.0),
            drawn=of_drawn.get(name, 0.0),
            drawn_count=counts[name],
        )
        for name in names
    )
