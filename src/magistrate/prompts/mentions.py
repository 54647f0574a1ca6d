r"""How reasons speak of answers, and the same reasons with the answers in another order.

A teacher wrote "Assistant 1 is more precise than the second answer" of the answers as it saw them.
Where they stand in another order, that must become "Assistant 2 ... the first answer". JudgeLM
renames the literal ``Assistant 1`` alone (``judgelm/train/train.py``), which leaves other mentions
wrong and damages ``Assistant 10``; here every form is renamed that certainly speaks of an answer:

* a noun and a label: ``Assistant 1``, ``response_2``, ``Answer #1``, ``Output (a)``, ``Model B``,
  ``Assistant one``; several as well: ``Assistants 1 and 2``, ``Answers A, B and C``, ``Model A/B``;
* an ordinal and a noun: ``the first assistant``, ``the 2nd response``, ``the second one``, ``the
  first and second answers``;
* framed letters: ``[[A]]``, ``[[A>>B]]``;
* Chinese: ``助手1``, ``回答A``, ``助手一``, ``第一个回答``, ``第2位助手``, ``第一个更好``.

Left alone is what may speak of something else: a value (``the answer 2``, ``model 1.5``), labels
beyond the answers there are (``Assistant 10`` of two), ``first of all``, ``the first line``, ``step
1``, ``10 points``, ``it first answers``, a letter or an ordinal without a noun (``A is better``,
``the first is``). "The former" and "the latter" stay too: they point at what the text named before
them, and that keeps its place in the text while its name changes.

A label is only ever replaced by a label of the same kind and case, and what is found never depends
on which label of a kind stands there. So renaming by a permutation and then by its inverse gives
the very same text, whatever the text is. Numbers in words go to twenty and letters to Z: of more
answers than that, such mentions are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import TypeAlias

Found: TypeAlias = re.Match[str]
LabelsOf: TypeAlias = Callable[[Found], int]
"""Which group of what a pattern found holds an answer's labels; 0 where it is no mention."""


def _words(text: str) -> list[str]:
    return text.split()


_NUMBERS = _words(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
)
_ORDINALS = _words(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)
_CHINESE = _words("一 二 三 四 五 六 七 八 九 十 十一 十二 十三 十四 十五 十六 十七 十八 十九 二十")
_LETTERS = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_WIDE_DIGITS = str.maketrans("0123456789", "０１２３４５６７８９")


def swap_mentions(text: str, order: Sequence[int]) -> str:
    """Return ``text`` with every mention of an answer renamed to where that answer now stands.

    Args:
        text: Speaks of the answers in the sample's own order: "Assistant 1" is its first answer.
        order: ``order[k]`` is the sample's answer (from 0) that now stands at place ``k``. To
            bring a text about the shown places back to the sample's order, give the inverse
            (:func:`inverse`).

    Raises:
        ValueError: ``order`` is not a permutation.

    >>> swap_mentions("Assistant 1 beats the second answer; assistant 10 is not here.", (1, 0))
    'Assistant 2 beats the first answer; assistant 10 is not here.'
    >>> swap_mentions("Responses A and B are alike, C is not; [[C]]", (2, 0, 1))
    'Responses B and C are alike, C is not; [[A]]'
    """
    renames = _renames(tuple(order))
    if not renames:
        return text
    # Each search renames labels that no other looks at, so that their order is of no account.
    searches = [(_LABELLED, _labelled), (_ranked_pattern(len(order)), _ranked), (_FRAMED, _only)]
    if not text.isascii():
        searches.append((_CHINESE_MENTION, _only))
    for pattern, labels_of in searches:
        text = pattern.sub(partial(_renamed, labels_of, renames), text)
    return text


def _renamed(labels_of: LabelsOf, renames: Mapping[str, str], found: Found) -> str:
    whole = found[0]
    group = labels_of(found)
    if not group:
        return whole
    labels = found[group]
    new = renames.get(labels)
    if new is None:
        new = _LABEL.sub(lambda label: renames.get(label[0], label[0]), labels)
    start, end = found.span(group)
    offset = found.start()
    return whole[: start - offset] + new + whole[end - offset :]


def inverse(order: Sequence[int]) -> tuple[int, ...]:
    """Return where each answer stands: ``order[inverse(order)[i]] == i``.

    >>> inverse((2, 0, 1))
    (1, 2, 0)
    """
    places = [0] * len(order)
    for place, answer in enumerate(order):
        places[answer] = place
    return tuple(places)


# What a label becomes.


