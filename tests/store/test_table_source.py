"""A published table in the root's bucket as a topic: its files lead through `..`."""

from datetime import timedelta
from pathlib import Path

import deltalake
import pytest

from spark_jobs.checkpoint.notes.live import refuse_dead
from spark_jobs.repair.find.ranges_due import touched
from spark_jobs.spec import Pipeline, Table
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.delta.door import options
from spark_jobs.table.published.table import move
from tests.harness.scene import Scene
from tests.harness.turns import alike
from tests.spark.test_repair import Repairs
from tests.spark.test_upstream import FIELDS, NOON, held, rows, spec_of
from tests.store.root import Root
from tests.unit.specs import pipeline

pytestmark = alike("a root on a store")


def declared(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    """The pipeline above, in a package of its own."""
    made = pipeline()
    own = folder / "above_in_a_store" / made.name
    own.mkdir(parents=True)
    for each in (own.parent, own):
        (each / "__init__.py").touch()
    (own / "spec.py").write_text("from tests.unit.specs import pipeline\nSPEC = pipeline()\n")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("SLUICE_PIPELINES", own.parent.name)
    return made


def test_rows_of_a_published_table_are_drained_and_those_that_were_replaced_are_mended(
    bucket, store, spark, tmp_path, monkeypatch
):
    for name, value in store.variables.items():  # the JVM of a run has them from its start
        monkeypatch.setitem(spark.sparkContext.environment, name, value)
    place = Root(store, bucket)
    above = Paths(place.url, declared(tmp_path, monkeypatch))
    at = {"storage_options": options(above.table)}

    def publish() -> None:
        move(above, deltalake.DeltaTable(str(above.table), **at).version(), refuse_dead)

    def append(*given: tuple[float, str, float]) -> None:
        deltalake.write_deltalake(str(above.table), rows(*given), mode="append", **at)
        publish()

    append((0, "a", 1), (0, "b", 2), (9, "a", 4))
    topic = Table(of=above.pipeline, name="t", event_time="at", fields=FIELDS)
    spec = spec_of(tmp_path).model_copy(update={"topic": topic})
    made = place.under(Scene("no.broker:9", tmp_path, spec, topic="t", stores=1))
    assert made.run("first").account.read == 3
    append((20, "a", 9))
    assert made.run("second").account.read == 1
    assert held(made) == {(0, "a", 1, 1), (0, "b", 1, 2), (9, "a", 1, 4)}
    table = deltalake.DeltaTable(str(above.table), **at)
    table.update(updates={"amount": "CAST(7 AS DECIMAL(10,2))"}, predicate="shop = 'b'")
    publish()
    made.run("third")
    assert [each.start - NOON for each in touched(made.spec, made.paths).ranges] == [timedelta()]
    Repairs(made).done()
    assert held(made) == {(0, "a", 1, 1), (0, "b", 1, 7), (9, "a", 1, 4)}
