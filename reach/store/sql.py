"""Every line of SQL of the store: the view over shipped and user rows, conditions, orders.

Values always travel as parameters; column names come from the closed sets below, never from a
reader.
"""

from __future__ import annotations

from typing import Any

from reach.store.filters import FACETS, Filter, Sort
from reach.store.schema import FAILED_VERDICTS, ROW_SCHEMA

# field of Filter -> column of the view
FACET_COLUMNS = dict(
    zip(
        FACETS,
        (
            "outcome",
            "verdict",
            "flag_codes",
            "suite",
            "configuration",
            "configuration_kind",
            "operator_class",
            "precision",
            "backend",
            "origin",
            "device",
            "campaign",
            "problem",
        ),
        strict=True,
    )
)
DERIVED_COLUMNS = (
    "origin",
    "outcome",
    "valid_speedup",
    "flag_codes",
    "benchmark_outcome",
    "disagrees",
)
COLUMNS = (*ROW_SCHEMA.names(), *DERIVED_COLUMNS)
SORTABLE = tuple(c for c in COLUMNS if c not in ("flags", "flag_codes", "samples", "source"))

_FAILED = ", ".join(f"'{verdict.value}'" for verdict in FAILED_VERDICTS)

# valid_speedup: an invalid score enters no filter, order, mean or maximum.
# disagrees: null where the benchmark's check said nothing, so it is never counted as a difference.
VIEW = f"""
CREATE TABLE evaluations AS
WITH judged AS (
    SELECT *,
        CASE WHEN verdict IN ({_FAILED}) THEN 'failed' ELSE verdict END AS outcome,
        CASE WHEN verdict = 'correct' THEN speedup END AS valid_speedup,
        list_transform(flags, lambda flag: flag.code) AS flag_codes,
        CASE
            WHEN benchmark_check THEN 'correct'
            WHEN verdict IN ({_FAILED}) THEN 'did not run'
            WHEN benchmark_check IS NULL THEN 'not checked'
            ELSE 'incorrect'
        END AS benchmark_outcome,
        benchmark_check <> (verdict = 'correct') AS disagrees
    FROM incoming
)
SELECT *,
    lower(concat_ws(' ', problem, configuration, configuration_kind, suite, operator_class,
        verdict, outcome, precision, backend, array_to_string(flag_codes, ' '), sentence,
        message, source_url)) AS haystack
FROM judged
"""


def where(filter: Filter, leave_out: str | None = None) -> tuple[str, list[Any]]:
    """The condition of a filter and its parameters; `leave_out` ignores one facet of it."""
    conditions, parameters = ["true"], []
    for facet, column in FACET_COLUMNS.items():
        values = getattr(filter, facet)
        if not values or facet == leave_out:
            continue
        if column == "flag_codes":
            conditions.append("list_has_any(flag_codes, ?::VARCHAR[])")
        else:
            conditions.append(f"list_contains(?::VARCHAR[], {column})")
        parameters.append(list(values))
    for bound, sign in (("speedup_from", ">="), ("speedup_to", "<=")):
        value = getattr(filter, bound)
        if value is not None:
            conditions.append(f"valid_speedup {sign} ?")
            parameters.append(value)
    if filter.verified:
        conditions.append("verified")
    if filter.disagrees:
        conditions.append("disagrees")
    for word in filter.search.split():
        conditions.append("contains(haystack, lower(?))")
        parameters.append(word)
    return " AND ".join(conditions), parameters


def order(sort: Sort) -> str:
    """ORDER BY of a sort; ties in a fixed order, so that pages never overlap.

    Raises ValueError for a column that is not sortable.
    """
    if sort.column not in SORTABLE:
        raise ValueError(f"cannot sort by {sort.column!r}")
    direction = "DESC" if sort.descending else "ASC"
    return f"ORDER BY {sort.column} {direction} NULLS LAST, evaluation_id"


def select(columns: tuple[str, ...] | None) -> str:
    """The SELECT list. Raises ValueError for a column that the view does not have."""
    chosen = columns or COLUMNS
    unknown = [column for column in chosen if column not in COLUMNS]
    if unknown:
        raise ValueError(f"unknown columns: {', '.join(unknown)}")
    return ", ".join(chosen)


COUNT = "SELECT count(*) FROM evaluations WHERE {where}"
ONE = "SELECT {columns} FROM evaluations WHERE evaluation_id = ?"
ROWS = "SELECT {columns} FROM evaluations WHERE {where} {order}"
PAGE = " LIMIT ? OFFSET ?"

FACET = """
SELECT value, count(*) AS n FROM (SELECT {value} AS value FROM evaluations WHERE {where})
WHERE value <> '' GROUP BY value ORDER BY n DESC, value
"""


