"""Python source as HTML in the product's colours, with line numbers and marked lines.

`st.code` has fixed colours, some below 4.5:1, and cannot mark a line.
"""

from __future__ import annotations

from collections.abc import Collection
from html import escape

from pygments.lexers.python import PythonLexer
from pygments.token import Token

from reach.style.tokens import Mode, palette


def _hues(mode: Mode) -> tuple[tuple[object, str], ...]:
    tokens = palette(mode)
    return (
        (Token.Keyword, tokens["series"]["s1"]),
        (Token.Name.Decorator, tokens["series"]["s3"]),
        (Token.Literal.String, tokens["verdict"]["correct"]),
        (Token.Literal.Number, tokens["verdict"]["incorrect"]),
        (Token.Comment, tokens["muted"]),
    )


def _coloured_lines(code: str, mode: Mode) -> list[str]:
    """Each line of `code` as HTML; a token over several lines is coloured on each."""
    hues, lines = _hues(mode), [""]
    for kind, text in PythonLexer(ensurenl=False, stripnl=False).get_tokens(code):
        colour = next((hue for base, hue in hues if kind in base), None)  # type: ignore[operator]
        for i, part in enumerate(text.split("\n")):
            if i:
                lines.append("")
            if part:
                shown = escape(part)
                lines[-1] += f'<span style="color:{colour}">{shown}</span>' if colour else shown
    return lines


def source_html(
    code: str,
    mode: Mode,
    marked: Collection[int] = (),
    max_height: int | None = None,
    label: str = "Source code",
    plain: bool = False,
) -> str:
    """`code` as a `<pre>` that scrolls by keyboard; `marked` holds 1-based line numbers.

    `max_height` in px; `plain` leaves colours and line numbers out (messages, logs).
    """
    tokens = palette(mode)
    lines = escape(code).split("\n") if plain else _coloured_lines(code.rstrip("\n"), mode)
    edge = tokens["verdict"]["rejected"]
    mark = f"background:{tokens['flag_line']};box-shadow:inset 3px 0 {edge}"
    gutter = f"display:inline-block;width:2.8em;color:{tokens['muted']};user-select:none"
    rows = "".join(
        f'<span style="display:block;padding:0 14px 0 12px;{mark if n in marked else ""}">'
        + ("" if plain else f'<span style="{gutter}">{n}</span>')
        + f"{text or ' '}</span>"
        for n, text in enumerate(lines, 1)
    )
    size = f"max-height:{max_height}px;" if max_height else ""
    wrap = "white-space:pre-wrap;overflow-wrap:anywhere;" if plain else ""
    return (
        f'<pre tabindex="0" role="region" aria-label="{escape(label)}" style="margin:0;'
        f"padding:10px 0;overflow:auto;{size}{wrap}background:{tokens['panel']};"
        f"color:{tokens['ink']};font:13px/1.55 'IBM Plex Mono',monospace\">"
        '<code style="font:inherit;background:none;color:inherit;padding:0;'
        f'white-space:inherit;display:inline-block;min-width:100%">{rows}</code></pre>'
    )
