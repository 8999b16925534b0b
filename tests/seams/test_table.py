"""A table in a format of one's own: Parquet files, and a small file for each commit. It appends, and no more."""

from __future__ import annotations

import json
import os
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import pyarrow.dataset as ds
import pytest
from pyspark.sql.types import StructType

from spark_jobs.admin.maintain import maintain
from spark_jobs.admin.rewind import rewind
from spark_jobs.errors import TableLacks
from spark_jobs.proof.acts import files
from spark_jobs.runs.plan import plan
from spark_jobs.runs.publish.publication import Announced, publish
from spark_jobs.spec import Aggregate, Check, Latest, Layout, Pipeline, Tumbling
from spark_jobs.table.entry import Entry
from spark_jobs.table.port import Table
from spark_jobs.table.tables import table_of
from spark_jobs.topics.flights import FLIGHTS
from tests.harness.crash import Images, over
from tests.harness.scene import Scene
from tests.harness.turns import alike
from tests.spark import truth
from tests.spark.operators import ON_TIME, SUMS, SUMS_SQL, Operator
from tests.spark.test_repair import Repairs

pytestmark = alike("a seam")


class InFiles(Layout):
    kept_by: ClassVar = "tests.seams.test_table:Files"


class Files(Table):
    """See port.py. <version>.json is a commit, and names a folder with the rows of a batch."""

    def __init__(self, path) -> None:
        self.path = path

    def commits(self, since=0, version=None) -> dict[int, dict[str, Any]]:
        known = sorted(int(each.stem) for each in self.path.glob("*.json"))
        wanted = (n for n in known if n > since and (version is None or n <= version))
        return {n: json.loads((self.path / f"{n}.json").read_text()) for n in wanted}

    def put(self, version, **said) -> None:
        """Whole or not at all, and never over another one."""
        self.path.mkdir(parents=True, exist_ok=True)
        (new := self.path / f".{uuid.uuid4().hex}").write_text(json.dumps(said))
        os.link(new, self.path / f"{version}.json")

    def version(self) -> int:
        return max(self.commits(-1), default=-1)

    def identifier(self) -> str:
        return str(self.commits(-1, 0)[0]["id"])

    def generation(self) -> str | None:
        return self.commits(-1, 0).get(0, {}).get("generation")

    def schema(self) -> StructType:
        return StructType.fromJson(self.commits(-1, 0)[0]["schema"])

    def columns(self) -> dict[str, Any]:
        return {each["name"]: each["type"] for each in self.schema().jsonValue()["fields"]}

    def history(self):
        for version, each in reversed(self.commits().items()):
            yield Entry(version, said=each["said"], rows=each["rows"])

    def make(self, columns, spec, generation) -> None:
        self.put(0, id=uuid.uuid4().hex, generation=generation, schema=columns.jsonValue())

    def commit(self, rows, spec, of, held) -> None:
        version, folder = self.version() + 1, uuid.uuid4().hex
        rows.write.parquet(str(self.path / folder))
        counted = ds.dataset(self.path / folder, format="parquet").count_rows()
        held.confirm()
        self.put(version, folder=folder, said=of.note, rows=counted)

    def read(self, spark, version, since=0):
        found = (self.path / each["folder"] for each in self.commits(since, version).values())
        return spark.read.schema(self.schema()).parquet(*map(str, found))

    def written(self, spark, spec, since, version):
        return self.read(spark, version, since).cache()


class Kept(Scene):
    def table(self):
        kept = (each["folder"] for each in table_of(self.paths).commits().values())
        found = (ds.dataset(self.paths.table / each, format="parquet") for each in kept)
        return [row for each in found for row in each.to_table().to_pylist()]


SQL = f"""
    SELECT time_bucket(INTERVAL 1 HOUR, event_time) AS window_start, window_start + INTERVAL 1 HOUR AS window_end,
           carrier, {SUMS_SQL} FROM ({ON_TIME}) GROUP BY window_start, carrier HAVING window_end <= $watermark"""
HOUR = Tumbling(size="1 hour")
HOURS = Aggregate(window=HOUR, keys=("carrier",), measures=SUMS, counts="flights")
CHECK = Check(type="expect_column_values_to_not_be_null", kwargs={"column": "flights"})
GIVEN = {"about": "Hours", "topic": FLIGHTS, "watermark_delay": "2 hours", "layout": InFiles()}
SPEC = Pipeline(name="hours", steps=(HOURS,), output_checks=(CHECK,), **GIVEN)
OPERATOR = Operator(SPEC, SQL, until="time_bucket(INTERVAL 1 HOUR, event_time) + INTERVAL 1 HOUR")
NEW_YEAR = datetime(2013, 1, 1, tzinfo=UTC)
REFUSED = {
    "keys": lambda made: planned(made, steps=(Latest(keys=("flight",), order_by=("event_time",)),)),
    "update": lambda made: planned(made, output_mode="update"),
    "complete": lambda made: planned(made, output_mode="complete"),
    "parts": lambda made: planned(made, layout=InFiles(partition_by=("carrier",))),
    "repair": lambda made: Repairs(made).plan(),
    "rewind": lambda made: rewind(made.spec, made.settings, 0),
    "publish": lambda made: publish(made.paths, made.spec, Announced()),
    "maintain": lambda made: maintain(made.spec, made.settings).execute(),
}


def planned(made, **changes):
    plan(made.spec.model_copy(update=changes), made.settings)


def test_a_table_that_only_appends_is_drained_resumed_and_verified(kafka, tmp_path):
    made = Kept(kafka, tmp_path, SPEC, events=3000, checked=True, stores=1, partitions=2)
    made.deliver()
    made.run("first")
    made.deliver()
    with Images(made, tmp_path / "images", "planned", "table.committed") as images:
        made.run("second")
    assert len(images.taken) >= 2
    for root in images.taken.values():
        (again := over(made, root)).run("resumed")
        known = truth.hold(again, OPERATOR)
    proof, _ = Repairs(made).done("verify", NEW_YEAR, known.watermark - HOUR.size)
    assert proof.change.differs == 0 < proof.change.rows_after
    made.deliver()
    made.run("third")
    assert truth.hold(made, OPERATOR).late
    before = files(Path(str(made.paths.table)))
    for refused in REFUSED.values():
        with pytest.raises(TableLacks):
            refused(made)
    assert files(Path(str(made.paths.table))) == before
    truth.hold(made, OPERATOR)
