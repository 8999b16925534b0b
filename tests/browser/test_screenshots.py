"""The pictures of docs/seeing.md and of the README: `make screenshots` takes them anew."""

import pytest

from spark_jobs.settings.installation import REPO
from tests.browser import pages
from tests.browser.pictures import BACKFILL, KEPT, MOST_BYTES, PICTURES, TAKEN


@pytest.mark.skipif(not TAKEN, reason="pictures: make screenshots")
@pytest.mark.parametrize("name", PICTURES)
def test_a_page_has_a_picture(window, installed, name):
    picture = PICTURES[name]
    with window(picture.width, dark=picture.dark) as opened:
        opened.page.set_viewport_size({"width": picture.width, "height": picture.height})
        opened.go(pages.address(picture.page, installed))
        opened.page.screenshot(path=KEPT / f"{name}.png")


def test_every_picture_is_small_and_is_shown_and_there_is_no_other():
    shown = (REPO / "docs" / "seeing.md").read_text()
    sizes = {file.stem: file.stat().st_size for file in KEPT.glob("*.png")}
    assert sizes.keys() == {*PICTURES, *BACKFILL}
    assert max(sizes.values()) <= MOST_BYTES
    assert all(f"(img/{name}.png)" in shown for name in sizes)
