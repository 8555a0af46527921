"""One evaluation: what the benchmark said, what we decided, and what shows it."""

from __future__ import annotations

import streamlit as st

from reach.store import SORTABLE, Filter, Sort
from reach.style import kernel_facts as facts
from reach.style import kernel_sentences as say
from reach.style.formats import count
from reach.style.words import escape_markdown
from ui import kernel_parts as parts
from ui.data import evidence as evidence_of
from ui.data import store
from ui.shell import Action, link, page


def open_neighbour(evaluation_id: str) -> None:
    st.query_params["id"] = evaluation_id


def nothing(headline: str, deck: str) -> None:
    with page(headline, deck):
        link("evaluations", "To the table of all evaluations")


def kernel(evaluation_id: str) -> None:
    row = store().evaluation(evaluation_id)
    if row is None:
        nothing(
            "No evaluation has this address",
            f"`{evaluation_id[:80]}` is not among the {store().count():,} stored rows. It may "
            "belong to another data version, or to results on another machine.",
        )
        return
    query = {key: st.query_params.get_all(key) for key in st.query_params if key != "id"}
    chosen, sort = Filter.from_query(query), Sort.from_query(query, SORTABLE)
    place = store().neighbours(evaluation_id, chosen, sort) or store().neighbours(evaluation_id)
    actions = [
        Action(label, icon, open_neighbour, (other,), shortcut)
        for label, icon, shortcut, other in (
            ("Previous", ":material/chevron_left:", "K", place.previous if place else None),
            ("Next", ":material/chevron_right:", "J", place.next if place else None),
        )
        if other
    ]
    trail = ", ".join(escape_markdown(value) for _, value, _ in chosen.active()) or "all"
    crumb = f"{trail} › {count(place.position, place.total)}" if place else trail
    with page(
        say.headline(row),
        say.badges(row),
        crumb=crumb,
        back=("evaluations", "Evaluations", query),
        actions=actions,
        deck_width=1200,
    ):
        evidence = evidence_of(evaluation_id)
        parts.judges(row, evidence)
        if row["message"]:
            parts.message_block(row)
        if not say.never_ran(row):
            parts.output_block(row, evidence, "output-map")
        parts.flag_list(row)
        left, right = st.columns([7, 5], gap="large")
        with left:
            if not say.never_ran(row):
                parts.timing_block(row, evidence, "timing")
            if not say.never_ran(row) or (evidence or {}).get("trials"):
                parts.trials_block(evidence)
            parts.source_block(row)
        with right:
            if not say.never_ran(row):
                parts.heading("How it was measured", "Facts that travel with the row")
                parts.facts_table(facts.measurement_facts(row), "Times and errors")
            parts.heading("Where it comes from")
            parts.facts_table(facts.provenance_facts(row), "Provenance")
            parts.siblings_block(row, store().siblings(evaluation_id))


chosen_id = st.query_params.get("id")
if chosen_id:
    kernel(chosen_id)
else:
    nothing(
        "No kernel is chosen",
        "A kernel's page opens from a row of the table; the address then names the row.",
    )
