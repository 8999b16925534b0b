"""Port: what a table beside the stream is asked for, whatever it is.

Spark reads such a table anew in each batch, and notes nowhere what it read: a batch that runs again
would get other rows, and table and state would part ways. So nobody opens it but by a Pin. A drain
notes one for its batches (checkpoint/notes/noted_versions.py), a repair or a verify one in its
plan. Without Spark, until rows are read.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.side import SideTable
    from spark_jobs.storage.pin import Changed, Inputs, Pin


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
