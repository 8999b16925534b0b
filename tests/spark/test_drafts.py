"""A draft of a real topic: its cases pass as they are written, another key or delay fails them, and
a drain of it is what DuckDB reads of the records.
"""

import io
import json
from datetime import UTC, datetime
from typing import NamedTuple

import duckdb
import fastavro
import pyarrow as pa
import pytest
from confluent_kafka import Producer
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from local import broker
from spark_jobs.draft import folder
from spark_jobs.draft.drafted import draft
from spark_jobs.draft.folder import text
from spark_jobs.draft.golden import golden
from spark_jobs.draft.registered_topic import is_registered, keep_schemas
from spark_jobs.draft.sample import of_topic
from spark_jobs.errors import CasesFailed
from spark_jobs.messages.job import Prove
from spark_jobs.proof.run import prove
from spark_jobs.registry import find as registry
from spark_jobs.runs.drain import drain
from spark_jobs.settings.installation import Settings
from spark_jobs.settings.kafka.config import KafkaConfig
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.own_columns import DELETED
from tests.harness import others
from tests.harness.broker import forget_topic
from tests.harness.others import shop
from tests.harness.others.sample import PARTITIONS, sample as sampled_of
from tests.harness.refused import fails
from tests.harness.roots import ROOT, rows_of
from tests.harness.turns import alike

pytestmark = [pytest.mark.usefixtures("spark"), alike("a draft")]
RECORDS = 400


class Real(NamedTuple):
    """What DuckDB reads of a topic, and a key that is none."""

    columns: tuple[str, ...]
    sql: str
    """Over `sent`: key, and j, the value as JSON; of several copies one row."""
    other: str
    """A column by which the step must not tell records apart."""


REAL = {
    "clickstream": Real(
        ("event_id", "price"), "DISTINCT j->>'$.eventId', (j->'$.properties.price')::decimal(12,2) FROM sent", "event_type"
    ),
    "shop.public.orders": Real(("id", "status"), """id, status FROM (
        SELECT coalesce(j->'$.payload.after.id', j->'$.payload.before.id')::int AS id, j->>'$.payload.after.status' AS status,
               j->>'$.payload.op' AS op, row_number() OVER (PARTITION BY id ORDER BY (j->'$.payload.source.lsn')::bigint DESC) AS n
        FROM sent) WHERE n = 1 AND op != 'd'""", "status"),
    "orders-avro": Real(("order_id", "country"), "DISTINCT j->>'$.order_id', j->>'$.country' FROM sent", "country"),
    "wiki.changes": Real(("meta_id", "length_new"), "DISTINCT j->>'$.meta.id', (j->'$.length.new')::bigint FROM sent", "type"),
    "otel.logs": Real(
        ("trace_id",), "DISTINCT unnest(j->>'$.resourceLogs[0].scopeLogs[0].logRecords[*].traceId') FROM sent", "severity_text"
    ),
    "sensors": Real(("kafka_key", "t", "rh"), "DISTINCT ON (key, j) key, (j->'$.t')::double, (j->'$.rh')::bigint FROM sent", "firmware"),
    "shipments": Real(("event_id", "status"), "DISTINCT j->>'$.event_id', j->>'$.status' FROM sent", "status"),
}  # fmt: skip


def publish(kafka, topic, name):
    """The records, as they lie there: key and value as JSON."""
    broker.create_topic(kafka, topic, PARTITIONS)
    producer, told = Producer({"bootstrap.servers": kafka}), []
    sample = sampled_of(others.ALL[name](), datetime.now(UTC), records=RECORDS)
    for each in sample:
        where = {"key": each.key, "partition": each.partition, "timestamp": each.timestamp}
        producer.produce(topic, each.value, headers=[*each.headers], **where)
        value = each.value
        if name == "orders-avro":
            read = fastavro.schemaless_reader(
                io.BytesIO(value[5:]), fastavro.parse_schema(shop.AVRO)
            )
            value = json.dumps(read, default=str).encode()
        told.append((each.key and each.key.decode(), value.decode()))
    assert producer.flush(30) == 0
    return told


