"""Foreign ids: what records that begin with the id of no schema do to a root and its registry."""

from collections.abc import Iterator
from typing import Any

import pytest

from spark_jobs.decode.schemas import kept as schemas
from spark_jobs.decode.schemas.kept import Kept
from spark_jobs.decode.schemas.registry import Registry
from spark_jobs.decode.schemas.schema import Schema
from spark_jobs.ops import ops_tables
from spark_jobs.repair.find.quarantine import waiting
from spark_jobs.runs import schema_look
from spark_jobs.settings.installation import Settings
from spark_jobs.settings.kafka.config import KafkaConfig
from spark_jobs.spec import Avro
from spark_jobs.storage.root.paths import Paths
from tests.unit.specs import pipeline, topic
from tests.unit.test_replaying import quarantined
from tests.unit.test_schema_registry import AVRO, answering

SPEC = pipeline(topic=topic(format=Avro(registry="main")))
REGISTERED = {"7", "8"}


@pytest.fixture
def asked() -> list[str]:
    """The ids for which the registry was asked."""
    return []


@pytest.fixture
def url(asked) -> Iterator[str]:
    def answer(path: str) -> tuple[int, Any]:
        asked.append(number := path.rpartition("/")[2])
        return (200, AVRO) if number in REGISTERED else (404, {"error_code": 40403})

    with answering(answer) as made:
        yield made


def test_foreign_ids_of_run_after_run_fill_no_root(tmp_path, url, monkeypatch):
    monkeypatch.setattr(schemas, "MOST_MISSING", 5)
    kept = Kept(str(tmp_path), "main")
    for run in range(4):
        ids = [str(1000 * run + n) for n in range(100, 104)]
        assert set(kept.fetch(ids, lambda: Registry({"url": url})).values()) == {False}
    assert len([*kept.folder.glob("*.missing")]) == 5
    assert kept.has_others()
    assert kept.fetch(["7"], lambda: Registry({"url": url})) == {"7": True}
    assert isinstance(kept.schemas()["7"], Schema)


def test_a_replay_asks_for_ids_of_its_pipeline_and_comes_to_each_in_time(
    tmp_path, url, asked, monkeypatch
):
    monkeypatch.setattr(schema_look, "MOST_IDS", 2)
    kept, root = Kept(str(tmp_path), "main"), Paths(str(tmp_path), SPEC).root
    kept.note_others()
    rows = [
        quarantined(10 * number + copy, 1, pipeline=of, reason=reason)
        for number, (of, reason, copies) in enumerate(
            [
                (SPEC.name, "schema 901 is not kept here", 3),
                (SPEC.name, "schema 902 is not kept here", 3),
                (SPEC.name, "schema 7 is not kept here", 2),
                (SPEC.name, "key: schema 8 is not kept here", 1),
                (SPEC.name, "schema ../../../8 is not kept here", 1),
                ("another", "schema 33 is not kept here", 9),
            ]
        )
        for copy in range(copies)
    ]
    ops_tables.append(root, "quarantine", rows)
    settings = Settings(str(tmp_path), "a:1", tmp_path, "local[2]", "3g")._replace(
        kafka_config=KafkaConfig.of({"schema.registry.url": url}, "a test")
    )
    for _ in range(2):
        assert [*waiting(SPEC, Paths(str(tmp_path), SPEC), ("g1",), 9, settings=settings)]
    assert {*asked} == {"901", "902", "7", "8"}
    assert {
        each for each, found in kept.schemas().items() if isinstance(found, Schema)
    } == REGISTERED
