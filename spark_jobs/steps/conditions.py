"""Conditions: the rules of a topic, as Spark takes them before a record is read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, cast

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType

from spark_jobs.errors import SpecInvalid
from spark_jobs.steps.catalyst import analyzed, asks_for_the_time
from spark_jobs.values.conversions import spark_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from spark_jobs.spec import Pipeline, Rule, Topic

_PARSED_NOW: Final = re.compile(
    r"\b(?:date|timestamp(?:_ltz|_ntz)?)\s*['\"]\s*(?:now|today|tomorrow|yesterday)\b",
    re.IGNORECASE,
)
"""What the parser itself makes a time of, so that no plan tells it."""


def refuse_unusable_rules(spark: SparkSession, spec: Pipeline) -> None:
    """Raise SpecInvalid for a rule that names an unknown column, that is not boolean, or that takes
    more than one record, as an aggregate does. Their SQL parses.
    """
    for topic in (each for each in spec.inputs if each.rules):
        columns = (F.lit(None).cast(spark_type(f.type)).alias(f.name) for f in topic.fields)
        rows = spark.range(0).select(*columns)
        if not _all_are_conditions(rows, topic.rules):
            _refuse_unusable(spec, topic, rows)


def _refuse_unusable(spec: Pipeline, topic: Topic, rows: DataFrame) -> None:
    for rule in topic.rules:
        if why := _why_no_condition(rows, F.expr(rule.sql), rule.sql):
            raise SpecInvalid.rule_unusable(
                pipeline=spec.name,
                rule=rule.name,
                topic=topic.name,
                sql=rule.sql,
                why=why,
                columns=topic.columns,
            )


def _all_are_conditions(rows: DataFrame, rules: Sequence[Rule]) -> bool:
    """Whether all are conditions, by two questions: of each rule alone they take Spark 7 ms. An AND
    makes booleans of texts, so the types are a question of their own.
    """
    asked = [F.expr(rule.sql) for rule in rules]
    if _why_no_condition(rows, _anded(asked), "\n".join(rule.sql for rule in rules)):
        return False
    [typed] = rows.select(F.struct(*(each.alias(f"c{n}") for n, each in enumerate(asked)))).schema
    return all(field.dataType == BooleanType() for field in cast("StructType", typed.dataType))


def _anded(conditions: Sequence[Column]) -> Column:
    """By halves: Spark goes down each tree, and its stack ends."""
    if len(conditions) == 1:
        return conditions[0]
    middle = len(conditions) // 2
    return _anded(conditions[:middle]) & _anded(conditions[middle:])


def _why_no_condition(rows: DataFrame, condition: Column, sql: str) -> str | None:
    """Why Spark does not take it; None if it does. `sql`: its text."""
    try:
        judged = rows.where(condition)
    except AnalysisException as error:
        return str(error).strip().splitlines()[0].rstrip(". ")
    if not analyzed(judged).child().fastEquals(analyzed(rows)):
        return "it makes rows of its own, as a window does: records would be lost, or come twice"
    if asks_for_the_time(judged) or _PARSED_NOW.search(sql):
        return "it depends on when it is asked, and a record is judged more than once"
    return None
