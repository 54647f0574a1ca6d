"""Replies, written in batches of similar length.

Where prompts can be packed they are, so that what they share is read once; then their keys and
values are padded at the front and the replies grow side by side. Replies that end leave the batch.

A reply ends with a sign of the model's that ends a turn, with a stop string, or with the last token
that it may have; the first two are ``stop``, the last is ``length``. A stop string is looked for in
the decoded text. What comes before it is kept to the last character, and all of the text where
there is none.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import DynamicCache

from magistrate.engines.hf.memory import free_memory, is_out_of_memory
from magistrate.engines.hf.sampling import Drawer
from magistrate.engines.room import make_batches
from magistrate.messages import FinishReason, Sampling


@dataclass(frozen=True, slots=True)
class Task:
    """A reply to be written.

    Attributes:
        prompt: Token ids, at least one.
        sampling: How.
        ends: Tokens that end a turn.
    """

    prompt: tuple[int, ...]
    sampling: Sampling
    ends: frozenset[int]


@dataclass(slots=True)
class Reply:
    """A reply as it grows.

    Attributes:
        index: Which task it belongs to.
        ids: Tokens written, without the one that ends the turn.
        text: Set when finished: what was written, without the stop string.
        written: Tokens that the model wrote, the one that ends the turn included.
        logprobs: Per token of ``ids``: its log-probability, and the likeliest tokens with theirs.
        error: Set when there was not enough memory even for this reply alone.
    """

    index: int
    ids: list[int] = field(default_factory=list)
    text: str = ""
    finish_reason: FinishReason | None = None
    written: int = 0
    logprobs: list[tuple[float, list[tuple[int, float]]]] = field(default_factory=list)
    error: str | None = None


class Writer:
    """Lets a model write."""

    def __init__(
        self,
        model: Any,
        decode: Callable[[list[int]], str],
        *,
        budget: int,
        rows: int,
        prefill: Callable[[Sequence[Sequence[int]], Any], Any] | None = None,
    ) -> None:
        """Take the model.

        Args:
            model: A decoder of transformers.
            decode: Returns the text of some tokens.
            budget: Most tokens of a batch of prompts, padding counted.
            rows: Most replies written at once.
            prefill: Reads prompts into a cache and returns the logits after each; by the model
                itself when None.
        """
        self._model = model
        self._decode = decode
        self._budget = budget
        self._rows = rows
        self._prefill = prefill
        names = inspect.signature(model.forward).parameters
        self._cache_name = "cache" if "cache" in names else "past_key_values"
        self._takes_positions = "position_ids" in names
        self._keeps_logits = "logits_to_keep" in names

    def write(self, tasks: Sequence[Task]) -> Iterator[list[Reply]]:
        """Yield finished replies batch by batch; batches are made smaller when memory runs out."""
        waiting = [
            batch[start : start + self._rows]
            for batch in make_batches([len(task.prompt) for task in tasks], self._budget)
            for start in range(0, len(batch), self._rows)
        ]
        waiting.reverse()
        while waiting:
            batch = waiting.pop()
            try:
                replies = self._write_batch([tasks[i] for i in batch])
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                free_memory()
                if len(batch) == 1:
                    yield [Reply(batch[0], error=str(error), finish_reason="error")]
                    continue
                half = len(batch) // 2
                waiting += [batch[half:], batch[:half]]
                continue
            for reply in replies:
                reply.index = batch[reply.index]
            yield replies

    def _write_batch(self, tasks: Sequence[Task]) -> list[Reply]:
        replies = [Reply(index) for index in range(len(tasks))]
        drawers = [Drawer(task.sampling, task.prompt) for task in tasks]
        cache = DynamicCache(config=self._model.config)
        alive = list(range(len(tasks)))
        device = self._model.device
        with torch.inference_mode():
            logits, mask = self._begin([task.prompt for task in tasks], cache)
            while True:
                chosen = [
                    self._take(replies[i], tasks[i], drawers[i], row)
                    for i, row in zip(alive, logits, strict=True)
                ]
                going = [row for row, i in enumerate(alive) if replies[i].finish_reason is None]
                if not going:
                    return replies
                if len(going) < len(alive):
                    rows = torch.tensor(going, device=device)
                    cache.batch_select_indices(rows)
                    mask = mask[rows]
                alive = [alive[row] for row in going]
                ids = torch.tensor([[chosen[row]] for row in going], device=device)
                mask = torch.cat([mask, mask.new_ones((len(going), 1))], dim=1)
                logits = self._step(ids, mask, cache)

    def begin_twice(self, prompts: Sequence[Sequence[int]]) -> Any:
        """Return logits [2, B, vocabulary] after prompts and after one more token, to compare."""
        cache = DynamicCache(config=self._model.config)
        with torch.inference_mode():
            logits, mask = self._begin(prompts, cache)
            mask = torch.cat([mask, mask.new_ones((len(prompts), 1))], dim=1)
            ids = torch.tensor([prompt[:1] for prompt in prompts], device=self._model.device)
            return torch.stack([logits, self._step(ids, mask, cache)])

    def _begin(self, prompts: Sequence[Sequence[int]], cache: Any) -> tuple[Any, Any]:
        """Read prompts into a cache; return the logits after each, and what is no padding."""
        width = max(map(len, prompts))
        device = self._model.device
        mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts], device=device)
        if self._prefill is not None:
            return self._prefill(prompts, cache).float(), mask
        ids = torch.tensor([[0] * (width - len(p)) + list(p) for p in prompts], device=device)
        return self._step(ids, mask, cache), mask

    def _step(self, ids: Any, mask: Any, cache: Any) -> Any:
        """Return the logits [rows, vocabulary] of the next token, float32."""
        inputs = {"input_ids": ids, "attention_mask": mask, self._cache_name: cache}
        if self._takes_positions:
            places = (mask.cumsum(1) - 1).clamp(min=0)
            inputs["position_ids"] = places[:, -ids.shape[1] :]
        if self._keeps_logits:
            inputs["logits_to_keep"] = 1
        return self._model(**inputs, use_cache=True).logits[:, -1].float()

    def _take(self, reply: Reply, task: Task, drawer: Drawer, logits: Any) -> int:
        """Add the next token to a reply, and end it where it ends."""
        token = drawer.choose(logits)
        reply.written += 1
        if token in task.ends:
            self._finish(reply, task, "stop")
            return token
        reply.ids.append(token)
        if task.sampling.top_logprobs:
            shares = logits.log_softmax(0)
            best, tokens = shares.topk(min(task.sampling.top_logprobs, len(shares)))
            top = list(zip(tokens.tolist(), best.tolist(), strict=True))
            reply.logprobs.append((float(shares[token]), top))
        if task.sampling.stop:
            text = self._decode(reply.ids)
            if len(cut_at(text, task.sampling.stop)) < len(text):
                self._finish(reply, task, "stop")
                return token
        if reply.written >= task.sampling.max_tokens:
            self._finish(reply, task, "length")
        return token

    def _finish(self, reply: Reply, task: Task, reason: FinishReason) -> None:
        reply.text = cut_at(self._decode(reply.ids), task.sampling.stop)
        reply.finish_reason = reason
        if reply.logprobs:
            # Tokens that stand behind the cut are not part of the reply.
            while reply.ids and len(self._decode(reply.ids[:-1])) >= max(len(reply.text), 1):
                reply.ids.pop()
                reply.logprobs.pop()


def cut_at(text: str, stops: Sequence[str]) -> str:
    r"""Return what comes before the first stop string; all of it when there is none.

    >>> cut_at("8 9\nBecause", ("\n",)), cut_at("10 10", ("\n",))
    ('8 9', '10 10')
    """
    places = [place for stop in stops if stop and (place := text.find(stop)) >= 0]
    return text[: min(places)] if places else text
