"""The form of a pipeline's backfill DAG, and the request that a DAG run is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow.sdk import Context, Param

from spark_jobs.errors import RangeInvalid
from spark_jobs.messages.kind import KINDS
from spark_jobs.messages.request import Request
from spark_jobs.messages.request_form import form

ONLY_OVERRIDDEN = (
    "Over dates (Backfill), Airflow sends these fields only if Override parameters on existing "
    "runs is ticked, and takes their defaults otherwise."
)
"""Airflow's form says it nowhere: a verify that was chosen there would be a backfill."""


def params(unranged: str | None = None, *, keyed: Sequence[str] = ()) -> dict[str, Param]:
    """The form's fields, which Airflow checks when a run is created. It shows descriptions as plain
    text, and so without marks of code. `unranged`, `keyed`: as messages/request.py has them.
    """
    fields = form(unranged, keyed=keyed)
    over_dates = () if unranged else ("kind",)
    return {
        name: Param(
            schema.pop("default"),
            description=_described(schema, ONLY_OVERRIDDEN if name in over_dates else ""),
            schema=schema,
        )
        for name, schema in fields.items()
    }


def _described(schema: dict[str, Any], more: str) -> str:
    text: str = schema.pop("description").replace("`", "")
    return f"{text} {more}".rstrip()


def request_of(context: Context) -> Request:
    """What this DAG run was asked for. Raises RangeInvalid.

    A run of Airflow's backfill has its range from the data interval. All others have it from the
    form alone: Airflow gives a manual run the last interval, which nobody asked for.
    """
    run = context["dag_run"]
    given: dict[str, Any] = {
        name: value for name, value in context["params"].items() if value is not None
    }
    if run.run_type == "backfill":
        each = KINDS[given["kind"]].each_interval
        if each is None:
            raise RangeInvalid.rebuild_by_backfill()
        given["kind"] = each
        given["from"], given["to"] = context["data_interval_start"], context["data_interval_end"]
    return Request(**given, who=getattr(run, "triggering_user_name", None) or "Airflow")
