"""What the importer reads: Python sources, other files, and where they are from."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from peers_help import write

from magistrate.errors import FamilyError
from magistrate.prompts.importing import (
    licences,
    markers,
    origin,
    python_texts,
    texts,
    toml,
    wording,
)
from magistrate.prompts.importing.licences import recognise
from magistrate.prompts.importing.markers import DATA, NUMBER, markers_of
from magistrate.prompts.importing.origin import origin_of, public_address
from magistrate.prompts.importing.python_texts import read_python
from magistrate.prompts.importing.texts import notation_of, prompts_among, read_texts
from magistrate.prompts.importing.wording import Field, read_wording, to_jinja

MODULES = [licences, markers, origin, python_texts, texts, toml, wording]


@pytest.mark.parametrize("module", MODULES)
def test_examples(module: object) -> None:
    import doctest

    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]


def found(source: str) -> dict[str, object]:
    """Return each named text; one without places as a string."""
    return {
        name: text[0] if len(text) == 1 and isinstance(text[0], str) else text
        for name, text, _ in read_python(source)
    }


@pytest.mark.parametrize(
    ("source", "name", "text"),
    [
        ("A = 'x' 'y' \"z\"", "A", "xyz"),
        ("A: str = 'x'", "A", "x"),
        ("A = B = 'x'", "B", "x"),
        ("A = 'x' + 'y' + 'z'", "A", "xyz"),
        ("A = 'x'\nB = A + 'y'", "B", "xy"),
        ("A = 'x'\nA += 'y'", "A", "xy"),
        ("A = 'ab' * 3", "A", "ababab"),
        ("A = '''\n x\n'''.strip()", "A", "x"),
        ("A = ' x '.rstrip()", "A", " x"),
        ("A = 'xyx'.strip('x')", "A", "y"),
        ("A = '\\n'.join(['x', 'y'])", "A", "x\ny"),
        ("A = 'x-y'.replace('-', '+')", "A", "x+y"),
        ("import textwrap\nA = textwrap.dedent('''\\\n  x\n   y''')", "A", "x\n y"),
        ("from inspect import cleandoc\nA = cleandoc('''x\n    y''')", "A", "x\ny"),
        ("B = 'w'\nA = '{b} {c} {{d}}'.format(b=B)", "A", ("w ", Field("c"), " {d}")),
        ("B = 'w'\nA = '%s and %s' % (B, c)", "A", ("w and ", Field("c"))),
        ("A = '%(b)s%%' % {'b': 'w'}", "A", "w%"),
        ("A = '%s' % question", "A", (Field("question"),)),
        ("B = 'w'\nA = f'{B}{c}{{d}}{1}{\"e\"}'", "A", ("w", Field("c"), "{d}1e")),
        ("A = f'{row[\"question\"]}: {x.y}'", "A",
         (Field("row['question']"), ": ", Field("x.y"))),
        ("A = 'Q: ' + question + '\\n'", "A", ("Q: ", Field("question"), "\n")),
        ("A = '' + 'x'", "A", "x"),
        ("A = f'{\"\"}x'", "A", "x"),
        ("A = {'b': 'x', 'c': {'d': 'y'}}", "A.c.d", "y"),
        ("A = {'b': 'x'}\nB = A['b'] + 'y'", "B", "xy"),
        ("A = ['x', ('y', 'z')]", "A.1.1", "z"),
        ("A = dict(b='x')", "A.b", "x"),
        ("A = Made('w', system='x', inner=Other(user='y'))", "A.inner.user", "y"),
        ("A = Made(system='x')\nB = A.system + 'y'", "B", "xy"),
        ("register(Made(name='n', system='x'))", "n.system", "x"),
        ("class A:\n    b = 'x'\n    def c(self):\n        d = 'y'\n        return d + 'z'",
         "A.c.return", "yz"),
        ("async def f():\n    return 'x'", "f.return", "x"),
        ("if a:\n    B = 'x'\nelse:\n    C = 'y'", "C", "y"),
        ("try:\n    B = 'x'\nexcept E:\n    C = 'y'\nfinally:\n    D = 'z'", "D", "z"),
        ("match a:\n    case 1:\n        B = 'x'", "B", "x"),
        ("with a:\n    for b in c:\n        while d:\n            E = 'x'", "E", "x"),
        ("A = '\\\\d \\[x\\]'", "A", "\\d \\[x\\]"),
        ("A = 'x\\r\\ny'", "A", "x\r\ny"),
    ],
)  # fmt: skip
def test_texts_of_python_sources(source: str, name: str, text: object) -> None:
    assert found(source)[name] == text


@pytest.mark.parametrize(
    "source",
    [
        "A = b'x'",
        "A = f'{x!r}'",
        "A = f'{x:>3}'",
        "A = x + y",
        "A = load('p.txt')",
        "A = 'x' if y else 'z'",
        "A = '%d' % 3",
        "A = x.strip()",
        "A = [t for t in 'xy']",
        "A = 'x' - 'y'",
        "A = 'x'.join(y)",
        "A = 3",
    ],
)
def test_what_only_a_run_would_know_is_left_out(source: str) -> None:
    assert "A" not in found(source)


def test_a_name_taken_again_holds_nothing_old() -> None:
    source = "A = 'x'\ndef f(A):\n    return A + 'y'\nA = load()\nB = A + 'z'\n"
    assert found(source)["f.return"] == (Field("A"), "y")
    assert found(source)["B"] == (Field("A"), "z")


def test_sources_are_never_run(tmp_path: Path) -> None:
    target = tmp_path / "written"
    source = f"open({str(target)!r}, 'w').write('x')\n__import__('os').abort()\nA = 'x'\n"
    assert found(source) == {"A": "x"}
    assert not target.exists()


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("A = ", "not a Python source"),
        ("A = 'x\x00'", "not a Python source"),
        ("A = " + "(" * 5000 + ")" * 5000, "(not a Python source|nested too deeply)"),
        ("A = " + "-" * 100_000 + "1", "(not a Python source|nested too deeply)"),
        ("A = 'x' * 10_000_000", "too long for a prompt"),
        ("A = 'x' * 900_000\nB = A + A", "too long for a prompt"),
        ("A = 'x'\n" * 600_000, "too large"),
    ],
)
def test_sources_that_cannot_be_read(source: str, words: str) -> None:
    with pytest.raises(FamilyError, match=words):
        read_python(source)


def test_a_long_sum_is_read_quickly() -> None:
    source = "A = " + " + ".join(["'x'"] * 400)
    began = time.process_time()
    assert found(source)["A"] == "x" * 400
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.json", '{"b": {"c": "x"}, "d": ["y", {"name": "n", "e": "z"}], "f": 1}',
         {"b.c": "x", "d.0": "y", "d.n.name": "n", "d.n.e": "z"}),
        ("a.jsonl", '{"name": "n", "b": "x"}\n\n{"b": "y"}\n"z"\n',
         {"n.name": "n", "n.b": "x", "2.b": "y", "3": "z"}),
        ("a.txt", "x\r\ny", {"a": "x\r\ny"}),
        ("a.prompt", "\ufeffx", {"a": "x"}),
        ("a.jinja2", "{{ x }}", {"a": "{{ x }}"}),
        ("a.py", "A = 'x'", {"A": "x"}),
    ],
)  # fmt: skip
def test_texts_of_other_files(
    name: str, content: str, expected: dict[str, str], tmp_path: Path
) -> None:
    file = write(tmp_path, {name: content}) / name
    assert {text.name: text.wording[0] for text in read_texts(file)} == expected


def test_texts_of_yaml(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    file = write(tmp_path, {"a.yaml": "b:\n  c: |\n    x\n    y\n  d: [z, 1]\n"}) / "a.yaml"
    assert {text.name: text.wording[0] for text in read_texts(file)} == {
        "b.c": "x\ny\n",
        "b.d.0": "z",
    }
    for bad in ("a: [", "a: !!python/object/apply:os.abort []", "&a [*a]"):
        file = write(tmp_path, {"b.yml": bad}) / "b.yml"
        with pytest.raises(FamilyError, match=r"not valid YAML|nested more than"):
            read_texts(file)


def test_yaml_without_its_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    file = write(tmp_path, {"a.yaml": "b: x"}) / "a.yaml"
    with pytest.raises(FamilyError, match="pip install pyyaml"):
        read_texts(file)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.json", "{", "not valid JSON"),
        ("a.json", "[" * 100_000, "not valid JSON"),
        ("a.json", "[" * 60 + "1" + "]" * 60, "nested more than 40 levels"),
        ("a.jsonl", '{"a": "b"}\n{', "line 2: not valid JSON"),
        ("a.txt", "x\x00", "not a text file"),
    ],
)
def test_other_files_that_cannot_be_read(
    name: str, content: str, words: str, tmp_path: Path
) -> None:
    file = write(tmp_path, {name: content}) / name
    with pytest.raises(FamilyError, match=words) as told:
        read_texts(file)
    assert name in str(told.value)


def test_prompts_are_texts_with_places(tmp_path: Path) -> None:
    source = "A = '{a}'\nB = '%s'\nC = 'no {} }'\nD = f'{d}'\nE = 'json {\"a\": {b}}'\n"
    found_texts = read_texts(write(tmp_path, {"a.py": source}) / "a.py")
    notations = {text.name: notation_of(text) for text in found_texts}
    assert notations == {"A": "format", "B": "percent", "C": None, "D": "literal", "E": "braces"}
    assert [text.name for text in prompts_among(found_texts)] == ["A", "B", "D", "E"]


@pytest.mark.parametrize(
    ("text", "notation", "words"),
    [
        ("{a", "format", "not a text for str.format"),
        ("{a!r}", "format", "a format of its own"),
        ("{a:{b}}", "format", "a format of its own"),
        ("50% of", "percent", "not a text for the % operator"),
        ("%5s", "percent", "not a text for the % operator"),
        ("{{ a }", "jinja", "not a Jinja2 template"),
        ("{{ a.b }}", "jinja", "prints more than a name"),
        ("{{ a | upper }}", "jinja", "prints more than a name"),
        ("x\n{% if a %}b{% endif %}", "jinja", "line 2 of the template does more"),
    ],
)
def test_places_that_cannot_be_read(text: str, notation: wording.Notation, words: str) -> None:
    with pytest.raises(FamilyError, match=words):
        read_wording(text, notation)


def test_a_place_that_nothing_fills_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(KeyError):
        to_jinja((Field("a"),), {})


# Markers.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Q: {DATA}\nA: {DATA}\n", ()),
        (f"Query: {DATA}\nReply: {DATA}\n", ("Query:", "Reply:")),
        (f"[Q]\n***\n{DATA}\n***\n[END]", ("[Q]", "[END]")),
        (f"### Task {NUMBER}:\n{DATA}\n\n### Reply:", ("### Task {n}:", "### Reply:")),
        (f'"q": """{DATA}""",', ('"q": """', '"""')),
        (f"<data>{DATA}</data><more>{DATA}</more>", ("<data>", "</data><more>", "</more>")),
        (f"1. First\n{DATA}", ("1. First",)),
        (f"2\n{DATA}", ()),
        (f"{'word ' * 40}\n{DATA}", (("word " * 12).strip(),)),
        (f"{DATA}\n{DATA}", ()),
    ],
)  # fmt: skip
def test_markers_stand_around_the_data(text: str, expected: tuple[str, ...]) -> None:
    assert markers_of([text]) == expected


# Origins.

CONFIG = (
    '[core]\n\tbare = false\n[remote "fork"]\n\turl = https://x.org/fork.git\n'
    '[remote "origin"]\n\turl = https://me:{secret}@github.com/some/project.git\n\tfetch = x\n'
)
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    "git",
    [
        {"HEAD": COMMIT},
        {"HEAD": "ref: refs/heads/main\n", "refs/heads/main": f"{COMMIT}\n"},
        {"HEAD": "ref: refs/heads/main\n", "packed-refs": f"# pack\n{COMMIT} refs/heads/main\n"},
    ],
)
def test_a_file_of_a_clone(git: dict[str, str], tmp_path: Path) -> None:
    write(tmp_path / "clone" / ".git", git | {"config": CONFIG.format(secret="hunter2")})
    write(tmp_path / "clone", {"a/b.py": "A = 1", "LICENSE.md": "MIT License\n" + MIT})
    write(tmp_path, {"LICENSE": "Apache License Version 2.0"})
    file = tmp_path / "clone" / "a" / "b.py"
    known = origin_of(file, file.parent)
    assert known.file == "a/b.py"
    assert known.commit == COMMIT
    assert known.url == "https://github.com/some/project"
    assert (known.licence, known.licence_note) == ("MIT", "by LICENSE.md beside it")
    assert "hunter2" not in repr(known)


def test_a_file_of_a_linked_work_tree(tmp_path: Path) -> None:
    main = write(tmp_path / "main" / ".git", {"config": CONFIG.format(secret="x")})
    write(main, {"refs/heads/side": COMMIT, "worktrees/side/HEAD": "ref: refs/heads/side"})
    write(main, {"worktrees/side/commondir": "../..\n"})
    side = write(
        tmp_path / "side", {".git": f"gitdir: {main / 'worktrees' / 'side'}\n", "a.py": ""}
    )
    known = origin_of(side / "a.py", side)
    assert (known.commit, known.url) == (COMMIT, "https://github.com/some/project")


def test_a_real_clone(tmp_path: Path) -> None:
    folder = write(tmp_path / "real", {"a.py": "A = 1"})
    git = ["git", "-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "-q"], ["add", "a.py"], ["commit", "-q", "-m", "m"]):
        subprocess.run([*git, *arguments], cwd=folder, check=True)
    head = subprocess.run(
        [*git, "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True
    )
    known = origin_of(folder / "a.py", folder)
    assert known.commit == head.stdout.strip()
    assert known.url is None


@pytest.mark.parametrize(
    "git",
    [{}, {"HEAD": ""}, {"HEAD": "ref: ../../secret"}, {"HEAD": "ref: refs/heads/gone"}],
)
def test_a_clone_whose_commit_is_not_known(git: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    write(tmp_path / ".git", git)
    write(tmp_path, {"a.py": "", "secret": COMMIT})
    known = origin_of(tmp_path / "a.py", tmp_path)
    assert (known.commit, known.url) == (None, None)


def test_a_file_of_an_installed_package(tmp_path: Path) -> None:
    info = "peer-1.2.dist-info"
    metadata = "Name: peer\nVersion: 1.2\nProject-URL: Home, https://github.com/some/peer\n"
    record = "peer/prompts.py,sha256=x,1\n"
    write(tmp_path, {f"{info}/METADATA": metadata + "License: Apache-2.0\n"})
    write(tmp_path, {f"{info}/RECORD": record, "peer/prompts.py": ""})
    known = origin_of(tmp_path / "peer" / "prompts.py", tmp_path)
    assert (known.package, known.url) == ("peer 1.2", "https://github.com/some/peer")
    assert known.licence == "Apache-2.0"
    assert known.file == "peer/prompts.py"
    write(tmp_path, {f"{info}/licenses/LICENSE": MIT})
    assert origin_of(tmp_path / "peer" / "prompts.py", tmp_path).licence == "MIT"


def test_a_file_of_nothing_known(tmp_path: Path) -> None:
    write(tmp_path, {"LICENSE": MIT, "given/a/b.txt": "x", "given/COPYING": "All mine."})
    known = origin_of(tmp_path / "given/a/b.txt", tmp_path / "given")
    assert (known.file, known.url, known.commit, known.package) == ("a/b.txt", None, None, None)
    assert known.licence is None
    assert "no kind known here" in known.licence_note
    (tmp_path / "given/COPYING").unlink()
    known = origin_of(tmp_path / "given/a/b.txt", tmp_path / "given/a/b.txt")
    assert (known.file, known.licence) == ("b.txt", None)
    assert known.licence_note == "no licence file beside it"


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://github.com/some/project.git/", "https://github.com/some/project"),
        ("ssh://git@example.org/some/project.git", "https://example.org/some/project"),
        ("https://token@example.org/p", "https://example.org/p"),
        ("file:///home/me/p", None),
        ("../p", None),
        ("C:\\p", None),
    ],
)
def test_addresses_that_anybody_can_open(url: str, address: str | None) -> None:
    assert public_address(url) == address


MIT = (
    "Permission is hereby granted, free of charge, to any person obtaining a copy\n"
    "of this software, to deal in the Software without restriction."
)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (MIT, "MIT"),
        ("                Apache License\n          Version 2.0, January 2004", "Apache-2.0"),
        ("GNU GENERAL PUBLIC LICENSE\n Version 3, 29 June 2007", "GPL-3.0"),
        ("GNU AFFERO GENERAL PUBLIC LICENSE\n Version 3, 19 November 2007", "AGPL-3.0"),
        ("Creative Commons Attribution-NonCommercial 4.0 International", "CC-BY-NC-4.0"),
        ("Creative Commons Attribution 4.0 International", "CC-BY-4.0"),
        ("Mozilla Public License Version 2.0", "MPL-2.0"),
        ("// SPDX-License-Identifier: BSD-3-Clause", "BSD-3-Clause"),
        ("All rights reserved.", None),
    ],
)
def test_licences_by_their_text(text: str, name: str | None) -> None:
    assert recognise(text) == name


def test_no_wording_of_a_published_judge_stands_in_the_package(repo: Path) -> None:
    """The recipes may name a peer's texts and places, not hold its sentences."""
    folder = repo / "src" / "magistrate" / "prompts" / "importing"
    for file in folder.rglob("*.py"):
        for _, text, line in read_python(file.read_text("utf-8")):
            for piece in (piece for piece in text if isinstance(piece, str)):
                sentence = re.search(r"(?:rate|evaluate|judge|act|write|assess) [^.]{60,}\.", piece)
                assert sentence is None, (file, line)
