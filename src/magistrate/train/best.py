"""The best weights so far: those that are trained, as safetensors beside what was measured."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from magistrate.store.disk import write_atomically

_WEIGHTS = "weights.safetensors"
_FACTS = "best.json"


class Best:
    """Keeps the weights of the best evaluation."""

    def __init__(self, folder: Path, by: Literal["agreement", "loss", "last"]) -> None:
        """Take the folder, and what is compared."""
        self._folder = folder
        self._by = by

    def value(self, measured: Mapping[str, Any]) -> tuple[float, float] | None:
        """Return what counts of an evaluation, the more the better; None where it has none.

        Of equal agreement the lower loss counts.
        """
        loss = float(measured.get("loss", math.inf))
        found = -loss if self._by == "loss" else measured.get("agreement")
        if found is None or not math.isfinite(float(found)):
            return None
        return float(found), -loss

    def facts(self) -> dict[str, Any] | None:
        """Return what was measured of the best weights; None where there are none yet."""
        path = self._folder / _FACTS
        if not path.is_file() or not (self._folder / _WEIGHTS).is_file():
            return None
        facts: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return facts

    def forget_after(self, step: int) -> None:
        """Drop weights of a later step than a training goes on from; it will find them again."""
        facts = self.facts()
        if facts is not None and int(facts["step"]) > step:
            (self._folder / _FACTS).unlink()

    def offer(self, measured: Mapping[str, Any], weights: Mapping[str, Any]) -> bool:
        """Keep weights if they are better than what is there; equal ones are not.

        Args:
            measured: The row of the evaluation, with ``step``.
            weights: Tensors by name.
        """
        now = self.value(measured)
        if self._by == "last" or now is None:
            return False
        facts = self.facts()
        before = None if facts is None else self.value(facts)
        if before is not None and now <= before:
            return False
        from safetensors.torch import save

        self._folder.mkdir(parents=True, exist_ok=True)
        # Weights first: facts without them would name weights that are not there.
        plain = {name: value.detach().cpu().contiguous() for name, value in weights.items()}
        write_atomically(self._folder / _WEIGHTS, save(plain))
        write_atomically(self._folder / _FACTS, json.dumps(dict(measured)).encode("utf-8"))
        return True

    def load(self) -> dict[str, Any]:
        """Return the best weights."""
        from safetensors.torch import load_file

        found: dict[str, Any] = load_file(str(self._folder / _WEIGHTS))
        return found


def trained_weights(model: Any) -> dict[str, Any]:
    """Return the weights of a model that are trained, by name."""
    return {name: p for name, p in model.named_parameters() if p.requires_grad}


def put_weights(model: Any, weights: Mapping[str, Any]) -> None:
    """Put weights of :func:`trained_weights` back into a model."""
    import torch

    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name in weights:
                parameter.copy_(weights[name].to(parameter.device))
