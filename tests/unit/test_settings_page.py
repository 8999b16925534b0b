"""docs/settings.md is what the code says."""

from local.settings_page import PAGE, page


def test_the_page_of_settings_is_current() -> None:
    assert PAGE.read_text() == page(), "make settings"
