"""What decoding costs: processor seconds of one read of a topic, by Sluice's decoder of each format
and by Spark's own function, over the same events. Arms take turns in one JVM, which has done each
before; a time counts only if both read the same rows.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final
from unittest.mock import patch

import psutil
from pyspark.sql import DataFrame, SparkSession, functions as F
from pyspark.sql.avro.functions import from_avro

from bench.results import Measure
from local import broker, registry
from local.deliveries import CLEAN, deliver
from local.flights import flight_events_many
from local.publish import publish
from spark_jobs.decode.decoder import decode
from spark_jobs.decode.raw_filter import CapturePolicy
from spark_jobs.decode.record_decoder import prepare
from spark_jobs.decode.schemas.registry import Registry
from spark_jobs.launch.session import STATIC
from spark_jobs.launch.submit import DAEMON, configuration, environment
from spark_jobs.runs.schema_look import look
from spark_jobs.settings.installation import REPO, Settings
from spark_jobs.settings.kafka.config import KafkaConfig
from spark_jobs.source.positions import Positions
from spark_jobs.source.sources import source_of
from spark_jobs.spec import Pipeline, Transform
from spark_jobs.topics.flights import FLIGHTS
from tests.harness.encoded import Encoding, encodings

if TYPE_CHECKING:
    from bench.rounds import Say

Read = Callable[[SparkSession], DataFrame]
"""The rows of the topic: a flight's fields."""
PARTITIONS: Final = 4
CHUNK: Final = 50_000
"""Records of one delivery: so many are in memory at once."""
FIELDS: Final = """event_id string, event_type string, event_time timestamp,
    scheduled_time timestamp, carrier string, flight int, tail_number string, origin string,
    destination string, delay_minutes int, cancelled boolean, distance_miles int"""
NESTED: Final = """eventId string, eventType string, `@timestamp` bigint,
    plan struct<departsAt: bigint, flightNumber: int, carrier: struct<iataCode: string>>,
    aircraft struct<tailNumber: string>, route array<string>,
    status struct<delayMinutes: int, isCancelled: boolean, `distance.miles`: int>"""
PICKED: Final = (
    "v.eventId", "v.eventType", "timestamp_millis(v.`@timestamp`)",
    "timestamp_millis(v.plan.departsAt)", "v.plan.carrier.iataCode", "v.plan.flightNumber",
    "v.aircraft.tailNumber", "v.route[0]", "v.route[1]", "v.status.delayMinutes",
    "v.status.isCancelled", "v.status.`distance.miles`",
)  # fmt: skip
AVRO: Final = "org.apache.spark:spark-avro_2.13:4.2.0"
AVRO_JARS: Final = REPO / ".local" / "bench" / "jars"
RIVALS: Final = {
    "json": ("from_json", 1.0),
    "nested": ("from_json", 1.2),
    "avro": ("from_avro", 2.5),
}
"""Format -> Spark's function, and how many times its processor seconds Sluice may take."""
ALL: Final = ("json", "nested", "avro", "protobuf", "csv")


def measures(
    home: Path, settings: Settings, say: Say, records: int, repetitions: int
) -> list[Measure]:
    """So many rounds over so many events in each format, by a broker and a registry of its own."""
    home.mkdir()
    _fetch_avro()
    url = registry.start(home / "registry", REPO / "jars" / "registry" / "app")
    brokers = broker.start(home / "kafka", REPO / "jars" / "kafka")
    config = KafkaConfig.of({"schema.registry.url": url}, "the benchmark")
    at = settings._replace(root=str(home / "root"), kafka=brokers, kafka_config=config)
    try:
        arms = {}
        for name in ALL:
            say(f"publishing {records:,} events as {name}")
            with encodings(url, name, home) as all_of_them:
                arms[name] = all_of_them[name]
                _published(brokers, name, arms[name], records, home / f"ledger-{name}")
        with _session(at) as spark:
            ours = {name: _ours(spark, name, by, at) for name, by in arms.items()}
            theirs = {name: _theirs(name, brokers, at) for name in RIVALS}
            return _measured(spark, ours, theirs, say, records, repetitions)
    finally:
        broker.stop(home / "kafka")
        registry.stop(home / "registry")


