"""A judge: how it is asked (family), what runs it (engine), and what identifies it (spec)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Self

from magistrate.engines.base import Engine
from magistrate.prompts.base import Family
from magistrate.records import JudgeSpec


@dataclass(frozen=True, slots=True)
class Judge:
    """A family on an engine. Use it as a context manager, or call :meth:`close`."""

    spec: JudgeSpec
    family: Family
    engine: Engine

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
    info = engine.info
    settings = dict(info.settings)
    if not info.scores:
        settings["sampling"] = asdict(family.sampling)
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
