"""Split labelled data: what belongs together stays together, what a test set has is dropped.

from magistrate.data.splitting import split_data

split_data("labelled.jsonl", out="splits", against=["testset.json"])
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from magistrate.data.assigning import by_content, by_size
from magistrate.data.checks.check import AnyPath, Step, collect_tests, near_with_tests
from magistrate.data.checks.collected import Collected
from magistrate.data.checks.leaks import Leak, leaks_among, leaks_of_answers
from magistrate.data.checks.near import Nearness, NearPairs
from magistrate.data.grouping import connected, group_places, place_of, read_shares
from magistrate.data.intake import Intake, take_in
from magistrate.data.split_files import Dropped, SplitReport, report_of, write_split
from magistrate.errors import InputError, nearest_of
from magistrate.formats.reading import read_samples

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Places = NDArray[np.int64]

SHARES = "train=0.9,dev=0.1"
NOWHERE = -1

Kind = Literal["leaked-question", "leaked-answer", "models-apart", "no-model", "links"]


def split_data(
    *files: AnyPath,
    out: AnyPath,
    by: str = "question",
    shares: str | Mapping[str, float] = SHARES,
    dev: int | None = None,
    exact: bool = False,
    against: Sequence[AnyPath] = (),
    answers_too: bool = False,
    near: Nearness | None = Nearness(),  # noqa: B008 (frozen)
    keep: AnyPath | None = None,
    seed: int = 0,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    on_step: Step | None = None,
) -> SplitReport:
    """Split samples into files of a new folder.

    Samples of one question, of nearly the same questions, and (with ``by``) of one category or
    other field are one group, and a group is in one split. The split of a group depends on its own
    content and the seed alone, so the sequence of rows does not matter and other rows can be added
    without moving it; only a new near-duplicate of its own may (``keep`` prevents that too).

    Args:
        files: Samples in any known format.
        out: Folder to make: ``NAME.jsonl`` for every split, ``dropped.jsonl``, ``split.json``.
        by: ``question``, ``category``, ``language``, a field of ``meta``; or ``model``: every model
            is on one side, and samples with models of both sides are dropped.
        shares: Shares by split that add up to 1, also as text: ``train=0.9,dev=0.1``.
        dev: Number of samples in ``dev``; the rest is ``train``. Instead of ``shares``.
        exact: Meet sizes exactly and give every split the same shares of labels, as far as groups
            allow; rows that are added then move others near the border. So with ``dev``.
        against: Test sets; samples whose questions they have are dropped.
        answers_too: Also drop samples whose answers they have.
        near: What counts as a near-duplicate; None looks for equal questions alone.
        keep: A folder made before: what stands in it stays where it is.
        seed: Another seed gives another split.
        format: Of ``files``, instead of finding it out.
        columns: Of ``files``: our field name to the file's column name.
        on_step: Called with the name of every step that begins.

    Raises:
        InputError: A file cannot be read, a split would be empty, or the folder is not empty.
        MissingExtraError: Near-duplicates are looked for and rensa is not installed.
    """
    step = on_step or (lambda name: None)
    wanted = read_shares(shares) if isinstance(shares, str) else dict(shares)
    if dev is not None:
        wanted = {"train": 1.0, "dev": 0.0}
    _check_by(by, dev=dev, exact=exact, keep=keep)
    step("reading")
    reader = read_samples(*files, format=format, columns=columns)
    intake = take_in(reader, by, answers=answers_too)
    _check_values(intake, by)
    tests = collect_tests(against)
    step("near-duplicates")
    questions = intake.questions.list()
    pairs, begin = near_with_tests(
        questions,
        None if tests is None else tests.questions,
        near if by != "model" or tests else None,
    )
    dropped = _leaked(intake, tests, questions, pairs, begin, near if answers_too else None)
    step("splitting")
    if by == "model":
        split_of, sizes, largest = _by_model(intake, wanted, seed, dropped)
    else:
        groups = connected(
            len(questions),
            None if pairs is None else _own(pairs, begin),
            intake.question_of,
            intake.value_of if intake.values else None,
        )
        earlier = _earlier(keep, questions, tuple(wanted)) if keep is not None else {}
        target = _sizes(wanted, dev, len(intake) - len(dropped)) if exact or dev else None
        split_of, sizes, largest = _by_group(
            intake, groups, questions, wanted, target, seed, dropped, earlier
        )
    _check_none_empty(split_of, tuple(wanted), sizes, by)
    step("writing")
    report = report_of(
        intake, reader, split_of, tuple(wanted), dropped, files=files, against=against, by=by,
        seed=seed, shares=wanted, exact=exact or dev is not None, near=near, groups=sizes,
        largest=largest, folder=out,
    )  # fmt: skip
    write_split(out, intake, split_of, tuple(wanted), dropped, report)
    return report


def _check_by(by: str, *, dev: int | None, exact: bool, keep: AnyPath | None) -> None:
    if by == "model" and (dev is not None or exact or keep is not None):
        raise InputError(
            "by model the sizes follow from the models, so --dev, --exact and --keep cannot be met;"
            " give --shares alone"
        )


def _check_values(intake: Intake, by: str) -> None:
    if by not in ("question", "model") and len(intake.without_value) == len(intake):
        known = ("question", "model", "category", "language")
        raise InputError(f"no sample has the field '{by}'; {nearest_of(by, known, 'docs')}")
    if by == "model" and not any(any(models) for models in intake.models_of):
        raise InputError("no sample names the models of its answers; split by another field")


def _leaked(
    intake: Intake,
    tests: Collected | None,
    questions: list[str],
    pairs: NearPairs | None,
    begin: int,
    near_answers: Nearness | None,
) -> dict[int, Dropped]:
    """Return the samples that a test set knows, by their place."""
    if tests is None:
        return {}
    leaks = {leak.place: leak for leak in leaks_among(questions, tests.questions, pairs, begin)}
    dropped = {
        sample: _drop(intake, sample, "leaked-question", leaks[question], tests, "questions")
        for sample, question in enumerate(intake.question_of)
        if question in leaks
    }
    if len(intake.answers):
        texts = intake.answers.list()
        found, start = near_with_tests(texts, tests.answers, near_answers)
        of = {leak.place: leak for leak in leaks_of_answers(texts, tests.answers, found, start)}
        for sample, answers in enumerate(intake.answers_of):
            hit = next((of[answer] for answer in answers if answer in of), None)
            if hit is not None and sample not in dropped:
                dropped[sample] = _drop(intake, sample, "leaked-answer", hit, tests, "answers")
    return dropped


_REASONS: dict[str, str] = {
    "equal": "a test set has the same {what}",
    "contains": "it contains a {what} of a test set",
    "contained": "a {what} of a test set contains it",
    "near": "a test set has nearly the same {what}",
}


def _drop(
    intake: Intake, sample: int, kind: Kind, leak: Leak, tests: Collected, what: str
) -> Dropped:
    theirs = tests.questions if what == "questions" else tests.answers
    other_file, other_row = tests.where(theirs.first_sample[leak.other])
    file, row = intake.places[sample]
    return Dropped(
        kind=kind,
        reason=_REASONS[leak.kind].format(what=what.removesuffix("s")),
        file=file,
        row=row,
        test_file=other_file,
        test_row=other_row,
        similarity=leak.similarity,
    )


def _own(pairs: NearPairs, begin: int) -> NearPairs:
    own = pairs.other < begin
    return NearPairs(pairs.one[own], pairs.other[own], pairs.similarity[own])


def _by_group(
    intake: Intake,
    groups: Places,
    questions: list[str],
    wanted: Mapping[str, float],
    target: Mapping[str, int | None] | None,
    seed: int,
    dropped: dict[int, Dropped],
    earlier: Mapping[int, int],
) -> tuple[Places, int, int]:
    """Return each sample's split, the number of groups and the size of the largest."""
    import numpy as np

    group_of = groups[np.asarray(intake.question_of, dtype=np.int64)]
    kept = np.ones(len(intake), dtype=bool)
    kept[list(dropped)] = False
    used = np.unique(group_of[kept])
    places = _places(intake, groups, questions, seed)
    if target is None:
        of_group = by_content(places, wanted)
    else:
        counts = np.zeros((len(places), 5), dtype=np.int64)
        labels = np.searchsorted(_LABELS, np.asarray(intake.label_of, dtype=np.int64))
        np.add.at(counts, (group_of[kept], labels[kept]), 1)
        of_group = np.full(len(places), NOWHERE, dtype=np.int64)
        of_group[used] = by_size(places[used], counts[used], target)
    split_of = of_group[group_of]
    _keep_earlier(intake, group_of, split_of, kept, earlier, dropped)
    split_of[list(dropped)] = NOWHERE
    sizes = np.bincount(group_of[kept], minlength=1)
    return split_of, len(used), int(sizes.max())


