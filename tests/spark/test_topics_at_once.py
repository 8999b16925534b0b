"""Records of several topics in one batch query: each is decoded once, as its own topic says."""

import json
from datetime import timedelta

from pyspark.sql import functions as F

from spark_jobs.dataflow import dataflow
from spark_jobs.source.place import Place
from spark_jobs.spec import Field, Transform
from spark_jobs.values.numbering import PARTITIONS
from spark_jobs.values.own_columns import MALFORMED, OUTCOME
from tests.spark.test_dataflow import CLOCK_MS, SCHEMA, SENT, SETTINGS, event
from tests.unit.specs import FIELDS, deduplicate, pipeline, topic

OTHERS = (FIELDS[1], Field(name="id", type="string", path="key"), *FIELDS[2:])
EU, US = topic(name="eu"), topic(name="us", fields=OTHERS, max_ahead="2 hours")
SPEC = pipeline(topic=None, topics=(EU, US), steps=(Transform(where="amount > 0"), deduplicate()))


def sent(hours: int = 0) -> bytes:
    """As the second topic has them."""
    value = json.loads(event(SENT + timedelta(hours=hours)))
    return json.dumps({"key": value.pop("id"), **value}).encode()


def test_each_record_is_decoded_once_and_by_its_own_topics_declaration(spark, capsys):
    values = {0: [event(), event(SENT + timedelta(hours=1)), sent()], 2: [event()],
              PARTITIONS: [sent(), sent(1), sent(3), event()]}  # fmt: skip
    rows = [
        (partition, offset, SENT, None, (b"key", value, None))
        for partition, found in values.items()
        for offset, value in enumerate(found)
    ]
    given = spark.createDataFrame(rows, SCHEMA).coalesce(1).select(F.struct("*").alias("kafka"))
    failing = {Place(PARTITIONS, 1): "a person says so"}
    flow = dataflow(given, SPEC, SETTINGS, {}, clock_ms=CLOCK_MS, failing=failing)
    found = flow.classified.select("kafka.partition", "kafka.offset", "topic", OUTCOME, MALFORMED)
    told = {row[:2]: (row.topic, row[OUTCOME]) for row in found.collect()}
    assert told == {
        (0, 0): ("eu", "good"),
        (0, 1): ("eu", "premature"),
        (0, 2): ("eu", "malformed"),
        (2, 0): ("eu", "good"),
        (PARTITIONS, 0): ("us", "good"),
        (PARTITIONS, 1): ("us", "malformed"),
        (PARTITIONS, 2): ("us", "premature"),
        (PARTITIONS, 3): ("us", "malformed"),
    }
    entered = flow.stateful_input.select("topic", "id").collect()
    assert sorted(map(tuple, entered)) == [("eu", "a"), ("eu", "a"), ("us", "a")]
    flow.classified.explain()
    assert capsys.readouterr().out.count("MapInArrow") == 1
