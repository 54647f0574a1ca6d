"""Runs a model over prompts and the tree of tokens behind each.

:class:`PackedPasses` packs prompts into one row, computes what they share once, and reads the trees
in the same pass. :class:`PlainPasses` reads one path of the tree at a time behind a whole prompt:
for models whose attention cannot be replaced, and to check the other against.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch

from magistrate.engines.exact import VerdictTree
from magistrate.engines.hf.attention import NAME, KeyValues, following
from magistrate.engines.hf.forest import Batch, Forest, grow_forest, make_batches
from magistrate.engines.hf.layout import Pass, ends_of, lay_out
from magistrate.engines.hf.memory import free_memory, is_out_of_memory

_NO_TREE = VerdictTree((), (), (), ((),), ((),))


@dataclass(frozen=True, slots=True)
class PassResult:
    """What one pass found.

    Attributes:
        prompts: Indices of the B prompts it answers.
        logits: For each the logits [1 + N, vocabulary] after the prompt and after each of the
            tree's N tokens; equal prompts share theirs.
        computed: For each how many of its tokens were computed for it, and not for one before.
        error: Set when there was not enough memory; then ``logits`` is empty.
        tokens: How many the pass computed.
    """

    prompts: tuple[int, ...]
    logits: list[Any] = field(default_factory=list)
    computed: tuple[int, ...] = ()
    error: str | None = None
    tokens: int = 0


class Passes(Protocol):
    """How a model is run over prompts."""

    def run(self, prompts: Sequence[Sequence[int]], tree: VerdictTree) -> Iterator[PassResult]:
        """Yield the logits of all prompts, some at a time, each prompt once."""
        ...


class PackedPasses:
    """Without padding, and what prompts share computed once."""

    def __init__(self, model: Any, budget: int, *, share: bool = True) -> None:
        """Take the model.

        Args:
            model: A decoder of transformers whose attention can be replaced.
            budget: Most tokens of a pass.
            share: Whether prompts share what they begin with.
        """
        self._model = model
        self._budget = budget
        self._share = share

    def run(self, prompts: Sequence[Sequence[int]], tree: VerdictTree) -> Iterator[PassResult]:
        """Yield the logits of all prompts; passes are made smaller when memory runs out."""
        waiting = list(range(len(prompts)))
        budget = self._budget
        while waiting:
            done: list[int] = []
            for result in self._run_all([prompts[i] for i in waiting], tree, budget):
                named = tuple(waiting[i] for i in result.prompts)
                if result.error is not None and len(set(map(tuple, _pick(prompts, named)))) > 1:
                    budget = max(min(budget, result.tokens) // 2, 1)
                    break
                done += named
                yield PassResult(named, result.logits, result.computed, result.error)
                if result.error is not None:
                    break
            waiting = [i for i in waiting if i not in set(done)]

    def prefill(self, prompts: Sequence[Sequence[int]], cache: Any) -> Any:
        """Read some prompts and fill a model's cache with them, padded at the front.

        Args:
            prompts: B prompts.
            cache: A new cache of transformers.

        Returns:
            Logits [B, vocabulary] after each prompt.
        """
        forest = grow_forest(prompts, share=self._share)
        kept: dict[int, KeyValues] = {}
        after: dict[int, Any] = {}
        for batch in make_batches(forest, self._budget, 0):
            row = lay_out(forest, batch, _NO_TREE, kept, batch.stretches, self._model.device)
            after |= zip(ends_of(forest, batch), self._forward(row), strict=True)
            kept |= row.plan.kept
        chains = [forest.chain(end) for end in forest.ends]
        width = max(map(len, prompts))
        for layer in sorted(kept[chains[0][0]]):
            keys, values = (
                torch.cat(
                    [_padded([kept[s][layer][which] for s in chain], width) for chain in chains]
                )
                for which in (0, 1)
            )
            cache.update(keys, values, layer)
        return torch.stack([after[end] for end in forest.ends])

    def _run_all(
        self, prompts: Sequence[Sequence[int]], tree: VerdictTree, budget: int
    ) -> Iterator[PassResult]:
        """Yield results until memory runs out; the last one then has the error."""
        forest = grow_forest(prompts, share=self._share)
        batches = make_batches(forest, budget, len(tree.tokens))
        last_use = {stretch: place for place, b in enumerate(batches) for stretch in b.given}
        kept: dict[int, KeyValues] = {}
        for place, batch in enumerate(batches):
            keep = [stretch for stretch in batch.stretches if stretch in last_use]
            row = lay_out(forest, batch, tree, kept, keep, self._model.device)
            try:
                logits = self._forward(row)
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                kept.clear()
                free_memory()
                yield PassResult(batch.prompts, error=str(error), tokens=row.ids.numel())
                return
            kept |= row.plan.kept
            kept = {stretch: kv for stretch, kv in kept.items() if last_use[stretch] > place}
            yield _result(forest, batch, tree, logits)

    def _forward(self, row: Pass) -> Any:
        before = self._model.config._attn_implementation
        self._model.set_attn_implementation(NAME)
        try:
            with torch.inference_mode(), following(row.plan):
                return self._model(
                    input_ids=row.ids,
                    position_ids=row.positions,
                    logits_to_keep=row.rows,
                    use_cache=False,
                ).logits[0]
        finally:
            self._model.set_attn_implementation(before)


class PlainPasses:
    """One path of the tree at a time behind a whole prompt, padded."""

    def __init__(self, model: Any, budget: int) -> None:
        """Take any decoder of transformers, and the most tokens of a pass."""
        self._model = model
        self._budget = budget
        self._takes_positions = "position_ids" in inspect.signature(model.forward).parameters

    def run(self, prompts: Sequence[Sequence[int]], tree: VerdictTree) -> Iterator[PassResult]:
        """Yield the logits of each prompt."""
        paths = _leaf_paths(tree)
        budget = self._budget
        for index, prompt in enumerate(prompts):
            width = len(prompt) + max(map(len, paths))
            size = max(1, min(budget // width, len(paths)))
            while True:
                try:
                    logits = self._one(prompt, tree, paths, size)
                except Exception as error:
                    if not is_out_of_memory(error):
                        raise
                    free_memory()
                    if size == 1:
                        yield PassResult((index,), error=str(error))
                        break
                    size //= 2
                    budget = size * width
                else:
                    yield PassResult((index,), [logits], (len(prompt),))
                    break

    def _one(
        self, prompt: Sequence[int], tree: VerdictTree, paths: Sequence[Sequence[int]], size: int
    ) -> Any:
        """Return logits [1 + N, vocabulary]; ``size`` paths are read at once."""
        found: dict[int, Any] = {}
        for start in range(0, len(paths), size):
            some = paths[start : start + size]
            width = len(prompt) + max(map(len, some))
            rows = [[*prompt, *(tree.tokens[node] for node in path)] for path in some]
            mask = [[1] * len(row) + [0] * (width - len(row)) for row in rows]
            padded = [row + [0] * (width - len(row)) for row in rows]
            device = self._model.device
            inputs = {
                "input_ids": torch.tensor(padded, device=device),
                "attention_mask": torch.tensor(mask, device=device),
            }
            if self._takes_positions:
                inputs["position_ids"] = torch.arange(width, device=device).expand(len(rows), -1)
            with torch.inference_mode():
                logits = self._model(**inputs, use_cache=False).logits
            for row, path in zip(logits, some, strict=True):
                for depth, node in enumerate((-1, *path)):
                    if node not in found:
                        found[node] = row[len(prompt) - 1 + depth].clone()
        return torch.stack([found[node] for node in range(-1, len(tree.tokens))])


def _result(forest: Forest, batch: Batch, tree: VerdictTree, logits: Any) -> PassResult:
    """Divide a pass's logits among its prompts."""
    size = 1 + len(tree.tokens)
    ends = ends_of(forest, batch)
    of_end = {end: logits[size * i : size * (i + 1)] for i, end in enumerate(ends)}
    new = set(batch.stretches)
    computed = []
    for prompt in batch.prompts:
        chain = forest.chain(forest.ends[prompt])
        computed.append(
            sum(len(forest.stretches[stretch].ids) for stretch in chain if stretch in new)
        )
        new -= set(chain)
    return PassResult(
        batch.prompts, [of_end[forest.ends[p]] for p in batch.prompts], tuple(computed)
    )


def _padded(found: Sequence[Any], width: int) -> Any:
    """Join keys or values [1, heads, tokens, size], with zeros before them up to a width."""
    missing = width - sum(each.shape[2] for each in found)
    first = found[0]
    zeros = first.new_zeros((1, first.shape[1], missing, first.shape[3]))
    return torch.cat([zeros, *found], dim=2)


def _pick(prompts: Sequence[Sequence[int]], indices: Sequence[int]) -> list[Sequence[int]]:
    return [prompts[i] for i in indices]


def _leaf_paths(tree: VerdictTree) -> list[list[int]]:
    """Return the ways from the prompt to each token of the tree that has none after it."""
    parents = set(tree.parents)
    paths = []
    for node in range(len(tree.tokens)):
        if node not in parents:
            path = [node]
            while tree.parents[path[-1]] >= 0:
                path.append(tree.parents[path[-1]])
            paths.append(path[::-1])
    return paths or [[]]
