"""The same events as eight topics have them: eight equal tables, equal to DuckDB's over the events,
after a kill, a repair, a replay and a rebuild, when Kafka has half of them, and nobody the schemas.
"""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow.compute as pc
import pytest

from local.deliveries import Delivered
from spark_jobs.admin.rebuild.run import compute, switched
from spark_jobs.registry.archive_spec import archive_spec
from spark_jobs.runs.drain import drain
from spark_jobs.settings.kafka.config import KafkaConfig
from spark_jobs.spec import Archive, Topic
from spark_jobs.storage import failpoint
from tests.harness import oracle
from tests.harness.compare import assert_same
from tests.harness.crash import Images, over
from tests.harness.encoded import Encoding, encodings
from tests.harness.long_form import LONG, long_form
from tests.harness.scene import Scene
from tests.harness.turns import alike
from tests.spark.test_rebuild import Rebuilding, begun, ends, retention_takes
from tests.spark.test_repair import Repairs, rows, watermark_of

pytestmark = alike("records however they are written")

FARTHEST: Final = 4_000
"""Miles that the first spec allows: the flights to Honolulu have more."""
KILLED: Final = {
    "json": "planned",
    "nested": "table.committed",
    "csv": "audit",
    "avro": "table.committed",
    "protobuf": "planned",
    "debezium": "audited",
    "cloudevents": "audit",
    "gzip": "table.committed",
}
"""How the events are written -> where its second drain is cut off."""
REBUILT: Final = ("avro",)
"""Also without the long form."""
LONG_ALONE: Final = ("nested", "cloudevents", "gzip")
"""Their records in Spark: test_record_topics and test_headers, in each run."""


@pytest.fixture(autouse=True)
def demo(monkeypatch):
    monkeypatch.setenv("SLUICE_PIPELINES", "spark_jobs.pipelines")


def ruled(topic: Topic) -> Topic:
    """No flight may be so long: what the corrected spec allows."""
    return topic.model_copy(
        update={
            "fields": tuple(
                field.model_copy(update={"at_most": FARTHEST} if "miles" in field.name else {})
                for field in topic.fields
            )
        }
    )


def made_of(kafka: str, folder: Path, by: Encoding, **registry: str) -> Scene:
    made = Scene(
        kafka, folder, "departure_delays", events=2400, deliveries=2, stores=1, partitions=2
    )
    topic = by.topic.model_copy(update={"name": made.topic, "archive": Archive(keep=None)})
    made.change(topic=ruled(topic))
    return knowing(made, **registry)


def knowing(made: Scene, **registry: str) -> Scene:
    """With a registry of schemas, or with none."""
    named = {f"schema.registry.{name}": value for name, value in registry.items()}
    config = KafkaConfig({"bootstrap.servers": made.kafka, **named})
    made.settings = made.settings._replace(kafka_config=config)
    return made


def cut_off(made: Scene, place: str, folder: Path) -> Scene:
    """A drain that is killed there, and what it left."""
    taking = Images(made, folder)

    def at(here: str) -> None:
        if here == place and not taking.taken:
            taking.at(here)

    with pytest.MonkeyPatch.context() as once:
        once.setattr(failpoint, "at", at)
        made.run("killed")
    [image] = taking.taken.values()
    return over(made, image, made.spec)


def canonical(made: Scene, most: int, late: set[oracle.Place]) -> list[tuple[Any, ...]]:
    """By DuckDB over the generated events: of those that fly no more miles than that."""
    near = made.ledger.filter(
        pc.or_kleene(
            pc.is_null(made.ledger["distance_miles"]),
            pc.less_equal(made.ledger["distance_miles"], most),
        )
    )
    found = oracle.departure_delays(oracle.events(near, late), watermark_of(made))
    return oracle.comparable(found)


def assert_kept_aside(made: Scene) -> None:
    """Bad records are in quarantine byte for byte, each with its reason; and nothing else is."""
    bad = {
        (row["partition"], row["offset"]): row
        for row in made.ledger.to_pylist()
        if row["kind"] in {"malformed", "premature"} or (row["distance_miles"] or 0) > FARTHEST
    }
    kept = {(row["partition"], row["offset"]): row for row in made.ops("quarantine")}
    assert kept.keys() == bad.keys()
    assert len(made.ops("quarantine")) == len(kept)
    for place, row in kept.items():
        if bad[place]["kind"] == "malformed":
            assert (row["kind"], row["value"]) == ("malformed", bad[place]["value"])
        assert row["reason"]
    far = [row for row in kept.values() if "at_most" in row["reason"]]
    assert far
    assert len({row["reason"] for row in kept.values()}) >= 4


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[long_form] * (name in LONG_ALONE)) for name in KILLED]
)
def test_the_table_is_duckdbs_however_the_events_are_written(name, kafka, registry_url, tmp_path):
    sent = Counter[str]()

    def encoded(records: Sequence[Delivered], number: int) -> list[Delivered]:
        found = by.encode(records, number)
        heads = [each.value[1:5] for each in found if each.value and each.value[:1] == b"\0"]
        sent.update(str(int.from_bytes(head, "big")) for head in heads)
        return found

    with encodings(registry_url, f"{name}-topic", tmp_path) as all_of_them:
        by = all_of_them[name]
        made = made_of(kafka, tmp_path, by, url=registry_url)
        made.deliver(encoded)
        made.run("first")
        made.deliver(encoded)
    made = cut_off(made, KILLED[name], tmp_path / "images")
    made.run("second")
    archive = archive_spec(made.spec.topic, made.spec.topic.archive or Archive())
    assert drain(archive, made.settings, "archive").status == "succeeded"
    sums = {
        row["batch_id"]: row for row in made.ops("batches") if row["pipeline"] == made.spec.name
    }
    assert sum(row["read"] for row in sums.values()) == made.ledger.num_rows
    assert sum(row["unaccounted"] or 0 for row in sums.values()) == 0
    ids = Counter[str]()
    for row in sums.values():
        ids.update(json.loads(row["schemas"] or "{}"))
    assert ids == sent
    assert (len(ids) >= 2) == (name in ("avro", "protobuf"))
    assert_same(rows(made), canonical(made, FARTHEST, made.late()), "the table")
    assert made.late()
    assert_kept_aside(made)

    retention_takes(made, {partition: end // 2 for partition, end in ends(made).items()})
    knowing(made)
    report, swapped = Repairs(made).done()
    assert swapped is not None
    assert (report.change.unexplained, report.change.unaccounted) == (0, 0)
    assert_same(rows(made), canonical(made, FARTHEST, set()), "the table after the repair")
    made.change(
        topic=by.topic.model_copy(update={"name": made.topic, "archive": Archive(keep=None)})
    )
    report, swapped = Repairs(made).done("replay")
    assert swapped is not None
    assert_same(rows(made), canonical(made, 10**9, set()), "the table after the replay")
    if not (LONG or name in REBUILT):
        return
    it = Rebuilding(made)
    run = begun(it, tmp_path, [])
    compute(run)
    switched(run, lambda _: None)
    made.spec = it.next
    assert_same(rows(made), canonical(made, 10**9, set()), "the table after the rebuild")
    assert len(rows(made)) > 100
