"""Images in prompts: URLs as they are, files as ``data:`` URLs.

Names of images come from data, and data must not read files: only what begins as a PNG, JPEG, GIF
or WebP image does is sent, whatever a file is called, and nothing larger than a bound.
"""

from __future__ import annotations

import base64
import re
from pathlib import Path

from magistrate.errors import InputError

_MAGIC: tuple[tuple[bytes, bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", b"", "image/png"),
    (b"\xff\xd8\xff", b"", "image/jpeg"),
    (b"GIF87a", b"", "image/gif"),
    (b"GIF89a", b"", "image/gif"),
    (b"RIFF", b"WEBP", "image/webp"),
)
"""How a file begins, what stands four bytes further, and what it then is."""

_DATA_URL = re.compile(r"data:image/[a-z+.-]+;base64,[A-Za-z0-9+/=\s]+")


def image_url(image: str, most_bytes: int) -> str:
    """Return the URL under which a server can read an image.

    Args:
        image: A URL (``http``, ``https``, ``data:image/...;base64,``) or the path of a file.
        most_bytes: Largest file that is sent.

    Raises:
        InputError: The file cannot be read, is too large, or is no image.
    """
    if re.match(r"https?://", image, re.IGNORECASE):
        return image
    if image[:5].lower() == "data:":
        if not _DATA_URL.fullmatch(image):
            raise InputError("an image is given as a data: URL that is not a base64 image")
        if len(image) > most_bytes * 4 // 3 + 64:
            raise InputError(f"an image is larger than {most_bytes:,} bytes (max_image_bytes)")
        return image
    data = _read(Path(image.removeprefix("file://")), most_bytes)
    return f"data:{_kind(data, image)};base64,{base64.b64encode(data).decode('ascii')}"


def _read(path: Path, most_bytes: int) -> bytes:
    try:
        if not path.is_file():  # a pipe would wait for ever
            raise InputError(f"image {path}: there is no such file")
        with path.open("rb") as file:
            data = file.read(most_bytes + 1)
    except (OSError, ValueError) as error:
        raise InputError(f"image {path}: cannot be read ({error})") from error
    if len(data) > most_bytes:
        raise InputError(f"image {path}: larger than {most_bytes:,} bytes (max_image_bytes)")
    return data


def _kind(data: bytes, image: str) -> str:
    for start, later, kind in _MAGIC:
        if data.startswith(start) and data[len(start) + 4 :].startswith(later):
            return kind
    raise InputError(f"image {image}: not a PNG, JPEG, GIF or WebP image, so it is not sent")
