"""Window: a page of the browser, and what went wrong in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from local.airflow import Airflow

PATIENCE_MS = 30_000


class Window:
    """A page whose console, scripts, requests and answers are listened to."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.wrong: list[str] = []
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.wrong.append(f"script: {error}"))
        page.on("requestfailed", self._failed)
        page.on("response", self._answered)

    def go(self, path: str) -> None:
        """Open a page of the installation, and wait until nothing is loading any more."""
        self.page.goto(path, wait_until="networkidle")

    def text(self) -> str:
        """What a person reads."""
        return str(self.page.locator("body").inner_text())

    def table(self, caption: str) -> list[dict[str, str]]:
        """The rows of the table whose caption has this text: column -> cell."""
        table = self.page.locator("table", has=self.page.locator("caption", has_text=caption)).first
        names = table.locator("thead th").all_inner_texts()
        return [
            dict(zip(names, row.locator("th, td").all_inner_texts(), strict=True))
            for row in table.locator("tbody tr").all()
        ]

    def _console(self, message: Any) -> None:
        # A policy that is violated is an error of the console too.
        if message.type == "error":
            self.wrong.append(f"console: {message.text} ({message.location.get('url')})")

    def _failed(self, request: Any) -> None:
        # A page that is left no longer needs what it was loading.
        if request.failure != "net::ERR_ABORTED":
            self.wrong.append(f"request: {request.url}: {request.failure}")

    def _answered(self, answer: Any) -> None:
        if answer.status >= 400:
            self.wrong.append(f"{answer.status}: {answer.url}")


def log_in(page: Any, airflow: Airflow) -> None:
    """By Airflow's own form, as a person does."""
    page.set_default_timeout(PATIENCE_MS)
    page.goto("/", wait_until="networkidle")
    page.fill("input[name=username]", airflow.user)
    page.fill("input[name=password]", airflow.password)
    page.click("button[type=submit]")
    page.wait_for_url("**/")
    page.wait_for_load_state("networkidle")


def logged_in(browser: Any, airflow: Airflow) -> Any:
    """What the browser keeps of a person who is logged in."""
    context = browser.new_context(base_url=airflow.url)
    log_in(context.new_page(), airflow)
    state = context.storage_state()
    context.close()
    return state


@contextmanager
def opened(
    browser: Any, airflow: Airflow, session: Any, width: int = 1280, *, dark: bool = False
) -> Iterator[Window]:
    """A window of a person who is logged in, whose clock shows UTC."""
    context = browser.new_context(
        base_url=airflow.url,
        storage_state=session,
        viewport={"width": width, "height": 860},
        color_scheme="dark" if dark else "light",
        timezone_id="UTC",
    )
    try:
        yield Window(context.new_page())
    finally:
        context.close()