@lru_cache(maxsize=64)
def _renames(order: tuple[int, ...]) -> Mapping[str, str]:
    """Every label of every kind with what it becomes; empty where all stand where they stood."""
    count = len(order)
    if sorted(order) != list(range(count)):
        raise ValueError(f"order {order} is not a permutation of 0..{count - 1}")
    place_of = inverse(order)
    if place_of == tuple(range(count)):
        return {}
    renames = {}
    for labels in _kinds(count):
        renames.update({labels[i]: labels[place] for i, place in enumerate(place_of)})
    return renames


def _kinds(count: int) -> list[Sequence[str]]:
    """The labels of each kind, of the first answer to the last."""
    numbers = [str(number) for number in range(1, count + 1)]
    ranks = [f"{number}{_suffix(number)}" for number in range(1, count + 1)]
    kinds: list[Sequence[str]] = [
        numbers,
        [number.translate(_WIDE_DIGITS) for number in numbers],
        ranks,
        [rank.upper() for rank in ranks],
        _LETTERS,
        [letter.lower() for letter in _LETTERS],
        _CHINESE,
    ]
    for words in (_NUMBERS, _ORDINALS):
        kinds += [[case(word) for word in words] for case in _CASES]
    return [labels for labels in kinds if len(labels) >= count]


