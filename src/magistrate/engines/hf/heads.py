"""The head engine: judge folders with a classifying or regressing head, through transformers.

What it reads and returns is what the engine ``encoder`` reads and returns on ONNX Runtime: the same
token ids, the same outputs; see :mod:`magistrate.engines.slots`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from magistrate.engines.base import EngineInfo
from magistrate.engines.head_outputs import completion_of, log_softmax
from magistrate.engines.hf.head_models import batch_of, outputs_of, reads_from_left
from magistrate.engines.hf.memory import free_memory, is_out_of_memory
from magistrate.engines.room import make_batches
from magistrate.engines.slots import SlotEncoder
from magistrate.errors import EngineError
from magistrate.messages import Completion, Request

CHUNK = 64
"""Readings taken at once on a processor: what a kill costs at most."""

CHUNK_ON_GPU = 512


class HeadEngine:
    """Runs one model with a head."""

    def __init__(
        self,
        model: Any,
        slots: SlotEncoder,
        *,
        max_tokens: int,
        name: str = "model",
        weights_hash: str | None = None,
        batch_tokens: int | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Take a loaded model.

        Args:
            model: A model of :func:`~magistrate.engines.hf.head_models.load_head_model`, perhaps
                with an adapter.
            slots: Encodes its prompts.
            max_tokens: Longest reading.
            name: What the model is called.
            weights_hash: SHA-256 of its weights.
            batch_tokens: Most padded tokens of a pass.
            settings: What else changes the output, for the judge's spec.
        """
        self._model: Any = model
        self._slots = slots
        self._decoder = reads_from_left(model)
        on_gpu = model.device.type != "cpu"
        self._budget = batch_tokens or (16_384 if on_gpu else 2_048)
        padding = model.config.get_text_config().pad_token_id
        self._padding = int(padding) if isinstance(padding, int) and padding >= 0 else 0
        self._scores = outputs_of(model) == 1
        self._info = EngineInfo(
            engine="head",
            model=name,
            weights_hash=weights_hash,
            context_tokens=max_tokens,
            scores=True,
            batch_dependent=True,
            keeps_answers=False,
            preferred_batch=CHUNK_ON_GPU if on_gpu else CHUNK,
            settings=dict(settings or {}),
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
        if self._model is None:
            raise EngineError(f"the engine of judge '{self._info.model}' is closed")
        return self._model

    @property
    def reads_from_left(self) -> bool:
        """Whether the model is a decoder."""
        return self._decoder

    @property
    def gives_scores(self) -> bool:
        """Whether the head gives a score; otherwise it classifies."""
        return self._scores

    def count_tokens(self, text: str) -> int:
        """Return how many tokens ``text`` takes, encoded as plain text."""
        return self._slots.count(text)

    def cuts(self, requests: Sequence[Request]) -> list[dict[str, int]]:
        """Return for each request how many tokens are cut from which slot."""
        return [reading.truncated for reading in self._slots.encode_requests(requests)]

    def complete(self, requests: Sequence[Request]) -> Iterator[Completion]:
        """Answer every request once, the longest first; equal readings are computed once.

        Raises:
            EngineError: The model failed, or the engine was closed.
        """
        readings = self._slots.encode_requests(requests)
        places: dict[tuple[int, ...], list[int]] = {}
        for i, reading in enumerate(readings):
            places.setdefault(tuple(reading.ids), []).append(i)
        distinct = list(places)
        waiting = make_batches([len(ids) for ids in distinct], self._budget)
        waiting.reverse()
        while waiting:
            batch = waiting.pop()
            started = time.perf_counter()
            try:
                outputs = self.run([distinct[k] for k in batch])
            except Exception as error:
                if not is_out_of_memory(error) or len(batch) == 1:
                    raise self._failure(error, [distinct[k] for k in batch]) from error
                free_memory()
                half = len(batch) // 2
                waiting += [batch[half:], batch[:half]]
                continue
            seconds = (time.perf_counter() - started) / len(batch)
            for k, output in zip(batch, outputs.tolist(), strict=True):
                first, *others = places[distinct[k]]
                yield completion_of(requests[first].key, readings[first], output, seconds)
                for i in others:
                    yield completion_of(requests[i].key, readings[i], output, 0.0, cached=True)

    def run(self, readings: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Run the model once.

        Args:
            readings: Token ids of B readings, each at least one token.

        Returns:
            Scores [B], or log-probabilities [B, labels] (natural logarithm).

        Raises:
            EngineError: The engine was closed.
        """
        model = self.model
        batch = batch_of(readings, decoder=self._decoder, padding=self._padding)
        was_training = model.training
        model.eval()
        with torch.inference_mode(), self._one_precision(model):
            given = {name: each.to(model.device) for name, each in batch.items()}
            logits = model(**given).logits
        if was_training:
            model.train()
        outputs: NDArray[np.float32] = logits.float().cpu().numpy()
        return outputs[:, 0] if self._scores else log_softmax(outputs)

    def _one_precision(self, model: Any) -> Any:
        """Compute in 16 bits what stands in both: a frozen base in bf16 with a new head in fp32."""
        kinds = {each.dtype for each in model.parameters() if each.is_floating_point()}
        if len(kinds) < 2 or torch.bfloat16 not in kinds:
            return contextlib.nullcontext()
        return torch.autocast(model.device.type, torch.bfloat16)

    def close(self) -> None:
        """Free the model. Calling it twice is harmless."""
        self._model = None

    def _failure(self, error: Exception, readings: Sequence[Sequence[int]]) -> Exception:
        if isinstance(error, EngineError):
            return error
        return EngineError(
            f"judge '{self._info.model}' failed on {len(readings)} readings of up to "
            f"{max(map(len, readings)):,} tokens: {error}"
        )


def slot_encoder(tokenizer: Any, max_tokens: int) -> SlotEncoder:
    """Return the encoder of a tokenizer of transformers."""
    return SlotEncoder(tokenizer.backend_tokenizer.to_str(), max_tokens)


def read_slot_encoder(folder: Path, max_tokens: int) -> SlotEncoder:
    """Return the encoder of a judge folder.

    Raises:
        EngineError: Its ``tokenizer.json`` cannot be read.
    """
    path = folder / "tokenizer.json"
    try:
        return SlotEncoder(path.read_bytes(), max_tokens)
    except OSError as error:
        raise EngineError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, KeyError) as error:
        raise EngineError(f"{path}: not a tokenizer of Hugging Face ({error})") from error