def read(sent, sql):
    """Sorted rows."""
    table = pa.table({"key": [k for k, _ in sent], "text": [v for _, v in sent]},
                     schema=pa.schema([("key", pa.string()), ("text", pa.string())]))  # fmt: skip
    with duckdb.connect() as db:
        db.register("given", table)
        db.sql("CREATE VIEW sent AS SELECT key, text::json AS j FROM given")
        return sorted(db.sql(f"SELECT {sql}").fetchall(), key=repr)


class Drafted(NamedTuple):
    """Of a topic; beside it are wrong ones, by another key and with other delays."""

    sent: list[tuple[str | None, str]]
    settings: Settings
    cases: int
    wrong: tuple[str, ...]


@pytest.fixture
def drafted(request, kafka, registry_url, tmp_path, monkeypatch) -> Drafted:
    real = REAL[name := (topic := request.param)]
    forget_topic(kafka, topic)
    if name == "orders-avro":
        with SchemaRegistryClient({"url": registry_url}) as client:
            schema = Schema(json.dumps(shop.AVRO), "AVRO")
            monkeypatch.setattr(shop, "AVRO_ID", client.register_schema(f"{topic}-value", schema))
    sent = publish(kafka, topic, name)
    declared = {"bootstrap.servers": kafka, "schema.registry.url": registry_url}
    settings = Settings.from_environment()._replace(kafka=kafka, root=str(tmp_path / ROOT))
    settings = settings._replace(kafka_config=KafkaConfig(declared))
    sample, kept = of_topic(settings, topic, 5_000), str(tmp_path / "kept")
    if is_registered(sample):
        keep_schemas(sample, settings, kept)
    made = draft("drafted", topic, sample, kept)
    spec, cases = text(made, len(sample)), golden(made, kept)
    first, named, late = cases.partition("  - name: one is late\n")
    coarser = spec.replace(f"keys={_told(made.keys)}", f"keys={_told((real.other,))}")
    wrong = {"by_another_key": (coarser, first)}
    if late:
        line = next(each for each in spec.splitlines() if "watermark_delay=" in each)
        for each, delay in (("longer", "30 days"), ("shorter", "1 minute")):
            changed = spec.replace(line, f'    watermark_delay="{delay}",')
            wrong[each] = (changed, f"cases:\n{named}{late}")
    package = tmp_path / f"drafts_{name.replace('.', '_').replace('-', '_')}"
    for each, (of, told) in ({"drafted": (spec, cases)} | wrong).items():
        folder.write(package / each, of.replace('name="drafted"', f'name="{each}"'), told)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("SLUICE_PIPELINES", package.name)
    return Drafted(sent, settings, 1 + bool(late), tuple(wrong))


OF_EACH = pytest.mark.parametrize("drafted", REAL, indirect=True)


@OF_EACH
def test_a_drafts_cases_fail_by_another_key_and_by_another_delay(drafted):
    for each in drafted.wrong:
        with fails(CasesFailed, "some", failed=1, all_=1):
            [*prove(Prove(pipelines=(each,)), None, drafted.settings)]


@OF_EACH
def test_a_drafts_cases_pass_and_its_drain_is_what_duckdb_reads(drafted, request):
    real = REAL[request.node.callspec.params["drafted"]]
    lines = [*prove(Prove(pipelines=("drafted",)), None, settings := drafted.settings)]
    assert [line.split()[0] for line in lines] == ["ok"] * drafted.cases
    report = drain(registry.load("drafted"), settings, "run")
    assert report.status == "succeeded", report.problem
    assert (report.account.unaccounted, report.account.read) == (0, len(drafted.sent))
    rows = rows_of(Paths(settings.root, registry.load("drafted")).table)
    there = [row for row in rows if not row.get(DELETED)]  # of which consumers see none
    found = sorted((tuple(row[each] for each in real.columns) for row in there), key=repr)
    assert found == read(drafted.sent, real.sql)


def _told(keys):
    return f"({', '.join(json.dumps(each) for each in keys)}{',' if len(keys) == 1 else ''})"
