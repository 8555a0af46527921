"""The design tokens, read once from `tokens.toml` in the project's root."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Literal

Mode = Literal["light", "dark"]
MODES: tuple[Mode, Mode] = ("light", "dark")
ROOT = Path(__file__).resolve().parents[2]
TOKENS: dict[str, Any] = tomllib.loads((ROOT / "tokens.toml").read_text())["tokens"]


def palette(mode: Mode) -> dict[str, Any]:
    """The colours of one theme: neutrals as strings; `verdict`, `class`, `series` as tables."""
    return TOKENS[mode]


def rgba(colour: str, alpha: float) -> str:
    """`#RRGGBB` with an opacity in [0, 1], as CSS `rgba()`."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha})"


def luminance(colour: str) -> float:
    """Relative luminance of `#RRGGBB` in [0, 1] (WCAG 2.2, definition of relative luminance)."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two `#RRGGBB` colours, 1 to 21 (WCAG 2.2)."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def label_on(mode: Mode, fill: str) -> str:
    """The clearer of page and ink for a label inside a filled segment."""
    tokens = palette(mode)
    return max((tokens["page"], tokens["ink"]), key=lambda text: contrast(text, fill))
