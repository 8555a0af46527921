"""What a reader chose, kept in the address: filter, order and page of the table.

The address is the only truth. Widgets are set from it before they are drawn and write to it when
they change, so a shared link, a click on a chart and a removed chip all do the same thing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st

from reach.findings import filter_label
from reach.store import SORTABLE, FacetValue, Filter, Sort

_CLICKS = "filters-clicks"
_PAGE = "page"
SPEEDUP_STEPS = (0.1, 0.25, 0.5, 0.75, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)


@dataclass(frozen=True)
class View:
    """One state of the table: which rows, in which order, which page (from 1)."""

    filter: Filter
    sort: Sort
    page: int = 1

    def to_query(self) -> dict[str, list[str]]:
        page = {_PAGE: [str(self.page)]} if self.page > 1 else {}
        return {**self.filter.to_query(), **self.sort.to_query(), **page}


def current() -> View:
    """The view that the address asks for."""
    query = {key: st.query_params.get_all(key) for key in st.query_params}
    page = (query.get(_PAGE) or ["1"])[0]
    number = int(page) if page.isascii() and page.isdigit() and len(page) < 7 else 1
    return View(Filter.from_query(query), Sort.from_query(query, SORTABLE), max(1, number))


def show(view: View) -> None:
    """Puts a view into the address; for callbacks, before the page is drawn again."""
    st.query_params.from_dict(view.to_query())


def show_filter(chosen: Filter) -> None:
    """Another filter, in the same order, from its first page."""
    show(View(chosen, current().sort))


def clicks(name: str) -> str:
    """A widget key that changes with every handled click, so that no selection stays behind."""
    return f"{name}.{st.session_state.get(_CLICKS, 0)}"


def _clicked(key: str) -> list[str]:
    """What the clicked mark of a chart carries; the next run draws the chart anew."""
    points = st.session_state[key].selection.points
    st.session_state[_CLICKS] = st.session_state.get(_CLICKS, 0) + 1
    return list(points[0].get("customdata") or []) if points else []


def configuration_clicked(key: str) -> None:
    """Shows only the clicked configuration and outcome; clicked again, all of them."""
    mark = _clicked(key)
    if len(mark) >= 2:
        chosen = current().filter
        only = ((str(mark[0]),), (str(mark[1]),))
        if (chosen.configurations, chosen.outcomes) == only:
            only = ((), ())
        show_filter(chosen.with_(configurations=only[0], outcomes=only[1]))


def flag_clicked(key: str) -> None:
    """Shows only evaluations with the clicked flag; clicked again, all of them."""
    mark = _clicked(key)
    if mark:
        chosen = current().filter
        only = (str(mark[0]),)
        show_filter(chosen.with_(flags=() if chosen.flags == only else only))


def _facet_changed(facet: str, key: str) -> None:
    show_filter(current().filter.with_(**{facet: tuple(st.session_state[key] or ())}))


def facet(label: str, name: str, values: Sequence[FacetValue], help: str | None = None) -> None:
    """Pills with counts for one facet; nothing where there is nothing to choose."""
    chosen = getattr(current().filter, name)
    if len(values) < 2 and not chosen:
        return
    key = f"facet-{name}"
    if set(st.session_state.get(key) or ()) != set(chosen):
        st.session_state[key] = list(chosen)
    counts = {item.value: item.count for item in values}
    st.pills(
        label,
        list(counts),
        selection_mode="multi",
        format_func=lambda value: f"{filter_label(name, value)} {counts.get(value, 0):,}",
        key=key,
        on_change=_facet_changed,
        args=(name, key),
        help=help,
    )


def _search_changed(key: str) -> None:
    show_filter(current().filter.with_(search=st.session_state[key] or ""))


def search(label: str, placeholder: str) -> None:
    """The search field. It is set from the address only where the two differ, so that typing goes
    on while a search runs."""
    key = "filter-search"
    chosen = current().filter
    if chosen.with_(search=st.session_state.get(key) or "").search != chosen.search:
        st.session_state[key] = chosen.search
    st.text_input(
        label,
        placeholder=placeholder,
        icon=":material/search:",
        type="search",
        live=True,
        key=key,
        on_change=_search_changed,
        args=(key,),
    )


def _switch_changed(field: str, key: str) -> None:
    show_filter(current().filter.with_(**{field: bool(st.session_state[key])}))


def switch(label: str, field: str, help: str | None = None) -> None:
    """A toggle for a yes-or-no field of the filter."""
    key = f"filter-{field}"
    st.session_state[key] = getattr(current().filter, field)
    st.toggle(label, key=key, on_change=_switch_changed, args=(field, key), help=help)


def _speedup_changed(key: str) -> None:
    low, high = st.session_state[key]
    show_filter(
        current().filter.with_(
            speedup_from=low if low > 0 else None,
            speedup_to=high if math.isfinite(high) else None,
        )
    )


def speedup_range(label: str, help: str | None = None) -> None:
    """Both bounds of the speedup of correct rows, in steps even on a log scale; the outermost
    steps mean no bound."""
    chosen = current().filter
    low = 0.0 if chosen.speedup_from is None else chosen.speedup_from
    high = math.inf if chosen.speedup_to is None else chosen.speedup_to
    # a range is only recognised by its default, so a change in the address is a new slider
    key = f"filter-speedup-{low}-{high}"
    st.select_slider(
        label,
        sorted({0.0, *SPEEDUP_STEPS, math.inf, low, high}),
        (low, high),
        key=key,
        # the words must differ: the slider tells its options apart by them
        format_func=lambda end: {0.0: "any", math.inf: "no limit"}.get(end, f"{end:g}x"),
        on_change=_speedup_changed,
        args=(key,),
        help=help,
    )


def chips() -> None:
    """The active filters as buttons that remove them, and one that removes all."""
    active = current().filter.active()
    if not active:
        return
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        st.caption("Active:", width="content")
        for field, value, without in active:
            st.button(
                filter_label(field, value),
                icon=":material/close:",
                icon_position="right",
                type="tertiary",
                key=f"chip-{field}-{value}",
                on_click=show_filter,
                args=(without,),
            )
        if len(active) > 1:
            clear("chips-clear")


def clear(key: str) -> None:
    """The button that removes every filter; nothing where none is set."""
    if current().filter == Filter():
        return
    st.button(
        "Clear all filters",
        icon=":material/filter_alt_off:",
        type="tertiary",
        key=key,
        on_click=show_filter,
        args=(Filter(),),
    )


def _sort_changed(key: str) -> None:
    show(View(current().filter, st.session_state[key]))


def order(label: str, orders: dict[Sort, str]) -> None:
    """A choice of the table's order."""
    chosen = current().sort
    options = [*orders] if chosen in orders else [*orders, chosen]
    key = "filter-sort"
    st.session_state[key] = chosen
    st.selectbox(
        label,
        options,
        format_func=lambda sort: orders.get(sort, f"by {sort.column}"),
        key=key,
        on_change=_sort_changed,
        args=(key,),
        width=300,
    )


def _page_changed(key: str) -> None:
    show(replace(current(), page=int(st.session_state[key])))


def pagination(pages: int) -> None:
    """Page numbers, where there is more than one page."""
    if pages < 2:
        return
    number = min(current().page, pages)
    key = f"filter-page-{pages}-{number}"
    st.pagination(pages, default=number, key=key, on_change=_page_changed, args=(key,))
