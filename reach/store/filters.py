"""What a reader asked to see: a frozen filter, a sort order, and both as a URL query string."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlencode

# Field of Filter -> name in the URL. These are the facets: a set of values each, none = all.
FACETS = {
    "outcomes": "outcome",
    "verdicts": "verdict",
    "flags": "flag",
    "suites": "suite",
    "configurations": "configuration",
    "kinds": "kind",
    "operator_classes": "class",
    "precisions": "precision",
    "backends": "backend",
    "origins": "origin",
    "devices": "device",
    "campaigns": "campaign",
    "problems": "problem",
}
_NUMBERS = {"speedup_from": "speedup_from", "speedup_to": "speedup_to"}
_SWITCHES = {"verified": "verified", "disagrees": "disagrees"}
_SEARCH = "q"
_SORT = "sort"
MAX_SEARCH = 200


@dataclass(frozen=True)
class Filter:
    """Which evaluations are shown. Values within a facet are alternatives, facets add up.

    `outcomes` groups the verdicts (failed = the five that produced no answer), `flags` keeps rows
    with at least one of them, `speedup_*` bounds the speedup of correct rows (inclusive),
    `verified` keeps verified speedups, `disagrees` the rows where the benchmark's check and our
    verdict differ, and every word of `search` must occur in problem, suite, operator class,
    configuration, its kind, precision, backend, flags, verdict, outcome, sentence, message or
    source address.
    """

    outcomes: tuple[str, ...] = ()
    verdicts: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    suites: tuple[str, ...] = ()
    configurations: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    operator_classes: tuple[str, ...] = ()
    precisions: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    campaigns: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    speedup_from: float | None = None
    speedup_to: float | None = None
    verified: bool = False
    disagrees: bool = False
    search: str = ""

    def __post_init__(self) -> None:
        """Brings equal filters to one form: sorted facets without doubles, a trimmed search."""
        for name in FACETS:
            values = sorted({value for value in getattr(self, name) if value})
            object.__setattr__(self, name, tuple(values))
        object.__setattr__(self, "search", " ".join(self.search.split())[:MAX_SEARCH].strip())

    def with_(self, **changes: Any) -> Filter:
        """This filter with some fields replaced."""
        return dataclasses.replace(self, **changes)

    def toggled(self, facet: str, value: str) -> Filter:
        """This filter with `value` of `facet` added, or removed where it was set."""
        current: tuple[str, ...] = getattr(self, facet)
        left = tuple(v for v in current if v != value)
        return self.with_(**{facet: left if value in current else (*current, value)})

    def active(self) -> list[tuple[str, str, Filter]]:
        """What is set, one entry each: field, value as text, and the filter without it."""
        found = [
            (name, value, self.toggled(name, value))
            for name in FACETS
            for value in getattr(self, name)
        ]
        for name in _NUMBERS:
            number = getattr(self, name)
            if number is not None:
                found.append((name, f"{number:g}", self.with_(**{name: None})))
        found += [(n, "yes", self.with_(**{n: False})) for n in _SWITCHES if getattr(self, n)]
        if self.search:
            found.append(("search", self.search, self.with_(search="")))
        return found

    def to_query(self) -> dict[str, list[str]]:
        """The set fields as query parameters, each a list of values; nothing for an empty one."""
        query = {key: list(getattr(self, name)) for name, key in FACETS.items()}
        for name, key in _NUMBERS.items():
            number = getattr(self, name)
            query[key] = [] if number is None else [repr(float(number))]
        for name, key in _SWITCHES.items():
            query[key] = ["1"] if getattr(self, name) else []
        query[_SEARCH] = [self.search] if self.search else []
        return {key: values for key, values in query.items() if values}

    @classmethod
    def from_query(cls, query: Mapping[str, Iterable[str] | str]) -> Filter:
        """The filter that a query string asks for. Keys and numbers it cannot read count as unset:
        a mistyped address shows more rows, never an error."""
        values = {k: [v] if isinstance(v, str) else list(v) for k, v in query.items()}
        fields: dict[str, Any] = {n: tuple(values.get(key, ())) for n, key in FACETS.items()}
        for name, key in _NUMBERS.items():
            fields[name] = _number(values.get(key, ()))
        for name, key in _SWITCHES.items():
            fields[name] = values.get(key) == ["1"]
        fields["search"] = (values.get(_SEARCH) or [""])[0]
        return cls(**fields)

    def to_url(self) -> str:
        """The query string, without the question mark."""
        return urlencode(self.to_query(), doseq=True)

    @classmethod
    def from_url(cls, text: str) -> Filter:
        """The inverse of `to_url`."""
        return cls.from_query(parse_qs(text.lstrip("?")))


def _number(values: Iterable[str]) -> float | None:
    for text in values:
        try:
            number = float(text)
        except ValueError:
            return None
        return number if math.isfinite(number) else None
    return None


@dataclass(frozen=True)
class Sort:
    """A sort order; rows without a value come last either way. The default: latest first."""

    column: str = "started_at"
    descending: bool = True

    def to_query(self) -> dict[str, list[str]]:
        """As the query parameter `sort`: the column, with `-` in front for descending."""
        if self == Sort():
            return {}
        return {_SORT: [f"{'-' if self.descending else ''}{self.column}"]}

    @classmethod
    def from_query(cls, query: Mapping[str, Iterable[str] | str], known: Iterable[str]) -> Sort:
        """The order that a query string asks for; the default where the column is not `known`."""
        value = query.get(_SORT, "")
        text = value if isinstance(value, str) else next(iter(value), "")
        column = text.removeprefix("-")
        return cls(column, text.startswith("-")) if column in set(known) else cls()
