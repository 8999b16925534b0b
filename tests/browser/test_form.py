"""Airflow's form of a backfill DAG, and that of a drain, as a person sees them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sluice_airflow.form import params
from tests.browser.installation import Installed
from tests.harness.long_form import long_form

Windows = Callable[..., Any]
pytestmark = long_form


def _form(opened: Any, dag_id: str) -> Any:
    opened.go(f"/dags/{dag_id}")
    opened.page.get_by_role("button", name="Trigger").first.click()
    dialog = opened.page.get_by_role("dialog")
    dialog.get_by_text("Advanced Options").wait_for()
    return dialog


def test_the_form_explains_each_field_and_takes_no_number_below_its_bound(
    window: Windows, installed: Installed
) -> None:
    with window() as opened:
        dialog = _form(opened, f"{installed.grows.name}__backfill")
        for param in params().values():
            dialog.get_by_text(param.schema["title"], exact=False).first.wait_for()
            dialog.get_by_text(str(param.description), exact=True).wait_for()
        assert dialog.get_by_role("radio", name="Backfill").is_enabled()
        most = dialog.get_by_role("spinbutton")
        most.fill("-5")
        most.press("Tab")
        assert most.input_value() == "1"
        assert opened.wrong == []


def test_no_backfill_of_a_drain_can_be_chosen(window: Windows, installed: Installed) -> None:
    with window() as opened:
        dialog = _form(opened, installed.grows.name)
        assert dialog.get_by_role("radio", name="Single Run").is_enabled()
        assert dialog.get_by_role("radio", name="Backfill").is_disabled()
