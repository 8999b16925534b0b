"""Airflow's form of a backfill DAG, and that of a drain, as a person sees them."""

from collections.abc import Callable
from datetime import date
from typing import Any

from sluice_airflow.tasks.form import params
from tests.browser.trigger_form import backfill_form, fill_in, override, trigger_form
from tests.harness.long_form import long_form

Windows = Callable[..., Any]
pytestmark = long_form


def test_the_form_explains_each_field_and_takes_no_number_below_its_bound(window, installed):
    with window() as opened:
        dialog = trigger_form(opened, f"{installed.grows.name}__backfill")
        for param in params().values():
            dialog.get_by_text(param.schema["title"], exact=False).first.wait_for()
            dialog.get_by_text(str(param.description), exact=True).wait_for()
        assert dialog.get_by_role("radio", name="Backfill").is_enabled()
        most = dialog.get_by_role("spinbutton")
        most.fill("-5")
        most.press("Tab")
        assert most.input_value() == "1"
        assert opened.wrong == []


def test_no_backfill_of_a_drain_can_be_chosen(window, installed):
    with window() as opened:
        dialog = trigger_form(opened, installed.grows.name)
        assert dialog.get_by_role("radio", name="Single Run").is_enabled()
        assert dialog.get_by_role("radio", name="Backfill").is_disabled()


def test_what_is_filled_in_counts_in_a_backfill_if_existing_runs_are_overridden(window, installed):
    day = date(2013, 1, 2)
    sent = []
    with window() as opened:

        def refuse(route: Any):
            sent.append(route.request.post_data_json["dag_run_conf"])
            route.fulfill(status=409, json={"detail": "a test"})

        opened.page.route("**/api/v2/backfills", refuse)
        dialog = backfill_form(opened, f"{installed.grows.name}__backfill", day, day)
        fill_in(dialog, "note", "why")
        for tick in (False, True):
            if tick:
                override(dialog)
            with opened.page.expect_response("**/api/v2/backfills"):
                dialog.get_by_role("button", name="Run Backfill").click()
    assert sent[0] is None
    assert sent[-1]["note"] == "why"