def facet_value(column: str) -> str:
    """What a facet counts: the column, or each code of the flags once a row."""
    return "unnest(list_distinct(flag_codes))" if column == "flag_codes" else column


BY_CONFIGURATION = """
SELECT configuration,
    any_value(configuration_kind) AS configuration_kind,
    count(*) AS evaluations,
    count(DISTINCT problem) AS problems,
    count(*) FILTER (outcome = 'correct') AS correct,
    count(*) FILTER (outcome = 'incorrect') AS incorrect,
    count(*) FILTER (outcome = 'rejected') AS rejected,
    count(*) FILTER (outcome = 'failed') AS failed,
    count(*) FILTER (outcome = 'inconclusive') AS inconclusive,
    count(*) FILTER (benchmark_check) AS benchmark_correct,
    count(*) FILTER (benchmark_check_2025) AS benchmark_2025_correct,
    count(*) FILTER (benchmark_check AND outcome <> 'correct') AS benchmark_only,
    count(*) FILTER (correct_as_given) AS correct_as_given,
    count(*) FILTER (verified) AS verified,
    count(DISTINCT problem) FILTER (verified) AS verified_problems
FROM evaluations WHERE {where}
GROUP BY configuration
ORDER BY correct / count(*) DESC, configuration
"""

# Where and when rows were measured; a row that never ran on a device names none.
PROVENANCE = """
SELECT coalesce(list(DISTINCT device ORDER BY device) FILTER (device <> ''), []) AS devices,
    min(started_at) FILTER (started_at <> '') AS first,
    max(started_at) FILTER (started_at <> '') AS last
FROM evaluations WHERE {where}
"""

FLAG_COUNTS = """
SELECT flag.code AS code, any_value(flag.severity) AS severity,
    count(DISTINCT evaluation_id) AS evaluations,
    count(DISTINCT evaluation_id) FILTER (benchmark_check) AS benchmark_correct
FROM (SELECT evaluation_id, benchmark_check, unnest(flags) AS flag
      FROM evaluations WHERE {where})
GROUP BY flag.code
ORDER BY evaluations DESC, code
"""

VERDICT_FLOW = """
SELECT benchmark_outcome, outcome, count(*) AS evaluations
FROM evaluations WHERE {where}
GROUP BY benchmark_outcome, outcome
ORDER BY benchmark_outcome, outcome
"""

# The best candidate of each problem: a verified speedup before any other, then the fastest.
BEST_BY_PROBLEM = """
SELECT evaluation_id, suite, problem_id, problem, problem_version, precision, configuration,
    configuration_kind, valid_speedup, speedup_low, speedup_high,
    valid_speedup / speedup_vs_compiled AS compiled_speedup, verified, operator_class, time_kind,
    device
FROM evaluations WHERE {where} AND valid_speedup IS NOT NULL
QUALIFY row_number() OVER (
    PARTITION BY suite, problem, problem_version, precision
    ORDER BY verified DESC, valid_speedup DESC, evaluation_id) = 1
ORDER BY valid_speedup DESC, problem
"""

NEIGHBOURS = """
SELECT previous, next, position, total FROM (
    SELECT evaluation_id,
        lag(evaluation_id) OVER places AS previous,
        lead(evaluation_id) OVER places AS next,
        row_number() OVER places AS position,
        count(*) OVER () AS total
    FROM evaluations WHERE {where}
    WINDOW places AS ({order}))
WHERE evaluation_id = ?
"""

SIBLINGS = """
SELECT {columns} FROM evaluations AS other
JOIN (SELECT suite AS s, problem AS p, problem_version AS v, precision AS r, evaluation_id AS i
      FROM evaluations WHERE evaluation_id = ?) AS this
ON other.suite = s AND other.problem = p AND other.problem_version = v AND other.precision = r
WHERE other.evaluation_id <> i
ORDER BY outcome = 'correct' DESC, valid_speedup DESC NULLS LAST, configuration, evaluation_id
"""

# What the benchmark's check let through: called correct there, wrong or refused here.
FLAGGED = """
SELECT {columns} FROM evaluations
WHERE benchmark_check AND outcome IN ('rejected', 'incorrect')
ORDER BY benchmark_speedup DESC NULLS LAST, evaluation_id
"""

PARTIAL_WRITE_CASE = """
SELECT {columns} FROM evaluations
WHERE benchmark_check AND outcome = 'rejected' AND list_contains(flag_codes, 'partial_write')
ORDER BY origin = 'user', problem = '23_Softmax' DESC, written_fraction NULLS LAST,
    benchmark_speedup DESC NULLS LAST, evaluation_id
LIMIT 1
"""
