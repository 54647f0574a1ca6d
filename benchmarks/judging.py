"""What judging takes apart from the model: CPU milliseconds a judgment.

    python benchmarks/judging.py ../shared/data/pandalm/testset-v1.json

The scripted engine replies; its own CPU time is taken off. ``stream`` is prompts, length and
verdicts alone; ``run`` is a whole ``mg.judge``: input normalised, judgments on disk, decisions.
With a window, prompts are counted in tokens as for a model of 4,096. CPU time, best of the rounds,
since other work on the machine adds to it.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import magistrate as mg
from magistrate.engines.base import EngineInfo
from magistrate.engines.scripted import ScriptedEngine
from magistrate.judging.judge import Judge, make_judge
from magistrate.judging.stream import judge_samples
from magistrate.messages import Completion, Request


class TimedEngine:
    """The scripted engine, which knows how long it took."""

    def __init__(self, context_tokens: int | None) -> None:
        self.seconds = 0.0
        self._engine = ScriptedEngine("longer")
        self.info: EngineInfo = replace(self._engine.info, context_tokens=context_tokens)

    def count_tokens(self, text: str) -> int:
        """Count as the scripted engine does."""
        return self._engine.count_tokens(text)

    def complete(self, requests: Sequence[Request]) -> Iterator[Completion]:
        """Reply, and add up the time."""
        replies = self._engine.complete(requests)
        while True:
            began = time.process_time()
            completion = next(replies, None)
            self.seconds += time.process_time() - began
            if completion is None:
                return
            yield completion

    def close(self) -> None:
        """Nothing to free."""


def measure(engine: TimedEngine, work: Callable[[], int], rounds: int) -> float:
    """Return milliseconds a judgment, the best of the rounds."""
    best = float("inf")
    for _ in range(rounds):
        engine.seconds = 0.0
        began = time.process_time()
        judgments = work()
        best = min(best, 1e3 * (time.process_time() - began - engine.seconds) / judgments)
    return best


def stream(judge: Judge, samples: list[mg.Sample]) -> int:
    return sum(len(batch) for batch in judge_samples(judge, samples))


def run(judge: Judge, samples: list[mg.Sample], *, cache: bool) -> int:
    with tempfile.TemporaryDirectory() as folder:
        return mg.judge(samples, judge, Path(folder, "run"), cache=cache).manifest.judged


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="a file of pairs")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    samples = list(mg.read_samples(args.file))
    family = mg.load_judge("scripted:longer").family
    print("| window | stream | run | run, answers kept | run, answers from the cache |")
    print("|---|---:|---:|---:|---:|")
    for window in (None, 4096):
        engine = TimedEngine(window)
        judge = make_judge("timed", family, engine)
        stream(judge, samples[:50])  # imports and the like
        cells = [
            measure(engine, lambda judge=judge: stream(judge, samples), args.rounds),
            measure(engine, lambda judge=judge: run(judge, samples, cache=False), args.rounds),
        ]
        with tempfile.TemporaryDirectory() as home:
            os.environ["MAGISTRATE_HOME"] = home
            again = lambda judge=judge: run(judge, samples, cache=True)  # noqa: E731
            cells += [measure(engine, again, 1), measure(engine, again, args.rounds)]
        row = " | ".join(f"{cell:.2f} ms" for cell in cells)
        print(f"| {window or 'unknown'} | {row} |")


if __name__ == "__main__":
    main()
