"""Small texts: what came from data made harmless, numbers with their nouns."""

from __future__ import annotations


def harmless(text: str) -> str:
    r"""Replace all that is not printable (control characters, lone surrogates, line breaks).

    >>> harmless("a\x1b[31mb\nc")
    'a�[31mb c'
    """
    return "".join(
        char if char.isprintable() else " " if char.isspace() else "\N{REPLACEMENT CHARACTER}"
        for char in text
    )


def shortened(text: str, longest: int) -> str:
    """Return a text of at most ``longest`` characters; what was cut shows as an ellipsis."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def counted(number: int, noun: str) -> str:
    """Return ``3 rows``, ``1 row``, ``1,234 rows``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return a time in the largest sensible unit.

    >>> [duration(s) for s in (0.4, 59, 61, 7200)]
    ['0.4 s', '59 s', '1 min 1 s', '2 h 0 min']
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    hours, left = divmod(minutes, 60)
    return f"{hours} h {left} min" if hours else f"{minutes} min {rest} s"


def three_digits(number: float) -> str:
    """Return a number with three digits where it is small, in whole units where it is large."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def dollars(amount: float) -> str:
    """Return an amount of money: whole cents, and three digits where it is less than a dollar.

    >>> [dollars(a) for a in (0, 0.000123, 0.05, 12.5, 1234)]
    ['$0', '$0.000123', '$0.05', '$12.50', '$1,234.00']
    """
    if 0 < amount < 1:
        digits = f"{amount:.3g}"
        return f"${float(digits):.10f}".rstrip("0") if "e" in digits else f"${digits}"
    return f"${amount:,.2f}" if amount else "$0"
