"""Port: what a table beside the stream is asked for, whatever it is.

Spark reads such a table anew in each batch, and notes nowhere what it read: a batch that runs again
would get other rows, and table and state would part ways. So nobody opens it but by a Pin. A drain
notes one for its batches, a repair or a verify one in its plan (checkpoint/pins.py).
Without Spark, until rows are read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from pkgutil import resolve_name
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.side import SideTable


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


class Side(Protocol):
    """A table whose older versions can be read. What is asked of it may raise SluiceError, as for a
    table that is not there.
    """

    def now(self) -> Pin:
        """The newest version, by one look."""

    def has(self, pin: Pin) -> bool:
        """Whether all rows of the version can be read still; False of another table's."""

    def keep(self, pin: Pin) -> None:
        """See that the version stays readable as long as it can: batches are about to read it."""

    def refuse_misdeclared(self) -> None:
        """Raise what refuses the declaration, as far as it can be told before any run."""

    def rows(self, spark: SparkSession, pin: Pin) -> DataFrame:
        """The rows of a version that it has: the same whenever and however often it is asked. A
        batch query, which a streaming query reads once a batch.
        """

    def changed(self, spark: SparkSession, since: Pin, until: Pin) -> Iterator[Changed]:
        """How two versions that it has differ, in what steps read; nothing if no row that a step
        can find does. A run notes it in ops.outdated.
        """


def side_of(declared: SideTable, settings: Settings) -> Side:
    """The table that is declared."""
    return cast("Side", resolve_name(declared.side)(declared, settings))


def newest(spec: Pipeline, settings: Settings) -> dict[str, Pin]:
    """Name -> the newest version of each table beside the stream."""
    return {side.name: side_of(side, settings).now() for side in spec.sides}


def keep(spec: Pipeline, settings: Settings, inputs: Inputs) -> None:
    """Have these versions kept, which the next batch reads. Under the pipeline's lease."""
    for side in spec.sides:
        side_of(side, settings).keep(inputs[side.name])


def gone(spec: Pipeline, settings: Settings, inputs: Inputs) -> str | None:
    """The name of a table whose version cannot be read any more; None if all can be."""
    lost = (side.name for side in spec.sides if not side_of(side, settings).has(inputs[side.name]))
    return next(lost, None)


def rows_of(
    spark: SparkSession, spec: Pipeline, settings: Settings, inputs: Inputs
) -> dict[str, DataFrame]:
    """Name -> the rows of each table beside the stream, by its version in the inputs."""
    return {
        side.name: side_of(side, settings).rows(spark, inputs[side.name]) for side in spec.sides
    }
