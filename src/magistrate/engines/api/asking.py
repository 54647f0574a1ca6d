"""Requests in, completions out: all of them, at once as far as it goes, each answered once."""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from magistrate.engines.api.address import Address, Key
from magistrate.engines.api.bodies import (
    MOST_STOPS,
    Body,
    Dialect,
    body_of,
    cut_at_stop,
    encode,
    endpoint,
)
from magistrate.engines.api.client import Client
from magistrate.engines.api.counting import Count
from magistrate.engines.api.failures import Fatal, Problem, Refused, TryAgain
from magistrate.engines.api.health import Health
from magistrate.engines.api.loop import Job
from magistrate.engines.api.prices import Price
from magistrate.engines.api.replies import Choice, Reply
from magistrate.engines.api.settings import ApiOptions
from magistrate.engines.api.trying import AbandonedError, Call, Halt, Sender, Tries
from magistrate.errors import CostLimitError, EngineError, InputError
from magistrate.messages import Completion, Request
from magistrate.records import Usage

MOST_LESSONS = 12
"""How often a request is sent in another form because the server refused something in it."""

GRACE_SECONDS = 10.0
"""How long replies under way are waited for when the engine stops: they may be paid for."""

_IMAGE_TOKENS = 3000
_MESSAGE_TOKENS = 16


@dataclass(frozen=True, slots=True)
class Served:
    """One server and model, and all that is known of them."""

    model: str
    address: Address
    key: Key
    options: ApiOptions
    price: Price | None
    """None when nobody said."""
    count: Count


