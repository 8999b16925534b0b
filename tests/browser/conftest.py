"""One Airflow, one root and one browser for this folder, and for each test a window of its own."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from tests.browser.chromium import ABSENT, PATH, chromium
from tests.browser.installation import Installed, installation
from tests.browser.window import logged_in, opened
from tests.harness.broker import kafka

__all__ = ["kafka"]


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    if PATH is None:
        pytest.skip(ABSENT)
    with chromium() as running:
        yield running


@pytest.fixture(scope="package")
def installed(browser, tmp_path_factory) -> Iterator[Installed]:
    """Made only where there is a browser to look at it."""
    with installation(tmp_path_factory.mktemp("browser")) as made:
        yield made


@pytest.fixture(scope="package")
def session(browser, installed) -> Any:
    """Of a person who is logged in."""
    return logged_in(browser, installed.airflow)


@pytest.fixture
def window(browser, installed, session) -> Callable[..., Any]:
    """Opens a window of a person who is logged in: `width`, `dark`."""
    return partial(opened, browser, installed.airflow, session)
