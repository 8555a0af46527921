"""The table and its charts with a real mouse and keyboard: what a click filters, what opens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import serving
from tests.synthetic import mixed, write_user

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
ROW_HEIGHT = 35  # px, of st.dataframe


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a dashboard whose user has the synthetic rows."""
    folder = tmp_path_factory.mktemp("filled")
    write_user(mixed(), folder / "data")
    with serving(folder) as address:
        yield address


@pytest.fixture
def page(filled: str, open_page: Callable[[str], Page]) -> Page:
    # only what the user has: shipped rows would move the bars
    page = open_page(f"{filled}/evaluations?origin=user")
    page.set_viewport_size({"width": 1440, "height": 2000})
    expect(page.locator(".js-plotly-plot")).to_have_count(2)
    return page


def bar(page: Page, chart: int, trace: int, number: int) -> Locator:
    traces = page.locator(".js-plotly-plot").nth(chart).locator("g.trace.bars")
    return traces.nth(trace).locator(".point").nth(number)


def click_middle(page: Page, shape: Locator) -> None:
    """Clicks as a hand does: plotly listens to the mouse, not to the shape."""
    settled(page)
    expect(shape).to_be_visible()
    box = shape.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def settled(page: Page) -> None:
    """Waits until the page has been drawn anew: a click on a chart that is going away is lost."""
    app = page.get_by_test_id("stApp")
    expect(app).to_have_attribute("data-test-script-state", "notRunning", timeout=30_000)
    page.wait_for_timeout(1500)  # plotly draws after the script has ended


def test_a_click_on_a_bar_filters_and_a_second_one_takes_it_back(page: Page) -> None:
    headline = page.locator("h1").first
    # configurations by correct share: config-a, then config-b and config-partial; trace 0: correct
    click_middle(page, bar(page, 0, 0, 0))
    expect(page).to_have_url(re.compile("outcome=correct&configuration=config-a"))
    expect(headline).to_contain_text("3 of")
    click_middle(page, bar(page, 0, 0, 0))
    expect(page).not_to_have_url(re.compile("configuration="), timeout=30_000)


def test_a_click_on_a_flag_becomes_a_chip_that_removes_it(page: Page) -> None:
    click_middle(page, bar(page, 1, 0, 0))
    expect(page).to_have_url(re.compile("flag=library_fallback"))
    chips = page.get_by_test_id("stMain").get_by_role("button", name="library_fallback")
    chips.click()
    expect(page).not_to_have_url(re.compile("flag="))


def test_a_name_in_the_table_opens_its_row(page: Page) -> None:
    table = page.get_by_test_id("stDataFrame").first
    table.scroll_into_view_if_needed()
    box = table.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 90, box["y"] + 1.5 * ROW_HEIGHT)
    expect(page).to_have_url(re.compile(r"/kernel\?id=level1-\d+"))
    expect(page.get_by_test_id("stException")).to_have_count(0)


def test_the_keyboard_walks_the_rows_before_it_opens_one(page: Page) -> None:
    page.get_by_role("combobox", name="Sort").focus()
    for _ in range(8):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('[role=grid]') !== null"):
            break
    for _ in range(2):
        page.keyboard.press("ArrowDown")
        page.wait_for_timeout(500)  # time enough to be taken away, if it were
        assert "/evaluations" in page.url
    page.keyboard.press("Shift+Space")
    expect(page).to_have_url(re.compile(r"/kernel\?id="))


def test_search_goes_on_while_one_types(page: Page) -> None:
    field = page.get_by_label("Search problem, configuration, flag or message")
    field.press_sequentially("softmax partial", delay=40)
    expect(page.locator("h1").first).to_contain_text("1 of")
    expect(field).to_have_value("softmax partial")
    expect(page).to_have_url(re.compile(r"q=softmax\+partial"))
