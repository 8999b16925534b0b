"""The same events in each format, by a real registry: equal tables, equal to DuckDB's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from local import registry
from local.publish import publish
from spark_jobs import failpoint
from spark_jobs.settings.kafka.config import KafkaConfig
from tests.harness import oracle
from tests.harness.compare import assert_same
from tests.harness.crash import Images, over
from tests.harness.encoded import encoded, encodings
from tests.harness.long_form import long_form
from tests.harness.registry import JARS
from tests.harness.scene import Scene
from tests.spark.test_repair import Repairs, rows, watermark_of

FORMATS = (pytest.param("json", marks=long_form), "gzip", "csv", "avro", "protobuf")


@pytest.fixture(autouse=True)
def demo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_PIPELINES", "spark_jobs.pipelines")


@pytest.fixture
def own_registry(tmp_path: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    """The URL of one, and what stops it."""
    home = tmp_path / "registry"
    yield registry.start(home, JARS), lambda: registry.stop(home)
    registry.stop(home)


def of_format(made: Scene, format_: Any, url: str) -> None:
    made.change(topic=made.spec.topic.model_copy(update={"format": format_}))
    config = KafkaConfig.of({"schema.registry.url": url}, "a test")
    made.settings = made.settings._replace(kafka_config=config)


def delivered(made: Scene, number: int, by: Any) -> None:
    """As Scene.deliver, in the format."""
    of, records = next(made._parts)  # noqa: SLF001 - what its own method publishes
    assert of == number + 1
    values = encoded(records, number, by)
    publish(made.kafka, made.topic, values, of, made.ledger_folder, made.partitions)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_duckdbs_table_after_a_kill_and_a_repair_without_the_registry(
    name, kafka, own_registry, tmp_path, monkeypatch
):
    url, stop = own_registry
    made = Scene(
        kafka, tmp_path, "departure_delays", events=1200, deliveries=2, stores=1, partitions=2
    )
    with encodings(url, made.topic, tmp_path) as all_of_them:
        by = all_of_them[name]
        of_format(made, by.format, url)
        delivered(made, 0, by)
        made.run("first")
        delivered(made, 1, by)
    if name == "avro":  # cut off behind its commit, and gone on with from the copy
        taking = Images(made, tmp_path / "images")
        with monkeypatch.context() as once:
            once.setattr(failpoint, "at", taking.at)
            made.run("killed")
        image = next(at for (place, _), at in taking.taken.items() if place == "table.committed")
        made = over(made, image)
        of_format(made, by.format, url)
    made.run("second")
    made.assert_table()
    bad = [row for row in made.ledger.to_pylist() if row["kind"] in ("malformed", "premature")]
    assert len(made.ops("quarantine")) == len(bad) > 0
    kept = sorted(path.name for path in made.paths.root.glob("schemas/main/*.json"))
    assert len(kept) == {"avro": 2, "protobuf": 1}.get(name, 0)

    stop()
    assert made.ops("late")
    watermark = watermark_of(made)
    wanted = oracle.departure_delays(oracle.events(made.ledger, set()), watermark)
    report, swapped = Repairs(made).done()
    assert swapped is not None
    assert (report.change.unexplained, report.change.unaccounted) == (0, 0)
    assert_same(rows(made), oracle.comparable(wanted), "the table after the repair")


def sent(made: Scene, value: bytes) -> None:
    producer = Producer({"bootstrap.servers": made.kafka})
    producer.produce(made.topic, value)
    assert producer.flush(30) == 0


def test_a_registry_that_is_down_ends_the_run_before_a_record_is_read_and_an_unknown_id_is_malformed(
    kafka, own_registry, tmp_path
):
    url, stop = own_registry
    made = Scene(kafka, tmp_path, "flight_events", events=100, deliveries=2, stores=1, partitions=1)
    with encodings(url, made.topic, tmp_path) as all_of_them:
        by = all_of_them["avro"]
        of_format(made, by.format, url)
        delivered(made, 0, by)
        sent(made, b"\0\0\0\x03\xe7rest")
        said: list[str] = []
        first = made.drain("first", said.append)
        assert first.status == "succeeded", first.problem
        assert any("the registry has no schema 999 in 1" in line for line in said)
        reasons = {row["reason"] for row in made.ops("quarantine", "reason")}
        assert "the registry has no schema 999" in reasons
        before = len(made.table())
        delivered(made, 1, by)
    stop()
    down = made.drain("down")
    assert down.problem.code == "REGISTRY_UNREACHABLE"
    assert len(made.table()) == before
    assert "REGISTRY" not in str(made.ops("quarantine", "reason"))


def test_an_id_of_records_that_come_after_the_look_ends_the_run_with_its_code(
    kafka, own_registry, tmp_path, monkeypatch
):
    url, _ = own_registry
    made = Scene(kafka, tmp_path, "flight_events", events=100, deliveries=1, stores=1, partitions=1)
    with encodings(url, made.topic, tmp_path) as all_of_them:
        by = all_of_them["avro"]
        of_format(made, by.format, url)
        delivered(made, 0, by)
    with monkeypatch.context() as unseen:
        unseen.setattr("spark_jobs.runs.query.look", lambda *_: None)
        report = made.drain("early")
    assert report.problem.code == "REGISTRY_UNREACHABLE"
    made.run("next")
