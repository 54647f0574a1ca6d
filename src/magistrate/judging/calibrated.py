"""Where calibrations are kept: in a judge's folder, in the user's own place, or in a file.

A calibration belongs to one judge: it is used where :attr:`JudgeSpec.id` is that of the judge it
was fitted for, and nowhere else. The user's own, below ``calibrations/`` in
:func:`magistrate.prompts.catalog.home_folder`, comes before the one in the judge's folder.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from magistrate.errors import InputError, what_is_needed
from magistrate.judging.calibration import Calibration
from magistrate.judging.judge import Judge
from magistrate.prompts.catalog import home_folder
from magistrate.prompts.importing.toml import dumps

SECTION = "calibration"
_HEADING = f"[{SECTION}]"


def own_file(judge_id: str) -> Path:
    """Return the user's own file for a judge's calibration; it need not exist."""
    return home_folder() / "calibrations" / f"{judge_id}.toml"


def with_calibration(judge: Judge, folder: Path | None = None, file: str = "") -> Judge:
    """Return the judge with its calibration, where one is kept for it.

    Args:
        judge: The judge.
        folder: Its folder, where it has one.
        file: Name of the file in the folder that may hold it.

    Raises:
        InputError: A file that should hold one cannot be read.
    """
    places = [own_file(judge.spec.id), *([folder / file] if folder is not None else [])]
    for path in places:
        found = read_calibration(path) if path.is_file() else None
        if found is not None and found.judge_id == judge.spec.id:
            return replace(judge, calibration=found)
    return judge


def read_calibration(path: Path) -> Calibration | None:
    """Read the section ``[calibration]`` of a file; None where it has none.

    Raises:
        InputError: The file cannot be read, or the section is wrong.
    """
    try:
        section = tomllib.loads(path.read_text("utf-8")).get(SECTION)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid TOML ({error})") from error
    if section is None:
        return None
    try:
        return Calibration.model_validate(section)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, (SECTION, *first["loc"])))
        raise InputError(
            f"{path}: {place}: {what_is_needed(first)}; calibrate the judge anew"
        ) from error


def write_calibration(path: Path, calibration: Calibration) -> None:
    """Write or replace the section ``[calibration]`` of a file; all else in it stays as it is.

    Raises:
        InputError: The file cannot be read or written.
    """
    section = dumps({SECTION: calibration.model_dump(mode="json")}).strip()
    try:
        kept = _without_section(path.read_text("utf-8")) if path.exists() else ""
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f".{path.name}.new")
        new.write_text(f"{kept}\n\n{section}\n".lstrip("\n"), "utf-8")
        new.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from error


def can_write(folder: Path) -> bool:
    """Whether files of a folder can be replaced."""
    return os.access(folder, os.W_OK)


def _without_section(text: str) -> str:
    """Return a TOML text without its section ``[calibration]``, without blanks at its end."""
    kept: list[str] = []
    inside = False
    for line in text.splitlines():
        if line.startswith("["):
            inside = line.split("#", 1)[0].strip() == _HEADING
        if not inside:
            kept.append(line)
    return "\n".join(kept).rstrip()
