"""The palette's promises: contrast (WCAG 2.2), colours apart for colour-blind readers, one source.

Colour distance is CIEDE2000 (Sharma, Wu & Dalal 2005) after simulating deuteranopia and protanopia
(Machado, Oliveira & Fernandes 2009, severity 1.0).
"""

from __future__ import annotations

import itertools
import tomllib
from typing import Any

import numpy as np
import pytest

from reach.style.tokens import MODES, ROOT, TOKENS, contrast, label_on, palette

THEME: dict[str, Any] = tomllib.loads((ROOT / "tokens.toml").read_text())["theme"]
SIMULATION = {
    "normal": np.eye(3),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
}
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
WHITE = np.array([0.95047, 1.0, 1.08883])  # D65
BADGES = ("green", "orange", "red", "gray", "violet", "blue", "yellow")


def lab(colour: str, matrix: np.ndarray) -> np.ndarray:
    """CIELAB of `#RRGGBB` as seen through a simulation matrix in linear RGB."""
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(matrix @ linear, 0, 1) / WHITE
    root = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


def ciede2000(one: np.ndarray, other: np.ndarray) -> float:
    """The CIEDE2000 distance of two CIELAB colours."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    mean_c = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    g = 0.5 * (1 - np.sqrt(mean_c**7 / (mean_c**7 + 25**7)))
    a1, a2 = a1 * (1 + g), a2 * (1 + g)
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    dh = 0.0 if c1 * c2 == 0 else (h2 - h1 + 180) % 360 - 180
    mean_h = (h1 + dh / 2) % 360
    mean_l, mean_c = (l1 + l2) / 2, (c1 + c2) / 2
    t = (
        1
        - 0.17 * np.cos(np.radians(mean_h - 30))
        + 0.24 * np.cos(np.radians(2 * mean_h))
        + 0.32 * np.cos(np.radians(3 * mean_h + 6))
        - 0.20 * np.cos(np.radians(4 * mean_h - 63))
    )
    lightness = (l2 - l1) / (1 + 0.015 * (mean_l - 50) ** 2 / np.sqrt(20 + (mean_l - 50) ** 2))
    chroma = (c2 - c1) / (1 + 0.045 * mean_c)
    hue = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(dh) / 2) / (1 + 0.015 * mean_c * t)
    turn = np.sin(np.radians(60 * np.exp(-(((mean_h - 275) / 25) ** 2))))
    rotation = -2 * np.sqrt(mean_c**7 / (mean_c**7 + 25**7)) * turn
    return float(np.sqrt(lightness**2 + chroma**2 + hue**2 + rotation * chroma * hue))


def test_ciede2000_matches_published_pairs():
    # pairs 1 and 25 of the data that Sharma, Wu & Dalal published with the formula
    first = ciede2000(np.array([50, 2.6772, -79.7751]), np.array([50, 0, -82.7485]))
    second = ciede2000(
        np.array([60.2574, -34.0099, 36.2677]), np.array([60.4626, -34.1751, 39.4387])
    )
    assert first == pytest.approx(2.0425, abs=1e-4)
    assert second == pytest.approx(1.2644, abs=1e-4)


@pytest.mark.parametrize("mode", MODES)
def test_text_and_fills_stand_out_on_page_and_panel(mode):
    tokens = palette(mode)
    grounds = (tokens["page"], tokens["panel"])
    decided = {k: v for k, v in tokens["verdict"].items() if k != "inconclusive"}
    for colour in (
        tokens["ink"], tokens["muted"], tokens["stamp"], THEME[mode]["linkColor"],
        THEME[mode]["primaryColor"], *decided.values(),
    ):  # fmt: skip
        assert min(contrast(colour, ground) for ground in grounds) >= 4.5, colour
    for colour in (*tokens["class"].values(), *tokens["series"].values(), tokens["axis"]):
        assert min(contrast(colour, ground) for ground in grounds) >= 3, colour


@pytest.mark.parametrize("mode", MODES)
def test_labels_badges_chips_and_source_are_readable(mode):
    tokens, theme = palette(mode), THEME[mode]
    for fill in tokens["class"].values():
        assert contrast(label_on(mode, fill), fill) >= 4.5, fill
    for name in BADGES:
        assert contrast(theme[f"{name}TextColor"], theme[f"{name}BackgroundColor"]) >= 4.5, name
    for fill in tokens["chip"].values():  # Streamlit writes white on chips in dark mode
        assert contrast("#FFFFFF" if mode == "dark" else tokens["ink"], fill) >= 4.5, fill
    for colour in (
        tokens["series"]["s1"], tokens["series"]["s3"], tokens["verdict"]["correct"],
        tokens["verdict"]["incorrect"], tokens["muted"],
    ):  # fmt: skip
        grounds = (tokens["panel"], tokens["flag_line"])
        assert min(contrast(colour, ground) for ground in grounds) >= 4.5, colour


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sight", SIMULATION)
@pytest.mark.parametrize(("group", "apart"), [("verdict", 9), ("series", 9), ("class", 7)])
def test_colours_stay_apart_for_colour_blind_readers(mode, sight: str, group: str, apart: float):
    colours = {k: v for k, v in palette(mode)[group].items() if k != "inconclusive"}
    seen = {name: lab(colour, SIMULATION[sight]) for name, colour in colours.items()}
    distance, pair = min(
        (ciede2000(seen[a], seen[b]), (a, b)) for a, b in itertools.combinations(seen, 2)
    )
    assert distance >= apart, pair


@pytest.mark.parametrize("mode", MODES)
def test_theme_and_tokens_say_the_same(mode):
    tokens, theme = palette(mode), THEME[mode]
    assert theme["backgroundColor"] == tokens["page"]
    assert theme["secondaryBackgroundColor"] == tokens["panel"]
    assert theme["textColor"] == tokens["ink"]
    assert theme["borderColor"] == tokens["rule"]
    for verdict, badge in TOKENS["verdict_badge"].items():
        if verdict not in ("failed", "inconclusive"):
            assert theme[f"{badge['color']}Color"] == tokens["verdict"][verdict]


def test_fonts_that_the_theme_names_are_shipped():
    for face in THEME["fontFaces"]:
        shipped = ROOT / face["url"].removeprefix("app/")
        assert shipped.exists()
        # exported pictures and documents need the same face as TTF
        assert (ROOT / "static" / "ttf" / f"{shipped.stem}.ttf").exists()
    assert (ROOT / "static" / "IBM-Plex-OFL.txt").read_text().count("Open Font License")