_LABELS = (-1, 0, 1, 8, 9)


def _places(intake: Intake, groups: Places, questions: list[str], seed: int) -> NDArray[np.float64]:
    """Return the place of every group: by its values where there are any, else by its questions."""
    import numpy as np

    if not intake.values:
        return group_places(questions, groups, seed)
    question_of = np.asarray(intake.question_of, dtype=np.int64)
    values = list(intake.values)
    lone = set(intake.without_value)
    keys = [
        questions[question_of[sample]] if sample in lone else values[value]
        for sample, value in enumerate(intake.value_of)
    ]
    return group_places(keys, groups[question_of], seed)


def _earlier(folder: AnyPath, questions: list[str], names: tuple[str, ...]) -> dict[int, int]:
    """Return the split of every question that an earlier split has, by its place."""
    from magistrate.data.checks.texts import question_text
    from magistrate.data.split_files import files_of_split

    place = {text: number for number, text in enumerate(questions)}
    found: dict[int, int] = {}
    for name, path in files_of_split(folder).items():
        if name not in names:
            raise InputError(
                f"{path} is a split '{name}' of the folder to keep, and the shares name "
                f"{', '.join(names)}; name the same splits"
            )
        for sample in read_samples(path):
            known = place.get(question_text(sample))
            if known is not None:
                found[known] = names.index(name)
    return found


