"""Sides: what reads the declaration of a table beside the stream, which names it; and their
versions.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.settings.installation import Settings
    from spark_jobs.side.port import Inputs, Pin, Side
    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.side import SideTable


def side_of(declared: SideTable, settings: Settings) -> Side:
    """The table that is declared."""
    return cast("Side", resolve_name(declared.side)(declared, settings))


def newest(spec: Pipeline, settings: Settings) -> dict[str, Pin]:
    """Name -> the newest version of each table beside the stream."""
    return {side.name: side_of(side, settings).now() for side in spec.sides}


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
