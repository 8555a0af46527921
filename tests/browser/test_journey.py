"""What a visitor does: open a link, look at the evaluations, grade a kernel of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

PAGES = sorted(path.stem for path in (Path(__file__).parents[2] / "pages").glob("*.py"))
pytestmark = [pytest.mark.browser, pytest.mark.timeout(420)]


def assert_no_error(page: Page) -> None:
    expect(page.get_by_test_id("stException")).to_have_count(0)


def test_first_visitor_may_come_by_a_deep_link(
    fresh_dashboard: str, open_page: Callable[[str], Page]
) -> None:
    """Streamlit's old handling of a folder called pages/ would show the page without the shell."""
    page = open_page(f"{fresh_dashboard}/evaluations")
    assert_no_error(page)
    for name in ("Overview", "Evaluations", "Grade"):
        expect(page.get_by_role("link", name=name, exact=True)).to_be_visible()
    # what the old handling would list: every file of pages/, and app.py itself
    expect(page.get_by_role("link", name="app", exact=True)).to_have_count(0)


@pytest.mark.parametrize("name", PAGES)
def test_page_loads_and_calls_nobody(
    dashboard: str, open_page: Callable[[str], Page], name: str
) -> None:
    page = open_page(f"{dashboard}/{name}")
    expect(page.locator("h1").first).not_to_be_empty()
    expect(page.get_by_test_id("stStatusWidget")).to_have_count(0, timeout=30_000)
    assert_no_error(page)
    asked = page.evaluate("performance.getEntriesByType('resource').map(entry => entry.name)")
    assert asked
    assert not [url for url in asked if not url.startswith((dashboard, "data:", "blob:"))]


PROBLEM = b"""import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(32, 128)]


def get_init_inputs():
    return []
"""
CANDIDATE = b"""import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.clamp_min(0)
"""
HALF = CANDIDATE.replace(
    b"return x.clamp_min(0)",
    b"out = torch.empty_like(x)\n        out[:, :64] = x[:, :64].clamp_min(0)\n        return out",
)


def hand_in(page: Page, candidate: bytes) -> None:
    """Fills the Grade page's form with a small problem and a candidate, and starts the grading."""
    page.get_by_role("combobox", name="Problem").fill("of your own")
    page.get_by_role("option", name="Upload a problem file of your own").click()
    files = page.locator("input[type=file]")
    expect(files).to_have_count(2)
    files.nth(1).set_input_files(
        {"name": "small_relu.py", "mimeType": "text/x-python", "buffer": PROBLEM}
    )
    files.nth(0).set_input_files(
        {"name": "clamp.py", "mimeType": "text/x-python", "buffer": candidate}
    )
    expect(page.get_by_test_id("stFileChip")).to_have_count(2)
    # The server has seen the files, and its answer is drawn: a click on a button that is just being
    # replaced would be lost.
    expect(page.get_by_label("The file is graded, not this text")).to_be_visible(timeout=60_000)
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
    page.get_by_test_id("stMain").get_by_role("button", name="Grade").click()


@pytest.mark.parametrize(
    ("candidate", "verdict"), [(CANDIDATE, "Correct"), (HALF, "Rejected")], ids=["right", "half"]
)
def test_uploaded_candidate_is_graded_to_its_verdict(
    dashboard: str, open_page: Callable[[str], Page], candidate: bytes, verdict: str
) -> None:
    page = open_page(f"{dashboard}/grade")
    hand_in(page, candidate)
    expect(page.get_by_text("Handed in")).to_be_visible(timeout=60_000)
    headline = page.locator("h1").first
    expect(headline).to_contain_text(verdict, timeout=240_000)
    page.get_by_text("Open the result").click()
    expect(page.locator("h1").first).to_contain_text(verdict, timeout=30_000)
    assert_no_error(page)
