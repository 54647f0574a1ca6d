"""The vLLM engine: requests in, completions out.

Requests with choices get the exact distribution over verdicts (:mod:`magistrate.engines.exact`);
the others get a reply. vLLM makes its own batches; what prompts begin with alike is read once.
"""

from __future__ import annotations

import contextlib
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from magistrate.engines.base import EngineInfo
from magistrate.engines.exact import VerdictTree
from magistrate.engines.hf.encoding import RequestEncoder, failed
from magistrate.engines.hf.prompts import Prompt
from magistrate.engines.vllm.asking import Known, Place, answers_of, coarse_places, places_of
from magistrate.engines.vllm.starting import Log
from magistrate.errors import EngineError
from magistrate.ids import content_id
from magistrate.messages import Completion, FinishReason, Request
from magistrate.records import Usage

CHUNK = 256
"""Requests taken at once: what a kill costs at most."""

_FINISH: Mapping[str, FinishReason] = {"stop": "stop", "length": "length"}
_SEED_DIGITS = 15
"""Of a hexadecimal number that fits into 64 bits with a sign."""


class VllmEngine:
    """Runs one decoder model with vLLM."""

    def __init__(
        self,
        llm: Any,
        encoder: RequestEncoder,
        log: Log,
        *,
        name: str,
        weights_hash: str | None = None,
        adapter: Any = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Take a running vLLM.

        Args:
            llm: A ``vllm.LLM``.
            encoder: Encodes requests for its model.
            log: What its processes print.
            name: What the model is called.
            weights_hash: SHA-256 of its weights.
            adapter: A ``LoRARequest``, or None.
            settings: What changes the output, for the judge's spec.
        """
        self._llm = llm
        self._encoder = encoder
        self._log = log
        self._adapter = adapter
        self._end = weakref.finalize(self, _shut_down, llm, log)
        self._info = EngineInfo(
            engine="vllm",
            model=name,
            weights_hash=weights_hash,
            context_tokens=llm.llm_engine.model_config.max_model_len,
            exact_choices=True,
            logprobs=True,
            batch_dependent=True,
            preferred_batch=CHUNK,
            settings={**encoder.settings, **(settings or {})},
        )

    @property
    def info(self) -> EngineInfo:
        """What the engine and its model are."""
        return self._info

    def count_tokens(self, text: str) -> int:
        """Return how many tokens ``text`` takes, encoded as plain text."""
        return self._encoder.plain.count(text)

    def complete(self, requests: Sequence[Request]) -> Iterator[Completion]:
        """Answer every request once: distributions first, then replies.

        Raises:
            EngineError: The engine was closed, or vLLM fails.
        """
        self._open_llm()
        to_read: list[tuple[Request, Prompt, VerdictTree]] = []
        to_write: list[tuple[Request, Prompt]] = []
        for request in requests:
            try:
                prompt, tree = self._encoder.encode(request)
            except EngineError as error:
                yield failed(request.key, str(error))
                continue
            if tree is None:
                to_write.append((request, prompt))
            else:
                to_read.append((request, prompt, tree))
        # Apart: within one batch vLLM gives written tokens' alternatives or chosen ones, not both.
        if to_read:
            yield from self._read(to_read)
        if to_write:
            yield from self._write(to_write)

    def close(self) -> None:
        """End vLLM and its processes. Calling it twice is harmless."""
        self._llm = None
        self._end()

    def _read(self, asked: Sequence[tuple[Request, Prompt, VerdictTree]]) -> Iterator[Completion]:
        """Yield distributions over verdicts."""
        started = time.perf_counter()
        places = {id(tree): places_of(tree) for _, _, tree in asked}
        first = [(i, place) for i, (_, _, tree) in enumerate(asked) for place in places[id(tree)]]
        few = [(i, place) for i, place in first if not place.needs_all]
        known, cached = self._probabilities(asked, few)
        coarse = [coarse_places(tree, known[i]) for i, (_, _, tree) in enumerate(asked)]
        rest = [(i, place) for i, place in first if place.needs_all or place.node in coarse[i]]
        whole, _ = self._probabilities(asked, rest, whole=True)
        seconds = (time.perf_counter() - started) / len(asked)
        for i, (request, prompt, tree) in enumerate(asked):
            yield Completion(
                key=request.key,
                choices=tree.combine(answers_of(tree, known[i], whole[i])),
                usage=Usage(
                    prompt_tokens=len(prompt.ids), cached_tokens=cached.get(i, 0), requests=1
                ),
                seconds=seconds,
                truncated=prompt.truncated,
            )

    def _probabilities(
        self,
        asked: Sequence[tuple[Request, Prompt, VerdictTree]],
        at: Sequence[tuple[int, Place]],
        *,
        whole: bool = False,
    ) -> tuple[list[dict[int, Known]], dict[int, int]]:
        """Return log-probabilities at places of trees.

        Args:
            asked: The prompts and their trees.
            at: Index of a prompt, and a place of its tree.
            whole: Whether of the whole vocabulary, and not of the place's tokens alone.

        Returns:
            For each prompt the nodes with their tokens' log-probabilities; and how many tokens of
            it were in the cache before.
        """
        found: list[dict[int, Known]] = [{} for _ in asked]
        cached: dict[int, int] = {}
        if not at:
            return found, cached
        from vllm import SamplingParams

        common = {"max_tokens": 1, "temperature": 0.0, "detokenize": False}
        parameters = [
            SamplingParams(
                **common,
                logprobs=-1 if whole else None,
                logprob_token_ids=None if whole else list(place.ids),
            )
            for _, place in at
        ]
        outputs = self._generate([(*asked[i][1].ids, *place.path) for i, place in at], parameters)
        for (i, place), output in zip(at, outputs, strict=True):
            (tokens,) = output.outputs[0].logprobs
            found[i][place.node] = {token: each.logprob for token, each in tokens.items()}
            if place.node == -1:
                cached[i] = min(output.num_cached_tokens or 0, len(asked[i][1].ids))
        return found, cached

    def _write(self, asked: Sequence[tuple[Request, Prompt]]) -> Iterator[Completion]:
        """Yield replies."""
        from vllm import SamplingParams

        started = time.perf_counter()
        parameters = [
            SamplingParams(
                max_tokens=request.sampling.max_tokens,
                temperature=request.sampling.temperature,
                top_p=request.sampling.top_p,
                stop=[stop for stop in request.sampling.stop if stop],
                stop_token_ids=sorted(self._encoder.ends_of(prompt)),
                seed=_seed(request, prompt),
                logprobs=request.sampling.top_logprobs or None,
            )
            for request, prompt in asked
        ]
        outputs = self._generate([prompt.ids for _, prompt in asked], parameters)
        seconds = (time.perf_counter() - started) / len(asked)
        for (request, prompt), output in zip(asked, outputs, strict=True):
            yield self._completion(request, prompt, output, seconds)

    def _completion(
        self, request: Request, prompt: Prompt, output: Any, seconds: float
    ) -> Completion:
        (reply,) = output.outputs
        if reply.finish_reason not in _FINISH:
            return failed(request.key, f"vLLM ended the reply ({reply.finish_reason})", prompt)
        ids = list(reply.token_ids)
        written = len(ids)
        if ids and ids[-1] in self._encoder.ends_of(prompt):
            ids.pop()
        if reply.logprobs:
            # Tokens that stand behind a stop string are not part of the reply.
            while ids and len(self._encoder.decode(ids[:-1])) >= max(len(reply.text), 1):
                ids.pop()
        return Completion(
            key=request.key,
            text=reply.text,
            finish_reason=_FINISH[reply.finish_reason],
            logprobs=self._encoder.named(
                (token, found[token].logprob, _likeliest(found, request.sampling.top_logprobs))
                for token, found in zip(ids, reply.logprobs or (), strict=False)
            ),
            usage=Usage(
                prompt_tokens=len(prompt.ids),
                completion_tokens=written,
                cached_tokens=min(output.num_cached_tokens or 0, len(prompt.ids)),
                requests=1,
            ),
            seconds=seconds,
            truncated=prompt.truncated,
        )

    def _generate(self, prompts: Sequence[Sequence[int]], parameters: Sequence[Any]) -> list[Any]:
        """Return what vLLM makes of prompts, in their sequence.

        Raises:
            EngineError: vLLM fails.
        """
        llm = self._open_llm()
        try:
            outputs: list[Any] = llm.generate(
                [{"prompt_token_ids": list(ids)} for ids in prompts],
                list(parameters),
                use_tqdm=False,
                lora_request=self._adapter,
            )
        except Exception as error:  # vLLM has many kinds; its processes' ends come as others
            said = self._log.last_error() or f"{type(error).__name__}: {error}"
            raise EngineError(f"vLLM failed on '{self._info.model}': {said}") from error
        return outputs

    def _open_llm(self) -> Any:
        if self._llm is None:
            raise EngineError(f"the engine of model '{self._info.model}' is closed")
        return self._llm


def _shut_down(llm: Any, log: Log) -> None:
    with contextlib.suppress(Exception):  # what has died already needs no end
        llm.llm_engine.engine_core.shutdown()
    log.close()


def _seed(request: Request, prompt: Prompt) -> int:
    """Return a seed of the request's own, so that equal seeds do not draw alike everywhere."""
    return int(content_id([request.sampling.seed, list(prompt.ids)])[:_SEED_DIGITS], 16)


def _likeliest(found: Mapping[int, Any], count: int) -> list[tuple[int, float]]:
    """Return the likeliest tokens; vLLM adds the written one where it is not among them."""
    best = sorted(found.items(), key=lambda item: -item[1].logprob)[:count]
    return [(token, each.logprob) for token, each in best]
