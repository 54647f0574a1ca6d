"""The transformers engine: requests in, completions out.

Requests with choices get the exact distribution over verdicts (:mod:`magistrate.engines.exact`);
the others get a reply. Both run in batches whose make-up depends on the requests of one call alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from magistrate.engines.base import EngineInfo
from magistrate.engines.exact import VerdictTree
from magistrate.engines.hf.choosing import choose_passes, choose_writer
from magistrate.engines.hf.encoding import RequestEncoder, context_of, ends_of, failed
from magistrate.engines.hf.exactly import TreeReader
from magistrate.engines.hf.loading import FullOutputLayer, LoadedModel, quiet
from magistrate.engines.hf.passes import Passes, PassResult
from magistrate.engines.hf.prompts import Prompt
from magistrate.engines.hf.settings import HfOptions
from magistrate.engines.hf.writing import Reply, Task, Writer
from magistrate.errors import EngineError
from magistrate.messages import Completion, Request
from magistrate.records import Usage

CHUNK = 64
"""Requests taken at once on a processor: what a kill costs at most."""

CHUNK_ON_GPU = 256

_TRIAL = (
    "A short text of ordinary words, long enough to see whether prompts can be packed: "
    "one, two, three, four, five, six, seven, eight, nine, ten, and so on to the end."
)


class HfEngine:
    """Runs one decoder model."""

    def __init__(
        self,
        loaded: LoadedModel,
        options: HfOptions,
        *,
        name: str = "model",
        weights_hash: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Take a loaded model.

        Args:
            loaded: Model and tokenizer.
            options: How it is run.
            name: What the model is called.
            weights_hash: SHA-256 of its weights.
            settings: What else changes the output, for the judge's spec.
        """
        self._model: Any = loaded.model
        tokenizer = loaded.tokenizer
        on_gpu = self._model.device.type != "cpu"
        self._budget = options.batch_tokens or (16_384 if on_gpu else 2_048)
        context = context_of(self._model.config, tokenizer)
        self._encoder = RequestEncoder(
            tokenizer,
            engine="hf",
            context=context,
            ends=ends_of(
                getattr(self._model, "generation_config", None), self._model.config, tokenizer
            ),
            use_template=options.chat_template == "auto",
        )
        self._encode = self._encoder.encode
        self._sample = self._encoder.plain.encode(_TRIAL)
        self._passes: Passes | None = None
        self._decode_with = tokenizer
        self._rows = options.batch_replies or (64 if on_gpu else 16)
        self._writer: Writer | None = None
        own: dict[str, Any] = {"dtype": loaded.dtype, **self._encoder.settings}
        if isinstance(self._model.get_output_embeddings(), FullOutputLayer):
            own["output_layer"] = "fp32"
        self._info = EngineInfo(
            engine="hf",
            model=name,
            weights_hash=weights_hash,
            context_tokens=context,
            exact_choices=True,
            logprobs=True,
            batch_dependent=True,
            preferred_batch=CHUNK_ON_GPU if on_gpu else CHUNK,
            settings={**own, **(settings or {})},
        )

    @property
    def info(self) -> EngineInfo:
        """What the engine and its model are."""
        return self._info

    @property
    def model(self) -> Any:
        """The model of transformers.

        Raises:
            EngineError: The engine was closed.
        """
        return self._open_model()

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of transformers."""
        return self._decode_with

    @property
    def passes(self) -> Passes:
        """How the model is run for distributions; the fast way is tried out at first use."""
        if self._passes is None:
            with quiet():
                self._passes = choose_passes(self._open_model(), self._budget, self._sample)
        return self._passes

    @property
    def writer(self) -> Writer:
        """What lets the model write; tried out likewise."""
        if self._writer is None:
            model, passes = self._open_model(), self.passes
            with quiet():
                self._writer = choose_writer(
                    model,
                    self._encoder.decode,
                    passes,
                    self._sample,
                    budget=self._budget,
                    rows=self._rows,
                )
        return self._writer

    def count_tokens(self, text: str) -> int:
        """Return how many tokens ``text`` takes, encoded as plain text."""
        return self._encoder.plain.count(text)

    def complete(self, requests: Sequence[Request]) -> Iterator[Completion]:
        """Answer every request once: distributions first, then replies, the longest first.

        Raises:
            EngineError: The engine was closed, or the model fails.
        """
        self._open_model()
        to_read: dict[int, tuple[VerdictTree, list[tuple[Request, Prompt]]]] = {}
        to_write: list[tuple[Request, Prompt]] = []
        for request in requests:
            try:
                prompt, tree = self._encode(request)
            except EngineError as error:
                yield failed(request.key, str(error))
                continue
            if tree is None:
                to_write.append((request, prompt))
            else:
                to_read.setdefault(id(tree), (tree, []))[1].append((request, prompt))
        for tree, asked in to_read.values():
            yield from self._read(tree, asked)
        if to_write:
            yield from self._write(to_write)

    def close(self) -> None:
        """Free the model. Calling it twice is harmless."""
        self._model = self._passes = self._writer = None

    def _read(
        self, tree: VerdictTree, asked: Sequence[tuple[Request, Prompt]]
    ) -> Iterator[Completion]:
        """Yield the distributions over the verdicts of one tree."""
        passes = self.passes
        reader = TreeReader(tree, self._model.device)
        started = time.perf_counter()
        for result in self._guarded(passes.run([prompt.ids for _, prompt in asked], tree)):
            yield from _distributions(tree, reader, result, asked, started)
            started = time.perf_counter()

    def _write(self, asked: Sequence[tuple[Request, Prompt]]) -> Iterator[Completion]:
        """Yield replies."""
        tasks = [
            Task(prompt.ids, request.sampling, self._encoder.ends_of(prompt))
            for request, prompt in asked
        ]
        started = time.perf_counter()
        for replies in self._guarded(self.writer.write(tasks)):
            seconds = (time.perf_counter() - started) / len(replies)
            for reply in replies:
                request, prompt = asked[reply.index]
                yield self._completion(request, prompt, reply, seconds)
            started = time.perf_counter()

    def _completion(
        self, request: Request, prompt: Prompt, reply: Reply, seconds: float
    ) -> Completion:
        tokens = len(prompt.ids)
        if reply.error is not None:
            return failed(request.key, _no_memory(tokens, reply.error), prompt)
        return Completion(
            key=request.key,
            text=reply.text,
            finish_reason=reply.finish_reason or "stop",
            logprobs=self._encoder.named(
                (token, logprob, top)
                for token, (logprob, top) in zip(reply.ids, reply.logprobs, strict=False)
            ),
            usage=Usage(prompt_tokens=tokens, completion_tokens=reply.written, requests=1),
            seconds=seconds,
            truncated=prompt.truncated,
        )

    def _guarded(self, results: Iterator[Any]) -> Iterator[Any]:
        """Pass results on; what the model raises becomes an error of the engine."""
        try:
            yield from results
        except (RuntimeError, ValueError, IndexError, TypeError) as error:
            raise EngineError(f"model '{self._info.model}' failed: {error}") from error

    def _open_model(self) -> Any:
        if self._model is None:
            raise EngineError(f"the engine of model '{self._info.model}' is closed")
        return self._model


def _distributions(
    tree: VerdictTree,
    reader: TreeReader,
    result: PassResult,
    asked: Sequence[tuple[Request, Prompt]],
    started: float,
) -> Iterator[Completion]:
    """Yield the completions of one pass."""
    if result.error is not None:
        for index in result.prompts:
            request, prompt = asked[index]
            yield failed(request.key, _no_memory(len(prompt.ids), result.error), prompt)
        return
    found = [tree.combine(reader.read(logits)) for logits in result.logits]
    seconds = (time.perf_counter() - started) / len(result.prompts)
    for index, choices, computed in zip(result.prompts, found, result.computed, strict=True):
        request, prompt = asked[index]
        tokens = len(prompt.ids)
        yield Completion(
            key=request.key,
            choices=choices,
            usage=Usage(prompt_tokens=tokens, cached_tokens=tokens - computed, requests=1),
            seconds=seconds,
            truncated=prompt.truncated,
        )


def _no_memory(tokens: int, error: str) -> str:
    return (
        f"not enough memory for a prompt of {tokens:,} tokens, even by itself; shorten the answers "
        f"or use a smaller model ({error.splitlines()[0][:200]})"
    )
