"""Request form: a request as Airflow's form asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from spark_jobs.messages.kind import WHOLE_KINDS
from spark_jobs.messages.request import MEANINGS, Request

OF_KEYS: Final = (
    "`backfill` and `verify` need keys. `replay` and `excise` find theirs. `rebuild` takes none."
)
ONLY_WHOLE: Final = (
    "Only `rebuild`: no range of this pipeline's output can be computed by itself: {why}. It reads "
    "the whole history, so it is never the default."
)
OF_A_REBUILD: Final = ("kind", "note", "most_records")
"""The fields that a rebuild takes."""
NOT_IN_THE_FORM: Final = ("without_lost", "who")
"""Airflow knows who asks. To go on without records is said on the command line alone."""


def form(unranged: str | None = None, *, keyed: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
    """Field of the form -> its JSON schema, with default, title and description.

    A field that need not be filled in takes null, by which Airflow's form knows it. `unranged`: why
    no range of the pipeline can be computed (analysis/ranged.py). The form of one that follows a
    key, with the kinds `keyed`, has keys in place of a range, of another one `rebuild` alone. A
    person chooses the kind then: Airflow refuses an empty form, which would mean hours of work.
    """
    properties: dict[str, dict[str, Any]] = Request.model_json_schema(by_alias=True)["properties"]
    fields = {n: _field(dict(part)) for n, part in properties.items() if n not in NOT_IN_THE_FORM}
    if unranged is None:
        return {name: part for name, part in fields.items() if name != "keys"}
    kinds = keyed or WHOLE_KINDS
    fields["kind"] |= {
        "default": None,
        "enum": [*kinds],
        "values_display": {kind: MEANINGS[kind] for kind in kinds},
        "description": OF_KEYS if keyed else ONLY_WHOLE.format(why=unranged),
    }
    if keyed:
        return {name: part for name, part in fields.items() if name not in {"from", "to"}}
    return {name: fields[name] for name in OF_A_REBUILD}


def _field(part: dict[str, Any]) -> dict[str, Any]:
    """The schema with a list of types in place of anyOf, which Airflow's form does not read."""
    options = part.pop("anyOf", [])
    nullable = bool(options) or part["default"] == ""
    for option in options:
        part |= option if option != {"type": "null"} else {}
    if nullable:
        part |= {"type": ["null", part["type"]], "default": None}
        part |= {"enum": [None, *part["enum"]]} if "enum" in part else {}
    return part
