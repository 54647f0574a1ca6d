"""A judge: how it is asked (family), what runs it (engine), and what identifies it (spec)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias

from magistrate.engines.base import Engine, EngineInfo, PlaysJudges
from magistrate.judging.calibration import Calibration
from magistrate.judging.window import CUT_VERSION
from magistrate.messages import Choices, Sampling
from magistrate.prompts.base import Family
from magistrate.records import JudgeSpec, Sample

Mode: TypeAlias = Literal["reason", "score"]
"""``reason``: the judge also explains. ``score``: it says its scores and no more."""

TOP_LOGPROBS = 20
"""Alternatives asked for with each token in score mode; no provider offers more."""


@dataclass(frozen=True, slots=True)
class Judge:
    """A family on an engine. Use it as a context manager, or call :meth:`close`."""

    spec: JudgeSpec
    family: Family
    engine: Engine
    calibration: Calibration | None = None
    """What its confidence is worth; no part of what the judge is, so not in its spec."""

    @property
    def mode(self) -> str | None:
        """``reason`` or ``score``; None for a scoring head, which knows nothing but scores."""
        mode: str | None = self.spec.settings.get("mode")
        return mode

    @property
    def sampling(self) -> Sampling:
        """How replies are written."""
        return _sampling(self.family, self.engine.info)

    def choices(self, count: int) -> Choices | None:
        """Return all verdicts that can be given, where their distribution is asked for instead.

        Args:
            count: How many answers a prompt shows.
        """
        return _choices(self.family, self.engine.info, count)

    def close(self) -> None:
        """Free the engine's model. Calling it twice is harmless."""
        self.engine.close()

    def __enter__(self) -> Self:
        """Return the judge."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the engine."""
        self.close()


def make_judge(name: str, family: Family, engine: Engine, *, url: str | None = None) -> Judge:
    """Join a family and an engine; the spec records all that changes an answer."""
    if isinstance(engine, PlaysJudges):
        engine = engine.playing(family)
    info = engine.info
    settings: dict[str, Any] = dict(info.settings)
    if not info.scores:
        settings["mode"] = _mode(family)
        settings["sampling"] = asdict(_sampling(family, info))
        if _choices(family, info, family.min_answers) is not None:
            settings["exact"] = True
        shown: Sequence[Sample] = getattr(family, "demonstrations", ())
        if shown:
            # The prompt's hash has them too; this says in words which they are.
            settings["demonstrations"] = [sample.text_id for sample in shown]
        if info.context_tokens is not None:
            settings["window"] = {"tokens": info.context_tokens, "cutting": CUT_VERSION}
    spec = JudgeSpec(
        name=name,
        engine=info.engine,
        model=info.model,
        family=family.name,
        url=url,
        weights_hash=info.weights_hash,
        prompt_hash=family.prompt_hash,
        settings=settings,
    )
    return Judge(spec, family, engine)


def _mode(family: Family) -> str:
    return str(getattr(family, "mode", "reason"))


def _choices(family: Family, info: EngineInfo, count: int) -> Choices | None:
    if _mode(family) != "score" or not info.exact_choices:
        return None
    return family.choices(count)


def _sampling(family: Family, info: EngineInfo) -> Sampling:
    """Return the family's wish, as far as the engine can follow it."""
    sampling = family.sampling
    if info.scores:
        return sampling
    if info.context_tokens is not None:
        # A prompt needs room too: a reply longer than half the window is not waited for.
        sampling = replace(
            sampling, max_tokens=min(sampling.max_tokens, max(1, info.context_tokens // 2))
        )
    if _mode(family) == "score" and info.logprobs and not info.exact_choices:
        sampling = replace(sampling, top_logprobs=TOP_LOGPROBS)
    return sampling
