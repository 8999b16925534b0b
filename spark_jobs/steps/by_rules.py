"""By rules: which rules of its topic a decoded record fulfils (spec/checks/rule.py), and what
follows. The SQL of a rule is within TryEval, so no record makes a query fail by it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, cast

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession, functions as F
from pyspark.sql.types import BooleanType

from spark_jobs.errors import SpecInvalid
from spark_jobs.source.place import Place
from spark_jobs.steps.catalyst import analyzed, asks_for_the_time
from spark_jobs.values.conversions import spark_type
from spark_jobs.values.numbering import BITS
from spark_jobs.values.own_columns import MALFORMED, RULES

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from spark_jobs.spec import Pipeline, Rule, Topic
    from spark_jobs.spec.checks.rule import OnFailure
    from spark_jobs.spec.inputs import Topics

REFUSED: Final = "SLUICE_REFUSED: a rule refuses the record at"
"""How Spark's error begins for a record that ends its batch; its place follows."""
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
        fields = (F.lit(None).cast(spark_type(f.type)).alias(f.name) for f in topic.fields)
        rows = spark.range(0).select(*fields)
        for rule in () if _all_are_conditions(rows, topic.rules) else topic.rules:
            if why := why_no_condition(rows, F.expr(rule.sql), rule.sql):
                raise SpecInvalid.rule_unusable(
                    pipeline=spec.name,
                    rule=rule.name,
                    topic=topic.name,
                    sql=rule.sql,
                    why=why,
                    columns=topic.columns,
                )


def _all_are_conditions(rows: DataFrame, rules: Sequence[Rule]) -> bool:
    """Whether all are conditions, by two questions: of each rule alone they take Spark 7 ms."""
    asked = F.struct(*(F.expr(rule.sql).alias(f"c{n}") for n, rule in enumerate(rules)))
    if why_no_condition(rows, asked.isNotNull(), "\n".join(rule.sql for rule in rules)):
        return False
    [typed] = rows.select(asked).schema
    return all(field.dataType == BooleanType() for field in cast("StructType", typed.dataType))


def why_no_condition(rows: DataFrame, condition: Column, sql: str) -> str | None:
    """Why Spark does not take it for a condition of each row by itself; None if it does. `sql`: its
    text.
    """
    try:
        judged = rows.where(condition)
    except AnalysisException as error:
        return str(error).strip().splitlines()[0].rstrip(". ")
    if not analyzed(judged).child().fastEquals(analyzed(rows)):
        return "it makes rows of its own, as a window does: records would be lost, or come twice"
    if asks_for_the_time(judged) or _PARSED_NOW.search(sql):
        return "it depends on when it is asked, and a record is judged more than once"
    return None


def judged(decoded: DataFrame, inputs: Topics) -> DataFrame:
    """The decoded records with RULES array<boolean>, if a topic has rules: whether each rule of the
    record's topic is fulfilled; null for one whose SQL fails on the record. No array for a record
    that does not decode, and for a tombstone that is dropped.

    Those that a rule puts into quarantine, or that make one fail, are malformed. As any malformed
    record they have no event time then.
    """
    if not has_rules(inputs):
        return decoded
    spark, time = decoded.sparkSession, inputs.event_time
    whole = F.col(MALFORMED).isNull() & F.col(time).isNotNull()
    # Without an ELSE, so that Spark computes nothing of it before the TryEval: what two expressions
    # share it computes first, but only of those that are computed for each record.

    def verdicts(topic: Topic) -> Column:
        of = (F.coalesce(F.expr(r.sql), F.lit(r.null == "passes")) for r in topic.rules)
        return F.array(*(tried(spark, each) for each in of))

    found = decoded.withColumn(RULES, _of_its_topic(inputs, whole, verdicts))
    reason = F.coalesce(MALFORMED, _of_its_topic(inputs, _not_all(), _reason))
    return found.withColumn(MALFORMED, reason).withColumn(
        time, F.when(F.col(MALFORMED).isNull(), F.col(time))
    )


def has_rules(inputs: Topics) -> bool:
    """Whether classified records have RULES."""
    return any(topic.rules for topic in inputs)


def keeps_some(inputs: Topics, spec: Pipeline) -> bool:
    """Whether a rule or a step puts records into quarantine, whose bytes must be there then."""
    return any(step.rejects for step in spec.steps) or any(
        rule.on_failure == "quarantine" for topic in inputs for rule in topic.rules
    )


def fails_one(inputs: Topics, what: OnFailure) -> Column:
    """boolean: whether a rule with this `on_failure` is not fulfilled."""
    if not any(rule.on_failure == what for topic in inputs for rule in topic.rules):
        return F.lit(False)
    fails = _of_its_topic(inputs, _not_all(), lambda topic: _fails_one(topic, what))
    return F.coalesce(fails, F.lit(False))


