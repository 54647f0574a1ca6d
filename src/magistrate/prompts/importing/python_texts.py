r"""The texts of a Python source, read from its syntax tree. The source is never run.

What is followed: string constants and their concatenation, names given earlier, attributes and
keys of what was given, f-strings, ``%``, ``*``, and the methods and functions in
:data:`_METHODS`. A value that only a run would know becomes a place, named as it is written. What
is not followed is left out; no guess is made.

>>> source = '''
... HEAD = "You judge."
... FORM = dict(system=HEAD + "\\n", user="Q: {question}")
... def build(question, answer):
...     return f"Q: {question}\\nA: {answer.strip()}"
... '''
>>> for name, wording, line in read_python(source):
...     print(name, line, wording)
HEAD 2 ('You judge.',)
FORM.system 3 ('You judge.\n',)
FORM.user 3 ('Q: {question}',)
build.return 5 ('Q: ', Field(name='question'), '\nA: ', Field(name='answer.strip()'))
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from magistrate.errors import FamilyError
from magistrate.prompts.importing.wording import Field, Wording, joined, plain_text, read_wording

MOST_CHARACTERS = 4_000_000
"""Of a source; longer ones are refused."""

_MOST_OF_A_TEXT = 1_000_000
_FUNCTIONS: Mapping[str, Callable[[str], str]] = {
    "dedent": textwrap.dedent,
    "cleandoc": inspect.cleandoc,
}
_METHODS = frozenset({"strip", "lstrip", "rstrip", "format", "join", "replace"})


class PythonText(NamedTuple):
    """A text that a source gives a name to."""

    name: str
    """With dots: class, function, variable, then key or argument; ``return`` for what a function
    gives back."""
    wording: Wording
    """Places are values known only when the source runs; braces are as written."""
    line: int


def read_python(source: str) -> tuple[PythonText, ...]:
    """Return every named text in the sequence of the source.

    A name that is given several texts (in branches, or one after the other) comes several times.

    Raises:
        FamilyError: Not a Python source, or one too large or too deeply nested to be read.
    """
    if len(source) > MOST_CHARACTERS:
        raise FamilyError(f"a source of {len(source):,} characters is too large to be read")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # stray backslashes in a peer's source are its own
            tree = ast.parse(source)
        reader = _Reader()
        reader.read(tree.body, prefix="", scope={})
    except SyntaxError as error:
        raise FamilyError(f"not a Python source: {error.msg} (line {error.lineno})") from error
    except ValueError as error:
        raise FamilyError(f"not a Python source: {error}") from error
    except (RecursionError, MemoryError) as error:
        raise FamilyError("the source is nested too deeply to be read") from error
    return tuple(reader.texts)


class _Reader:
    """Walks statements in their sequence; what a name holds is known up to the current one."""

    def __init__(self) -> None:
        self.texts: list[PythonText] = []

    def read(self, body: Sequence[ast.stmt], prefix: str, scope: dict[str, Wording]) -> None:
        """Read statements; ``scope`` maps names with dots to the texts they hold."""
        for statement in body:
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                arguments = statement.args
                taken = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
                inner = dict(scope)
                for argument in taken:
                    _forget(inner, argument.arg)
                self.read(statement.body, f"{prefix}{statement.name}.", inner)
            elif isinstance(statement, ast.ClassDef):
                self.read(statement.body, f"{prefix}{statement.name}.", dict(scope))
            elif isinstance(statement, ast.Assign | ast.AnnAssign):
                self._read_assignment(statement, prefix, scope)
            elif isinstance(statement, ast.AugAssign):
                self._read_addition(statement, prefix, scope)
            elif isinstance(statement, ast.Return) and statement.value is not None:
                self._collect("return", statement.value, prefix, scope)
            elif isinstance(statement, ast.Expr):
                self._read_registration(statement.value, prefix, scope)
            else:
                for block in _blocks(statement):
                    self.read(block, prefix, scope)

    def _read_assignment(
        self, statement: ast.Assign | ast.AnnAssign, prefix: str, scope: dict[str, Wording]
    ) -> None:
        if statement.value is None:
            return
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            name = _path(target)
            if name is not None:
                _forget(scope, name)
                self._collect(name, statement.value, prefix, scope)

    def _read_addition(
        self, statement: ast.AugAssign, prefix: str, scope: dict[str, Wording]
    ) -> None:
        name = _path(statement.target)
        if name is None or not isinstance(statement.op, ast.Add):
            return
        before, added = scope.get(name), _resolve(statement.value, scope)
        if before is None:
            return
        text = joined((*before, *(_place(statement.value) if added is None else added)))
        self._give(name, text, statement.lineno, prefix, scope)

    def _read_registration(self, node: ast.expr, prefix: str, scope: dict[str, Wording]) -> None:
        """Read ``register(Template(name="x", system="..."))``: texts by the name inside."""
        for call in ast.walk(node):
            if not isinstance(call, ast.Call):
                continue
            named = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
            name = _resolve(named["name"], scope) if "name" in named else None
            if name is not None and (text := plain_text(name)):
                self._collect(text, call, prefix, scope)

    def _collect(self, name: str, node: ast.expr, prefix: str, scope: dict[str, Wording]) -> None:
        """Keep a text, or every text inside a dict, a sequence or a call."""
        text = _resolve(node, scope)
        if text is not None:
            self._give(name, text, node.lineno, prefix, scope)
            return
        for key, value in _members(node):
            self._collect(f"{name}.{key}", value, prefix, scope)

    def _give(
        self, name: str, text: Wording, line: int, prefix: str, scope: dict[str, Wording]
    ) -> None:
        scope[name] = text
        self.texts.append(PythonText(prefix + name, text, line))


def _blocks(statement: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    """Return the statements inside a statement: branches, loops, handlers."""
    for name in ("body", "orelse", "finalbody"):
        yield getattr(statement, name, [])
    for inner in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield inner.body


def _members(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant):
                yield str(key.value), value
    elif isinstance(node, ast.List | ast.Tuple):
        for place, value in enumerate(node.elts):
            yield str(place), value
    elif isinstance(node, ast.Call):
        for place, value in enumerate(node.args):
            yield str(place), value
        for keyword in node.keywords:
            if keyword.arg is not None:
                yield keyword.arg, keyword.value


def _forget(scope: dict[str, Wording], name: str) -> None:
    """Drop what a name held, also under its attributes and keys."""
    for known in [known for known in scope if known == name or known.startswith(f"{name}.")]:
        del scope[known]


def _path(node: ast.expr) -> str | None:
    """Return a name, attribute or constant key with dots; None for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = _path(node.value)
        return None if base is None else f"{base}.{node.attr}"
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        base = _path(node.value)
        return None if base is None else f"{base}.{node.slice.value!s}"
    return None


