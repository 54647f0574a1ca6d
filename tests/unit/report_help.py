"""Runs and pages for tests of the report: hostile texts, hand-made judgments, a parsed page."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import magistrate as mg
from magistrate.records import Gold, Judgment, Preference, Probabilities, Sample, to_json_line

ATTACKS = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "</style><style>*{display:none}</style>",
    "<svg/onload=alert(3)>",
    "[click](javascript:alert(4)) <a href='javascript:alert(5)'>here</a>",
    "\"'><iframe srcdoc='<script>alert(6)</script>'></iframe>",
    "{{ 7*7 }} {% raw %} {# note #}",
    "<!-- --><title>stolen</title><base href=//evil.example>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "right \u202eot tfel\u202c \u2066isolated\u2069 and zero\u200bwidth \x00\x1b[31m\x07",
    "lone surrogate \ud800 and a tag \U000e0041",
    "]]> <![CDATA[ <x> ]]> &lt;b&gt; &amp; &#x3c;script&#x3e;",
    "| pipe | `code` *star* _low_ \\ back\n# heading\n---",
    '=HYPERLINK("//evil.example";"x")',
    "x" * 9_000,
)


def hostile_samples() -> list[Sample]:
    """Return pairs in which every field that a report shows is an attack."""
    samples = []
    for place, attack in enumerate(ATTACKS):
        other = ATTACKS[(place + 1) % len(ATTACKS)]
        samples.append(
            mg.Sample(
                question=attack,
                answers=(
                    mg.Answer(text=attack + " a", model=other[:60]),
                    mg.Answer(text=other, model=attack[:60]),
                ),
                reference=attack,
                category=attack[:60],
                language=other[:60],
                source_id=f"{place} {attack[:40]}",
                gold=(
                    Gold(annotator=attack[:40], preference="first"),
                    Gold(annotator=f"second {other[:40]}", preference="first"),
                ),
            )
        )
    return samples


def plain_samples(
    n: int, *, labels: bool = True, models: Sequence[str] = ("alder", "birch", "cedar")
) -> list[Sample]:
    """Return pairs that look like real ones."""
    drawn = random.Random(7)
    samples = []
    for place in range(n):
        first, second = drawn.sample(range(len(models)), 2)
        vote: Preference = drawn.choice(("first", "first", "second", "tie"))
        samples.append(
            mg.Sample(
                question=f"Question {place // 2}",
                answers=tuple(
                    mg.Answer(text=f"{place} " + "word " * drawn.randint(1, 90), model=models[k])
                    for k in (first, second)
                ),
                category=("facts", "code")[place % 2],
                source_id=str(place),
                gold=(Gold(preference=vote),) if labels else (),
            )
        )
    return samples


def judgments_of(
    samples: Sequence[Sample], *, reasons: str | None = None, sure: bool = True
) -> list[Judgment]:
    """Return readings in both orders by a judge that is biased and says how sure it is."""
    drawn = random.Random(11)
    made = []
    for place, sample in enumerate(samples):
        for order in ((0, 1), (1, 0)):
            p = drawn.uniform(0.05, 0.9)
            if order == (1, 0) and drawn.random() < 0.7:
                p = 0.9 - p
            known = Probabilities(first=p, tie=0.05, second=0.95 - p)
            said: Preference = known.preference
            made.append(
                Judgment(
                    key=f"{place:08x}{order[0]}".ljust(64, "0"),
                    sample_id=sample.text_id,
                    judge="hand",
                    order=order,
                    status="ok",
                    preference=said,
                    probabilities=known if sure else None,
                    scores=(5 + p, 6 - p),
                    reasons=reasons,
                )
            )
    return made


def stored(folder: Path, samples: Sequence[Sample], judgments: Sequence[Judgment]) -> list[Path]:
    """Write a file of judgments and one of labels; return both."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / "judgments.jsonl", folder / "labels.jsonl"]
    for path, records in zip(files, (judgments, samples), strict=True):
        path.write_bytes(b"".join(to_json_line(record) + b"\n" for record in records))
    return files


@dataclass
class Node:
    """An element of a page."""

    tag: str
    attributes: dict[str, str]
    inside: list[Node] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        yield self
        for node in self.inside:
            yield from node.walk()

    def all(self, tag: str, class_: str = "") -> list[Node]:
        return [
            node
            for node in self.walk()
            if (not tag or node.tag == tag) and (not class_ or class_ in node.classes)
        ]

    def by_id(self, name: str) -> Node:
        (found,) = [node for node in self.walk() if node.attributes.get("id") == name]
        return found

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()

    @property
    def text(self) -> str:
        return "".join(text for node in self.walk() for text in node.texts)


_VOID = frozenset({"meta", "input", "br", "wbr", "img", "link", "base", "hr"})


class _Tree(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs})
        self.open[-1].inside.append(node)
        if tag not in _VOID:
            self.open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].inside.append(Node(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].texts.append(data)


def parse(page: str) -> Node:
    """Return a page as a tree; every element must be closed where it should be."""
    tree = _Tree()
    tree.feed(page)
    tree.close()
    assert len(tree.open) == 1, f"<{tree.open[-1].tag}> is not closed"
    return tree.root
