"""The paper's published figures (arXiv 2609.21058), each with its source and how sure it is.

None of these numbers is ours. `status` says how a value reached us: `published` stands in the
abstract, `secondary summary` comes from a summary of the full text that was not checked against
it, `our inference` follows from published values. The pages print the status with the value.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from reach.store.paths import shipped_dir
from reach.style.formats import NBSP

Status = Literal["published", "secondary summary", "our inference"]
PUBLISHED_FILE = "published.json"


@dataclass(frozen=True)
class PublishedValue:
    """One figure of the paper: a number, or the two ends of a range; shares are in [0, 1]."""

    key: str
    value: float | tuple[float, float]
    unit: str
    source: str
    status: Status

    @property
    def number(self) -> float:
        """The value where it is a single number. Raises TypeError where it is a range."""
        if isinstance(self.value, tuple):
            raise TypeError(f"{self.key} is a range")
        return self.value

    @property
    def ends(self) -> tuple[float, float]:
        """The two ends where it is a range. Raises TypeError where it is a single number."""
        if not isinstance(self.value, tuple):
            raise TypeError(f"{self.key} is a single number")
        return self.value


@dataclass(frozen=True)
class Inference:
    """Something that follows from published values by our reading, with the check made."""

    key: str
    value: str | None
    check: str | None
    status: str


@dataclass(frozen=True)
class CitedSource:
    """A work that the argument rests on."""

    what: str
    doi: str

    @property
    def url(self) -> str:
        return f"https://doi.org/{self.doi}"


@dataclass(frozen=True)
class ZeroTensorProblem:
    """A problem whose check a tensor of zeros passes, with the largest right answer there."""

    problem: str
    max_abs: float


@dataclass(frozen=True)
class Published:
    """The paper, its figures, and what was inferred from them."""

    title: str
    authors: tuple[str, ...]
    arxiv: str
    doi: str
    submitted: str
    gpu: str
    precision: str
    values: dict[str, PublishedValue]
    inferred: dict[str, Inference]
    zero_tensor_problems: tuple[ZeroTensorProblem, ...]
    sources_cited: tuple[CitedSource, ...]
    note: str

    def __getitem__(self, key: str) -> PublishedValue:
        return self.values[key]

    @property
    def url(self) -> str:
        """The version of the paper that the figures were read from."""
        return f"https://arxiv.org/abs/{self.arxiv}"


def _value(data: dict[str, Any]) -> PublishedValue:
    value = data["value"]
    ends = (float(value[0]), float(value[1])) if isinstance(value, list) else float(value)
    return PublishedValue(data["key"], ends, data["unit"], data["source"], data["status"])


def read_published(path: Path) -> Published:
    """The figures of one `published.json`. Raises OSError, ValueError or KeyError if it is not."""
    data = json.loads(path.read_text("utf-8"))
    paper = data["paper"]
    return Published(
        title=paper["title"],
        authors=tuple(paper["authors"]),
        arxiv=paper["arxiv"],
        doi=paper["doi"],
        submitted=paper["submitted"],
        gpu=paper["reported_setup"]["gpu"],
        precision=paper["reported_setup"]["precision"],
        values={item["key"]: _value(item) for item in data["values"]},
        inferred={
            item["key"]: Inference(item["key"], item["value"], item["check"], item["status"])
            for item in data["inferred"]
        },
        zero_tensor_problems=tuple(
            ZeroTensorProblem(item["problem"], float(item["paper_max_abs"]))
            for item in data["zero_tensor_problems"]
        ),
        sources_cited=tuple(CitedSource(s["what"], s["doi"]) for s in data["sources_cited"]),
        note=data["note"],
    )


def as_published(value: float) -> str:
    """A published share with the digits it was published with: 8.63 %, 86 %."""
    return f"{100 * value:.2f}".rstrip("0").rstrip(".") + f"{NBSP}%"


@functools.cache
def published() -> Published:
    """The shipped figures, read once."""
    return read_published(shipped_dir() / PUBLISHED_FILE)
