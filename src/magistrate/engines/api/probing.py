"""What a server says of its models: their names, how long a prompt may be, who serves them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import orjson

from magistrate.engines.api.failures import Fatal, Refused, TryAgain
from magistrate.engines.api.waiting import FIRST_WAIT

if TYPE_CHECKING:
    from magistrate.engines.api.asking import Asker
    from magistrate.engines.api.loop import Job

SECONDS = 10.0
TRIES = 4

_LENGTHS = ("max_model_len", "context_length", "context_window", "max_context_length", "n_ctx")
"""Names under which servers tell the length of the context: vLLM and SGLang, OpenRouter and
Together, Groq, Mistral, llama.cpp."""

_CONTINUES = frozenset({"vllm", "sglang"})
"""Servers that name themselves as the owner of what they serve, and go on from a fixed start when
they are asked to (``continue_final_message``)."""


async def read_models(asker: Asker, job: Job[list[Any]]) -> None:
    """Hand out what ``GET /models`` lists; an empty list where a server has no such thing.

    A run must not depend on a moment's luck: what may pass is tried again.

    Raises:
        EngineError: The server cannot be reached, or does not accept the key.
    """
    for number in range(TRIES):
        try:
            response = await asker.client.get("/models", limit=SECONDS)
            value = orjson.loads(response.body)
        except Fatal as error:
            if error.problem.status in (0, 401, 402, 403):
                raise asker.health.fatal(error.problem) from None
            value = None
        except (Refused, ValueError):
            value = None
        except TryAgain as error:
            if number + 1 < TRIES:
                await asyncio.sleep(min(SECONDS, error.wait or FIRST_WAIT * 2**number))
                continue
            raise asker.health.unreachable(error) from None
        listed = value.get("data") if isinstance(value, dict) else value
        job.put([each for each in listed or () if isinstance(each, dict)])
        return


def model_names(listed: list[Any]) -> tuple[str, ...]:
    """Return the names of the models listed."""
    return tuple(str(each["id"]) for each in listed if each.get("id"))


def context_of(listed: list[Any], model: str) -> int | None:
    """Return the length of a model's context, in tokens; None when the server does not say."""
    for each in _named(listed, model):
        meta = each.get("meta")
        for values in (each, meta if isinstance(meta, dict) else {}):
            for name in _LENGTHS:
                length = values.get(name)
                if isinstance(length, int) and length > 0:
                    return length
    return None


def continues_replies(listed: list[Any], model: str) -> bool:
    """Return whether the server goes on from the assistant's last message when asked to."""
    return any(each.get("owned_by") in _CONTINUES for each in _named(listed, model))


def _named(listed: list[Any], model: str) -> list[Any]:
    """Return the entries of a model; servers with a single model answer to any name."""
    found = [each for each in listed if each.get("id") == model]
    return found or (listed if len(listed) == 1 else [])
