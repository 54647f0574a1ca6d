"""The encoder engine: judge folders with a head, on ONNX Runtime. No torch.

The model reads token ids [B, L] (int64, padded at the end), their lengths [B] (int64) and returns
one ``score`` [B] (float32) per reading, or ``logits`` [B, labels] (float32) of a classifier.
Readings are sorted by length and run in batches of about :data:`BATCH_TOKENS` tokens, so that
little work is spent on padding. How text becomes ids is said in :mod:`magistrate.engines.slots`.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from magistrate.engines.base import EngineInfo
from magistrate.engines.head_outputs import completion_of, log_softmax
from magistrate.engines.options import read_options
from magistrate.engines.room import make_batches
from magistrate.engines.slots import Reading, SlotEncoder
from magistrate.errors import EngineError
from magistrate.messages import Completion, Request
from magistrate.records import Record

CHUNK = 16
"""Readings taken at once, a second or two of work: what a kill costs, how often a bar moves."""

BATCH_TOKENS = 2048
"""Padded tokens of one model run; larger batches gain nothing and take more memory."""

SCORE, LOGITS = "score", "logits"
"""What a model's output is called."""

SAFE_KERNELS = ("session.x64quantprecision", "1")
"""Products of 8-bit integers can overflow on x86 processors without VNNI; this session option
takes kernels that cannot. They are two to three times slower, also where nothing could overflow."""


