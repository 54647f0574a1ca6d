"""Requests as a file that a provider answers within a day at half the price, and the answers.

The form is that of OpenAI's batches, one JSON object a line, which ``vllm run-batch`` and other
providers read too. A request's key is its ``custom_id``.

OpenAI gives back two files: one of answers, and one of requests that failed. Both are read here.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from magistrate.engines.api.bodies import Dialect, body_of, encode, endpoint
from magistrate.engines.api.failures import read_problem
from magistrate.engines.api.prices import Price
from magistrate.engines.api.replies import GarbledError, reply_of
from magistrate.engines.api.settings import ApiOptions
from magistrate.errors import InputError
from magistrate.messages import Completion, Request
from magistrate.records import Usage

MOST_REQUESTS = 50_000
MOST_BYTES = 200_000_000
"""What OpenAI takes in one file."""

HALF_PRICE = 0.5
"""What providers ask for a batch, as a share of their price."""

_SHOWN_PROBLEMS = 5


def write_batch(
    requests: Iterable[Request],
    path: Path,
    model: str,
    options: ApiOptions | None = None,
    *,
    most_requests: int = MOST_REQUESTS,
    most_bytes: int = MOST_BYTES,
) -> list[Path]:
    """Write requests as the lines of a batch.

    What does not go into one file goes into further ones: ``NAME-2.jsonl`` and so on. Either all
    files are written or none is.

    Args:
        requests: Their keys must be unique.
        path: The file. It is replaced if it exists.
        model: The name by which the server knows the model.
        options: Those of the engine; ``samples``, ``extra_body``, ``token_parameter`` and
            ``leave_out`` shape the lines.
        most_requests: Lines of one file.
        most_bytes: Size of one file.

    Returns:
        The files written; none when there are no requests.

    Raises:
        InputError: Two requests have one key, one is too large for any file, an image cannot be
            sent, or the requests are of both kinds, chat and completion.
        OSError: A file cannot be written.
    """
    options = options or ApiOptions()
    # There is nobody to learn from: the newer name, which vLLM takes as well.
    dialect = Dialect(options, is_openai=True)
    files: list[Path] = []
    with contextlib.ExitStack() as stack:
        drafts: list[_Draft] = []
        keys: set[str] = set()
        places: set[str] = set()
        for request in requests:
            if request.key in keys:
                raise InputError(f"two requests have the key '{request.key}'")
            keys.add(request.key)
            places.add(endpoint(request))
            if len(places) > 1:
                raise InputError("one batch cannot hold both chat and completion prompts")
            line = _line(request, model, options, dialect)
            if len(line) > most_bytes:
                raise InputError(
                    f"request '{request.key}' takes {len(line):,} bytes; a batch file holds "
                    f"{most_bytes:,}"
                )
            if not drafts or not drafts[-1].has_room(len(line), most_requests, most_bytes):
                drafts.append(stack.enter_context(_Draft(path.parent)))
            drafts[-1].add(line)
        for number, draft in enumerate(drafts, 1):
            target = path if number == 1 else path.with_stem(f"{path.stem}-{number}")
            draft.keep_as(target)
            files.append(target)
    return files


def read_batch(
    path: Path,
    *,
    price: Price | None = None,
    price_share: float = HALF_PRICE,
    on_problem: Callable[[str], None] | None = None,
) -> Iterator[Completion]:
    """Yield the answers of a batch, and the failures as completions with ``error`` set.

    Args:
        path: A file of answers, or one of failures.
        price: What the model costs; costs are 0 when None.
        price_share: What a batch costs, as a share of ``price``.
        on_problem: Told of each line that cannot be read, by file and number. Without it, such
            lines end in an error when all others have been yielded.

    Raises:
        InputError: The file cannot be read, or lines of it cannot.
    """
    problems: list[str] = []
    tell = on_problem or problems.append
    seen: dict[str, int] = {}
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                where = f"{path}, line {number}"
                try:
                    completion = _completion(line)
                except (ValueError, GarbledError) as error:
                    tell(f"{where}: {error}")
                    continue
                first = seen.setdefault(completion.key, number)
                if first != number:
                    tell(f"{where}: '{completion.key}' was answered on line {first} already")
                    continue
                cost = price.cost(completion.usage) * price_share if price else 0.0
                yield replace(completion, cost=cost)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    if problems:
        shown = "; ".join(problems[:_SHOWN_PROBLEMS])
        more = len(problems) - _SHOWN_PROBLEMS
        raise InputError(
            f"{len(problems)} line{'s' if len(problems) > 1 else ''} of the batch cannot be read, "
            f"the others were: {shown}{f'; and {more} more' if more > 0 else ''}"
        )


def _line(request: Request, model: str, options: ApiOptions, dialect: Dialect) -> bytes:
    body = body_of(request, model, options, dialect, replies=options.samples)
    line = {
        "custom_id": request.key,
        "method": "POST",
        "url": f"/v1{endpoint(request)}",
        "body": body,
    }
    return encode(line) + b"\n"


def _completion(line: bytes) -> Completion:
    """Read one line.

    Raises:
        ValueError: It is no line of a batch's answers.
        GarbledError: It holds no reply.
    """
    try:
        value: Any = orjson.loads(line)
    except ValueError as error:
        raise ValueError(f"not whole JSON ({error})") from error
    key = value.get("custom_id") if isinstance(value, dict) else None
    if not isinstance(key, str):
        raise ValueError("no 'custom_id', so it answers nothing")  # noqa: TRY004
    response = value.get("response")
    status = response.get("status_code", 200) if isinstance(response, dict) else 200
    body = response.get("body") if isinstance(response, dict) else None
    if value.get("error") or not isinstance(body, dict) or status >= 400:
        return _failure(key, status, value.get("error") or body)
    reply = reply_of(body)
    first = reply.choices[0]
    meta: dict[str, Any] = dict(reply.facts)
    if len(reply.choices) > 1:
        meta["samples"] = [choice.text for choice in reply.choices]
        meta["sample_finish_reasons"] = [choice.finish_reason for choice in reply.choices]
    if first.thoughts:
        meta["thoughts"] = first.thoughts
    return Completion(
        key=key,
        text=first.text,
        finish_reason="error" if first.error else first.finish_reason,
        logprobs=first.logprobs,
        usage=(reply.usage or Usage()) + Usage(requests=1),
        error=first.error,
        meta=meta,
    )


def _failure(key: str, status: int, said: Any) -> Completion:
    problem = read_problem(status, orjson.dumps(said) if said else b"no answer")
    if problem.is_filtered:
        return Completion(
            key=key, finish_reason="content_filter", meta={"provider": problem.message}
        )
    code = f"{problem.code}: " if problem.code else ""
    return Completion(
        key=key,
        finish_reason="error",
        usage=Usage(requests=1),
        error=f"the batch failed for this request: {code}{problem.message}",
    )


class _Draft:
    """A file that is thrown away unless it is kept."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lines = 0
        self._bytes = 0

    def __enter__(self) -> _Draft:
        handle, name = tempfile.mkstemp(prefix=".batch-", suffix=".jsonl", dir=self._folder)
        self._file = os.fdopen(handle, "wb")
        self._path = Path(name)
        return self

    def has_room(self, size: int, most_lines: int, most_bytes: int) -> bool:
        return self._lines < most_lines and self._bytes + size <= most_bytes

    def add(self, line: bytes) -> None:
        self._file.write(line)
        self._lines += 1
        self._bytes += len(line)

    def keep_as(self, path: Path) -> None:
        self._file.close()
        self._path.replace(path)

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._path.unlink(missing_ok=True)
