"""Airflow's dialog behind the button Trigger, as a person uses it."""

from datetime import date
from typing import Any

from tests.browser.window import Window


def trigger_form(opened: Window, dag_id: str) -> Any:
    """The dialog of a DAG, opened from its page."""
    opened.go(f"/dags/{dag_id}")
    opened.page.get_by_role("button", name="Trigger").first.click()
    dialog = opened.page.get_by_role("dialog")
    dialog.get_by_text("Advanced Options").wait_for()
    return dialog


def backfill_form(opened: Window, dag_id: str, first: date, last: date) -> Any:
    """The dialog with a backfill from the first day to the last chosen in it, both included."""
    dialog = trigger_form(opened, dag_id)
    # The radio button itself is hidden.
    dialog.get_by_text("Run this Dag for a range of dates").click()
    for place, day in enumerate((first, last)):
        _choose(dialog, place, day)
    return dialog


def fill_in(dialog: Any, field: str, text: str) -> None:
    """A field of the DAG's own."""
    found = dialog.locator(f"[name=element_{field}]")
    found.fill(text)
    found.press("Tab")


def override(dialog: Any) -> None:
    """Tick the box without which a backfill takes nothing of what was filled in."""
    dialog.get_by_text("Override parameters on existing runs", exact=True).click()


def _choose(dialog: Any, place: int, day: date) -> None:
    """A day in one of the two fields of the range: a button, behind which is a field for text."""
    page = dialog.page
    dialog.get_by_test_id("datetime-input").nth(place).click()
    page.get_by_placeholder("YYYY/MM/DD").fill(f"{day:%Y/%m/%d}")
    page.keyboard.press("Escape")
    page.get_by_placeholder("YYYY/MM/DD").wait_for(state="detached")