def _place(node: ast.expr) -> Wording:
    return (Field(ast.unparse(node)),)


def _known_or_place(node: ast.expr, scope: Mapping[str, Wording]) -> Wording:
    known = _resolve(node, scope)
    return _place(node) if known is None else known


def _resolve(node: ast.expr, scope: Mapping[str, Wording]) -> Wording | None:
    """Return the text that an expression stands for; None where it is no text, or not known."""
    if isinstance(node, ast.Constant):
        return joined((node.value,)) if isinstance(node.value, str) else None
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        path = _path(node)
        return None if path is None else scope.get(path)
    if isinstance(node, ast.JoinedStr):
        return _resolve_fstring(node, scope)
    if isinstance(node, ast.BinOp):
        return _bounded(_resolve_operation(node, scope))
    if isinstance(node, ast.Call):
        return _bounded(_resolve_call(node, scope))
    return None


def _bounded(text: Wording | None) -> Wording | None:
    size = sum(len(piece) for piece in text or () if isinstance(piece, str))
    if size > _MOST_OF_A_TEXT:
        raise FamilyError(f"a text of {size:,} characters is too long for a prompt")
    return text


def _resolve_fstring(node: ast.JoinedStr, scope: Mapping[str, Wording]) -> Wording | None:
    pieces: list[str | Field] = []
    for value in node.values:
        if isinstance(value, ast.Constant):
            pieces.append(f"{value.value!s}")
            continue
        if not isinstance(value, ast.FormattedValue):
            return None
        if value.format_spec is not None or value.conversion not in (-1, ord("s")):
            return None
        if isinstance(value.value, ast.Constant):
            pieces.append(str(value.value.value))
        else:
            pieces.extend(_known_or_place(value.value, scope))
    return joined(pieces)


