"""Readers of the formats of peers, one small module per family of formats."""

from __future__ import annotations

from magistrate.formats.base import Reader


def all_readers() -> tuple[Reader, ...]:
    """Return every reader, from the most to the least specific.

    The order is a second safeguard: on every file that we know, one reader alone matches.
    """
    from magistrate.formats.readers import (
        alpaca_eval,
        arena,
        autoj,
        critiquellm,
        freedom,
        halueval,
        judgebench,
        judgelm,
        llmbar,
        mtbench,
        pandalm,
        preference,
        prometheus,
        selective,
        single,
        ukp,
        unlimitedjudge,
        vicuna,
    )

    families = (
        judgelm,
        vicuna,
        mtbench,
        judgebench,
        prometheus,
        arena,
        freedom,
        llmbar,
        pandalm,
        autoj,
        ukp,
        halueval,
        alpaca_eval,
        critiquellm,
        selective,
        unlimitedjudge,
        preference,
        single,
    )
    return tuple(reader for family in families for reader in family.READERS)
