"""What distinguishes the run that is asked for from the one that a folder holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from magistrate.errors import RunMismatchError
from magistrate.records import JudgeSpec
from magistrate.store.manifest import RunManifest, RunSettings


def judge_differences(known: JudgeSpec, asked: JudgeSpec) -> Iterator[str]:
    """Yield in words each field in which two judges differ."""
    if known.id != asked.id:
        yield from _differences(
            "judge", known.model_dump(mode="json"), asked.model_dump(mode="json")
        )


def setting_differences(known: RunSettings, asked: RunSettings) -> Iterator[str]:
    """Yield in words each setting that changes which readings are made of a sample."""
    for name in ("orders", "repeats"):
        if getattr(known, name) != getattr(asked, name):
            yield f"{name}: the run has {getattr(known, name)!r}, now {getattr(asked, name)!r}"


def mismatch(path: Path, manifest: RunManifest, differences: Sequence[str]) -> RunMismatchError:
    """Return the error that names all differences and the ways out."""
    listed = "".join(f"\n  {difference}" for difference in differences)
    return RunMismatchError(
        f"{path} holds another run ({manifest.judged} judgments of '{manifest.judge.name}'):"
        f"{listed}\n"
        f"Choose another folder with --out; or start over in this one with --start-over, which "
        f"moves what is there to a folder beside it; or give what the run was begun with"
    )


def _differences(name: str, known: Mapping[str, Any], asked: Mapping[str, Any]) -> Iterator[str]:
    for key in sorted({*known, *asked}):
        old, new = known.get(key), asked.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _differences(f"{name}.{key}", old, new)
        elif old != new:
            yield f"{name}.{key}: the run has {old!r}, now {new!r}"
