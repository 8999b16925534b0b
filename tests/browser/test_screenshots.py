"""The pictures of docs/seeing.md and of the README: `make screenshots` takes them anew."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from spark_jobs.contract.settings import REPO
from tests.browser import pages
from tests.browser.installation import Installed

KEPT = REPO / "docs" / "img"
MOST_BYTES = 150_000
WIDTH = 1280


class Picture(NamedTuple):
    """How a page is pictured: its upper part, so high."""

    page: str
    height: int
    dark: bool = False


PICTURES = {
    "overview": Picture("overview", 400),
    "pipeline": Picture("pipeline", 890),
    "pipeline-dark": Picture("pipeline", 890, dark=True),
    "failed-check": Picture("run", 900),
    "coverage": Picture("coverage", 760),
    "late": Picture("late", 660),
    "record": Picture("record", 820, dark=True),
}
"""Name -> the page."""


@pytest.mark.skipif("SLUICE_SCREENSHOTS" not in os.environ, reason="pictures: make screenshots")
@pytest.mark.parametrize("name", PICTURES)
def test_a_page_has_a_picture(window: Callable[..., Any], installed: Installed, name: str) -> None:
    picture = PICTURES[name]
    KEPT.mkdir(exist_ok=True)
    with window(WIDTH, dark=picture.dark) as opened:
        opened.page.set_viewport_size({"width": WIDTH, "height": picture.height})
        opened.go(pages.address(picture.page, installed))
        opened.page.screenshot(path=KEPT / f"{name}.png")


def test_every_picture_is_small_and_is_shown_and_there_is_no_other() -> None:
    shown = (REPO / "docs" / "seeing.md").read_text()
    sizes = {file.stem: file.stat().st_size for file in KEPT.glob("*.png")}
    assert sizes.keys() == PICTURES.keys()
    assert max(sizes.values()) <= MOST_BYTES
    assert all(f"(img/{name}.png)" in shown for name in PICTURES)
