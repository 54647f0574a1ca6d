"""Where the images are that files name: beside the file, unless it says otherwise."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from magistrate.formats.base import Item

STDIN = "-"

_ELSEWHERE = re.compile(r"(?:https?|file)://|data:", re.IGNORECASE)
_PICTURE_KEY = "imagename"


def image_path(image: str, file: str) -> str:
    """Return an image as it can be found from anywhere.

    URLs and whole paths stay; a relative path is taken from the folder of the file that names it
    (of standard input, from the working directory). Whether it is there is seen when it is shown.

    >>> image_path("https://example.org/cat.png", "data/pairs.jsonl")
    'https://example.org/cat.png'
    """
    if not image.strip() or _ELSEWHERE.match(image):
        return image
    folder = Path() if file == STDIN else Path(file).parent
    # Not resolve(): a link stays what the file calls it.
    return os.path.abspath(folder / Path(image).expanduser())  # noqa: PTH100


def with_image_paths(item: Item) -> Item:
    """Return what a row holds with its images as they can be found from anywhere."""
    sample = item.sample
    if sample is None or not sample.images:
        return item
    images = tuple(image_path(image, item.where.file) for image in sample.images)
    if images == sample.images:
        return item
    # Made anew: a copy would keep the id that the sample has worked out.
    found = type(sample).model_validate({**dict(sample), "images": images})
    judgments = tuple(
        one.model_copy(update={"sample_id": found.text_id})
        if one.sample_id == sample.text_id
        else one
        for one in item.judgments
    )
    return replace(item, sample=found, judgments=judgments)


def question_with_image_path(question: Any, file: str) -> Any:
    """Return a record of a file of questions whose picture can be found from anywhere."""
    if not isinstance(question, Mapping) or not isinstance(question.get(_PICTURE_KEY), str):
        return question
    return {**question, _PICTURE_KEY: image_path(question[_PICTURE_KEY], file)}
