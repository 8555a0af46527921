"""What fooled the benchmark's check, gathered by the flag that says how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluator.contract import FlagCode
from reach.published import Published
from reach.style.formats import count, counted_word, share, speedup
from reach.style.kernel_sentences import FLAG_REASONS, rejecting_flags
from reach.style.words import capitalised, escape_markdown, provenance_badge

Row = Mapping[str, Any]
# a wrong answer inside the benchmark's tolerance needs no trick, so it has no flag of its own
UNFLAGGED = "no_flag"


@dataclass(frozen=True)
class Card:
    """One flag code (or UNFLAGGED), all rows that carry it, and the one shown for them."""

    code: str
    rows: tuple[Row, ...]
    example: Row

    @property
    def title(self) -> str:
        """What such kernels do, as a sentence."""
        if self.code == UNFLAGGED:
            return "Its answer is wrong, and the benchmark's tolerance is wide enough for it"
        return capitalised(FLAG_REASONS[FlagCode(self.code)])

    @property
    def sentence(self) -> str:
        """What shows it in the example: the flag's own sentence, else the verdict's."""
        for flag in self.example["flags"]:
            if flag["code"] == self.code:
                return flag["sentence"]
        return self.example["sentence"]


def cards(rows: Sequence[Row]) -> list[Card]:
    """One card a rejecting flag code, most frequent first; a row counts for each of its flags.

    `rows` passed the benchmark's check and failed ours. The example is the row with the highest
    benchmark score among those that no card before shows, rows for which the code comes first
    before others.
    """
    found: dict[str, list[tuple[bool, Row]]] = {}
    for row in rows:
        codes = [flag["code"] for flag in rejecting_flags(row)] or [UNFLAGGED]
        for place, code in enumerate(codes):
            found.setdefault(code, []).append((place == 0, row))
    made: list[Card] = []
    used: set[str] = set()
    for code, entries in sorted(found.items(), key=lambda item: (-len(item[1]), item[0])):
        _, example = max(
            entries,
            key=lambda entry: (
                entry[1]["evaluation_id"] not in used,
                entry[0],
                entry[1]["benchmark_speedup"] or 0.0,
            ),
        )
        used.add(example["evaluation_id"])
        made.append(Card(code, tuple(row for _, row in entries), example))
    return made


def beside_the_paper(row: Row, paper: Published) -> str:
    """The paper's partial write, said beside ours; only where ours was written to be like it."""
    if row["configuration_kind"] != "adversarial":
        return ""
    wrote = share(paper["flagged_partial_write_share_written"].number)
    scored = speedup(paper["flagged_partial_write_score"].number)
    return (
        f"The paper found a kernel that wrote *{wrote}* of its output and was scored "
        f"~~*{scored}*~~ {provenance_badge('paper')} This one was written here to do the same, "
        "and graded here."
    )


def gallery_headline(rows: Sequence[Row], shown: Sequence[Card]) -> tuple[str, str]:
    """The page's verdict and the lines under it."""
    if not rows:
        return (
            "No stored kernel passed the benchmark and failed ours",
            "Kernels that the benchmark's check calls correct and our judge does not would stand "
            "here, one card a reason. Among the rows stored so far there is none.",
        )
    kernels = capitalised(counted_word(len(rows), "kernel"))
    first, leads = shown[0], len(shown) == 1 or len(shown[0].rows) > len(shown[1].rows)
    most = ""
    if leads and first.code != UNFLAGGED:
        most = f"; {escape_markdown(first.code)} is the most frequent reason"
    own = sum(row["configuration_kind"] == "adversarial" for row in rows)
    made = (
        f" {capitalised(count(own, len(rows)))} were written on purpose to attack the check."
        if own
        else ""
    )
    return (
        f"{kernels} passed the benchmark and failed ours{most}",
        "Each score below is the benchmark's own for a result that is not the answer: struck "
        f"through, it enters no average and no maximum here.{made}",
    )