def _keep_earlier(
    intake: Intake,
    group_of: Places,
    split_of: Places,
    kept: NDArray[np.bool_],
    earlier: Mapping[int, int],
    dropped: dict[int, Dropped],
) -> None:
    """Put groups where their members were; drop what is new and belongs to two splits at once."""
    if not earlier:
        return
    sides: dict[int, set[int]] = {}
    for sample, question in enumerate(intake.question_of):
        if question in earlier:
            sides.setdefault(int(group_of[sample]), set()).add(earlier[question])
    for sample, question in enumerate(intake.question_of):
        there = sides.get(int(group_of[sample]))
        if there is None or not kept[sample]:
            continue
        if question in earlier:
            split_of[sample] = earlier[question]
        elif len(there) == 1:
            split_of[sample] = next(iter(there))
        else:
            file, row = intake.places[sample]
            reason = "its group stands in several splits of the folder that is kept"
            dropped[sample] = Dropped(kind="links", reason=reason, file=file, row=row)


def _by_model(
    intake: Intake, wanted: Mapping[str, float], seed: int, dropped: dict[int, Dropped]
) -> tuple[Places, int, int]:
    """Return each sample's split by its models, the number of models and the largest's samples."""
    import numpy as np

    names = sorted({model for models in intake.models_of for model in models if model})
    places = np.array([place_of(name, seed) for name in names])
    side = dict(zip(names, by_content(places, wanted).tolist(), strict=True))
    split_of = np.full(len(intake), NOWHERE, dtype=np.int64)
    seen: Counter[str] = Counter()
    for sample, models in enumerate(intake.models_of):
        if sample in dropped:
            continue
        sides = {side[model] for model in models if model}
        file, row = intake.places[sample]
        if not all(models):
            dropped[sample] = Dropped(
                kind="no-model", reason="an answer names no model", file=file, row=row
            )
        elif len(sides) > 1:
            reason = f"its models are on different sides: {', '.join(map(str, models))}"
            dropped[sample] = Dropped(kind="models-apart", reason=reason, file=file, row=row)
        else:
            split_of[sample] = sides.pop()
            seen.update({str(model) for model in models})
    return split_of, len(names), max(seen.values(), default=0)


def _sizes(wanted: Mapping[str, float], dev: int | None, total: int) -> dict[str, int | None]:
    """Return how many samples every split is to have; the first gets the rest."""
    if dev is not None:
        return {"train": None, "dev": dev}
    names = list(wanted)
    sizes: dict[str, int | None] = {name: round(wanted[name] * total) for name in names}
    sizes[names[0]] = None
    return sizes


def _check_none_empty(split_of: Places, names: tuple[str, ...], groups: int, by: str) -> None:
    for number, name in enumerate(names):
        if not (split_of == number).any():
            raise InputError(
                f"split '{name}' would be empty: there are {groups:,} groups by {by}, and none "
                f"falls into it; take another --seed, larger shares, or --exact"
            )
