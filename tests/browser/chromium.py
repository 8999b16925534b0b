"""Chromium: the one that Debian installs, driven by Playwright, with a profile of its own."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PATH = shutil.which("chromium") or shutil.which("chromium-browser")
"""None without one."""
ABSENT = (
    "no Chromium: not tested is what a person sees in Airflow's UI and in the views (Debian and "
    "Ubuntu: apt-get install chromium)"
)
FLAGS = (
    "--no-sandbox",  # containers of CI have no user namespaces
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def chromium() -> Iterator[Any]:
    """A running one, without a window. Playwright gives it a profile in a temporary folder."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - 160 MB, which only these tests need

    assert PATH is not None, ABSENT
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=PATH, args=list(FLAGS), headless=True, chromium_sandbox=False
        )
        try:
            yield browser
        finally:
            browser.close()
