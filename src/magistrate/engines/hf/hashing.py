"""Hashes of weights. A file is read once; size and time tell whether it is still the same."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

from magistrate.errors import EngineError
from magistrate.prompts.catalog import home_folder

_KNOWN = "weights.json"


def hash_weights(files: Sequence[Path]) -> str:
    """Return the SHA-256 of a file; of several, that of their names and hashes.

    Raises:
        EngineError: A file cannot be read.
    """
    hashes = hash_each(files)
    if len(hashes) == 1:
        return hashes[0]
    named = zip((file.name for file in files), hashes, strict=True)
    listing = "".join(f"{name} {digest}\n" for name, digest in sorted(named))
    return hashlib.sha256(listing.encode()).hexdigest()


def hash_each(files: Sequence[Path]) -> list[str]:
    """Return the SHA-256 of each file.

    Hashes are remembered in the home folder of magistrate, by path, size and time of change. Where
    that cannot be written, they are computed anew each time.

    Raises:
        EngineError: A file cannot be read.
    """
    known = _read_known()
    before = dict(known)
    hashes = []
    for file in files:
        path = file.resolve()
        try:
            status = path.stat()
            mark = [status.st_size, status.st_mtime_ns]
            entry = known.get(str(path))
            if entry is None or entry[:2] != mark:
                entry = [*mark, _hash_file(path)]
                known[str(path)] = entry
        except OSError as error:
            raise EngineError(f"{file}: cannot be read ({error.strerror})") from error
        hashes.append(str(entry[2]))
    if known != before:
        _write_known(known)
    return hashes


def _hash_file(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _read_known() -> dict[str, list[int | str]]:
    try:
        known = json.loads((home_folder() / _KNOWN).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(known, dict):
        return {}
    return {
        path: entry for path, entry in known.items() if isinstance(entry, list) and len(entry) == 3
    }


def _write_known(known: dict[str, list[int | str]]) -> None:
    """Write the list in one step, so that another process never reads half of it."""
    folder = home_folder()
    draft = folder / f"{_KNOWN}.{os.getpid()}"
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(known, indent=0), "utf-8")
        draft.replace(folder / _KNOWN)
