"""What the caller of ``mg.judge`` handed over, checked: settings, folder, judge, samples."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from magistrate.errors import InputError, JudgeNotFoundError, MagistrateError, RunError
from magistrate.formats.base import Notice
from magistrate.judging.judge import Judge, Mode
from magistrate.records import Record, Sample, to_json_line
from magistrate.store.index import FAILURES
from magistrate.store.lines import to_line
from magistrate.store.manifest import MOST, RunSettings

_TAKES = (
    "samples are a list or stream of Sample, what read_samples returns, or one path or a list of "
    "paths"
)
_TAKEN = {
    "orders": "'both' or 'given'",
    "repeats": f"a whole number from 1 to {MOST}",
    "limit": f"a whole number from 1 to {MOST}, or None for all samples",
    "strict": "True or False",
    "mode": "'reason' or 'score', or None for the judge's own",
    "on_overflow": "'truncate', 'skip' or 'error'",
    "max_cost": "US dollars from 0, or None for no limit",
}
_SHOWN_CHARACTERS = 60


def checked_settings(retry: Any, engine_options: Any, **values: Any) -> RunSettings:
    """Return the settings of a run.

    Args:
        retry: Failures that are judged again.
        engine_options: By name; values that are no text become text.
        values: The other settings by name.

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
    if not isinstance(engine_options, Mapping | None):
        raise MagistrateError(
            f"engine_options is {_shown(engine_options)}; it takes a dict of options by name"
        )
    options = {str(name): str(value) for name, value in (engine_options or {}).items()}
    try:
        return RunSettings(retry=tuple(sorted(retry)), engine_options=options, **values)
    except ValidationError as error:
        name = str(error.errors(include_url=False)[0]["loc"][0])
        raise MagistrateError(
            f"{name} is {_shown(values[name])}; it takes {_TAKEN[name]}"
        ) from error


def remarks(judge: Judge, settings: RunSettings, with_images: int) -> Iterator[Notice]:
    """Yield what the user should know of how the judge takes the settings and the samples.

    Args:
        judge: Who judges.
        settings: What was asked for.
        with_images: How many samples have images.
    """
    if with_images and not getattr(judge.family, "shows_images", False):
        yield Notice(
            kind="images-not-shown",
            message=(
                f"{with_images} sample{'s have' if with_images > 1 else ' has'} images, which "
                f"judge '{judge.spec.name}' does not see: it judges by text alone"
            ),
        )
    if settings.mode == "reason" and judge.engine.info.scores:
        yield Notice(
            kind="no-reasons",
            message=(
                f"judge '{judge.spec.name}' has a scoring head: it gives scores and no reasons, "
                f"so mode reason changes nothing"
            ),
        )


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
def loaded_judge(
    judge: Any,
    mode: Mode | None = None,
    options: Mapping[str, str] | None = None,
    demonstrations: Sequence[Sample] = (),
) -> Iterator[Judge]:
    """Yield a judge; close it afterwards if it was opened here.

    Args:
        judge: A name, a path, or a loaded judge.
        mode: What was asked for; None leaves it to the judge.
        options: Of its engine.
        demonstrations: Labelled samples that it is shown solved.

    Raises:
        JudgeNotFoundError: It is neither a judge nor the name of one that is there.
        EngineError: The engine cannot run the model, or has no such option.
        FamilyError: The family is missing or broken, or lacks the mode.
        MagistrateError: The judge is loaded already, in another mode or without the options.
    """
    if isinstance(judge, Judge):
        if mode is not None and judge.mode not in (None, mode):
            raise MagistrateError(
                f"mode is '{mode}', but judge '{judge.spec.name}' is loaded in mode "
                f"'{judge.mode}'; give its name, or load it with load_judge(name, mode='{mode}')"
            )
        if options:
            raise MagistrateError(
                f"engine options cannot be set ({', '.join(options)}): judge '{judge.spec.name}' "
                f"is loaded already; give its name, or give the options to load_judge"
            )
        if demonstrations:
            raise MagistrateError(
                f"judge '{judge.spec.name}' is loaded already and cannot be given demonstrations; "
                f"give its name, or give them to load_judge"
            )
        yield judge
        return
    if not isinstance(judge, str | Path):
        raise JudgeNotFoundError(
            f"judge is {_shown(judge)}; it takes a name such as 'mini', the path of a judge "
            f"folder, ENGINE:MODEL, or what load_judge returns"
        )
    from magistrate.judging.resolve import load_judge  # brings Jinja2: on use

    with load_judge(
        str(judge), mode=mode, options=options, demonstrations=demonstrations
    ) as opened:
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
