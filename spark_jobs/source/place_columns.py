"""Columns: a record's place as Spark has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from spark_jobs.source.place import PLACE, WHOLE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def columns(records: DataFrame) -> list[Column]:
    """PLACE of rows with the column kafka; WHOLE where no value has many records."""
    partition, offset, element = PLACE
    there = element in records.select("kafka.*").columns
    number = F.coalesce(f"kafka.{element}", F.lit(WHOLE)) if there else F.lit(WHOLE)
    return [F.col(f"kafka.{partition}"), F.col(f"kafka.{offset}"), number.alias(element)]
