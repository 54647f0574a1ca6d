"""Who wrote an answer that judgments know by its id alone, as Vicuna-bench's reviews do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath

from magistrate.errors import InputError
from magistrate.formats.base import BadRow
from magistrate.formats.notices import NoticeLog
from magistrate.formats.rows import Rows
from magistrate.formats.source import Source
from magistrate.records import Sample


def read_answer_ids(paths: Sequence[str | PathLike[str]]) -> dict[str, str]:
    """Return answer id to model, from files of answers (``answer_id``, ``model_id``).

    Raises:
        InputError: A file cannot be read, or has no such fields.
    """
    models: dict[str, str] = {}
    for path in paths:
        before = len(models)
        for row in Rows(Source(fspath(path))).read(NoticeLog()):
            if isinstance(row, BadRow) or not isinstance(row.value, dict):
                continue
            ident, model = row.value.get("answer_id"), row.value.get("model_id")
            if isinstance(ident, str) and isinstance(model, str):
                models[ident] = model
        if len(models) == before:
            raise InputError(
                f"{fspath(path)} has no row with answer_id and model_id; these are what names the "
                f"models of judgments that know answers by id"
            )
    return models


def with_models(sample: Sample, models: Mapping[str, str]) -> Sample:
    """Return a sample with its models named, where its id is ``question:answer:answer``."""
    if len(sample.answers) != 2 or any(answer.model for answer in sample.answers):
        return sample
    parts = (sample.source_id or "").split(":")
    if len(parts) != 3 or parts[1] not in models or parts[2] not in models:
        return sample
    answers = tuple(
        answer.model_copy(update={"model": models[ident]})
        for answer, ident in zip(sample.answers, parts[1:], strict=True)
    )
    return sample.model_copy(update={"answers": answers})
