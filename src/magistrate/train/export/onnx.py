"""Heads as ONNX models, which the engine ``encoder`` runs without torch.

The graph takes ``ids`` [B, L] (int64, padded at the end) and ``lengths`` [B] (int64), and returns
``score`` [B] or ``logits`` [B, labels] (float32), as ``docs/judge-folder.md`` says. It is written
by torch's own exporter.
"""

from __future__ import annotations

import logging
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from magistrate.engines.hf.heads import HeadEngine
from magistrate.errors import EngineError, InputError, MissingExtraError
from magistrate.judging.folder import read_judge_file
from magistrate.judging.resolve import load_judge
from magistrate.train.export.folders import new_folder, write_judge_file
from magistrate.train.folder import hash_file

FILE = "model.onnx"

LARGEST = 2**31 - 1
"""Bytes: a larger model cannot be one file."""

_EXAMPLE = (3, 17)
"""Readings and tokens of the example that is traced; any other number works too."""


def export_onnx(folder: Path, out: Path, *, int8: bool = False, base: str | None = None) -> None:
    """Write a judge folder whose model is ONNX.

    Args:
        folder: A judge with a head, run by engine ``head``.
        out: Where the new one goes; nothing may be there.
        int8: Store the weights of products as 8-bit integers, and compute with these (ONNX
            Runtime's dynamic quantisation): a quarter of the size, and other verdicts now and then.
        base: Where the base of an adapter lies, if not where the folder says.

    Raises:
        InputError: The judge writes, is ONNX already, or ``out`` is there.
        EngineError: It cannot be loaded or exported.
        MissingExtraError: A package is missing.
    """
    file = read_judge_file(folder)
    if file.engine != "head":
        why = "is ONNX already" if file.has_head else "writes, and only heads are exported to ONNX"
        raise InputError(f"judge '{file.name}' {why}")
    for package in ("onnx", "onnxscript"):
        if find_spec(package) is None:
            raise MissingExtraError("export to ONNX", "export", package)
    options = {"device": "cpu", "dtype": "fp32", **({"base": base} if base else {})}
    with load_judge(str(folder), options=options) as judge, new_folder(folder, out) as draft:
        engine = judge.engine
        assert isinstance(engine, HeadEngine), "read_judge_file said so"
        _write_graph(engine, draft / FILE)
        precision = "float32"
        if int8:
            _quantise(draft / FILE)
            precision = "int8 weights and activations, quantised while running"
        _describe(draft / FILE, {"precision": precision})
        changes = {
            "engine": "encoder",
            "base": None,
            "settings": None,
            "model": {
                "file": FILE,
                "sha256": hash_file(draft / FILE),
                "max_tokens": file.model.max_tokens,
            },
        }
        write_judge_file(folder, draft, changes, {"precision": precision})
        (draft / "tokenizer_config.json").unlink(missing_ok=True)


def _write_graph(engine: HeadEngine, path: Path) -> None:
    import torch

    class Graph(torch.nn.Module):  # type: ignore[misc]  # torch is not looked into
        """The model as the engine ``encoder`` calls it."""

        def __init__(self, model: Any, *, decoder: bool, scores: bool) -> None:
            super().__init__()
            self.model, self.decoder, self.scores = model, decoder, scores

        def forward(self, ids: Any, lengths: Any) -> Any:
            """Return ``score`` [B] or ``logits`` [B, labels]."""
            if self.decoder:
                found = self.model(input_ids=ids, ends=lengths - 1).logits
            else:
                places = torch.arange(ids.shape[1], device=ids.device)
                mask = (places[None, :] < lengths[:, None]).long()
                found = self.model(input_ids=ids, attention_mask=mask).logits
            return found[:, 0].float() if self.scores else found.float()

    model = engine.model
    # The plainest attention makes the plainest graph.
    model.set_attn_implementation("eager")
    graph = Graph(model, decoder=engine.reads_from_left, scores=engine.gives_scores).eval()
    size = sum(p.numel() * p.element_size() for p in model.parameters())
    if size > LARGEST:
        raise EngineError(
            f"the model takes {size / 1e9:.1f} GB, and an ONNX file can hold 2 GB; use it through "
            f"engine 'head', or train a smaller base"
        )
    batch, length = _EXAMPLE
    example = (
        torch.full((batch, length), 1, dtype=torch.long),
        torch.tensor([length, length // 2, 3]),
    )
    dynamic = torch.export.Dim.DYNAMIC
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                graph,
                example,
                str(path),
                input_names=["ids", "lengths"],
                output_names=["score" if engine.gives_scores else "logits"],
                dynamo=True,
                dynamic_shapes={"ids": {0: dynamic, 1: dynamic}, "lengths": {0: dynamic}},
                external_data=False,
                verbose=False,
            )
    except Exception as error:  # each architecture fails in its own way
        text = " ".join(str(error).split())[:300]
        raise EngineError(f"torch cannot write this model as ONNX: {text}") from error


def _quantise(path: Path) -> None:
    from onnxruntime.quantization import QuantType, quantize_dynamic

    small = path.with_suffix(".int8.onnx")
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR)  # it advises on preparations that change nothing here
    try:
        quantize_dynamic(
            str(path),
            str(small),
            per_channel=True,
            weight_type=QuantType.QInt8,
            op_types_to_quantize=["MatMul", "Gemm", "Gather"],
        )
    finally:
        root.setLevel(level)
    small.replace(path)


def _describe(path: Path, facts: dict[str, str]) -> None:
    """Write facts into the model: its judge's spec will have them."""
    import onnx

    model = onnx.load(str(path))
    del model.metadata_props[:]
    for key, value in facts.items():
        model.metadata_props.add(key=key, value=value)
    # What the exporter noted of where each node came from names this machine's files.
    for node in model.graph.node:
        del node.metadata_props[:]
    for function in model.functions:
        for node in function.node:
            del node.metadata_props[:]
    onnx.save(model, str(path))
