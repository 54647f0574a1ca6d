"""Readers of the formats of peers, one small module per family of formats."""

from __future__ import annotations

from magistrate.formats.base import Reader


def all_readers() -> tuple[Reader, ...]:
    """Return every reader, from the most to the least specific."""
    from magistrate.formats.readers import alpaca_eval, autoj, judgebench, llmbar, pandalm

    families = (pandalm, llmbar, autoj, judgebench, alpaca_eval)
    return tuple(reader for family in families for reader in family.READERS)