def ended() -> Column:
    """An error, in place of the outcome of a record that a rule refuses."""
    partition, offset = (F.col(f"kafka.{name}").cast("string") for name in ("partition", "offset"))
    text = (F.lit(f"{REFUSED} partition "), partition, F.lit(" offset "), offset)
    return F.raise_error(F.concat(*text))


def told(inputs: Topics) -> Column:
    """Text that names all rules that the record does not fulfil; null if there are none."""
    return _of_its_topic(inputs, _not_all(), _told)


def refused(records: DataFrame, inputs: Topics, most: int) -> list[tuple[Place, str]]:
    """Those for which a rule ends a batch, the first by place; each with all rules that it fails.
    `records` as Dataflow.by_decoder has them.
    """
    rows = records.where(fails_one(inputs, "refuse"))
    at = F.col("kafka").dropFields("timestamp", "millis", "raw").alias("at")
    found = rows.select(at, told(inputs).alias("reason")).orderBy("at").limit(most).collect()
    return [(Place.of_row(place.asDict()), why) for place, why in found]


def rule_counts(inputs: Topics, names: Sequence[Mapping[str, Rule]]) -> Column:
    """An aggregate over classified records, map<string, bigint>: name -> the records that fail the
    rule, of any outcome. `names`: the inputs' rules by the names under which they are counted.
    """
    pairs = (
        (F.lit(name), F.count_if(_where(inputs, number, _fails(at))))
        for number, of_topic in enumerate(names)
        for at, name in enumerate(of_topic)
    )
    return F.create_map(*chain.from_iterable(pairs)).alias("rules")


def tried(spark: SparkSession, condition: Column) -> Column:
    """The condition, which is never null; null where it fails on a record."""
    from pyspark.sql.classic.column import Column as Classic  # noqa: PLC0415 - no public way to Catalyst

    sql: Any = spark._jvm.org.apache.spark.sql  # type: ignore[union-attr]  # noqa: SLF001 - as above
    utilities = sql.classic.ExpressionUtils
    within = sql.catalyst.expressions.TryEval(utilities.expression(condition._jc))  # noqa: SLF001 - as above
    return Classic(utilities.column(within))


def _fails(number: int) -> Column:
    return F.col(RULES)[number].eqNullSafe(F.lit(False))


# A function of an array, and no tree of ORs: Spark goes down each tree, and its stack ends.
def _fails_one(topic: Topic, what: OnFailure) -> Column:
    of_it = [F.col(RULES)[n] for n, rule in enumerate(topic.rules) if rule.on_failure == what]
    one = F.array_contains(F.array(*of_it), F.lit(False)) if of_it else F.lit(False)
    return F.coalesce(one, F.lit(False))


def _not_all() -> Column:
    """Whether a rule is not fulfilled, or its SQL fails: the others need no look at each rule."""
    some = F.coalesce(F.array_contains(RULES, F.lit(False)), F.lit(True))
    return F.col(RULES).isNotNull() & some


def _reason(topic: Topic) -> Column:
    """Why a record is malformed by a rule; null if it is not, or ends its batch."""
    raises = F.size(F.array_compact(RULES)) < len(topic.rules)
    malformed = _fails_one(topic, "quarantine") | raises
    return F.when(~_fails_one(topic, "refuse") & malformed, _told(topic))


def _told(topic: Topic) -> Column:
    said = [
        _listed(topic, _fails, "it fails the rules "),
        _listed(
            topic, lambda n: F.col(RULES)[n].isNull(), "it makes the SQL of these rules fail: "
        ),
    ]
    return F.concat_ws("; ", *said)


def _listed(topic: Topic, which: Callable[[int], Column], text: str) -> Column:
    named = (F.when(which(n), F.lit(rule.name)) for n, rule in enumerate(topic.rules))
    names = F.concat_ws(", ", *named)
    return F.when(names != "", F.concat(F.lit(text), names))


def _of_its_topic(inputs: Topics, where: Column, of: Callable[[Topic], Column]) -> Column:
    """For each record what `of` gives for its topic; null elsewhere."""
    numbered = ((number, topic) for number, topic in enumerate(inputs) if topic.rules)
    first, *more = [(_where(inputs, number, where), of(topic)) for number, topic in numbered]
    return reduce(lambda found, one: found.when(*one), more, F.when(*first))


def _where(inputs: Topics, number: int, condition: Column) -> Column:
    """The condition, for records of one input. Records of other inputs may have fewer rules."""
    if not inputs.several:
        return condition
    of_it = F.shiftright("kafka.partition", BITS) == number
    return F.coalesce(F.when(of_it, condition), F.lit(False))