class Asker:
    """Asks one model. Everything in it lives on one event loop."""

    def __init__(self, served: Served) -> None:
        """Open nothing yet."""
        self._served = served
        self.dialect = Dialect(served.options, is_openai=served.address.is_openai)
        self.health = Health(served.address, served.key)
        self._made: Sender | None = None
        self._name = uuid.uuid4().hex
        self._numbers = itertools.count()

    @property
    def _sender(self) -> Sender:
        if self._made is None:
            served = self._served
            client = Client(served.address, served.key, served.options)
            self._made = Sender(client, served.options, served.price)
        return self._made

    @property
    def client(self) -> Client:
        """The connections; called on the loop."""
        return self._sender.client

    async def close(self) -> None:
        """Close all connections."""
        made, self._made = self._made, None
        if made is not None:
            await made.client.close()

    async def ask_all(self, requests: Sequence[Request], job: Job[Completion]) -> None:
        """Answer every request once; completions are handed to the job as they come.

        Raises:
            EngineError: Nothing can be answered any more. What was known was handed out before.
            CostLimitError: The next request could pass the limit; as above.
        """
        halt = Halt()
        left = iter(requests)

        async def work() -> None:
            for request in left:
                try:
                    completion = await self._ask(request, halt)
                except AbandonedError:
                    return
                except (EngineError, CostLimitError) as error:
                    halt.stop(error)
                    return
                job.put(completion)
                if halt.error is not None:
                    return

        number = min(len(requests), self._served.options.max_concurrency)
        workers = {asyncio.create_task(work()) for _ in range(number)}
        try:
            await _watch(workers, halt)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        if halt.error is not None:
            raise halt.error

    async def _ask(self, request: Request, halt: Halt) -> Completion:
        """Answer one request; what goes wrong with it alone becomes its completion."""
        tries = Tries(self._served.options)
        if request.choices is not None:
            return _failed(
                request, "this engine cannot tell how probable each verdict is", tries, halt
            )
        try:
            choices = await self._choices(request, tries, halt)
        except InputError as error:
            return _failed(request, str(error), tries, halt)
        except Fatal as error:
            raise self.health.fatal(error.problem) from None
        except Refused as error:
            return self._refused(request, error.problem, tries, halt)
        except TryAgain as error:
            message = self.health.exhausted(error, tries)
            return _failed(request, message, tries, halt)
        self.health.answered()
        return self._completion(request, choices, tries, halt)

    async def _choices(self, request: Request, tries: Tries, halt: Halt) -> list[_Drawn]:
        """Draw as many replies as the options ask for: in one request where the server can."""
        wanted = self._served.options.samples
        drawn: list[_Drawn] = []
        known = 0
        while known < wanted:
            missing = wanted - known
            at_once = 1 if "n" in self.dialect.left_out else missing
            # The same seed would draw the same reply again.
            seed = request.sampling.seed + known if known else None
            reply, sent = await self._send(request, tries, halt, replies=at_once, seed=seed)
            if len(reply.choices) < sent.get("n", 1):
                self.dialect.left_out.add("n")
            one = self._drawn(request, reply, sent, missing)
            known += len(one.choices)
            drawn.append(one)
        return drawn

    async def _send(
        self, request: Request, tries: Tries, halt: Halt, *, replies: int, seed: int | None
    ) -> tuple[Reply, Body]:
        """Send a request in the form that the server takes, learning it where needed."""
        served = self._served
        key = self._new_key()
        lessons = 0
        while True:
            body = body_of(
                request, served.model, served.options, self.dialect, replies=replies, seed=seed
            )
            try:
                return await self._sender.send(self._call(request, body, key), tries, halt), body
            except Refused as error:
                problem = error.problem
                lessons += 1
                if (
                    problem.is_too_long
                    or problem.is_filtered
                    or lessons > MOST_LESSONS
                    or not self.dialect.learn(problem, body)
                ):
                    raise
            key = self._new_key()

    def _new_key(self) -> str:
        return f"{self._name}-{next(self._numbers)}"

    def _call(self, request: Request, body: Body, key: str) -> Call:
        tokens = 0
        written = request.sampling.max_tokens * int(body.get("n", 1))
        most = 0.0
        sender, price = self._sender, self._served.price
        if sender.pacer.counts_tokens:
            tokens = self._prompt_tokens(request) + written
        if sender.budget.limit is not None and price is not None:
            most = price.most(self._most_prompt_tokens(request), written)
        return Call(endpoint(request), encode(body), key, tokens, most)

    def _prompt_tokens(self, request: Request) -> int:
        return sum(
            self._served.count(message.text) + _MESSAGE_TOKENS + _IMAGE_TOKENS * len(message.images)
            for message in request.messages
        )

    def _most_prompt_tokens(self, request: Request) -> int:
        """Return what no tokenizer exceeds: a token holds at least a byte."""
        return sum(
            len(message.text.encode("utf-8", "surrogatepass"))
            + 4 * _MESSAGE_TOKENS
            + _IMAGE_TOKENS * len(message.images)
            for message in request.messages
        )

    def _drawn(self, request: Request, reply: Reply, sent: Body, missing: int) -> _Drawn:
        usage, is_estimated = reply.usage, False
        if usage is None:
            is_estimated = True
            usage = Usage(
                prompt_tokens=self._prompt_tokens(request),
                completion_tokens=sum(self._served.count(c.text) for c in reply.choices),
            )
        price = self._served.price
        cost = price.cost(usage) if price is not None else reply.cost
        stops = request.sampling.stop
        unsent = stops if "stop" not in sent else stops[MOST_STOPS:]
        choices = [_stopped(choice, unsent) for choice in reply.choices[:missing]]
        return _Drawn(tuple(choices), usage, cost, is_estimated, dict(reply.facts))

    def _completion(
        self, request: Request, drawn: list[_Drawn], tries: Tries, halt: Halt
    ) -> Completion:
        choices = [choice for one in drawn for choice in one.choices]
        first = choices[0]
        usage = sum((one.usage for one in drawn), Usage(requests=tries.sent))
        costs = [one.cost for one in drawn]
        meta: dict[str, Any] = {**drawn[0].facts, **self.dialect.notes()}
        meta["latency"] = round(tries.seconds, 4)
        if any(cost is None for cost in costs):
            meta["cost_unknown"] = True
        if any(one.is_estimated for one in drawn):
            meta["usage_estimated"] = True
        if first.thoughts:
            meta["thoughts"] = first.thoughts
        if first.refused:
            meta["refused"] = True
        if self._served.options.samples > 1:
            meta["samples"] = [choice.text for choice in choices]
            meta["sample_finish_reasons"] = [choice.finish_reason for choice in choices]
        return Completion(
            key=request.key,
            text=first.text,
            finish_reason="error" if first.error else first.finish_reason,
            logprobs=first.logprobs,
            usage=usage,
            cost=sum(cost or 0.0 for cost in costs),
            seconds=halt.lap(),
            error=first.error,
            meta=meta,
        )

    def _refused(self, request: Request, problem: Problem, tries: Tries, halt: Halt) -> Completion:
        words = self._served.key.hide(problem.words)
        if problem.is_filtered:
            return Completion(
                key=request.key,
                finish_reason="content_filter",
                usage=Usage(requests=tries.sent),
                seconds=halt.lap(),
                meta={"provider": words},
            )
        if problem.is_too_long:
            return _failed(
                request, f"too_long: the server says of this prompt: {words}", tries, halt
            )
        self.health.refused(problem)
        return _failed(request, f"the server refused this request: {words}", tries, halt)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """What one response brought."""

    choices: tuple[Choice, ...]
    usage: Usage
    cost: float | None
    is_estimated: bool
    facts: dict[str, Any]


async def _watch(workers: set[asyncio.Task[None]], halt: Halt) -> None:
    """Wait for the workers; when the engine stops, only for replies that are under way."""
    alarm = asyncio.create_task(halt.wait())
    try:
        open_workers: set[asyncio.Task[Any]] = set(workers)
        while open_workers and halt.error is None:
            done, _ = await asyncio.wait(
                {*open_workers, alarm}, return_when=asyncio.FIRST_COMPLETED
            )
            for worker in done & open_workers:
                worker.result()  # a fault of the engine itself ends it
            open_workers -= done
        if halt.error is not None and (late := open_workers & halt.in_flight):
            for worker in open_workers - late:
                worker.cancel()
            await asyncio.wait(late, timeout=GRACE_SECONDS)
    finally:
        alarm.cancel()


def _stopped(choice: Choice, stops: Sequence[str]) -> Choice:
    text, was_cut = cut_at_stop(choice.text, stops)
    return replace(choice, text=text, finish_reason="stop") if was_cut else choice


def _failed(request: Request, error: str, tries: Tries, halt: Halt) -> Completion:
    return Completion(
        key=request.key,
        finish_reason="error",
        error=error,
        usage=Usage(requests=tries.sent),
        seconds=halt.lap(),
    )