def _resolve_operation(node: ast.BinOp, scope: Mapping[str, Wording]) -> Wording | None:
    if isinstance(node.op, ast.Add):
        return _resolve_sum(node, scope)
    left = _resolve(node.left, scope)
    text = None if left is None else plain_text(left)
    if text is None:
        return None
    if isinstance(node.op, ast.Mod):
        return _resolve_percent(text, node.right, scope)
    times = node.right.value if isinstance(node.right, ast.Constant) else None
    if isinstance(node.op, ast.Mult) and isinstance(times, int):
        if len(text) * times > _MOST_OF_A_TEXT:
            raise FamilyError(f"a text repeated {times:,} times is too long for a prompt")
        return joined((text * times,))
    return None


def _resolve_sum(node: ast.BinOp, scope: Mapping[str, Wording]) -> Wording | None:
    """Resolve a chain of additions; it is text if one of its parts is."""
    parts: list[ast.expr] = []
    rest: ast.expr = node
    while isinstance(rest, ast.BinOp) and isinstance(rest.op, ast.Add):
        parts.append(rest.right)
        rest = rest.left
    parts = [rest, *reversed(parts)]
    texts = [_resolve(part, scope) for part in parts]
    if not any(isinstance(piece, str) for text in texts for piece in text or ()):
        return None
    return joined(
        piece
        for part, text in zip(parts, texts, strict=True)
        for piece in (text if text is not None else _place(part))
    )


def _resolve_percent(text: str, values: ast.expr, scope: Mapping[str, Wording]) -> Wording | None:
    try:
        template = read_wording(text, "percent")
    except FamilyError:
        return None
    several = isinstance(values, ast.Dict | ast.Tuple)
    given = dict(_members(values)) if several else {"0": values}
    return _filled_from(template, given, scope)


def _filled_from(
    template: Wording, given: Mapping[str, ast.expr], scope: Mapping[str, Wording]
) -> Wording:
    """Fill places whose value is a known text; others keep their name, or get their value's."""
    pieces: list[str | Field] = []
    for piece in template:
        if isinstance(piece, str) or piece.name not in given:
            pieces.append(piece)
            continue
        value = given[piece.name]
        known = _resolve(value, scope)
        if known is None:
            known = _place(value) if piece.name.isdigit() else (piece,)
        pieces.extend(known)
    return joined(pieces)


def _resolve_call(node: ast.Call, scope: Mapping[str, Wording]) -> Wording | None:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else _path(node.func) or ""
    if name in _FUNCTIONS and len(node.args) == 1 and not node.keywords:
        argument = _text(node.args[0], scope)
        return None if argument is None else joined((_FUNCTIONS[name](argument),))
    if name not in _METHODS or not isinstance(node.func, ast.Attribute):
        return None
    text = _resolve(node.func.value, scope)
    if text is None:
        return None
    if name in ("strip", "lstrip", "rstrip"):
        return _stripped(text, name, node.args, scope)
    plain = plain_text(text)
    if plain is None:
        return None
    if name == "join":
        return _resolve_join(plain, node.args, scope)
    if name == "replace":
        old, new = (_text(argument, scope) for argument in (*node.args, *node.args)[:2])
        if len(node.args) != 2 or not old or new is None:
            return None
        return joined((plain.replace(old, new),))
    try:
        template = read_wording(plain, "format")
    except FamilyError:
        return None
    return _filled_from(template, dict(_members(node)), scope)


def _resolve_join(
    between: str, arguments: Sequence[ast.expr], scope: Mapping[str, Wording]
) -> Wording | None:
    if len(arguments) != 1 or not isinstance(arguments[0], ast.List | ast.Tuple):
        return None
    pieces: list[str | Field] = []
    for place, element in enumerate(arguments[0].elts):
        if place:
            pieces.append(between)
        pieces.extend(_known_or_place(element, scope))
    return joined(pieces)


def _stripped(
    text: Wording, method: str, arguments: Sequence[ast.expr], scope: Mapping[str, Wording]
) -> Wording | None:
    characters = _text(arguments[0], scope) if arguments else None
    if len(arguments) > 1 or (arguments and characters is None):
        return None
    pieces = list(text)
    if pieces and isinstance(pieces[0], str) and method != "rstrip":
        pieces[0] = pieces[0].lstrip(characters)
    if pieces and isinstance(pieces[-1], str) and method != "lstrip":
        pieces[-1] = pieces[-1].rstrip(characters)
    return joined(pieces)


def _text(node: ast.expr, scope: Mapping[str, Wording]) -> str | None:
    known = _resolve(node, scope)
    return None if known is None else plain_text(known)
