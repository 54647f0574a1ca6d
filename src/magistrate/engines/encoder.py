"""The encoder engine: judge folders with a scoring head, on ONNX Runtime. No torch.

The model reads token ids [B, L] (int64, padded at the end), their lengths [B] (int64) and returns
one ``score`` [B] (float32) per reading. Readings are sorted by length and run in batches of about
:data:`BATCH_TOKENS` tokens, so that little work is spent on padding.

Only the template's own words may hold control tokens. Slots are encoded by a second copy of the
tokenizer that knows no control tokens, so no question or answer can contain one. What does not fit
into the model's window is cut out of the middle of the longest slot, and reported.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from tokenizers import Tokenizer

from magistrate.engines.base import EngineInfo
from magistrate.engines.options import read_options
from magistrate.engines.room import cut_middle, make_batches, share_room
from magistrate.errors import EngineError
from magistrate.messages import Completion, Part, Request
from magistrate.records import Record, Usage

CHUNK = 16
"""Readings taken at once, a second or two of work: what a kill costs, how often a bar moves."""

BATCH_TOKENS = 2048
"""Padded tokens of one model run; larger batches gain nothing and take more memory."""

SAFE_KERNELS = ("session.x64quantprecision", "1")
"""Products of 8-bit integers can overflow on x86 processors without VNNI; this session option
takes kernels that cannot. They are two to three times slower, also where nothing could overflow."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One request as token ids.

    Attributes:
        ids: At most the model's window.
        truncated: Tokens cut from each slot; slots that fit are not named.
    """

    ids: list[int]
    truncated: dict[str, int]


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
        spec = json.loads(_read(_inside(folder, "tokenizer.json")))
        self._words = Tokenizer.from_str(json.dumps(spec))
        # Without its added tokens the tokenizer has no way to write a control token.
        self._plain = Tokenizer.from_str(json.dumps({**spec, "added_tokens": []}))
        for tokenizer in (self._words, self._plain):
            tokenizer.no_truncation()
            tokenizer.no_padding()
        self._max_tokens = int(section["max_tokens"])
        self._session: Any = _open_session(weights, folder / section["file"], threads)
        self._info = EngineInfo(
            engine="encoder",
            model=folder.name,
            weights_hash=digest,
            context_tokens=self._max_tokens,
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
        return len(self._plain.encode(_clean(text), add_special_tokens=False).ids)

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
            scores = self.score([distinct[k] for k in batch])
            seconds = (time.perf_counter() - started) / len(batch)
            for k, score in zip(batch, scores.tolist(), strict=True):
                first, *others = places[distinct[k]]
                yield _completion(requests[first].key, readings[first], score, seconds)
                for i in others:
                    yield _completion(requests[i].key, readings[i], score, 0.0, cached=True)

    def encode(self, requests: Sequence[Request]) -> list[Reading]:
        """Turn requests into token ids that fit the model's window."""
        parts = [[part for m in request.messages for part in m.parts] for request in requests]
        texts = sorted({_clean(p.text.strip()) for row in parts for p in row if p.slot is not None})
        encoded = self._plain.encode_batch(texts, add_special_tokens=False)
        ids = {text: found.ids for text, found in zip(texts, encoded, strict=True)}
        return [self._lay_out(row, ids) for row in parts]

    def cuts(self, requests: Sequence[Request]) -> list[dict[str, int]]:
        """Return for each request how many tokens are cut from which slot."""
        return [reading.truncated for reading in self.encode(requests)]

    def score(self, readings: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Run the model once.

        Args:
            readings: Token ids of B readings, each at least one token.

        Returns:
            Scores [B].

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
            (scores,) = self._session.run(["score"], {"ids": padded, "lengths": lengths})
        except Exception as error:  # ONNX Runtime has no common base class for its errors
            raise EngineError(
                f"judge '{self._info.model}' failed on {padded.shape[0]} readings of up to "
                f"{padded.shape[1]} tokens: {error}"
            ) from error
        return np.asarray(scores, dtype=np.float32)

    def close(self) -> None:
        """Free the model. Calling it twice is harmless."""
        self._session = None

    def _lay_out(self, parts: Sequence[Part], slots: dict[str, list[int]]) -> Reading:
        pieces = [
            self._words.encode(part.text, add_special_tokens=False).ids
            if part.slot is None
            else slots[_clean(part.text.strip())]
            for part in parts
        ]
        own = sum(len(ids) for part, ids in zip(parts, pieces, strict=True) if part.slot is None)
        open_to_cuts = [i for i, part in enumerate(parts) if part.slot is not None]
        room = max(self._max_tokens - own, 0)
        kept = share_room([len(pieces[i]) for i in open_to_cuts], room)
        truncated: dict[str, int] = {}
        for i, keep in zip(open_to_cuts, kept, strict=True):
            lost = len(pieces[i]) - keep
            slot = parts[i].slot
            if lost > 0 and slot is not None:
                truncated[slot] = truncated.get(slot, 0) + lost
                pieces[i] = cut_middle(pieces[i], keep)
        return Reading([token for ids in pieces for token in ids], truncated)


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


def _completion(
    key: str, reading: Reading, score: float, seconds: float, *, cached: bool = False
) -> Completion:
    tokens = len(reading.ids)
    usage = Usage(prompt_tokens=tokens, cached_tokens=tokens if cached else 0, requests=1)
    if not math.isfinite(score):
        return Completion(
            key=key,
            finish_reason="error",
            usage=usage,
            seconds=seconds,
            truncated=reading.truncated,
            error=f"the model returned {score}, not a number to compare",
        )
    return Completion(
        key=key, score=score, usage=usage, seconds=seconds, truncated=reading.truncated
    )


def _clean(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates, which have no UTF-8 form."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


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
