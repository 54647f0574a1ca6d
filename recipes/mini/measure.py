"""Measure a judge on the sets that were kept for measuring, once, at the end.

Run it: ``python measure.py --data ../shared/data --folder judge --out judge-measured.json``
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import time
import tomllib
from pathlib import Path

import numpy as np
from layout import AFTER, BEFORE, BETWEEN, EMPTY
from measuring import Scorer, markdown, measure
from numpy.typing import NDArray


def raw_scorer(folder: Path) -> Scorer:
    """Scores of an exported judge on the package's engine, without the length term."""
    from magistrate.engines.encoder import EncoderEngine
    from magistrate.messages import Message, Part, Request

    engine = EncoderEngine(folder)

    def score(readings: list[tuple[str, str]]) -> NDArray[np.float64]:
        requests = []
        for key, (question, answer) in enumerate(readings):
            parts = (
                Part(BEFORE),
                Part(question, "question"),
                Part(BETWEEN),
                Part(answer if answer.strip() else EMPTY, "answer"),
                Part(AFTER),
            )
            requests.append(Request(str(key), (Message("text", parts),)))
        scores = np.full(len(readings), np.nan)
        for done in engine.complete(requests):
            scores[int(done.key)] = np.nan if done.score is None else done.score
        if np.isnan(scores).any():
            raise ValueError(f"{int(np.isnan(scores).sum())} readings got no score")
        return scores

    return score


def torch_scorer(base: Path, judge_folder: Path) -> Scorer:
    """Raw scores by trained weights in torch; for comparing candidates before export."""
    from judge import load_judge, score_all
    from layout import Layout
    from llama import fast_dtype
    from tokenizers import Tokenizer

    judge = load_judge(base, judge_folder)
    judge.decoder.to(fast_dtype())
    layout = Layout(Tokenizer.from_file(str(base / "tokenizer.json")), 1024)

    def score(readings: list[tuple[str, str]]) -> NDArray[np.float64]:
        return score_all(judge, [layout.read(question, answer) for question, answer in readings])

    return score


def length_coefficient(folder: Path) -> float:
    """What the judge folder adds to a score per log(1 + characters)."""
    file = tomllib.loads((folder / "judge.toml").read_text(encoding="utf-8"))
    return float(file["verdict"]["length_coefficient"])


def with_length(raw: Scorer, slope: float) -> Scorer:
    """Add the length term to raw scores."""

    def score(readings: list[tuple[str, str]]) -> NDArray[np.float64]:
        lengths = np.array([math.log1p(len(answer)) for _, answer in readings])
        return raw(readings) + slope * lengths

    return score


def kept(raw: Scorer, path: Path | None) -> Scorer:
    """Keep raw scores in a file, so that another length coefficient costs no second reading."""
    if path is None:
        return raw
    store: dict[str, NDArray[np.float64]] = dict(np.load(path)) if path.exists() else {}

    def score(readings: list[tuple[str, str]]) -> NDArray[np.float64]:
        text = json.dumps(readings).encode("utf-8")
        key = hashlib.sha256(text).hexdigest()
        if key not in store:
            store[key] = raw(readings)
            np.savez(path, **store)  # type: ignore[arg-type]
        return store[key]

    return score


def main() -> None:
    """Print the table and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--folder", type=Path, help="an exported judge folder")
    parser.add_argument("--judge", type=Path, help="or trained weights, with --base and --slope")
    parser.add_argument("--base", type=Path)
    parser.add_argument("--slope", type=float, default=0.0, help="length coefficient")
    parser.add_argument("--keep", type=Path, help="raw scores are kept here (.npz)")
    parser.add_argument("--most", nargs="*", default=[], help="SET=N: pairs of it; else all")
    parser.add_argument("--sets", nargs="*", help="only these; the mean needs its columns")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    begun = time.time()
    most = {name: int(count) for name, count in (pair.split("=") for pair in args.most)}
    raw = raw_scorer(args.folder) if args.folder else torch_scorer(args.base, args.judge)
    slope = length_coefficient(args.folder) if args.folder else args.slope
    table = measure(args.data, with_length(kept(raw, args.keep), slope), args.sets, most)
    args.out.write_text(json.dumps(table, indent=1), encoding="utf-8")
    print(markdown(table))
    print(f"{time.time() - begun:.0f} s")


if __name__ == "__main__":
    main()
