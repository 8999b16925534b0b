"""Pin: which version of a table beside the stream is read, and what another one has otherwise."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from pydantic import BaseModel, ConfigDict

INPUTS: Final = "inputs"
"""The folder in Spark's, where the versions that batches read are noted
(checkpoint/notes/noted_versions.py).
"""


class Pin(BaseModel):
    """One version of one table, for ever."""

    model_config = ConfigDict(frozen=True)

    table_id: str
    """The table's identity: one that is made anew has another."""
    version: int
    """Its number there. A later version has a higher one."""


Inputs = Mapping[str, Pin]
"""The name of each table beside the stream -> the version that is read."""


def as_json(inputs: Inputs) -> str | None:
    """As ops.repairs has them; None where there are none."""
    return json.dumps({name: pin.model_dump() for name, pin in inputs.items()}) if inputs else None


def versions(inputs: Inputs) -> dict[str, int]:
    """The number of each version alone."""
    return {name: pin.version for name, pin in inputs.items()}


class Changed(NamedTuple):
    """Rows that a later version has otherwise: what was computed with them may differ."""

    key: str | None
    """The columns of the table's key -> their values, as JSON; None: any key."""
    start: datetime | None
    """The first event time that it concerns; None: since ever."""
    end: datetime | None
    """The event time after the last; None: for ever."""
