"""The evaluations' store: shipped parquet and the user's own results behind one view."""

from reach.store.filters import FACETS, Filter, Sort
from reach.store.loading import DamagedFile
from reach.store.paths import data_dir, shipped_dir
from reach.store.sql import COLUMNS, SORTABLE
from reach.store.store import (
    FacetValue,
    Neighbours,
    Provenance,
    Store,
    open_store,
)

__all__ = [
    "COLUMNS",
    "FACETS",
    "SORTABLE",
    "DamagedFile",
    "FacetValue",
    "Filter",
    "Neighbours",
    "Provenance",
    "Sort",
    "Store",
    "data_dir",
    "open_store",
    "shipped_dir",
]
