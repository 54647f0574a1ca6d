"""Requests as the JSON that servers read, and what is left out for servers that refuse it.

Data in a prompt (parts with a slot) is sent as text, and the server makes tokens of it. Many
servers turn the spelling of a control token (``<|im_end|>``) into the token, so such spellings are
broken by a backslash first (:func:`~magistrate.prompts.untrusted.defuse_control_tokens`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from magistrate.engines.api.failures import Problem
from magistrate.engines.api.images import image_url
from magistrate.engines.api.settings import AUTO, OPTIONAL, ApiOptions
from magistrate.errors import EngineError
from magistrate.messages import Message, Part, Request
from magistrate.prompts.untrusted import defuse_control_tokens as defuse

Body = dict[str, Any]

CHAT = "/chat/completions"
COMPLETIONS = "/completions"

MOST_STOPS = 4
"""Stop strings that OpenAI takes; replies are cut here at the others."""

_LIMITS = ("max_tokens", "max_completion_tokens")
_UNSUPPORTED = re.compile(
    r"unsupported|not (?:be )?(?:supported|permitted|allowed|available|enabled|implemented)"
    r"|n't support|not support|unrecogni[sz]ed|unknown|unexpected|extra (?:inputs|fields)"
    r"|only the default|is not (?:a )?valid (?:param|argument|field)|must be (?:1|one)\b"
    r"|no longer supported|cannot be (?:used|set)",
    re.IGNORECASE,
)
_SYSTEM_ROLE = re.compile(
    r"system (?:role|message)s?\b.*not (?:be )?supported|only user(?:,| and) (?:model|assistant)"
    r"|roles must alternate|developer instruction is not enabled",
    re.IGNORECASE | re.DOTALL,
)
_TOO_MANY_REPLIES = re.compile(r"['\"`]n['\"`]:? .*must be .*between 1", re.IGNORECASE | re.DOTALL)
"""llama.cpp gives no more replies at once than it has slots."""
_SPOKEN_OF = r"(?:['\"`.]|[:,]\s*|(?:parameters?|arguments?|fields?|options?|values?)\s+|^)"
"""What stands before the name of a parameter: ``stop`` alone may be just a word."""
_MOST_LOGPROBS = re.compile(
    r"(?:max(?:imum)? allowed(?: is)?:?|at most|(?:less|fewer) than or equal to|between 0 and"
    r"|in the range \[?0,|maximum(?: value)?(?: is| of)?:?)\s*(\d+)",
    re.IGNORECASE,
)


class Dialect:
    """What one server takes. It is learnt from its refusals, each of which happens once."""

    def __init__(self, options: ApiOptions, *, is_openai: bool) -> None:
        """Begin with what most servers take."""
        self._is_fixed = options.token_parameter != AUTO
        self.limit: str = "max_completion_tokens" if is_openai else "max_tokens"
        """How the limit of a reply's length is called."""
        if options.token_parameter != AUTO:
            self.limit = options.token_parameter
        self._refused_limits: set[str] = set()
        self.left_out: set[str] = set(options.leave_out)
        """Parameters that the server refused."""
        self.most_logprobs = 20
        self.continues = options.continue_reply == "yes"
        """Whether the server goes on from a reply's fixed start when asked to."""
        self.joins_system = False
        """Whether the system message is put before the first one of the user."""

    @property
    def gives_logprobs(self) -> bool:
        """Whether log-probabilities may be asked for."""
        return "logprobs" not in self.left_out

    def notes(self) -> dict[str, Any]:
        """Return what is sent otherwise than it was asked for; empty when nothing is."""
        notes: dict[str, Any] = {}
        if left_out := sorted(self.left_out):
            notes["left_out"] = left_out
        if self.joins_system:
            notes["joined_system"] = True
        return notes

    def learn(self, problem: Problem, sent: Body) -> bool:
        """Learn from a refusal; return whether the request can be sent again, in another form.

        Args:
            problem: What the server said.
            sent: The body that it refused. It may be older than what was learnt since.
        """
        roles = [message["role"] for message in sent.get("messages", ())]
        if "system" in roles and _SYSTEM_ROLE.search(problem.message):
            self.joins_system = True
            return True
        if "top_logprobs" in sent or isinstance(sent.get("logprobs"), int):
            most = _MOST_LOGPROBS.search(problem.message)
            if most and "logprobs" in problem.everything:
                asked = int(sent.get("top_logprobs") or sent["logprobs"])
                if 0 < int(most[1]) < asked:
                    self.most_logprobs = min(self.most_logprobs, int(most[1]))
                    return True
        if "n" in sent and _TOO_MANY_REPLIES.search(problem.message):
            self.left_out.add("n")
            return True
        if not _UNSUPPORTED.search(f"{problem.code} {problem.message}"):
            return False
        name = _named(problem, sent)
        if name in _LIMITS:
            if self._is_fixed:
                return False
            self._refused_limits.add(name)
            left = [limit for limit in _LIMITS if limit not in self._refused_limits]
            self.limit = left[0] if left else self.limit
            return bool(left)
        if name is None:
            return False
        self.left_out.add("logprobs" if name == "top_logprobs" else name)
        return True


