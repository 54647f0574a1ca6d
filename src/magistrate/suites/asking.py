"""One judge, opened once and asked in several ways: other families, modes, demonstrations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Self

from magistrate.errors import FamilyError
from magistrate.judging.folder import read_family, read_judge_file
from magistrate.judging.judge import Judge, Mode, make_judge
from magistrate.judging.resolve import find_judge_folder, load_judge, named_family
from magistrate.prompts.base import Family
from magistrate.prompts.catalog import list_families, load_family
from magistrate.records import Sample

if TYPE_CHECKING:
    from magistrate.prompts.text_family import TextFamily

PAIR, SINGLE, REASONS = "pair", "single", "-reasons-first"
"""Families to fall back on where a judge's own has no counterpart, and the ending of those that
write their reasons first."""

_SINGLE_OF = {
    "pair": "single",
    "pair-reference": "single-reference",
    "pair-reasons-first": "single-reasons-first",
    "mt-bench-pair": "mt-bench-single",
    "mt-bench-pair-reference": "mt-bench-single-reference",
    "auto-j-pair": "auto-j-single",
    "prometheus-relative": "prometheus-absolute",
}
"""A family of pairs to the one that asks about one answer in the same words."""
_PAIR_OF = {single: pair for pair, single in _SINGLE_OF.items()}


class OpenedJudge:
    """A judge whose model is loaded once. Use it as a context manager."""

    def __init__(
        self, name: str, *, mode: Mode | None = None, options: Mapping[str, str] | None = None
    ) -> None:
        """Open the judge as it is named.

        Args:
            name: As :func:`magistrate.load_judge` takes it.
            mode: ``score`` or ``reason``; None reads scores alone where the family can.
            options: Of its engine.

        Raises:
            JudgeNotFoundError: The name means nothing here.
            EngineError: The engine cannot run the model.
            FamilyError: The family is missing or broken, or has no such mode.
        """
        self.name = name
        self._base, _, family = name.partition("#")
        self._wanted, self._options = mode, options
        from magistrate.prompts.text_family import TextFamily  # brings Jinja2: on use

        folder = find_judge_folder(name)
        own = None
        if folder is not None:
            own = read_family(folder, read_judge_file(folder), name=named_family(name))
        self._own = own if isinstance(own, TextFamily) else None
        """The family that a judge folder brings along, which no catalog knows."""
        if own is None:
            mode = self._mode_of(family or PAIR)
        elif self._own is not None:
            mode = self._mode_of(self._own.name)
        self.judge = load_judge(name, mode=mode or "score", options=options)
        self._others = ExitStack()

    @property
    def family(self) -> Family:
        """How the judge is asked as it is named."""
        return self.judge.family

    @property
    def writes(self) -> bool:
        """Whether the judge writes text, so that it can be asked in other ways."""
        return not self.judge.engine.info.scores

    def asked(
        self,
        family: str | None = None,
        *,
        mode: Mode | None = None,
        demonstrations: Sequence[Sample] = (),
    ) -> Judge:
        """Return the judge with another family, mode or demonstrations; it shares the model.

        Args:
            family: Name of a family; None for the judge's own.
            mode: None as the judge was opened, as far as the family has that mode.
            demonstrations: Labelled samples shown solved.

        Raises:
            FamilyError: The judge has a scoring head, the family is missing or lacks the mode, or a
                demonstration says no verdict of it.
        """
        own = self.family.name
        if family in (None, own) and mode in (None, self.judge.mode) and not demonstrations:
            return self.judge
        if not self.writes:
            raise FamilyError(
                f"judge '{self.name}' has a scoring head: it is asked in one way only, and not by "
                f"family '{family}'"
            )
        chosen = family or own
        name = self.name if chosen == own else f"{self._base}#{chosen}"
        wanted = mode or self._mode_of(chosen)
        if hasattr(self.judge.engine, "playing") or self.judge.spec.engine == "scripted":
            # An engine without a model replies as its family is read; it is opened for each.
            judge = load_judge(
                name, mode=wanted, options=self._options, demonstrations=demonstrations
            )
            return self._others.enter_context(judge)
        return make_judge(
            name,
            self._family(chosen, wanted, demonstrations),
            self.judge.engine,
            url=self.judge.spec.url,
        )

    def pair_family(self) -> str:
        """Return the family that shows two answers together: the judge's own, or its counterpart.

        Raises:
            FamilyError: The judge reads one answer at a time and knows no other way.
        """
        if self.writes and not self.family.reads_alone:
            return self.family.name
        if not self.writes:
            raise FamilyError(f"judge '{self.name}' has a head: it is asked in one way only")
        return _PAIR_OF.get(self.family.name, PAIR)

    def single_family(self) -> str:
        """Return the family that shows one answer: the judge's own, or its counterpart."""
        if self.family.reads_alone:
            return self.family.name
        return _SINGLE_OF.get(self.family.name, SINGLE)

    def direct_family(self) -> str:
        """Return the family whose verdict comes first: the own one, or its counterpart."""
        own = self.family.name
        plain = own.removesuffix(REASONS)
        return plain if plain in _names() else own

    def reasons_family(self) -> str:
        """Return the family that writes its reasons first: the own one, or its counterpart."""
        own = self.family.name
        file = getattr(self.family, "file", None)
        if file is not None and file.verdict.place == "last":
            return own
        if own + REASONS in _names():
            return own + REASONS
        return (SINGLE if self.family.reads_alone else PAIR) + REASONS

    def close(self) -> None:
        """Free the model."""
        self._others.close()
        self.judge.close()

    def __enter__(self) -> Self:
        """Return the judge."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def _mode_of(self, family: str) -> Mode:
        if self._wanted is not None:
            return self._wanted
        file = self._family(family, "reason").file
        return "score" if file.score_mode is not None else "reason"

    def _family(self, name: str, mode: Mode, demonstrations: Sequence[Sample] = ()) -> TextFamily:
        if self._own is not None and name == self._own.name:
            return type(self._own)(
                self._own.file, where=self._own.where, mode=mode, demonstrations=demonstrations
            )
        return load_family(name, mode=mode, demonstrations=demonstrations)


def _names() -> frozenset[str]:
    return frozenset(entry.name for entry in list_families())


def sees_rubric(family: Family, sample: Sample) -> bool:
    """Whether a sample's rubric changes the prompt: some templates have no place for one."""
    order = tuple(range(len(sample.answers)))
    bare = sample.model_copy(update={"rubric": None})
    return bool(family.prompts(sample, order) != family.prompts(bare, order))
