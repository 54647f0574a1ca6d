"""The engine for any server that speaks the chat completions protocol of OpenAI.

``openai:MODEL`` asks OpenAI itself, ``openai:MODEL@URL`` any other server: vLLM, llama.cpp, Ollama,
and most providers. Described in ``docs/engines.md``.

Requests go out on an event loop in a thread of its own, so the engine works inside a notebook,
whose own loop is running, as it does anywhere else; completions are yielded as they come.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from magistrate.engines.api.address import Address, Key, find_key, read_address
from magistrate.engines.api.asking import Asker, Served
from magistrate.engines.api.counting import make_counter
from magistrate.engines.api.loop import Job, LoopThread
from magistrate.engines.api.prices import known_price
from magistrate.engines.api.probing import (
    context_of,
    continues_replies,
    model_names,
    read_models,
)
from magistrate.engines.api.settings import AUTO, ApiOptions
from magistrate.engines.base import EngineInfo
from magistrate.engines.options import read_options
from magistrate.errors import EngineError
from magistrate.messages import Completion, Request

FEWEST_AT_ONCE = 256
MOST_AT_ONCE = 8192
ROUNDS_AT_ONCE = 64
"""Requests handed over at once, for each that may be under way: few enough to hold in memory, many
enough that waiting for the last of them costs little."""


class ApiEngine:
    """Asks one model behind a server. Use it from any thread, also from several."""

    def __init__(
        self, model: str, address: Address, key: Key, options: ApiOptions | None = None
    ) -> None:
        """Take the settings; nothing is sent yet.

        Raises:
            EngineError: An option does not fit the model or the server.
        """
        self.options = options or ApiOptions()
        self._known = known_price(address, model, self.options.price, self.options.prices)
        if self.options.max_cost is not None and self._known.price is None:
            raise EngineError(
                f"max_cost={self.options.max_cost:g} cannot be kept: what '{model}' costs at "
                f"{address.base} is unknown; give price=IN,OUT in dollars for a million tokens, or "
                f"prices=FILE"
            )
        self._counter = make_counter(model, self.options.tokenizer, is_openai=address.is_openai)
        self.served = Served(
            model, address, key, self.options, self._known.price, self._counter.count
        )
        self._asker = Asker(self.served)
        self._context = self.options.context_tokens or self._known.context
        self._lock = threading.Lock()
        self._thread: LoopThread | None = None
        self._is_closed = False

    @property
    def info(self) -> EngineInfo:
        """What the engine and its model are."""
        options, price = self.options, self._known.price
        return EngineInfo(
            engine="openai",
            model=self.served.model,
            context_tokens=self._context,
            images=True,
            logprobs=self._asker.dialect.gives_logprobs,
            price=(price.prompt, price.written)
            if price and (price.prompt or price.written)
            else None,
            price_unknown=price is None,
            preferred_batch=min(
                MOST_AT_ONCE, max(FEWEST_AT_ONCE, ROUNDS_AT_ONCE * options.max_concurrency)
            ),
            settings=self._settings(),
        )

    @property
    def price_source(self) -> str:
        """Where the price is from, in words; ``unknown`` when nobody said."""
        return self._known.source

    def count_tokens(self, text: str) -> int:
        """Return how many tokens ``text`` takes: exactly, or at most (``docs/engines.md``)."""
        return self._counter.count(text)

    def check(self) -> None:
        """Look whether there is the key that the server needs.

        Raises:
            EngineError: There is none.
        """
        self.served.key.require(self.served.address)

    def complete(self, requests: Sequence[Request]) -> Iterator[Completion]:
        """Answer every request once, as replies come.

        Closing the iterator, or Ctrl-C, ends the requests under way; what was answered by then is
        still yielded after Ctrl-C.

        Raises:
            EngineError: The key, the model, the account or the URL is wrong, or the server is down.
            CostLimitError: The next request could pass ``max_cost``.
        """
        self.check()
        if not requests:
            return
        thread = self._started()
        asker = self._asker
        job: Job[Completion] = thread.start(lambda job: asker.ask_all(requests, job))
        try:
            while (completion := job.take()) is not None:
                yield completion
        except KeyboardInterrupt:
            thread.stop(job)
            while (completion := job.take()) is not None:
                yield completion
            raise
        finally:
            thread.stop(job)
        if isinstance(job.error, Exception):
            raise job.error
        if job.error is not None:
            raise EngineError(f"the engine '{self.served.model}' was closed while it was asked")

    def close(self) -> None:
        """End the requests under way and all connections. Calling it twice is harmless."""
        with self._lock:
            self._is_closed = True
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.close()

    def probe(self) -> None:
        """Ask the server for the length of its context, unless it is known, and who it is.

        Servers that do not list their models, or do not say, leave both unknown.

        Raises:
            EngineError: The server cannot be reached, or does not accept the key.
        """
        if self._context is not None or self.served.address.is_openai:
            return
        listed = self._listed()
        self._asker.health.models = model_names(listed)
        self._context = context_of(listed, self.served.model)
        if self.options.continue_reply == AUTO:
            self._asker.dialect.continues = continues_replies(listed, self.served.model)

    def _listed(self) -> list[Any]:
        asker = self._asker
        job: Job[list[Any]] = self._started().start(lambda job: read_models(asker, job))
        listed = job.take()
        job.wait()
        if job.error is not None:
            raise job.error
        return listed or []

    def _settings(self) -> dict[str, Any]:
        """Return what changes the answers."""
        options = self.options
        settings: dict[str, Any] = {}
        if options.samples > 1:
            settings["samples"] = options.samples
            settings["sample_temperature"] = options.sample_temperature
        if self._asker.dialect.continues:
            settings["continues_reply"] = True
        if options.leave_out:
            settings["leave_out"] = sorted(options.leave_out)
        if options.extra_body:
            settings["extra_body"] = options.extra_body
        if self._context is not None:
            settings["counting"] = self._counter.method
        return settings

    def _started(self) -> LoopThread:
        with self._lock:
            if self._is_closed:
                raise EngineError(f"the engine of '{self.served.model}' is closed")
            if self._thread is None:
                self._thread = LoopThread(self._asker.close)
                # For engines that nobody closes: the loop knows nothing of the engine.
                weakref.finalize(self, self._thread.close)
            return self._thread


def open_engine(
    model: str, url: str | None = None, options: Mapping[str, str] | None = None
) -> ApiEngine:
    """Open the engine.

    Args:
        model: The name by which the server knows the model.
        url: Where its API begins, such as ``http://127.0.0.1:8080/v1``; OpenAI's own when None.
        options: Those of :class:`~magistrate.engines.api.settings.ApiOptions`, as text.

    Raises:
        EngineError: The URL or an option is wrong, or the server that is asked for the length of
            its context cannot be reached.
    """
    settings = read_options(ApiOptions, "openai", options or {})
    address = read_address(url)
    engine = ApiEngine(model, address, find_key(address, settings.key_env), settings)
    try:
        engine.probe()
    except BaseException:
        engine.close()
        raise
    return engine
