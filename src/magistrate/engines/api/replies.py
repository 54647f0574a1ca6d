"""What comes back from a server, read into texts, log-probabilities and usage."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from magistrate.messages import FinishReason, TokenLogprob
from magistrate.records import Usage

_FINISH: dict[str, FinishReason] = {
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "recitation": "content_filter",
    "refusal": "content_filter",
    "sensitive": "content_filter",
}
"""What servers call the end of a reply; anything else is ``stop``."""

_BROKEN_OFF = frozenset({"error", "abort", "insufficient_system_resource"})
_TOOLS = frozenset({"tool_calls", "function_call"})
_LEAST_LOGPROB = -9999.0
"""What servers write for minus infinity, which JSON lacks."""


class GarbledError(Exception):
    """What came is no reply."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One reply of a model."""

    text: str
    finish_reason: FinishReason = "stop"
    logprobs: tuple[TokenLogprob, ...] = ()
    refused: bool = False
    """Whether the model used the field with which it declines."""
    thoughts: str = ""
    """What it thought before, where the server tells."""
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """All that one request brought."""

    choices: tuple[Choice, ...]
    usage: Usage | None
    """None when the server does not say."""
    cost: float | None = None
    """US dollars, where the server itself says."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The model that answered, and what else the server says of itself."""


def read_reply(body: bytes, content_type: str = "application/json") -> Reply:
    """Read the body of a successful response.

    Raises:
        GarbledError: It is not JSON, or not a reply.
    """
    try:
        value: Any = orjson.loads(body)
    except ValueError:
        start = " ".join(body[:60].decode("utf-8", "replace").split())
        kind = "" if "json" in content_type else f" (content type '{content_type}')"
        raise GarbledError(f"the reply is not whole JSON{kind}: {start!r} ...") from None
    return reply_of(value)


def reply_of(value: Any) -> Reply:
    """Read a reply from its JSON value.

    Raises:
        GarbledError: It is not one.
    """
    if not isinstance(value, dict):
        raise GarbledError("the reply is not a JSON object")
    choices = value.get("choices")
    if not isinstance(choices, list) or not choices:
        raise GarbledError(f"the reply has no choices{_said(value)}")
    usage = value.get("usage")
    facts = {
        name: value[name]
        for name in ("model", "system_fingerprint", "service_tier")
        if isinstance(value.get(name), str) and value[name]
    }
    return Reply(
        choices=tuple(map(_choice, choices)),
        usage=_usage(usage) if isinstance(usage, dict) else None,
        cost=_cost(usage) if isinstance(usage, dict) else None,
        facts=facts,
    )


def _choice(value: Any) -> Choice:
    if not isinstance(value, dict):
        raise GarbledError("a choice is not a JSON object")
    reason = str(value.get("finish_reason") or "stop").lower()
    if reason in _BROKEN_OFF or value.get("error"):
        raise GarbledError(f"the server broke off the reply{_said(value)}")
    finish = _FINISH.get(reason, "stop")
    message = value.get("message")
    if not isinstance(message, dict):
        if not isinstance(value.get("text"), str):
            raise GarbledError("a choice has neither a message nor a text")
        return Choice(value["text"], finish, _completion_logprobs(value.get("logprobs")))
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal:
        return Choice(refusal, "content_filter", refused=True)
    text = _text(message.get("content"))
    error = None
    if reason in _TOOLS and not text:
        error = "the model called a tool instead of answering"
    thoughts = message.get("reasoning_content") or message.get("reasoning") or ""
    return Choice(
        text,
        finish,
        _chat_logprobs(value.get("logprobs")),
        thoughts=thoughts if isinstance(thoughts, str) else "",
        error=error,
    )


def _text(content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(
            part["text"]
            for part in content
            if isinstance(part, dict) and isinstance(part.get("text"), str)
        )
    raise GarbledError("a message's content is neither a text nor a list of parts")


def _chat_logprobs(value: Any) -> tuple[TokenLogprob, ...]:
    tokens = value.get("content") if isinstance(value, dict) else None
    if not isinstance(tokens, list):
        return ()
    try:
        return tuple(
            TokenLogprob(
                str(each["token"]),
                _logprob(each["logprob"]),
                tuple(
                    (str(other["token"]), _logprob(other["logprob"]))
                    for other in each.get("top_logprobs") or ()
                ),
            )
            for each in tokens
        )
    except (KeyError, TypeError, ValueError):
        return ()


def _completion_logprobs(value: Any) -> tuple[TokenLogprob, ...]:
    """Read the older form, lists side by side; some servers use the newer one here too."""
    if not isinstance(value, dict):
        return ()
    if "content" in value:
        return _chat_logprobs(value)
    tokens, own = value.get("tokens"), value.get("token_logprobs")
    if not isinstance(tokens, list) or not isinstance(own, list) or len(tokens) != len(own):
        return ()
    tops = value.get("top_logprobs") or [{}] * len(tokens)
    try:
        return tuple(
            TokenLogprob(
                str(token),
                _logprob(logprob),
                tuple((str(name), _logprob(each)) for name, each in (top or {}).items()),
            )
            for token, logprob, top in zip(tokens, own, tops, strict=True)
        )
    except (AttributeError, TypeError, ValueError):
        return ()


def _logprob(value: Any) -> float:
    if value is None:
        return _LEAST_LOGPROB
    number = float(value)
    return number if math.isfinite(number) else _LEAST_LOGPROB


def _usage(value: dict[str, Any]) -> Usage:
    details = value.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    if cached is None:
        cached = value.get("prompt_cache_hit_tokens")
    prompt = _count(value.get("prompt_tokens"))
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=_count(value.get("completion_tokens")),
        cached_tokens=min(prompt, _count(cached)),
    )


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _cost(value: dict[str, Any]) -> float | None:
    cost = value.get("cost")
    if isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < math.inf:
        return float(cost)
    return None


def _said(value: dict[str, Any]) -> str:
    error = value.get("error")
    message = error.get("message") if isinstance(error, dict) else error
    return f": {message}" if message else ""