def endpoint(request: Request) -> str:
    """Return where a request is sent: prompts of the role ``text`` are completed, others answered.

    Raises:
        EngineError: The prompt mixes both.
    """
    roles = {message.role for message in request.messages}
    if "text" not in roles:
        return CHAT
    if len(request.messages) > 1:
        raise EngineError("a prompt has a message of the role 'text' beside others")
    return COMPLETIONS


def body_of(
    request: Request,
    model: str,
    options: ApiOptions,
    dialect: Dialect,
    *,
    replies: int = 1,
    seed: int | None = None,
) -> Body:
    """Return the body of a request.

    Args:
        request: What is asked.
        model: Name of the model.
        options: The engine's.
        dialect: What the server takes.
        replies: How many are asked for at once.
        seed: Instead of the request's own.

    Raises:
        InputError: An image cannot be sent.
        EngineError: The prompt mixes chat and completion.
    """
    sampling = request.sampling
    body: Body = {"model": model}
    is_chat = endpoint(request) == CHAT
    if is_chat:
        body["messages"] = _messages(request.messages, options, joined=dialect.joins_system)
        if dialect.continues and request.messages[-1].role == "assistant":
            body |= {"add_generation_prompt": False, "continue_final_message": True}
    else:
        body["prompt"] = _text(request.messages[0].parts)
    body[dialect.limit if is_chat else "max_tokens"] = sampling.max_tokens
    temperature = sampling.temperature
    if options.samples > 1 and temperature == 0:
        temperature = options.sample_temperature
    wanted: Body = {
        "temperature": temperature,
        "top_p": sampling.top_p if sampling.top_p != 1 else None,
        "seed": sampling.seed if seed is None else seed,
        "stop": list(sampling.stop[:MOST_STOPS]) or None,
        "n": replies if replies > 1 else None,
    }
    body |= {
        name: value
        for name, value in wanted.items()
        if value is not None and name not in dialect.left_out
    }
    if sampling.top_logprobs and dialect.gives_logprobs:
        most = min(sampling.top_logprobs, dialect.most_logprobs)
        body |= {"logprobs": True, "top_logprobs": most} if is_chat else {"logprobs": most}
    return body | options.extra_body


def encode(body: Body) -> bytes:
    """Return a body as JSON in UTF-8; lone surrogates, which UTF-8 cannot hold, as escapes."""
    try:
        return orjson.dumps(body)
    except TypeError:
        return json.dumps(body).encode("ascii")


def cut_at_stop(text: str, stops: Sequence[str]) -> tuple[str, bool]:
    r"""Return the text up to the first of the stop strings, and whether there was one.

    >>> cut_at_stop("8 9\nBecause", ["\n"])
    ('8 9', True)
    """
    places = [place for stop in stops if stop and (place := text.find(stop)) >= 0]
    return (text[: min(places)], True) if places else (text, False)


def _named(problem: Problem, sent: Body) -> str | None:
    """Return the parameter that a refusal is about, if it was sent and can be left out."""
    sent_names = [name for name in (*_LIMITS, *OPTIONAL) if name in sent]
    if problem.parameter in sent_names:
        return problem.parameter
    found: Mapping[int, str] = {
        match.start(): name
        for name in sent_names
        if (match := re.search(rf"{_SPOKEN_OF}{name}(?![\w-])", problem.message))
    }
    return found[min(found)] if found else None


def _messages(messages: Sequence[Message], options: ApiOptions, *, joined: bool) -> list[Body]:
    if joined:
        messages = _join_system(messages)
    found: list[Body] = []
    for message in messages:
        text = _text(message.parts)
        if not message.images:
            found.append({"role": message.role, "content": text})
            continue
        content: list[Body] = [
            {"type": "image_url", "image_url": {"url": image_url(image, options.max_image_bytes)}}
            for image in message.images
        ]
        found.append({"role": message.role, "content": [*content, {"type": "text", "text": text}]})
    return found


def _join_system(messages: Sequence[Message]) -> list[Message]:
    """Put the system's words before those of the first user."""
    system = [part for m in messages if m.role == "system" for part in (*m.parts, Part("\n\n"))]
    rest = [message for message in messages if message.role != "system"]
    for place, message in enumerate(rest):
        if message.role == "user":
            rest[place] = Message("user", (*system, *message.parts), message.images)
            return rest
    return [Message("user", tuple(system)), *rest]


def _text(parts: Sequence[Part]) -> str:
    return "".join(
        part.text if part.slot is None or _is_harmless(part.text) else defuse(part.text)
        for part in parts
    )


def _is_harmless(text: str) -> bool:
    """Whether text cannot spell a control token: quicker than to look for one."""
    return "<" not in text and "[" not in text
