"""How numbers are written, everywhere: one function a kind of number.

A number and its unit are joined by a no-break space, the ends of an interval by word joiners round
an en dash, so that neither wraps. `None` is a dash; the caller says why it is missing.
"""

from __future__ import annotations

import math
from datetime import datetime

NBSP = "\u00a0"
JOINER = "\u2060"
MISSING = "\u2013"
MINUS = "\u2212"


def integer(value: int | None) -> str:
    """1,024."""
    return MISSING if value is None else f"{value:,}".replace("-", MINUS)


def count(part: int, whole: int) -> str:
    """22 of 56."""
    return f"{part:,} of {whole:,}"


def counted_word(number: int, noun: str) -> str:
    """1,024 kernels, one kernel; for nouns that take an s."""
    return f"one {noun}" if number == 1 else f"{number:,} {noun}s"


def significant(value: float | None, digits: int = 3) -> str:
    """`value` with that many significant digits and no exponent: 1.24, 12.4, 124, 1,240, 0.0124."""
    if value is None or not math.isfinite(value):
        return MISSING
    if value == 0:
        return "0"
    rounded = float(f"{value:.{digits - 1}e}")
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    return f"{rounded:,.{decimals}f}".replace("-", MINUS)


def _speedup_digits(value: float) -> str:
    if value < 9.995:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 99.95 else f"{value:,.0f}"


def speedup(value: float | None) -> str:
    """1.24x below 10, 12.4x below 100, 283x above."""
    if value is None or not math.isfinite(value):
        return MISSING
    return f"{_speedup_digits(value)}x"


def span(low: str, high: str) -> str:
    """Two written ends with an en dash that does not wrap: 1.21–1.27."""
    return f"{low}{JOINER}\u2013{JOINER}{high}"


def speedup_interval(value: float | None, low: float | None, high: float | None) -> str:
    """1.24x (1.21–1.27), the level once in the caption; without ends the value alone."""
    if low is None or high is None or value is None:
        return speedup(value)
    return f"{speedup(value)} ({span(_speedup_digits(low), _speedup_digits(high))})"


def percent(value: float | None) -> str:
    """`value` in percent, one decimal: 58.2 %. Not-quite-nothing and not-quite-all say so."""
    if value is None or not math.isfinite(value):
        return MISSING
    if 0 < value < 0.05:
        return f"<0.1{NBSP}%"
    if 99.95 <= value < 100:
        return f">99.9{NBSP}%"
    return f"{value:.1f}{NBSP}%".replace("-", MINUS)


def share(value: float | None) -> str:
    """A share in [0, 1] as percent: 0.582 is 58.2 %."""
    return percent(None if value is None else 100 * value)


def share_interval(value: float | None, low: float, high: float) -> str:
    """58.2 % (55.0–61.3), from shares in [0, 1]."""
    return f"{share(value)} ({span(f'{100 * low:.1f}', f'{100 * high:.1f}')})"


def milliseconds(value: float | None) -> str:
    """A time given in ms, three significant digits, in the unit that suits: 12.4 µs, 1.24 ms."""
    if value is None or not math.isfinite(value):
        return MISSING
    if value >= 999.5:
        return f"{significant(value / 1000)}{NBSP}s"
    if value >= 0.9995 or value == 0:
        return f"{significant(value)}{NBSP}ms"
    return f"{significant(value * 1000)}{NBSP}\u00b5s"


def seconds(value: float | None) -> str:
    """A duration given in s: 4.7 s, 71 s, 3 min 20 s from two minutes up."""
    if value is None or not math.isfinite(value):
        return MISSING
    if value < 9.95:
        return f"{value:.1f}{NBSP}s"
    if value < 119.5:
        return f"{value:.0f}{NBSP}s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes}{NBSP}min {rest}{NBSP}s"


def multiple(value: float | None) -> str:
    """How many times the allowed or usual: 0.84, 12.4, 4,210; never an exponent."""
    return significant(value, 3 if value is not None and abs(value) >= 1 else 2)


def scientific_plain(value: float | None) -> str:
    """A magnitude without exponent where that stays readable: 0.00000402; else 4.02e−12."""
    if value is None or not math.isfinite(value):
        return MISSING
    if value == 0 or 1e-8 <= abs(value) < 1e9:
        return significant(value)
    return f"{value:.2e}".replace("-", MINUS)


def day(started_at: str | None) -> str:
    """The date of an ISO 8601 time: 2026-12-01; a dash where there is none."""
    if not started_at:
        return MISSING
    try:
        return datetime.fromisoformat(started_at).date().isoformat()
    except ValueError:
        return started_at
