"""Conditions: whether Spark takes the rules of a topic as conditions over its columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession, functions as F

from spark_jobs.errors import SpecInvalid
from spark_jobs.values.conversions import spark_type

if TYPE_CHECKING:
    from spark_jobs.spec import Pipeline, Rule


def refuse_unusable_rules(spark: SparkSession, spec: Pipeline) -> None:
    """Raise SpecInvalid for a rule that names an unknown column, that is not boolean, or that takes
    more than one record, as an aggregate does. Their SQL parses.
    """
    for topic in (each for each in spec.inputs if each.rules):
        columns = (F.lit(None).cast(spark_type(f.type)).alias(f.name) for f in topic.fields)
        rows = spark.range(0).select(*columns)
        for rule in topic.rules:
            if why := _why(rows, rule):
                raise SpecInvalid.rule_unusable(
                    pipeline=spec.name,
                    rule=rule.name,
                    topic=topic.name,
                    sql=rule.sql,
                    why=why,
                    columns=topic.columns,
                )


def _why(rows: DataFrame, rule: Rule) -> str | None:
    """Why Spark does not take it; None if it does."""
    try:
        rows.where(F.expr(rule.sql))
    except AnalysisException as error:
        return str(error).strip().splitlines()[0].rstrip(". ")
    return None
