"""Verdicts, flags and marks in words: badges for Markdown, chips for tables.

Colour always comes with a word and an icon. The five *failed* verdicts share a colour and print
their exact name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from evaluator.contract import Verdict
from reach.style.tokens import TOKENS, Mode, palette

VERDICT_GROUPS = ("correct", "incorrect", "rejected", "failed", "inconclusive")
PAPER_SOURCE = "arXiv 2609.21058"
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|~>$:<])")


def escape_markdown(text: str) -> str:
    """`text` so that Streamlit's Markdown shows it as it is: names, messages, file names."""
    return _MARKDOWN.sub(r"\\\1", text)


def capitalised(text: str) -> str:
    """`text` with a capital first letter and the rest untouched."""
    return text[:1].upper() + text[1:]


def verdict_group(verdict: str) -> str:
    """The colour group of a verdict; everything that never produced a result is `failed`."""
    return verdict if verdict in VERDICT_GROUPS else "failed"


def verdict_word(verdict: str) -> str:
    """The verdict as people read it: `compile_error` is "compile error"."""
    return verdict.replace("_", " ")


def verdict_badge(verdict: str) -> str:
    """A Markdown badge with icon and word, in the colour of the verdict's group."""
    look = TOKENS["verdict_badge"][verdict_group(verdict)]
    return f":{look['color']}-badge[{look['icon']} {verdict_word(verdict)}]"


def flag_badges(codes: Iterable[str]) -> str:
    """Grey Markdown badges, one a flag code, in the order given."""
    return " ".join(f":gray-badge[{code}]" for code in codes)


def provenance_badge(kind: str) -> str:
    """The badge `paper` or `claim` behind a number that is not ours.

    Raises KeyError for an unknown kind.
    """
    return f":gray-badge[{TOKENS['provenance'][kind]['badge']}]"


def struck(text: str) -> str:
    """An invalid score in Markdown: struck through, it enters no axis, mean or maximum."""
    return f"~~{text}~~"


def verdict_colour(mode: Mode, verdict: str) -> str:
    """The fill of a verdict in charts."""
    return palette(mode)["verdict"][verdict_group(verdict)]


def chip_options(mode: Mode) -> tuple[list[str], list[str]]:
    """Words and fills of every verdict: `MultiselectColumn(options=, color=)` in a table."""
    words = [verdict_word(verdict) for verdict in Verdict]
    return words, [palette(mode)["chip"][verdict_group(verdict)] for verdict in Verdict]


def flag_chip(mode: Mode) -> str:
    """The fill of a flag's chip in tables."""
    return palette(mode)["chip"]["flag"]
