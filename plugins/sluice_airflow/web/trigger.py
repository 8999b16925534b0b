"""Trigger: the form of a pipeline's backfill DAG, filled in.

Airflow 3.3 has no address that opens its own form or fills it in: whether the form is open is state
of the button's component, and it takes the values of an earlier run of the DAG alone. So a page has
the form, of the same fields. It sends them to Airflow's own API, which asks for the right to
trigger the DAG, checks each value, and keeps who asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from sluice_airflow import ids
from sluice_airflow.web.next_run import due
from spark_jobs.messages.request_form import form

Given = dict[str, str | None]


class Choice(NamedTuple):
    """One of a field's few values."""

    value: str
    """Empty: none is sent."""
    text: str


class Field(NamedTuple):
    """One field, as a browser shows it."""

    name: str
    title: str
    about: str
    type: Literal["choice", "number", "text"]
    value: str
    choices: tuple[Choice, ...] = ()
    most: int | None = None
    """The longest text, in characters."""
    least: int | None = None
    """The smallest number."""
    example: str = ""
    required: bool = False
    """A choice that nobody makes but a person: there is no default."""


class Trigger(NamedTuple):
    """The form of one DAG."""

    dag_id: str
    fields: tuple[Field, ...]
    paused: bool
    """A run of a paused DAG waits until somebody unpauses it."""


def trigger(
    pipeline: str, given: Given, unranged: str | None = None, *, keyed: Sequence[str] = ()
) -> Trigger:
    """The form of the pipeline's backfill DAG. `given` has the values of some fields, as text.
    `unranged`, `keyed`: as messages/request.py has them.
    """
    dag_id = ids.backfills(pipeline)
    known = due([dag_id]).get(dag_id)
    asked = form(unranged, keyed=keyed)
    fields = tuple(_field(name, schema, given.get(name)) for name, schema in asked.items())
    return Trigger(dag_id, fields, bool(known and known.paused))


def _field(name: str, schema: dict[str, Any], given: str | None) -> Field:
    value = schema["default"] if given is None else given
    shown = schema.get("values_display", {})
    choices = schema.get("enum", ())
    required = bool(choices) and schema["default"] not in choices
    # The empty one stands first: a browser would choose the first by itself.
    choices = (None, *choices) if required else choices
    return Field(
        name,
        schema["title"],
        schema["description"].replace("`", ""),
        "choice" if "enum" in schema else "number" if schema["type"] == "integer" else "text",
        "" if value is None else str(value),
        tuple(
            Choice("" if each is None else each, shown.get(str(each), each or ""))
            for each in choices
        ),
        schema.get("maxLength"),
        schema.get("minimum"),
        "2026-03-01, or 2026-03-01T10:00Z" if schema.get("format") == "date-time" else "",
        required,
    )
