"""Completions as compact JSON, and back."""

from __future__ import annotations

from typing import Any

import orjson

from magistrate.messages import Completion, TokenLogprob
from magistrate.records import Usage


def to_json(completion: Completion) -> bytes:
    """Return a completion as compact JSON, without its key and with nothing that is empty.

    Raises:
        TypeError: ``meta`` holds what JSON cannot.
    """
    values: dict[str, Any] = {
        "text": completion.text,
        "score": completion.score,
        "finish": completion.finish_reason,
        "logprobs": [[each.token, each.logprob, each.top] for each in completion.logprobs],
        "choices": list(completion.choices),
        "usage": completion.usage.model_dump(exclude_defaults=True),
        "truncated": completion.truncated,
        "meta": completion.meta,
    }
    return orjson.dumps({name: value for name, value in values.items() if value not in (None, "")})


def from_json(value: bytes) -> Completion:
    """Read what :func:`to_json` wrote.

    Raises:
        ValueError, KeyError, TypeError: It is something else.
    """
    known = orjson.loads(value)
    return Completion(
        key="",
        text=known.get("text", ""),
        score=known.get("score"),
        finish_reason=known["finish"],
        logprobs=tuple(
            TokenLogprob(token, logprob, tuple((other, share) for other, share in top))
            for token, logprob, top in known["logprobs"]
        ),
        choices=tuple(known["choices"]),
        usage=Usage(**known["usage"]),
        truncated=known["truncated"],
        meta=known["meta"],
    )
