"""Teachers: judges by any name, each asked as named, without the reference, with it, or both ways.

Whether a judge sees the reference is a matter of its family: ``pair`` does not show it, its sibling
``pair-reference`` does. A judge folder has the family that it was made with, or both where it was
trained with and without references.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from magistrate.engines.naming import parse_model_name, split_label
from magistrate.errors import FamilyError, JudgeNotFoundError, MagistrateError
from magistrate.ids import content_id
from magistrate.judging.folder import read_family, read_judge_file
from magistrate.judging.resolve import (
    DEFAULT_FAMILY,
    find_judge_folder,
    load_judge,
    named_family,
)
from magistrate.prompts.base import Family
from magistrate.prompts.catalog import load_family

ReferenceUse = Literal["named", "no", "yes", "both"]
"""Whether teachers see the reference: as their families say, never, always, or once each way."""

REFERENCE_USES: tuple[ReferenceUse, ...] = ("named", "no", "yes", "both")

SIBLING = "-reference"
"""What the name of a family that shows the reference ends with."""


@dataclass(frozen=True, slots=True)
class Pass:
    """One teacher, asked in one way: a run of its own."""

    annotator: str
    """The teacher's name in the data."""
    judge: str
    """The judge's name, its family included."""
    shows_reference: bool
    family: Family

    @property
    def column(self) -> str:
        """What the annotator is called where both ways stand side by side.

        JudgeLM's readers call the labels of one teacher alike.
        """
        return f"{self.annotator} with reference" if self.shows_reference else self.annotator

    @property
    def scale(self) -> tuple[float, float] | None:
        """Lowest and highest score; None where scores have no common scale."""
        scale: tuple[float, float] | None = getattr(self.family, "scale", None)
        return scale

    def folder_in(self, work: Path) -> Path:
        """Return the pass's run folder: readable, and different for every judge."""
        readable = re.sub(r"[^A-Za-z0-9.]+", "-", self.judge).strip("-")[:48]
        return work / f"{readable}-{content_id(self.judge)[:8]}"


def plan_passes(teachers: Sequence[str], reference: ReferenceUse) -> tuple[list[Pass], list[str]]:
    """Return in which ways each teacher is asked, and what the user should know of it.

    Args:
        teachers: Names of judges, each perhaps with ``LABEL=`` before it, which is what the
            annotator is called then; without it, it is called by its engine and model.
        reference: Whether teachers see the reference.

    Raises:
        JudgeNotFoundError: A name means nothing here.
        FamilyError: A family is missing or broken, or has no sibling of the kind that is needed.
        MagistrateError: Two teachers have one name, or there are none.
    """
    if not teachers:
        raise MagistrateError("labelling needs a teacher; name one with --teacher")
    passes: list[Pass] = []
    notes: list[str] = []
    for named in _named(teachers):
        if reference == "named":
            passes.append(named)
            continue
        ways = {"no": (False,), "yes": (True,), "both": (False, True)}[reference]
        for shows in ways:
            found = _in_way(named, shows_reference=shows)
            if found is not None:
                passes.append(found)
            elif reference == "both":
                with_or_not = "with" if shows else "without"
                notes.append(
                    f"teacher '{named.judge}' is a judge folder that was not trained "
                    f"{with_or_not} references, so it gives no labels {with_or_not} the reference"
                )
            else:
                raise FamilyError(
                    f"teacher '{named.judge}' is a judge folder whose family "
                    f"{'shows' if named.shows_reference else 'does not show'} the reference, and "
                    f"that cannot be chosen; leave out --reference, or take another teacher"
                )
    return passes, notes


def _in_way(named: Pass, *, shows_reference: bool) -> Pass | None:
    """Return the teacher asked with or without the reference; None for a folder made otherwise."""
    if named.shows_reference == shows_reference:
        return named
    folder = find_judge_folder(named.judge)
    if folder is not None:
        return _of_folder(named, folder, shows_reference=shows_reference)
    name, _, family = named.judge.partition("#")
    family = family or DEFAULT_FAMILY
    sibling = f"{family}{SIBLING}" if shows_reference else family.removesuffix(SIBLING)
    try:
        loaded = load_family(sibling)
    except FamilyError as error:
        raise _no_sibling(named, sibling) from error
    if loaded.shows_reference != shows_reference:
        raise _no_sibling(named, sibling)
    return replace(named, judge=f"{name}#{sibling}", shows_reference=shows_reference, family=loaded)


def _of_folder(named: Pass, folder: Path, *, shows_reference: bool) -> Pass | None:
    """Return the judge of a folder asked by another of its families; None where there is none."""
    file = read_judge_file(folder)
    base = named.judge.removesuffix(f"#{named_family(named.judge)}")
    for name in file.families:
        family = read_family(folder, file, name=name)
        if bool(getattr(family, "shows_reference", False)) == shows_reference:
            return replace(
                named, judge=f"{base}#{name}", shows_reference=shows_reference, family=family
            )
    return None


def _no_sibling(named: Pass, sibling: str) -> FamilyError:
    shows = "shows" if not named.shows_reference else "does not show"
    return FamilyError(
        f"teacher '{named.judge}': there is no family '{sibling}' that {shows} the reference; "
        f"choose a family that has one beside it, such as #pair or #judgelm"
    )


def _named(teachers: Sequence[str]) -> list[Pass]:
    """Return the teachers as they are named, each with an annotator's name of its own."""
    found: list[tuple[str | None, Pass]] = []
    for teacher in teachers:
        label, name = _split(teacher)
        found.append((label, _load(name)))
    short = Counter(one.annotator for label, one in found if label is None)
    named = [
        replace(one, annotator=label or (one.judge if short[one.annotator] > 1 else one.annotator))
        for label, one in found
    ]
    again = [name for name, count in Counter(one.annotator for one in named).items() if count > 1]
    if again:
        raise MagistrateError(
            f"two teachers are called '{again[0]}'; give each a name of its own, as in "
            f"--teacher strict={named[0].judge}"
        )
    return named


def _split(teacher: str) -> tuple[str | None, str]:
    """Return what a teacher is to be called, if it is said, and its name; of folders too."""
    label, name = split_label(teacher)
    before, _, after = teacher.partition("=")
    is_folder = label is None and after and find_judge_folder(teacher) is None
    if is_folder and find_judge_folder(after) is not None:
        return before, after
    return label, name


def _load(name: str) -> Pass:
    folder = find_judge_folder(name)
    if folder is not None:
        family = read_family(folder, read_judge_file(folder), name=named_family(name))
        shows = bool(getattr(family, "shows_reference", False))
        return Pass(Path(name).name or name, name, shows, family)
    parts = parse_model_name(name)
    if parts is None:
        with load_judge(name):  # says why not
            raise JudgeNotFoundError(f"no judge '{name}' here")
    text = load_family(parts.family or DEFAULT_FAMILY)
    return Pass(f"{parts.engine}:{parts.model}", name, text.shows_reference, text)
