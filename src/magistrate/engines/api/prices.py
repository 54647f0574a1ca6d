"""What a request costs: the table that ships with the package, the user's own, or an option.

A price is known or it is not; none is guessed from a similar name. Servers on this machine are
free. Where a provider itself says in its reply what a request cost, that is taken.
"""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from magistrate.engines.api.address import Address
from magistrate.errors import EngineError, what_is_needed
from magistrate.records import Record, Usage

_DATED = re.compile(r"(.+)-\d{4}-\d{2}-\d{2}")


class Price(Record):
    """US dollars for a million tokens."""

    prompt: float = Field(ge=0)
    written: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)
    """For prompt tokens that the server had read before; those of ``prompt`` when None."""

    @classmethod
    def read(cls, text: str) -> Price:
        """Read ``IN,OUT`` or ``IN,CACHED,OUT``.

        Raises:
            ValueError: It is neither.

        >>> Price.read("2.5,10").cost(Usage(prompt_tokens=1_000_000, completion_tokens=100_000))
        3.5
        """
        try:
            numbers = [float(number) for number in text.split(",")]
        except ValueError:
            numbers = []
        if len(numbers) not in (2, 3) or not all(0 <= n < math.inf for n in numbers):
            raise ValueError(
                "needed are dollars for a million tokens: IN,OUT or IN,CACHED,OUT, such as 2.5,10"
            )
        cached = numbers[1] if len(numbers) == 3 else None
        return cls(prompt=numbers[0], cached=cached, written=numbers[-1])

    def cost(self, usage: Usage) -> float:
        """Return what a request cost, in US dollars."""
        cached_price = self.prompt if self.cached is None else self.cached
        fresh = max(0, usage.prompt_tokens - usage.cached_tokens)
        return (
            fresh * self.prompt
            + usage.cached_tokens * cached_price
            + usage.completion_tokens * self.written
        ) / 1e6

    def most(self, prompt_tokens: int, written_tokens: int) -> float:
        """Return the most that so many tokens can cost, in US dollars."""
        return (prompt_tokens * self.prompt + written_tokens * self.written) / 1e6


FREE = Price(prompt=0.0, written=0.0)


class PriceRow(Record):
    """One row of a price file."""

    models: tuple[str, ...] = Field(min_length=1)
    """Names; a date behind a name (``-2024-08-06``) is the same model unless it has its own row."""
    host: str | None = None
    """The server that asks this price; any server when None."""
    prompt: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)
    written: float = Field(ge=0)
    context: int | None = Field(default=None, gt=0)
    """Longest prompt and reply together, in tokens."""
    checked: date | None = None
    source: str | None = None

    @property
    def price(self) -> Price:
        """The numbers alone."""
        return Price(prompt=self.prompt, cached=self.cached, written=self.written)


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a model's price."""

    price: Price | None
    """None when nobody said."""
    source: str
    """Where the price is from, in words."""
    context: int | None = None


def known_price(
    address: Address, model: str, given: Price | None = None, own_file: Path | None = None
) -> Known:
    """Return the price of a model: as given, or from the user's file, or from the package's.

    Raises:
        EngineError: The user's file is not a price file.
    """
    row = _find(read_prices(own_file), address, model) if own_file else None
    row = row or _find(_bundled(), address, model)
    context = row.context if row else None
    if given is not None:
        return Known(given, "option price", context)
    if row is not None:
        when = f", checked {row.checked}" if row.checked else ""
        return Known(row.price, f"{row.source or own_file}{when}", context)
    if address.is_loopback:
        return Known(FREE, "a server on this machine")
    return Known(None, "unknown")


def read_prices(path: Path) -> tuple[PriceRow, ...]:
    """Read a price file: TOML with a table ``[[price]]`` for each price.

    Raises:
        EngineError: It cannot be read, or a row is wrong; the message names file and row.
    """
    try:
        return _rows(path.expanduser().read_text("utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise EngineError(f"prices={path}: cannot be read ({error})") from error


@lru_cache(maxsize=1)
def _bundled() -> tuple[PriceRow, ...]:
    file = files("magistrate.engines.api") / "prices.toml"
    return _rows(file.read_text("utf-8"), "prices.toml")


def _rows(text: str, where: str) -> tuple[PriceRow, ...]:
    try:
        rows: Any = tomllib.loads(text).get("price")
    except tomllib.TOMLDecodeError as error:
        raise EngineError(f"{where}: not valid TOML ({error})") from error
    if not isinstance(rows, list) or not rows:
        raise EngineError(f"{where}: no table [[price]]; see docs/engines.md for the form")
    found = []
    for number, row in enumerate(rows, 1):
        try:
            found.append(PriceRow.model_validate(row))
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            key = ".".join(map(str, problem["loc"]))
            raise EngineError(
                f"{where}, price {number}: {key}: {what_is_needed(problem)}"
            ) from error
    return tuple(found)


def _find(rows: tuple[PriceRow, ...], address: Address, model: str) -> PriceRow | None:
    dated = _DATED.fullmatch(model)
    for name in (model, dated[1] if dated else None):
        for row in rows:
            if name in row.models and row.host in (None, address.host):
                return row
    return None
