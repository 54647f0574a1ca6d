"""What the caller of ``mg.judge`` handed over, checked: settings, folder, judge, samples."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from magistrate.errors import InputError, JudgeNotFoundError, MagistrateError, RunError
from magistrate.judging.judge import Judge
from magistrate.records import Record, Sample, to_json_line
from magistrate.store.index import FAILURES
from magistrate.store.lines import to_line
from magistrate.store.manifest import MOST, RunSettings

_TAKES = (
    "samples are a list or stream of Sample, what read_samples returns, or one path or a list of "
    "paths"
)
_SHOWN_CHARACTERS = 60


def checked_settings(orders: Any, repeats: Any, limit: Any, strict: Any, retry: Any) -> RunSettings:
    """Return the settings of a run.

    Raises:
        MagistrateError: A setting has no such value; the message says which it takes.
    """
    if isinstance(retry, str) or not isinstance(retry, Collection):
        raise MagistrateError(
            f"retry is {_shown(retry)}; it takes a list of {', '.join(sorted(FAILURES))}"
        )
    unknown = sorted(str(one) for one in retry if not isinstance(one, str) or one not in FAILURES)
    if unknown:
        raise MagistrateError(
            f"retry has {', '.join(unknown)}; it takes any of {', '.join(sorted(FAILURES))}"
        )
    try:
        return RunSettings(
            orders=orders, repeats=repeats, limit=limit, strict=strict, retry=tuple(sorted(retry))
        )
    except ValidationError as error:
        name = str(error.errors(include_url=False)[0]["loc"][0])
        value = {"orders": orders, "repeats": repeats, "limit": limit, "strict": strict}[name]
        takes = {
            "orders": "'both' or 'given'",
            "repeats": f"a whole number from 1 to {MOST}",
            "limit": f"a whole number from 1 to {MOST}, or None for all samples",
            "strict": "True or False",
        }
        raise MagistrateError(f"{name} is {_shown(value)}; it takes {takes[name]}") from error


def folder_path(out: Any) -> Path | None:
    """Return the folder that was asked for, or None.

    Raises:
        RunError: It is not a path.
    """
    if out is None:
        return None
    if not isinstance(out, str | PathLike) or not isinstance(fspath(out), str):
        raise RunError(f"out is {_shown(out)}; it takes the path of a folder, or None")
    return Path(out)


@contextmanager
def loaded_judge(judge: Any) -> Iterator[Judge]:
    """Yield a judge; close it afterwards if it was opened here.

    Raises:
        JudgeNotFoundError: It is neither a judge nor the name of one that is there.
        EngineError: The engine cannot run the model.
        FamilyError: The family is missing or broken.
    """
    if isinstance(judge, Judge):
        yield judge
        return
    if not isinstance(judge, str | Path):
        raise JudgeNotFoundError(
            f"judge is {_shown(judge)}; it takes a name such as 'mini', the path of a judge "
            f"folder, ENGINE:MODEL, or what load_judge returns"
        )
    from magistrate.judging.resolve import load_judge  # brings Jinja2: on use

    with load_judge(str(judge)) as opened:
        yield opened


def source_of(samples: Any, *, strict: bool) -> Iterable[Sample]:
    """Return samples as they are, and paths as a reader of their files.

    What a stream holds is seen only when it is read; :func:`line_of` checks each of it.

    Raises:
        InputError: It is something else, or a file cannot be read.
    """
    if isinstance(samples, str | Path):
        samples = [samples]
    if isinstance(samples, list | tuple) and samples and isinstance(samples[0], str | Path):
        for number, path in enumerate(samples, 1):
            if not isinstance(path, str | Path):
                raise InputError(f"path {number} is {_shown(path)}; {_TAKES}, not both in one list")
        from magistrate.formats.reading import read_samples  # only files need the readers

        return read_samples(*samples, strict=strict)
    if isinstance(samples, Sample):
        raise InputError("samples is one Sample; put it into a list: [sample]")
    if isinstance(samples, type | Record | Mapping | bytes) or not isinstance(samples, Iterable):
        raise InputError(f"samples is {_shown(samples)}; {_TAKES}")
    return cast(Iterable[Sample], samples)


def line_of(sample: object, number: int) -> bytes:
    """Return a sample of the caller as its line in ``samples.jsonl``.

    Args:
        sample: What the caller's list or stream holds.
        number: Its place there, from 1; named in messages.

    Raises:
        InputError: It is no sample, or its ``meta`` holds what has no JSON form.
    """
    if isinstance(sample, str | Path):
        raise InputError(
            f"sample {number} is {_shown(sample)}; if it is a path, give one path or a list of "
            f"paths, since the sequence of files matters; else make it a Sample"
        )
    if not isinstance(sample, Sample):
        raise InputError(
            f"sample {number} is {_shown(sample)}; it must be a Sample, such as "
            f"Sample(question='...', answers=(Answer(text='...'), Answer(text='...'))); rows of a "
            f"file are read by read_samples"
        )
    try:
        return to_line(sample)
    except (ValueError, TypeError) as error:
        where = next((f" {key!r}" for key in sample.meta if not _has_json(sample, key)), "")
        raise InputError(
            f"sample {number}: meta{where} cannot be stored as JSON: {error}; "
            f"make it text, a number, a list or a dict"
        ) from error


def _has_json(sample: Sample, key: str) -> bool:
    try:
        to_json_line(sample.model_copy(update={"meta": {key: sample.meta[key]}}))
    except (ValueError, TypeError):
        return False
    return True


def _shown(value: object) -> str:
    """Return a value with its type, short enough for a message."""
    if value is None:
        return "None"
    text = repr(value)
    if len(text) > _SHOWN_CHARACTERS:
        text = text[:_SHOWN_CHARACTERS] + "..."
    return f"{text} ({type(value).__name__})"
