"""One Airflow, one root and one browser for this folder, and for each test a window of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.browser.chromium import ABSENT, PATH, chromium
from tests.browser.installation import Installed, installation
from tests.browser.window import Window, log_in


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    if PATH is None:
        pytest.skip(ABSENT)
    with chromium() as running:
        yield running


@pytest.fixture(scope="package")
def installed(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """Made only where there is a browser to look at it."""
    with installation(tmp_path_factory.mktemp("browser")) as made:
        yield made


@pytest.fixture(scope="package")
def session(browser: Any, installed: Installed) -> Any:
    """What the browser keeps of a person who is logged in."""
    context = browser.new_context(base_url=installed.airflow.url)
    log_in(context.new_page(), installed.airflow)
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture
def window(browser: Any, installed: Installed, session: Any) -> Callable[..., Any]:
    """Opens a window of a person who is logged in: `width`, `dark`."""

    @contextmanager
    def opened(width: int = 1280, *, dark: bool = False) -> Iterator[Window]:
        context = browser.new_context(
            base_url=installed.airflow.url,
            storage_state=session,
            viewport={"width": width, "height": 860},
            color_scheme="dark" if dark else "light",
            timezone_id="UTC",
        )
        try:
            yield Window(context.new_page())
        finally:
            context.close()

    return opened