def _measured(
    spark: SparkSession,
    ours: Mapping[str, Read],
    theirs: Mapping[str, Read],
    say: Say,
    records: int,
    repetitions: int,
) -> list[Measure]:
    arms = {
        **{f"Sluice, {name}": read for name, read in ours.items()},
        **{f"Spark, {name}": read for name, read in theirs.items()},
    }
    seen = {name: _checked(read(spark)) for name, read in arms.items()}
    if len({*seen.values()}) != 1:
        raise AssertionError(f"not the same rows: {seen}")
    costs: dict[str, list[float]] = {name: [] for name in arms}
    for number in range(repetitions):
        names = [*arms][number % len(arms) :] + [*arms][: number % len(arms)]
        for name in names:
            before = _processor_seconds()
            arms[name](spark).write.format("noop").mode("overwrite").save()
            costs[name].append(_processor_seconds() - before)
        each = (f"{name} {found[-1] * 1e6 / records:.2f}" for name, found in costs.items())
        say(f"round {number + 1}, processor seconds a million records: {'; '.join(each)}")
    work = f"{records:,} records decoded, processor seconds"
    found = [
        Measure.fraction(
            f"{work}: {name}", rival, most, costs[f"Sluice, {name}"], costs[f"Spark, {name}"]
        )
        for name, (rival, most) in RIVALS.items()
    ]
    flat = costs["Sluice, json"]
    targets = {"protobuf": 2.0, "csv": None}
    return found + [
        Measure.fraction(f"{work}: {name}", "Sluice's JSON", most, costs[f"Sluice, {name}"], flat)
        for name, most in targets.items()
    ]


def _published(brokers: str, name: str, by: Encoding, records: int, ledger: Path) -> None:
    events = flight_events_many(records)
    number = 0
    while chunk := [*islice(events, CHUNK)]:
        number += 1
        # Of one schema: a fraction of a second Avro schema would be another matter.
        made = by.encode(deliver(chunk, CLEAN), 1)
        publish(brokers, name, made, number, ledger, PARTITIONS)


def _ours(spark: SparkSession, name: str, by: Encoding, at: Settings) -> Read:
    """As a drain decodes: raw bytes of no good record come back."""
    topic = by.topic.model_copy(update={"name": name})
    spec = Pipeline(name=name, about="A format.", topic=topic, steps=(Transform(where="true"),))
    source = source_of(spec, at)
    state = source.state()
    look(spec, at, spark, state, Positions())
    prepared = prepare(topic, at.root, at)
    parts = Positions().parts(state.latest)
    policy = CapturePolicy.of(0, PARTITIONS, 4_102_444_800_000)

    def read(session: SparkSession) -> DataFrame:
        found = decode(source.read(session, parts), [prepared], policy)
        return found.select(*topic.columns)

    return read


def _theirs(name: str, brokers: str, at: Settings) -> Read:
    def values(session: SparkSession) -> DataFrame:
        reader = session.read.format("kafka").option("kafka.bootstrap.servers", brokers)
        return reader.option("subscribe", name).load()

    def flat(session: SparkSession) -> DataFrame:
        made = F.from_json(F.col("value").cast("string"), FIELDS).alias("v")
        return values(session).select(made).select("v.*")

    def nested(session: SparkSession) -> DataFrame:
        made = F.from_json(F.col("value").cast("string"), NESTED).alias("v")
        return values(session).select(made).selectExpr(*PICKED).toDF(*FLIGHTS.columns)

    def avro(session: SparkSession) -> DataFrame:
        rows = values(session)
        first = rows.first()
        assert first is not None
        number = int.from_bytes(first["value"][1:5], "big")
        schema = Registry(at.kafka_config.registry()).schema(number)
        assert schema is not None
        made = from_avro(F.expr("substring(value, 6)"), schema.text).alias("v")
        return rows.select(made).select("v.*")

    return {"json": flat, "nested": nested, "avro": avro}[name]


def _checked(rows: DataFrame) -> tuple[int, int]:
    """How many rows, and the sum of their hashes."""
    found = rows.select(F.xxhash64(*rows.columns).cast("decimal(38,0)").alias("hash"))
    one = found.agg(F.count("*").alias("rows"), F.sum("hash").alias("sum")).first()
    assert one is not None
    return int(one["rows"]), int(one["sum"])


def _processor_seconds() -> float:
    """Of all that this process has started and lives, and of those that have ended among them."""
    times = [each.cpu_times() for each in _tree()]
    return float(sum(t.user + t.system + t.children_user + t.children_system for t in times))


def _tree() -> Sequence[psutil.Process]:
    return [*psutil.Process().children(recursive=True)]


@contextmanager
def _session(at: Settings) -> Iterator[SparkSession]:
    """Spark as a drain has it, with Avro's functions."""
    jars = {"SPARK_DIST_CLASSPATH": f"{AVRO_JARS}/*", "TZ": "UTC"}
    with patch.dict(os.environ, {**environment(at), **jars}):
        builder = SparkSession.builder.master("local[2]").appName("formats")
        daemon = {"spark.python.daemon.module": DAEMON, "spark.sql.session.timeZone": "UTC"}
        for key, value in {**configuration(at), **daemon, **STATIC}.items():
            builder = builder.config(key, value)
        spark = builder.getOrCreate()
        try:
            yield spark
        finally:
            spark.stop()


def _fetch_avro() -> None:
    if any(AVRO_JARS.glob("spark-avro*.jar")):
        return
    plugin = "org.apache.maven.plugins:maven-dependency-plugin:copy"
    words = ["mvn", "-q", "-B", plugin, f"-Dartifact={AVRO}", f"-DoutputDirectory={AVRO_JARS}"]
    subprocess.run(words, check=True)
