"""Small data folders for tests of the studies: pairs whose longer or first answer is better."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from magistrate.records import Answer, Gold, Preference, Sample, to_json_line

LONG, SHORT = "a long answer that goes on and on", "short"


def pair(
    number: int, better: Preference | None, *, first: str = LONG, second: str = SHORT, **more: Any
) -> Sample:
    """A pair of a question of its own."""
    gold = () if better is None else (Gold(preference=better),)
    return Sample(
        question=f"Question {number}?",
        answers=(Answer(text=f"{first} {number}"), Answer(text=f"{second} {number}")),
        gold=gold,
        source_id=str(number),
        **more,
    )


def pairs(better: Sequence[Preference | None], **more: Any) -> list[Sample]:
    """Pairs whose first answer is the longer one, with these labels."""
    return [pair(number, label, **more) for number, label in enumerate(better)]


def write(path: Path, samples: Sequence[Sample]) -> Path:
    """Write samples in the package's own format."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(to_json_line(sample) + b"\n" for sample in samples))
    return path


def manifest(folder: Path, *sets: dict[str, Any]) -> Path:
    """Write a manifest of these sets; JSON's values are those of TOML."""
    lines = []
    for one in sets:
        lines.append("[[set]]")
        lines += [f"{key} = {_toml(value)}" for key, value in one.items()]
    path = folder / "magistrate.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines), "utf-8")
    return path


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        inside = ", ".join(f"{json.dumps(k)} = {json.dumps(v)}" for k, v in value.items())
        return f"{{ {inside} }}"
    return json.dumps(value)
