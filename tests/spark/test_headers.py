"""Kafka's headers over real Kafka, Spark and Delta: a topic whose event time and key are headers alone
is drained, late and bad records keep their headers by each way on which records are kept, and a
replay, a repair and the archive decode them again.
"""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.schema_registry import SchemaRegistryClient

from local import broker
from spark_jobs.decode.schemed.registered import NO_HEAD, NO_ID
from spark_jobs.registry.archive_spec import archive_spec
from spark_jobs.runs.drain import drain
from spark_jobs.settings.kafka.config import KafkaConfig
from spark_jobs.spec import Aggregate, Archive, Avro, Field, Pipeline, Topic, Transform, Tumbling
from tests.harness.scene import Scene
from tests.harness.turns import alike
from tests.spark.test_archive import Archived, empty
from tests.spark.test_repair import Repairs
from tests.unit.test_header_ids import AT, by_avro, by_guid, dashed
from tests.unit.test_schema_registry import answering

pytestmark = alike("records however they are written")

START = datetime(2025, 11, 25, tzinfo=UTC)
Headers = list[tuple[str, bytes | None]]
TENANT = Field(name="tenant", type="string", part="header")
TOPIC = Topic(
    name="orders",
    event_time="at",
    archive=Archive(keep=None),
    fields=(
        Field(name="amount", type="bigint"),
        Field(name="at", type="timestamp", part="header", path="sent", format="ms"),
        TENANT,
    ),
)
SPEC = Pipeline(
    name="by_header",
    about="Amounts by tenant and hour.",
    topic=TOPIC,
    watermark_delay="30 minutes",
    steps=(
        Aggregate(
            keys=("tenant",),
            window=Tumbling(size="1 hour"),
            measures={"n": "count(*)", "amount": "sum(amount)"},
            counts="n",
        ),
    ),
)


class Sent:
    """What is sent, and what comes of it."""

    def __init__(self, made: Scene) -> None:
        self.made = made
        self.good = Counter[tuple[str, datetime, int]]()
        self.headers: dict[tuple[int, int], Headers] = {}

    def deliver(self, minutes: list[int]) -> None:
        """A record at each of these minutes; of each seven one has another name for its tenant, and
        one a tenant that is no text.
        """
        producer = Producer({"bootstrap.servers": self.made.kafka})
        for n, minute in enumerate(minutes):
            at = START + timedelta(minutes=minute)
            tenant = "ab"[n % 2]
            headers: Headers = [
                ("trace", b"\xff\x00"),
                ("sent", str(round(at.timestamp() * 1000)).encode()),
                ("tenant", b"another"),
                ("tenant", tenant.encode()),
                ("nothing", None),
            ]
            if n % 7 == 3:
                headers[2:4] = [("customer", tenant.encode())]
            if n % 7 == 5:
                headers[3] = ("tenant", b"\xff")
            else:
                self.good[tenant, at.replace(minute=0), n] += 1
            producer.produce(
                self.made.topic,
                b'{"amount": %d}' % n,
                headers=headers,
                partition=n % 2,
                timestamp=round(at.timestamp() * 1000),
                on_delivery=self._note(headers),
            )
        assert producer.flush(30) == 0

    def _note(self, headers: Headers) -> Any:
        def note(_: Any, message: Any) -> None:
            self.headers[message.partition(), message.offset()] = headers

        return note

    def rows(self) -> list[tuple[Any, ...]]:
        """What the table has of all of them when nothing is missing."""
        found = Counter[tuple[str, datetime]]()
        amounts = Counter[tuple[str, datetime]]()
        for (tenant, hour, amount), times in self.good.items():
            found[tenant, hour] += times
            amounts[tenant, hour] += amount * times
        return sorted((*each, n, amounts[each]) for each, n in found.items())


def kept(made: Scene, table: str) -> dict[tuple[int, int], Headers]:
    """What an ops table has of the headers."""
    return {
        (row["partition"], row["offset"]): [(h["key"], h["value"]) for h in row["headers"]]
        for row in made.ops(table)
    }


def rows(made: Scene) -> list[tuple[Any, ...]]:
    return sorted(
        (row["tenant"], row["window_start"], row["n"], row["amount"]) for row in made.table()
    )


def run_archive(made: Scene, number: int) -> None:
    archive = archive_spec(made.spec.topic, Archive(keep=None))
    report = drain(archive, made.settings, f"archive-{number}")
    assert report.status == "succeeded", report.problem


