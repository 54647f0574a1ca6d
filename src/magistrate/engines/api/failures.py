"""What went wrong with a request, and who is to blame: the moment, the request, or the engine.

* :class:`TryAgain`: the moment. The same request may succeed later.
* :class:`Refused`: the request. It will never succeed; the others may.
* :class:`~magistrate.errors.EngineError`: the key, the model or the account. Nothing will succeed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import orjson

from magistrate.engines.api.waiting import named_wait

Blame: TypeAlias = Literal["unreachable", "rate", "server", "slow", "garbled"]

RETRIED = frozenset({408, 409, 425, 429})
"""Statuses below 500 that may pass."""

ONE_REQUEST = frozenset({400, 413, 422, 431})
"""Statuses that say something of the request, not of the key or the model."""

_SHOWN = 500
_NO_MONEY = re.compile(
    r"insufficient[_ ](?:quota|balance|funds|credits?)|exceeded your current quota"
    r"|billing[_ ](?:hard_)?limit|billing_not_active|out of credits",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"context[_ ](?:length|window|size)|maximum (?:context|model) length|prompt is too long"
    r"|too many tokens|input (?:is )?too long|max_model_len|exceeds? the (?:available )?context",
    re.IGNORECASE,
)
_PARAMETER_NOT_THERE = re.compile(
    r"\b(?:logprobs|seed|stop|temperature|top_p|max_tokens|max_completion_tokens)[`'\"]? "
    r"(?:is|are) not (?:supported|implemented|available)",
    re.IGNORECASE,
)
_FILTERED = re.compile(
    r"content[_ ](?:filter|policy|management)|\bmoderation\b|flagged|data_inspection", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Problem:
    """What a server said."""

    status: int
    message: str
    code: str = ""
    """Its codes and types, joined."""
    parameter: str = ""

    @property
    def words(self) -> str:
        """What it said, for people."""
        return f"HTTP {self.status}: {self.message}"

    @property
    def everything(self) -> str:
        """All that may be searched for a word."""
        return f"{self.code} {self.parameter} {self.message}"

    @property
    def is_money(self) -> bool:
        """Whether the account has nothing left."""
        return self.status == 402 or (
            self.status in (400, 403, 429) and _NO_MONEY.search(self.everything) is not None
        )

    @property
    def is_too_long(self) -> bool:
        """Whether the prompt does not fit into the model."""
        return self.status == 413 or _TOO_LONG.search(self.everything) is not None

    @property
    def blames_a_parameter(self) -> bool:
        """Whether 5xx means a parameter, as when llama.cpp has no ``logprobs`` to give."""
        return self.status in (500, 501) and bool(_PARAMETER_NOT_THERE.search(self.message))

    @property
    def is_filtered(self) -> bool:
        """Whether the provider will not have its model read this."""
        return _FILTERED.search(self.everything) is not None


class TryAgain(Exception):  # noqa: N818  # it names what is to be done
    """The same request may succeed later."""

    def __init__(
        self, blame: Blame, words: str, *, wait: float | None = None, may_be_billed: bool = False
    ) -> None:
        """Say what happened.

        Args:
            blame: What kind of moment it was.
            words: What happened, for people.
            wait: Seconds that the server asked to wait.
            may_be_billed: Whether the model may have done its work although no reply came.
        """
        super().__init__(words)
        self.blame: Blame = blame
        self.words = words
        self.wait = wait
        self.may_be_billed = may_be_billed


class Refused(Exception):  # noqa: N818  # it names what happened
    """The request will never succeed."""

    def __init__(self, problem: Problem) -> None:
        """Keep what the server said."""
        super().__init__(problem.words)
        self.problem = problem


class Fatal(Exception):  # noqa: N818  # it names what it is
    """No request will succeed."""

    def __init__(self, problem: Problem) -> None:
        """Keep what the server said."""
        super().__init__(problem.words)
        self.problem = problem


def read_problem(status: int, body: bytes) -> Problem:
    """Find the message in the body of an error, in any of the forms that servers use."""
    try:
        value: Any = orjson.loads(body)
    except ValueError:
        return Problem(status, _short(body.decode("utf-8", "replace")) or "no message")
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        return Problem(status, _short(str(value)))
    error = value.get("error", value)
    if isinstance(error, str):
        error = {**value, "message": error}
    if not isinstance(error, dict):
        error = value
    message = error.get("message") or error.get("detail") or error.get("msg") or value
    code = " ".join(
        str(error[name]) for name in ("code", "type", "status") if error.get(name) is not None
    )
    return Problem(status, _short(_flat(message)), code, str(error.get("param") or ""))


def raise_for(status: int, headers: Mapping[str, str], body: bytes, now: float) -> None:
    """Raise what a status means; nothing for success.

    Args:
        status: The HTTP status.
        headers: By name in lower case.
        body: What came.
        now: Seconds since 1970.

    Raises:
        TryAgain: The moment is to blame.
        Refused: The request is.
        Fatal: The key, the model, the account or the URL.
    """
    if 200 <= status < 300:
        return
    problem = read_problem(status, body)
    if problem.is_money:
        raise Fatal(problem)
    if problem.blames_a_parameter:
        raise Refused(problem)
    if status in RETRIED or status >= 500:
        raise TryAgain(
            "rate" if status == 429 else "server", problem.words, wait=named_wait(headers, now)
        )
    if status in ONE_REQUEST or (status == 403 and problem.is_filtered):
        raise Refused(problem)
    if 300 <= status < 400:
        where = headers.get("location", "elsewhere")
        raise Fatal(Problem(status, f"the server sends on to {where}; give that URL"))
    raise Fatal(problem)


def _flat(message: object) -> str:
    if isinstance(message, str):
        return message
    if isinstance(message, list):
        return "; ".join(map(_flat, message))
    if isinstance(message, dict) and "msg" in message:  # a field that a server's schema refuses
        place = ".".join(map(str, message.get("loc", ())))
        return f"{place}: {message['msg']}" if place else str(message["msg"])
    return str(message)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else text[:_SHOWN] + " ..."
