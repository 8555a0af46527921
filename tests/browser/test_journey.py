"""What a visitor does: open a link, look at the evaluations, grade a kernel of their own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


def assert_no_error(page: Page) -> None:
    expect(page.get_by_test_id("stException")).to_have_count(0)


def test_first_visitor_may_come_by_a_deep_link(
    fresh_dashboard: str, open_page: Callable[[str], Page]
) -> None:
    """Streamlit's old handling of a folder called pages/ would show the page without the shell."""
    page = open_page(f"{fresh_dashboard}/evaluations")
    assert_no_error(page)
    expect(page.get_by_role("link", name="Overview")).to_be_visible()
    expect(page.get_by_role("link", name="Grade")).to_be_visible()


@pytest.mark.parametrize("name", ["overview", "evaluations", "flagged", "grade", "audit"])
def test_page_loads(dashboard: str, open_page: Callable[[str], Page], name: str) -> None:
    page = open_page(f"{dashboard}/{name}")
    expect(page.locator("h1").first).not_to_be_empty()
    assert_no_error(page)
