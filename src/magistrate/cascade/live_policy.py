"""What the caller of ``mg.run_cascade`` asked for, checked and made a policy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from magistrate.cascade.live_records import Fallback, Policy, PolicyKind
from magistrate.errors import InputError

_WAYS = (
    "give --threshold 0.8 (settle from that confidence on), --budget 0.5 (share of the pairs that "
    "the last judge may get), --budget-calls N, --max-cost DOLLARS, or --target-agreement 0.85 "
    "with --calibrate-on labelled.jsonl"
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """How pairs are to be routed, as it was asked for."""

    thresholds: float | Sequence[float] | None = None
    budget: float | None = None
    budget_calls: int | None = None
    stream: int | None = None
    max_cost: float | None = None
    target_agreement: float | None = None
    risk: float | None = None
    fallback: Fallback = "none"

    def policy(self, judges: int, *, calibrates: bool) -> Policy:
        """Return the policy, as far as it is known without samples.

        Args:
            judges: How many there are.
            calibrates: Whether labelled pairs are given.

        Raises:
            InputError: Something is missing, out of range, or does not go together.
        """
        if judges < 2:
            raise InputError(
                "a cascade needs two judges or more, the cheapest first: give --judge several times"
            )
        self._check_ranges()
        kind = self._kind(calibrates=calibrates)
        return Policy(
            kind=kind,
            thresholds=_thresholds(self.thresholds, judges) if kind == "threshold" else (),
            budget=self.budget,
            budget_calls=self.budget_calls,
            stream=self.stream,
            max_cost=self.max_cost,
            target=self.target_agreement,
            risk=self.risk,
            fallback=self.fallback,
        )

    def _check_ranges(self) -> None:
        _between("--budget", self.budget, 0, 1)
        _between("--target-agreement", self.target_agreement, 0, 1, inner=True)
        _between("--risk", self.risk, 0, 1, inner=True)
        _between("--budget-calls", self.budget_calls, 0, math.inf)
        _between("--stream", self.stream, 1, math.inf)
        _between("--max-cost", self.max_cost, 0, math.inf)
        if self.fallback not in get_args(Fallback):
            raise InputError(
                f"fallback is '{self.fallback}'; it must be one of: {', '.join(get_args(Fallback))}"
            )

    def _kind(self, *, calibrates: bool) -> PolicyKind:
        if self.target_agreement is not None:
            if self.thresholds is not None:
                raise InputError(
                    "--threshold and --target-agreement do not go together: the target chooses the "
                    "thresholds; leave one of them out"
                )
            if not calibrates:
                raise InputError(
                    "--target-agreement needs labelled pairs to choose thresholds on: give "
                    "--calibrate-on FILE"
                )
        elif self.risk is not None or calibrates:
            name = "--risk" if self.risk is not None else "--calibrate-on"
            raise InputError(f"{name} has no meaning without --target-agreement; give both")
        has_budget = self.budget is not None or self.budget_calls is not None
        if self.stream is not None and (
            not has_budget or self.thresholds is not None or self.target_agreement is not None
        ):
            raise InputError(
                "--stream estimates the threshold of a --budget; it has no meaning without one, or "
                "beside --threshold or --target-agreement"
            )
        if self.target_agreement is not None:
            return "target"
        if self.thresholds is not None:
            return "threshold"
        if has_budget:
            return "budget"
        if self.max_cost is not None:
            return "money"
        raise InputError(f"nothing says how pairs are routed: {_WAYS}")


def quota_of(policy: Policy, pairs: int, readings: int) -> int | None:
    """Return how many pairs may go to the last judge; None for all.

    Args:
        policy: The policy.
        pairs: How many there are of different text.
        readings: How many the last judge makes of a pair.
    """
    limits = []
    if policy.budget is not None:
        limits.append(math.floor(policy.budget * pairs + 1e-9))
    if policy.budget_calls is not None:
        limits.append(policy.budget_calls // max(1, readings))
    return min(limits) if limits else None


def options_for(
    judge: Any, number: int, options: Mapping[str, str] | None
) -> dict[str, str] | None:
    """Return the engine options that are meant for a judge.

    ``NAME`` is for all of them, ``ENGINE.NAME`` for that engine, ``N.NAME`` for the N-th judge.

    Args:
        judge: Its name, or what stands for it.
        number: Its place, from 0.
        options: By name.
    """
    engine = judge.partition(":")[0] if isinstance(judge, str) else ""
    chosen: dict[str, str] = {}
    for name, value in (options or {}).items():
        whose, dot, own = name.rpartition(".")
        if not dot or whose in (engine, str(number + 1)):
            chosen[own] = value
    return chosen or None


def _thresholds(given: float | Sequence[float] | None, judges: int) -> tuple[float | None, ...]:
    values = [given] if isinstance(given, int | float) else list(given or ())
    for value in values:
        _between("--threshold", value, 0, 1)
    if len(values) == 1:
        return (*([float(values[0])] * (judges - 1)), None)
    if len(values) == judges - 1:
        return (*map(float, values), None)
    if len(values) == judges:
        return tuple(map(float, values))
    raise InputError(
        f"--threshold is given {len(values)} times for {judges} judges; give it once for all but "
        f"the last, once for each but the last, or once for each (the last then abstains below it)"
    )


def _between(name: str, value: Any, low: float, high: float, *, inner: bool = False) -> None:
    if value is None:
        return
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not (low < value < high if inner else low <= value <= high):
        limits = f"from {low:g}" if math.isinf(high) else f"between {low:g} and {high:g}"
        raise InputError(f"{name} is {value!r}; it must be a number {limits}")