class EncoderEngine:
    """Scores readings with the model of one judge folder."""

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        """Load and check the model.

        Args:
            folder: A judge folder (``docs/judge-folder.md``).
            threads: How many threads a model run may use; all cores when None.

        Raises:
            EngineError: A file is missing, damaged, not ONNX, or cannot be run.
        """
        section = _model_section(folder)
        weights = _read(_inside(folder, str(section["file"])))
        digest = hashlib.sha256(weights).hexdigest()
        if digest != section["sha256"]:
            raise EngineError(
                f"{folder / section['file']}: SHA-256 is {digest}, but judge.toml says "
                f"{section['sha256']}; the file is damaged or was replaced, so it is not loaded"
            )
        self._slots = SlotEncoder(
            _read(_inside(folder, "tokenizer.json")), int(section["max_tokens"])
        )
        self._session: Any = _open_session(weights, folder / section["file"], threads)
        self._output = _output(self._session, folder / section["file"])
        self._info = EngineInfo(
            engine="encoder",
            model=folder.name,
            weights_hash=digest,
            context_tokens=int(section["max_tokens"]),
            scores=True,
            batch_dependent=True,
            keeps_answers=False,
            preferred_batch=CHUNK,
            settings=dict(self._session.get_modelmeta().custom_metadata_map),
        )

    @property
    def info(self) -> EngineInfo:
        """What the engine and its model are."""
        return self._info

    def count_tokens(self, text: str) -> int:
        """Return how many tokens ``text`` takes, encoded as plain text."""
        return self._slots.count(text)

    def complete(self, requests: Sequence[Request]) -> Iterator[Completion]:
        """Score every request once, the longest first; equal readings are computed once.

        An answer that stands in several pairs of a question is such a reading. Its repetitions
        count as cached tokens and take no time.

        Raises:
            EngineError: The runtime failed, or the engine was closed.
        """
        readings = self.encode(requests)
        places: dict[tuple[int, ...], list[int]] = {}
        for i, reading in enumerate(readings):
            places.setdefault(tuple(reading.ids), []).append(i)
        distinct = list(places)
        for batch in make_batches([len(ids) for ids in distinct], BATCH_TOKENS):
            started = time.perf_counter()
            outputs = self.run([distinct[k] for k in batch])
            seconds = (time.perf_counter() - started) / len(batch)
            for k, output in zip(batch, outputs.tolist(), strict=True):
                first, *others = places[distinct[k]]
                yield completion_of(requests[first].key, readings[first], output, seconds)
                for i in others:
                    yield completion_of(requests[i].key, readings[i], output, 0.0, cached=True)

    def encode(self, requests: Sequence[Request]) -> list[Reading]:
        """Turn requests into token ids that fit the model's window."""
        return self._slots.encode_requests(requests)

    def cuts(self, requests: Sequence[Request]) -> list[dict[str, int]]:
        """Return for each request how many tokens are cut from which slot."""
        return [reading.truncated for reading in self.encode(requests)]

    def run(self, readings: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Run the model once.

        Args:
            readings: Token ids of B readings, each at least one token.

        Returns:
            Scores [B], or log-probabilities [B, labels] (natural logarithm).

        Raises:
            EngineError: The runtime failed, or the engine was closed.
        """
        if self._session is None:
            raise EngineError(f"the engine of judge '{self._info.model}' is closed")
        lengths = np.array([len(ids) for ids in readings], dtype=np.int64)
        padded = np.zeros((len(readings), int(lengths.max())), dtype=np.int64)
        for row, ids in zip(padded, readings, strict=True):
            row[: len(ids)] = ids
        try:
            (found,) = self._session.run([self._output], {"ids": padded, "lengths": lengths})
        except Exception as error:  # ONNX Runtime has no common base class for its errors
            raise EngineError(
                f"judge '{self._info.model}' failed on {padded.shape[0]} readings of up to "
                f"{padded.shape[1]} tokens: {error}"
            ) from error
        outputs = np.asarray(found, dtype=np.float32)
        return log_softmax(outputs) if self._output == LOGITS else outputs

    def close(self) -> None:
        """Free the model. Calling it twice is harmless."""
        self._session = None


class EncoderOptions(Record):
    """Options of the engine."""

    threads: int | None = Field(default=None, ge=1)
    """How many threads a model run may use; all cores by default."""


def open_engine(
    model: str, url: str | None = None, options: Mapping[str, str] | None = None
) -> EncoderEngine:
    """Open the engine on a judge folder.

    Raises:
        EngineError: A URL or an unknown option was given, or the folder cannot be loaded.
    """
    chosen = read_options(EncoderOptions, "encoder", options or {})
    if url is not None:
        raise EngineError(f"the encoder engine runs judge folders here; it has no use for {url}")
    return EncoderEngine(Path(model).expanduser(), chosen.threads)


def _model_section(folder: Path) -> dict[str, Any]:
    path = folder / "judge.toml"
    try:
        section = tomllib.loads(_read(path).decode("utf-8"))["model"]
        missing = {"file", "sha256", "max_tokens"} - set(section)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise EngineError(f"{path}: no usable [model] section ({error})") from error
    if missing:
        raise EngineError(f"{path}: section [model] lacks {', '.join(sorted(missing))}")
    return dict(section)


def _inside(folder: Path, name: str) -> Path:
    path = folder / name
    if Path(name).name != name:
        raise EngineError(f"{folder}: '{name}' must be the name of a file in the judge folder")
    if path.suffix not in (".onnx", ".json"):
        raise EngineError(f"{path}: the encoder engine loads ONNX files only")
    return path


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise EngineError(f"{path}: cannot be read ({error.strerror})") from error


def _open_session(weights: bytes, path: Path, threads: int | None) -> Any:
    # ONNX Runtime takes a tenth of a second to import and is of no use before a model is opened.
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or _cores()
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    if not has_vnni():
        options.add_session_config_entry(*SAFE_KERNELS)
    try:
        # From bytes, not from the path: what runs is what was hashed, and a model loaded so
        # cannot pull in other files.
        return onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime has no common base class for its errors
        raise EngineError(f"{path}: ONNX Runtime cannot load it ({error})") from error


def _output(session: Any, path: Path) -> str:
    """Return the name of the output that is read."""
    names = [output.name for output in session.get_outputs()]
    for name in (SCORE, LOGITS):
        if name in names:
            return name
    raise EngineError(
        f"{path}: the model returns {', '.join(names)}; a judge's model returns '{SCORE}' [B], or "
        f"'{LOGITS}' [B, labels] (docs/judge-folder.md)"
    )


def has_vnni() -> bool:
    """Whether the processor is known to multiply 8-bit integers without overflow."""
    try:
        text = Path("/proc/cpuinfo").read_text("ascii", errors="replace")
    except OSError:
        return False  # not Linux: nothing is known, the safe kernels are taken
    flags = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    return flags is not None and bool({"avx512_vnni", "avx_vnni"} & set(flags[1].split()))


def _cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
