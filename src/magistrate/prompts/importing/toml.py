r"""Writing TOML: just what a ``family.toml`` needs.

>>> print(dumps({"a": 'x "y"\n', "b": [1, 2.0], "c": None, "t": {"d": True}, "m": [{"e": 1}]}))
a = "x \"y\"\n"
b = [1, 2.0]
<BLANKLINE>
[[m]]
e = 1
<BLANKLINE>
[t]
d = true
<BLANKLINE>
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

_DELETE = "\x7f"


def dumps(table: Mapping[str, Any]) -> str:
    """Return a TOML document; keys without a value are left out.

    Raises:
        TypeError: A value is of a kind that the document has no use for.
    """
    return "\n".join(_table(table, ())) + "\n"


def _table(table: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[str]:
    given = {key: value for key, value in table.items() if value is not None}
    rows = {key: value for key, value in given.items() if _is_rows(value)}
    tables = {key: value for key, value in given.items() if isinstance(value, Mapping)}
    for key, value in given.items():
        if key not in rows and key not in tables:
            yield f"{_key(key)} = {_value(value)}"
    for key, value in rows.items():
        for row in value:
            yield from _headed(f"[[{_path(above, key)}]]", row, (*above, key))
    for key, value in tables.items():
        yield from _headed(f"[{_path(above, key)}]", value, (*above, key))


def _headed(heading: str, table: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[str]:
    yield ""
    yield heading
    yield from _table(table, above)


def _is_rows(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and bool(value)
        and all(isinstance(item, Mapping) for item in value)
    )


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return repr(value)
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    raise TypeError(f"a {type(value).__name__} cannot stand in a family file")


def _string(text: str) -> str:
    # The escapes of JSON are TOML's as well; TOML also wants one for the delete character.
    return json.dumps(text, ensure_ascii=False).replace(_DELETE, "\\u007f")


def _key(key: str) -> str:
    plain = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if plain else _string(key)


def _path(above: tuple[str, ...], key: str) -> str:
    return ".".join(map(_key, (*above, key)))
