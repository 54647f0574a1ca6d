"""Which prompt an example gets: that of its family, with a reference or without.

A label that was made with a reference must not stand beside a prompt that shows none. Some families
show a reference where there is one; others come in two, ``NAME`` and ``NAME-reference``, as
JudgeLM's prompts do: then each example gets the one that fits it. Where there is no second one,
references are never shown, or never dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from magistrate.errors import MissingVariablesError
from magistrate.prompts.catalog import list_families, load_family
from magistrate.prompts.text_family import TextFamily
from magistrate.records import Answer, Sample
from magistrate.train.examples import Augmentation, Example

Use: TypeAlias = Literal["never", "where there is one", "always"]
"""When the prompts of a family show a reference."""

SUFFIX = "-reference"


@dataclass(frozen=True, slots=True)
class Families:
    """The prompts of a training; never both None.

    Attributes:
        without: For examples without a reference; None where all need one.
        with_reference: For examples with one; None where none is shown.
    """

    without: TextFamily | None
    with_reference: TextFamily | None

    def of(self, example: Example) -> TextFamily:
        """Return the family whose prompt shows what an example shows.

        Of an example that has no such prompt, it is the only one that there is.
        """
        fitting = self.with_reference if example.with_reference else self.without
        only = fitting or self.without or self.with_reference
        assert only is not None, "there is always one of the two"
        return only

    def asked(self, named: TextFamily, augmentation: Augmentation) -> TextFamily:
        """Return the family that the judge is asked by unless another is named.

        It is the one without references, except where that is not learned.
        """
        if named is self.with_reference and self.without and augmentation.drop_reference > 0:
            return self.without
        return named

    def augmentation(self, wanted: Augmentation) -> Augmentation:
        """Return an augmentation that shows and drops references only as the prompts can."""
        if self.with_reference is None:
            return replace(wanted, drop_reference=1.0)
        if self.without is None:
            return replace(wanted, drop_reference=0.0)
        return wanted


def families_for(family: TextFamily) -> Families:
    """Return a family with its counterpart; see the module's text.

    A counterpart is a family of the catalog whose name is ``NAME-reference``, or ``NAME`` without
    that, and that says its verdict the same way.
    """
    use = use_of_reference(family)
    if use == "where there is one":
        return Families(family, family)
    if use == "never":
        return Families(family, _counterpart(family, family.name + SUFFIX, without=False))
    name = family.name.removesuffix(SUFFIX)
    return Families(_counterpart(family, name, without=True), family)


def use_of_reference(family: TextFamily) -> Use:
    """Return when the prompts of a family show a reference; found by showing it two samples."""
    mark = "magistrate-reference"
    bare = Sample(
        question="?",
        answers=(Answer(text="a"),) * max(family.min_answers, 1),
        rubric="r",
        context=("c",),
        images=("image.png",),
    )
    order = tuple(range(len(bare.answers)))
    try:
        family.prompts(bare, order)
    except MissingVariablesError as error:
        if any(name.startswith("reference") for name in error.missing):
            return "always"
        raise
    full = bare.model_copy(update={"reference": mark})
    shown = any(
        mark in message.text for prompt in family.prompts(full, order) for message in prompt
    )
    return "where there is one" if shown else "never"


def _counterpart(family: TextFamily, name: str, *, without: bool) -> TextFamily | None:
    entries = {entry.name: entry for entry in list_families()}
    own = entries.get(family.name)
    # A family from a folder of its own is not that of the catalog with the same name.
    if own is None or not family.where.startswith(str(own.folder)):
        return None
    if name == family.name or name not in entries:
        return None
    other = load_family(name, mode=family.mode, demonstrations=family.demonstrations)
    fits = use_of_reference(other) != ("always" if without else "never")
    return other if fits and other.file.verdict == family.file.verdict else None
