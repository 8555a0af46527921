"""Where a candidate's text is: shown, or how to get it; and which of its lines matter."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from dataclasses import dataclass

_BLOB = re.compile(r"^https://([^/]+/[^/]+/[^/]+)/(?:blob|raw)/([0-9a-f]{7,40})/(.+)$")
_SHORT = re.compile(r"^([\w.-]+/[\w.-]+)@([0-9a-f]{7,40}):(.+)$")


@dataclass(frozen=True)
class Origin:
    """A file in a public repository at one commit."""

    repository: str
    commit: str
    path: str

    @property
    def command(self) -> str:
        """A command that prints the file."""
        folder = self.repository.rsplit("/", 1)[-1]
        return (
            f"git clone https://{self.repository} && "
            f"git -C {folder} show {self.commit}:'{self.path}'"
        )


def origin_of(source_url: str | None) -> Origin | None:
    """Repository, commit and path of a source URL (`https://HOST/OWNER/NAME/blob/COMMIT/PATH` or
    `OWNER/NAME@COMMIT:PATH`, the latter on GitHub); None where it names no commit."""
    if not source_url:
        return None
    if found := _BLOB.match(source_url):
        return Origin(*found.groups())
    if found := _SHORT.match(source_url):
        return Origin(f"github.com/{found[1]}", found[2], found[3])
    return None


def output_stores(source: str) -> set[int]:
    """The 1-based lines of the text's only `tl.store`; empty with none, several, or no Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return set()
    stores = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "tl.store"
    ]
    if len(stores) != 1:
        return set()
    return set(range(stores[0].lineno, (stores[0].end_lineno or stores[0].lineno) + 1))


def marked_lines(source: str, flag_codes: Collection[str]) -> set[int]:
    """The lines that a partial write comes from: the only store, where there is just one."""
    return output_stores(source) if "partial_write" in flag_codes else set()
