"""Which licence a file stands under, by the licence files beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_FILE_NAME = re.compile(r"(?:LICEN[SC]ES?|COPYING|UNLICENSE)(?:[.-][\w.-]+)?", re.IGNORECASE)
_SPDX = re.compile(r"SPDX-License-Identifier:\s*([\w.+-]+)")
_METADATA = re.compile(r"^License(?:-Expression)?: (?!UNKNOWN)(\S.*)$", re.MULTILINE)
_CLASSIFIER = re.compile(r"^Classifier: License :: OSI Approved :: (.+)$", re.MULTILINE)

# A licence is known by words that all its copies have and no other licence has. The first fit
# counts, so that special forms come before the general ones.
_KNOWN: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("CC-BY-NC-SA-4.0", ("attribution-noncommercial-sharealike 4.0",)),
    ("CC-BY-NC-ND-4.0", ("attribution-noncommercial-noderivatives 4.0",)),
    ("CC-BY-NC-4.0", ("attribution-noncommercial 4.0",)),
    ("CC-BY-SA-4.0", ("attribution-sharealike 4.0",)),
    ("CC-BY-ND-4.0", ("attribution-noderivatives 4.0",)),
    ("CC-BY-4.0", ("attribution 4.0 international",)),
    ("CC0-1.0", ("cc0 1.0 universal",)),
    ("Apache-2.0", ("apache license", "version 2.0")),
    ("AGPL-3.0", ("gnu affero general public license", "version 3")),
    ("LGPL-3.0", ("gnu lesser general public license", "version 3")),
    ("LGPL-2.1", ("gnu lesser general public license", "version 2.1")),
    ("GPL-3.0", ("gnu general public license", "version 3")),
    ("GPL-2.0", ("gnu general public license", "version 2")),
    ("MPL-2.0", ("mozilla public license", "2.0")),
    ("BSD-3-Clause", ("redistribution and use in source and binary forms", "neither the name")),
    ("BSD-2-Clause", ("redistribution and use in source and binary forms",)),
    ("MIT", ("permission is hereby granted, free of charge", "to deal in the software")),
    ("ISC", ("permission to use, copy, modify, and/or distribute this software",)),
    ("Unlicense", ("this is free and unencumbered software",)),
)


def licence_of(file: Path, top: Path) -> tuple[str | None, str]:
    """Return the licence of a file and how it is known.

    Args:
        file: The file.
        top: The last folder to look in, from the file's own upwards.
    """
    for folder in (file.parent, *file.parent.parents):
        for candidate in _licence_files(folder):
            return _recognised(candidate)
        if folder == top:
            break
    return None, "no licence file beside it"


def licence_of_package(info: Path, metadata: str) -> tuple[str | None, str]:
    """Return the licence of an installed package, by its licence files, then by its metadata."""
    for folder in (info, info / "licenses"):
        for candidate in _licence_files(folder):
            return _recognised(candidate)
    found = _METADATA.search(metadata) or _CLASSIFIER.search(metadata)
    if found is not None:
        return found[1].strip(), "by the package's metadata"
    return None, "the package names no licence"


def recognise(text: str) -> str | None:
    r"""Return the name of a licence by its text.

    >>> recognise("Apache License\n   Version 2.0, January 2004")
    'Apache-2.0'
    >>> recognise("All rights reserved.") is None
    True
    """
    if spdx := _SPDX.search(text):
        return spdx[1]
    flat = " ".join(text[:40_000].casefold().split())
    for name, words in _KNOWN:
        if all(word in flat for word in words):
            return name
    return None


def _licence_files(folder: Path) -> Iterator[Path]:
    try:
        names = sorted(path for path in folder.iterdir() if _FILE_NAME.fullmatch(path.name))
    except OSError:
        return
    yield from (path for path in names if path.is_file())


def _recognised(file: Path) -> tuple[str | None, str]:
    try:
        name = recognise(file.read_text("utf-8", errors="replace"))
    except OSError:
        return None, f"{file.name} beside it cannot be read"
    if name is None:
        return None, f"{file.name} beside it is of no kind known here"
    return name, f"by {file.name} beside it"
