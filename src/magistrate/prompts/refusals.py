"""Whether a judge declined to judge. Asked only of replies that hold no verdict."""

from __future__ import annotations

import re

_LOOKED_AT = 300
"""A refusal stands at the start; further on, 'I cannot' speaks of the answers."""

_JUDGING = (
    r"(?:evaluat|judg|rat(?:e|ing)\b|scor|grad(?:e|ing)\b|assess|compar|rank|assist|help|comply"
    r"|provid|fulfil|continu|engag|respond|complet|review|discuss|participat|process"
    r"|answer\s+(?:this|that|your)|giv(?:e|ing)\s+(?:you\s+)?(?:a\b|an\b|any\b|scores?|ratings?)"
    r"|do\s+(?:this|that|so)\b)"
)
_UNABLE = (
    r"(?:cannot|can\s?not|can't|could\s?n't|won't|will\s+not|must\s+decline|decline|refuse"
    r"|(?:am|'m|are|'re)\s+(?:not\s+able|unable|not\s+comfortable|not\s+going|not\s+allowed))"
)
_REFUSAL = re.compile(
    rf"""
      \b(?:i|we) \s* {_UNABLE} (?:\s+\w+){{0,3}}? \s+ {_JUDGING}
    | ^\W* (?: i'?\s*a?m\s+(?:\w+\s+)?sorry | sorry\b | (?:i|we)\s+apologi[sz]e )
    | ^\W* (?: my\s+ )? apologies\b
    | ^\W* as\s+an?\s+(?:ai|artificial\s+intelligence|language\s+model)\b .{{0,80}}? {_UNABLE}
    | ^\W* (?:unable|not\s+able)\s+to\s+{_JUDGING}
    | 抱歉 | 对不起 | 很遗憾
    | (?:无法|不能)(?:评|判|打|给|提供|回答|完成)
    | \bno\s+puedo\b | \bje\s+ne\s+peux\s+pas\b | \bich\s+kann\b.{{0,40}}\bnicht\b
    | ^\W*(?:lo\s+siento|désolé|es\s+tut\s+mir\s+leid|tut\s+mir\s+leid)
    """,
    re.VERBOSE | re.IGNORECASE,
)


def looks_like_refusal(text: str) -> bool:
    """Whether the start of a reply declines.

    >>> looks_like_refusal("I’m sorry, but I can’t help with that.")
    True
    >>> looks_like_refusal("I cannot find a mistake in answer 1.")
    False
    """
    start = text.strip()[:_LOOKED_AT].replace("’", "'")
    return _REFUSAL.search(start) is not None
