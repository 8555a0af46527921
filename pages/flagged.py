"""What fooled the benchmark's check: the clearest case, then one card a flag."""

from __future__ import annotations

from reach.style.flag_gallery import cards, gallery_headline
from ui import flagged_parts as parts
from ui.data import evidence, store
from ui.shell import link, page

rows = store().flagged().to_dicts()
shown = cards(rows)
with page(*gallery_headline(rows, shown)):
    opening = store().partial_write_case()
    if opening:
        parts.case(opening, evidence(opening["evaluation_id"]))
    if shown:
        parts.gallery_heading(shown)
    for card in shown:
        parts.flag_card(card, evidence(card.example["evaluation_id"]))
    if not rows:
        link("evaluations", "To the table of all evaluations", icon=":material/arrow_forward:")
