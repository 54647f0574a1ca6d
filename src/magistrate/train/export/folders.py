"""A judge folder made of another: its ``judge.toml`` with other weights."""

from __future__ import annotations

import shutil
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from magistrate.engines.judge_model import JUDGE_FILE
from magistrate.errors import InputError
from magistrate.judging.folder import read_judge_file
from magistrate.prompts.importing.toml import dumps
from magistrate.prompts.schema import FAMILY_FILE
from magistrate.train.folder import put_in_place

_KEPT = ("CARD.md", FAMILY_FILE, "chat_template.jinja")
_TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")


@contextmanager
def new_folder(source: Path, out: Path, *, with_tokenizer: bool = True) -> Iterator[Path]:
    """Yield a draft with what the judge brings along; it is put in place when all went well.

    Raises:
        InputError: There is something at ``out`` already.
    """
    if out.exists():
        raise InputError(f"{out} is there already; give another folder with -o")
    out.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        families = read_judge_file(source).families.values()
        for name in (*_KEPT, *families, *(_TOKENIZER if with_tokenizer else ())):
            if (source / name).is_file():
                shutil.copy(source / name, draft / name)
        yield draft
        put_in_place(draft, out)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def write_judge_file(
    source: Path, draft: Path, changes: Mapping[str, Any], made: Mapping[str, Any]
) -> None:
    """Write ``judge.toml`` of a new form.

    Its calibration is left out: it holds for the judge that it was fitted for alone.

    Args:
        source: The judge folder.
        draft: The new one.
        changes: Sections and keys in place of those of the source; None removes one.
        made: What is added to ``[made]``.
    """
    table: dict[str, Any] = tomllib.loads((source / JUDGE_FILE).read_text("utf-8"))
    table.pop("calibration", None)
    table |= changes
    table["made"] = {**table.get("made", {}), **made}
    (draft / JUDGE_FILE).write_text(dumps(table), "utf-8")