def test_late_and_bad_records_keep_their_headers_and_are_decoded_again_from_each_place(
    kafka, tmp_path, monkeypatch
):
    made = Scene(kafka, tmp_path, SPEC, partitions=2, stores=1)
    broker.create_topic(kafka, made.topic, 2)
    sent = Sent(made)
    late = range(0, 60, 4)
    # What was observed as it ran; what the driver read again; what executors wrote, by Spark's own
    # reader.
    for number, change in enumerate(
        [
            {},
            {"spark_jobs.decode.raw_filter.BUDGET": 0},
            {
                "spark_jobs.decode.raw_filter.BUDGET": 0,
                "spark_jobs.runs.account.second_read.COLLECTED_BYTES": 0,
                "spark_jobs.source.kafka_reader.reader": lambda _: "kafka",
            },
        ]
    ):
        sent.deliver([*(late if number else ()), *range(600 * number, 600 * number + 300, 10)])
        with monkeypatch.context() as once:
            for name, value in change.items():
                once.setattr(name, value)
            made.run(f"drain-{number}")
        run_archive(made, number)
        for table in ("late", "quarantine"):
            found = kept(made, table)
            assert found == {place: sent.headers[place] for place in found}
            assert bool(found) == (table == "quarantine" or number > 0)
    counted = {(row["kind"], row["reason"]) for row in made.ops("quarantine")}
    assert counted == {
        ("malformed", "header `tenant` is missing or null"),
        ("malformed", "header `tenant` is no UTF-8"),
    }

    work = Repairs(made)
    report, _ = work.done()
    assert (report.change.unexplained, report.change.unaccounted) == (0, 0)
    [row] = made.ops("repairs", "late_merged")
    assert row["late_merged"] == len(made.ops("late")) > 0

    both = TENANT.model_copy(update={"path": ("tenant", "customer")})
    made.change(topic=made.spec.topic.model_copy(update={"fields": (*TOPIC.fields[:-1], both)}))
    replay = work.plan("replay")
    assert len(replay.replays) == sum(("customer" in dict(each)) for each in sent.headers.values())
    assert work.stage(replay).problem is None
    work.swap(replay)
    closed = [row for row in sent.rows() if row[1] < START + timedelta(hours=24)]
    assert rows(made) == closed

    archived = Archived(made).rows()
    assert {
        (row["partition"], row["offset"]): [(h["key"], h["value"]) for h in row["headers"]]
        for row in archived
    } == sent.headers
    empty(made)
    plan = work.plan("verify", START, START + timedelta(hours=20))
    assert (plan.parts, bool(plan.archived)) == ({}, True)
    proof = work.stage(plan)
    assert proof.problem is None, proof.problem
    assert (proof.change.changed, proof.change.added, proof.change.removed) == (0, 0, 0)
    assert rows(made) == closed


def test_records_with_ids_in_headers_are_drained_and_an_unknown_guid_is_malformed(kafka, tmp_path):
    topic = Topic(
        name="orders",
        event_time="at",
        format=Avro(registry="main", id_in="header"),
        fields=(Field(name="id", type="string"), Field(name="at", type="timestamp")),
    )
    spec = Pipeline(name="by_guid", about="x", topic=topic, steps=(Transform(where="true"),))
    made = Scene(kafka, tmp_path, spec, partitions=1)
    broker.create_topic(kafka, made.topic, 1)
    producer = Producer({"bootstrap.servers": kafka})
    with SchemaRegistryClient.new_client({"url": "mock://headers"}) as client:
        record = by_avro(client)
        [(name, id_)] = record.headers
        assert id_
        lacking = [(name, id_[:1] + bytes(16))]
        for headers in (record.headers, record.headers, lacking, [(name, b"\1")], []):
            producer.produce(made.topic, record.value, headers=headers)
        assert producer.flush(30) == 0
        said: list[str] = []
        with answering(by_guid(client)) as url:
            config = KafkaConfig.of({"schema.registry.url": url}, "a test")
            made.settings = made.settings._replace(kafka_config=config)
            report = made.drain("first", said.append)
    assert report.status == "succeeded", report.problem
    assert [(row["id"], row["at"]) for row in made.table()] == [("o1", AT)] * 2
    assert sorted(row["reason"] for row in made.ops("quarantine")) == sorted(
        [f"the registry has no schema {dashed('0' * 32)}", NO_ID, NO_HEAD]
    )
    assert any(f"{dashed(record.guid)} in 2" in line for line in said)
    kept_ = {path.name for path in made.paths.root.glob("schemas/main/*")}
    assert kept_ == {f"{dashed(record.guid)}.json", f"{dashed('0' * 32)}.missing"}
