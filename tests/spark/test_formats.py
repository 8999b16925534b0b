"""A real schema registry that is down, that lacks an id, and that is asked too late."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from local import registry
from spark_jobs.checkpoint import no_data_batch
from spark_jobs.decode.schemas.kept import Kept
from spark_jobs.decode.schemas.registry import Registry
from spark_jobs.errors import RegistryUnreachable
from spark_jobs.runs.schema_look import ask_again, look
from spark_jobs.settings.kafka.config import KafkaConfig
from spark_jobs.storage import failpoint
from tests.harness.crash import Images, over
from tests.harness.encoded import Encoding, encodings
from tests.harness.refused import because
from tests.harness.registry import JARS
from tests.harness.scene import Scene
from tests.harness.turns import held_by

pytestmark = held_by("unit/test_formats.py", "unit/test_text_formats.py")


@pytest.fixture(autouse=True)
def demo(monkeypatch):
    monkeypatch.setenv("SLUICE_PIPELINES", "spark_jobs.pipelines")


@pytest.fixture
def own_registry(tmp_path) -> Iterator[tuple[str, Callable[[], None]]]:
    """The URL of one, and what stops it."""
    home = tmp_path / "registry"
    yield registry.start(home, JARS), lambda: registry.stop(home)
    registry.stop(home)


def registered(made: Scene, by: Encoding, url: str) -> None:
    made.change(topic=by.topic.model_copy(update={"name": made.topic}))
    config = KafkaConfig.of({"schema.registry.url": url}, "a test")
    made.settings = made.settings._replace(kafka_config=config)


def test_a_registry_that_is_down_ends_the_run_before_a_record_is_read_and_an_unknown_id_is_malformed(
    kafka, own_registry, tmp_path
):
    url, stop = own_registry
    made = Scene(kafka, tmp_path, "flight_events", events=100, deliveries=2, stores=1, partitions=1)
    with encodings(url, made.topic, tmp_path) as all_of_them:
        by = all_of_them["avro"]
        registered(made, by, url)
        made.deliver(by.encode)
        made.send(b"\0\0\0\x03\xe7rest")
        said: list[str] = []
        first = made.drain("first", said.append)
        assert first.status == "succeeded", first.problem
        assert any("the registry has no schema 999 in 1" in line for line in said)
        reasons = {row["reason"] for row in made.ops("quarantine", "reason")}
        assert "the registry has no schema 999" in reasons
        before = len(made.table())
        made.deliver(by.encode)
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
        registered(made, by, url)
        made.deliver(by.encode)
    with monkeypatch.context() as unseen:
        unseen.setattr("spark_jobs.runs.schema_look.look", lambda *_: None)
        report = made.drain("early")
    because(report.problem, RegistryUnreachable, "schema_not_kept")
    made.run("next")


def test_records_with_more_foreign_ids_than_are_looked_up_are_malformed_and_end_no_run(
    kafka, own_registry, tmp_path, monkeypatch
):
    url, _ = own_registry
    most = 3
    monkeypatch.setattr("spark_jobs.runs.schema_look.MOST_IDS", most)
    made = Scene(kafka, tmp_path, "flight_events", events=100, deliveries=2, stores=1, partitions=1)
    foreign = [900 + n for n in range(2 * most - 1)]
    with encodings(url, made.topic, tmp_path) as all_of_them:
        by = all_of_them["avro"]
        registered(made, by, url)
        made.deliver(by.encode)
        for number in foreign:
            made.send(b"\0" + number.to_bytes(4, "big") + b"rest")
        for _ in range(most):
            made.send(b"\0\xff\xff\xff\xff, which is no id, and frequent")
        first = made.drain("first")
        assert first.status == "succeeded", first.problem
        rows = len(made.table())
        made.deliver(by.encode)
    second = made.drain("second")
    assert second.status == "succeeded", second.problem
    assert len(made.table()) > rows > 0
    reasons = [row["reason"] for row in made.ops("quarantine", "reason")]
    of_foreign = [each for each in reasons if "schema 9" in each]
    assert len(of_foreign) == len(foreign)
    asked = [each for each in of_foreign if each.startswith("the registry has no schema")]
    assert len(asked) == most - 1
    assert sum("is not kept here" in each for each in of_foreign) == len(foreign) - len(asked)
    assert sum(row["unaccounted"] for row in made.ops("batches", "unaccounted")) == 0
    ask_again(made.spec, made.settings, made.paths.root)
    kept = Kept(made.settings.root, by.topic.format.registry).schemas()
    assert {str(number) for number in foreign} <= kept.keys()


@pytest.mark.parametrize("place", ["planned", "table.committed"])
def test_a_batch_that_is_in_the_table_has_the_schemas_that_it_had_and_what_follows_has_all(
    kafka, own_registry, tmp_path, monkeypatch, place
):
    """A run is killed, and a schema of its batch is registered before the next."""
    url, _ = own_registry
    made = Scene(
        kafka, tmp_path, "flight_events", events=300, deliveries=3, stores=1, partitions=1,
        state_checks_off=("nothing_accepted", "rejected_share"),
    )  # fmt: skip
    images, asked = Images(made, tmp_path / "images"), Registry.schema
    with encodings(url, made.topic, tmp_path) as all_of_them:
        by = all_of_them["avro"]
        registered(made, by, url)
        made.deliver(by.encode)
        made.deliver(by.encode)
        with monkeypatch.context() as before:
            before.setattr(failpoint, "at", lambda each: each == place and images.at(each))
            before.setattr(Registry, "schema", lambda self, n: asked(self, n) if n != 2 else None)
            lacking = made.drain("first").account.malformed
        assert lacking > 100
        made.deliver(by.encode)
    killed = over(made, images.taken[place, 0])
    account = killed.run("again").account
    assert (
        lacking <= account.malformed < lacking + 10
        if place != "planned"
        else account.malformed < 10
    )
    assert account.accepted > 80
    assert len(killed.ops("quarantine")) == account.malformed + account.premature
    assert len(killed.table()) == account.accepted - account.duplicates


def test_what_comes_behind_the_look_is_left_to_the_next_run_where_ids_were_left_unasked(
    kafka, own_registry, tmp_path, monkeypatch
):
    url, _ = own_registry
    made = Scene(kafka, tmp_path, "flight_events", events=200, deliveries=2, stores=1, partitions=1)
    with encodings(url, made.topic, tmp_path) as all_of_them:
        by = all_of_them["avro"]
        registered(made, by, url)
        Kept(made.settings.root, by.topic.format.registry).note_others()
        sent = sum(made.deliver(by.encode).values())

        def behind(*given: Any) -> None:
            look(*given)
            made.deliver(by.encode)

        with monkeypatch.context() as soon:
            soon.setattr("spark_jobs.runs.schema_look.look", behind)
            assert made.run("first").account.covered == sent
        second = made.run("second").account
    assert second.covered > 100
    assert second.malformed < 10


def test_what_comes_before_a_batch_without_data_is_left_to_the_next_run_which_looks(
    kafka, own_registry, tmp_path, monkeypatch
):
    url, _ = own_registry
    made = Scene(
        kafka, tmp_path, "flight_events", events=100, deliveries=1, stores=1, partitions=1,
        close_after=timedelta(milliseconds=1),
    )  # fmt: skip
    with encodings(url, made.topic, tmp_path) as all_of_them:
        by = all_of_them["avro"]
        registered(made, by, url)
        sent = sum(made.deliver(by.encode).values())
        planned, write = [], no_data_batch.write

        def before(*given: Any) -> int:
            made.send(b"\0\0\0\x03\xe7rest")
            planned.append(write(*given))
            return planned[-1]

        with monkeypatch.context() as then:
            then.setattr(no_data_batch, "write", before)
            first = made.drain("first")
        assert (first.problem, first.account.covered, len(planned)) == (None, sent, 1)
        second = made.run("second").account
    assert (second.covered, second.malformed) == (1, 1)