def _suffix(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


_CASES: tuple[Callable[[str], str], ...] = (str.lower, str.capitalize, str.upper)
_LABEL = re.compile("[0-9]+(?:st|nd|rd|th|ST|ND|RD|TH)?|[０-９]+|[A-Za-z]+|[一二三四五六七八九十]+")


# A noun with labels behind it. Patterns begin with a set of characters, and look at what stands
# before them last: so the search passes over most of a text at the speed of C.


def _listed(label: str, end: str, between: str) -> str:
    """Pattern of one label or more with ``between`` between them; each ends as ``end`` says."""
    return f"({label}{end}(?:{between}{label}{end})*)"


def _any_of(words: Sequence[str]) -> str:
    """Pattern of words in lower, title and upper case; the longest first."""
    forms = {case(word) for word in words for case in _CASES}
    return "(?:" + "|".join(sorted(forms, key=lambda form: (-len(form), form))) + ")"


_NOUNS = _words("assistant chatbot response candidate answer model output reply completion")
_PERSONS = frozenset({"assistant", "chatbot"})
_NOUN = "[AaCcRrMmOo]" + "(?:" + "|".join(f"{n[1:]}|{n[1:].upper()}" for n in _NOUNS) + ")"
_END = "(?![A-Za-z0-9_])"
_NUMBER_END = r"(?![A-Za-z0-9_]|[.,][0-9]|[-–—][0-9]|\s?%|/[0-9]{2})"
_GAP = (
    r"(?:[ \xa0]?[#№][ \xa0]?|[ \xa0](?:[Nn]o\.\s|[Nn]umber\s)?|[_-])?"
    r"(?:\*\*?|[(\"'“‘]|\[(?!\[))?"
)
_AND = r"(?:\s+(?:and|or|vs\.?|versus)\s+|\s?&\s?|/)"
_SEVERAL = rf"(?(2)(?:{_AND}|,\s+(?:(?:and|or)\s+)?)|{_AND})"
"""Between labels: commas only behind a plural."""

_LABELLED = re.compile(
    rf"({_NOUN})([sS])?(?:{_GAP}(?:{_listed('[0-9]+', _NUMBER_END, _SEVERAL)}"
    rf"|{_listed('[A-Z]', _END, _SEVERAL)})"
    rf"|\s?\(([a-z])\)"
    rf"|\s(?:{_listed(_any_of(_NUMBERS), _END, _AND)}|{_listed('[a-z]', _END, _AND)}))"
)
_DIGITS, _UPPER, _BRACKETED = 3, 4, 5

# No word here may itself be a label ("one", "a"): what is found must not depend on labels.
_BEFORE_VALUE = re.compile(
    r"(?:an|its|their|to|final|correct|right|wrong|incorrect|exact|numerical|expected|true|actual"
    r"|same|reference)\s+\Z",
    re.IGNORECASE,
)
_LONGEST_BEFORE = 12


def _labelled(found: Found) -> int:
    """Look at a noun with labels behind it."""
    text, start = found.string, found.start()
    kind = found.lastindex or 0
    if _is_inside_word(text, start):
        return 0
    noun = found[1]
    if noun.lower() in _PERSONS:
        return kind
    if kind > _BRACKETED:  # "answer one question", "the response a user"
        return 0
    if found[2] and found[kind].isalnum():  # "it answers 2 questions"
        return 0
    if kind == _DIGITS and noun == "output":  # a program that must output 1
        return 0
    if noun[1:].lower() in ("nswer", "utput"):
        before = text[max(0, start - _LONGEST_BEFORE) : start]
        if _BEFORE_VALUE.search(before):  # the correct answer B
            return 0
        if kind == _DIGITS and noun == "answer":  # the answer 2, the answer 1/2
            return 0 if before.lower().endswith("the ") or "/" in found[kind] else kind
    return kind


def _is_inside_word(text: str, start: int) -> bool:
    """Whether a letter, digit or underscore of ASCII stands right before."""
    before = text[start - 1] if start else " "
    return before == "_" or (before.isascii() and before.isalnum())


# An ordinal with a noun behind it.


@lru_cache(maxsize=64)
def _ranked_pattern(count: int) -> re.Pattern[str]:
    """Pattern of ordinals with a noun behind them; of those alone that there are answers for."""
    words = _ORDINALS[:count] if count <= len(_ORDINALS) else ()
    firsts = "".join(sorted({word[0] for word in words}))
    rests = [rest for word in words for rest in (word[1:], word[1:].upper())]
    ordinal = f"[{firsts}{firsts.upper()}0-9](?:{'|'.join(rests)}{'|' * bool(rests)}{_RANK})"
    noun = rf"\s+(?:(?:AI|given|provided|candidate|model)\s+)?({_NOUN}|one)([sS])?{_END}"
    return re.compile(f"{_listed(ordinal, _END, _AND_THE)}(?={noun})")


_RANK = "[0-9]*(?:st|nd|rd|th|ST|ND|RD|TH)"
_AND_THE = rf"{_AND}(?:the\s+)?"


def _ranked(found: Found) -> int:
    """Look at an ordinal with a noun behind it."""
    text, start = found.string, found.start()
    if _is_inside_word(text, start) or text[max(0, start - 1) : start] == "-":
        return 0
    labels, noun = found[1], found[2].lower()
    before = text[max(0, start - 4) : start].lower()
    has_article = before[:3] == "the" and before[3:].isspace()
    is_one = labels.isalnum()
    if found[3] and is_one:  # "it first answers the question"
        return 0
    if noun == "one" or has_article:
        return int(has_article)
    if before[-2:-1].isdigit():  # "a 2 second response"
        return 0
    # "First answer" names one; "it must first answer" does not.
    return int(not is_one or noun not in _VERBS or labels[0].isupper())


_VERBS = frozenset({"answer", "model", "output", "reply"})

_FRAMED = re.compile(r"\[\[([A-Z](?:[<>=]{1,3}[A-Z])?)\]\]")


def _only(found: Found) -> int:
    """Look at what is always a mention: the one group that matched holds its labels."""
    return found.lastindex or 0


# Chinese.

_CHINESE_NOUN = "(?:助手|助理|回答|答案|回复|答复|模型|响应|输出)"
_CHINESE_AND = r"\s?[和与及或跟、/]\s?"
_CHINESE_NUMERAL = "[一二三四五六七八九十]+"
_COUNTED = r"(?![A-Za-z0-9_０-９]|[.,/][0-9]|[-–—][0-9]|\s?[%％个分次道题条点种项步句字元])"
"""What may not follow a digit: ``回答1个问题`` answers one question."""
_CLAUSE = r"(?=$|[\s，。、；：！？,.;:!?)）」』”】和与及或跟的更比较中则也在是])"
"""What must follow a numeral: ``回答一致`` is consistent, ``助手一直`` always."""
_COUNTER = "[个位份条篇款]"
_PLACE = f"(?:{_CHINESE_NUMERAL}|[0-9]+|[０-９]+)"
_CHINESE_MENTION = re.compile(
    rf"{_CHINESE_NOUN}\s?[#(（]?(?:{_listed('[0-9]+', _COUNTED, _CHINESE_AND)}"
    rf"|{_listed('[０-９]+', _COUNTED, _CHINESE_AND)}|{_listed('[A-Z]', _END, _CHINESE_AND)}"
    rf"|{_listed(_CHINESE_NUMERAL, _CLAUSE, _CHINESE_AND)})"
    rf"|第({_PLACE})(?={_COUNTER}?(?:{_CHINESE_AND}第?{_PLACE}{_COUNTER}?)*(?:AI)?{_CHINESE_NOUN}"
    r"|个(?:更|比|较|明显|则))"
)
