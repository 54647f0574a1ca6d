"""Families by name: the package's own, then the user's, imported ones in place of ours.

The user's families are folders below ``families/`` in the home folder of magistrate: the
environment setting ``MAGISTRATE_HOME``, or the platform's place for application data.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from magistrate.errors import FamilyError, nearest_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from magistrate.prompts.text_family import Mode, TextFamily
    from magistrate.records import Sample

HOME_SETTING = "MAGISTRATE_HOME"
_FAMILY_FILE = "family.toml"
_BUNDLED = Path(__file__).parent / "families"


@dataclass(frozen=True, slots=True)
class FamilyEntry:
    """A family that can be loaded by name."""

    name: str
    folder: Path
    bundled: bool
    """Whether it ships inside the package; otherwise it is the user's."""


def home_folder() -> Path:
    """Return the folder for what a user adds to magistrate; it need not exist."""
    if home := os.environ.get(HOME_SETTING):
        return Path(home).expanduser()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return base / "magistrate"


def list_families() -> tuple[FamilyEntry, ...]:
    """Return all families, the package's own first, each kind by name.

    A family of the user's that bears the name of one of the package's own is left out, unless
    ``magistrate families import`` stored it: a peer's own wording takes the place of ours.
    """
    own = tuple(_families_in(_BUNDLED, bundled=True))
    names = {entry.name for entry in own}
    users = tuple(
        entry
        for entry in _families_in(home_folder() / "families", bundled=False)
        if entry.name not in names or is_imported(entry.folder)
    )
    replaced = {entry.name for entry in users}
    return (*(entry for entry in own if entry.name not in replaced), *users)


def bundled_names() -> tuple[str, ...]:
    """Return the names of the package's own families."""
    return tuple(entry.name for entry in _families_in(_BUNDLED, bundled=True))


def is_imported(folder: Path) -> bool:
    """Whether ``magistrate families import`` stored a family folder: it knows its file's hash."""
    try:
        source = tomllib.loads((folder / _FAMILY_FILE).read_text("utf-8")).get("source")
    except (OSError, ValueError):
        return False
    return isinstance(source, dict) and isinstance(source.get("sha256"), str)


def load_family(
    name: str, *, mode: Mode = "reason", demonstrations: Sequence[Sample] = ()
) -> TextFamily:
    """Load a family.

    Args:
        name: A name of :func:`list_families`, or a path (with a separator) to a family folder.
        mode: ``reason`` lets the judge explain, ``score`` stops it after the verdict.
        demonstrations: Labelled samples that every prompt shows solved; see
            :func:`magistrate.prompts.demonstrations.draw_demonstrations`.

    Raises:
        FamilyError: No such family (the message lists near names), it is broken, it lacks the mode,
            or a demonstration has no gold label that says a verdict of this family.
        MissingVariablesError: A demonstration lacks what the template needs.
    """
    from magistrate.prompts.text_family import TextFamily  # Jinja2 and pydantic models: on use

    folder = _find(name)
    family = TextFamily.from_folder(folder, mode=mode, demonstrations=demonstrations)
    if family.name != folder.resolve().name:
        raise FamilyError(
            f"{folder / _FAMILY_FILE}: key 'name' is '{family.name}', but the folder is "
            f"'{folder.resolve().name}'; give both the same name"
        )
    return family


def _find(name: str) -> Path:
    if os.sep in name or (os.altsep and os.altsep in name):
        folder = Path(name).expanduser()
        if not (folder / _FAMILY_FILE).is_file():
            raise FamilyError(f"'{name}' is not a family folder: it holds no {_FAMILY_FILE}")
        return folder
    entries = list_families()
    for entry in entries:
        if entry.name == name:
            return entry.folder
    names = [entry.name for entry in entries]
    raise FamilyError(
        f"no family '{name}' here; {nearest_of(name, names, 'magistrate families')}; your own are "
        f"looked for in {home_folder() / 'families'}"
    )


def _families_in(folder: Path, *, bundled: bool) -> Iterator[FamilyEntry]:
    if not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        if (path / _FAMILY_FILE).is_file():
            yield FamilyEntry(path.name, path, bundled)
