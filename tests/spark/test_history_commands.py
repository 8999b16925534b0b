"""Commands around a History: whatever is taken back, mended, cleaned up or computed beside, its
table is DuckDB's over all that was sent.
"""

from copy import copy
from pathlib import Path
from typing import NamedTuple

import deltalake
import pytest

from spark_jobs.admin.doctor import doctor
from spark_jobs.admin.maintain import maintain
from spark_jobs.admin.rebuild.beside import begin, beside_paths
from spark_jobs.admin.rebuild.compare import difference
from spark_jobs.admin.rebuild.switch import behind, switch, switch_back
from spark_jobs.admin.reset import reset
from spark_jobs.admin.rewind import rewind
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.runs.drain import drain
from spark_jobs.runs.plan import plan
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.tables import table_of
from tests.harness.crash import copied
from tests.harness.roots import ROOT
from tests.harness.turns import held_by
from tests.spark.test_history_step import Orders, Row, shown

pytestmark = held_by(
    "unit/test_rewind.py",
    "unit/test_restored.py",
    "unit/test_maintain.py",
    "unit/test_anew.py",
    "unit/test_switch.py",
)


def newest(scene) -> int:
    return deltalake.DeltaTable(str(scene.paths.table)).version()


class Twice(NamedTuple):
    """Two deliveries drained."""

    orders: Orders
    first: list[Row]
    """The history of the first."""
    batch: int
    version: int
    """The last of the first, and the table's behind it."""


@pytest.fixture(scope="module")
def once(kafka, as_submitted, tmp_path_factory) -> Twice:
    orders = Orders(kafka, tmp_path_factory.mktemp("orders"), seed=11)
    scene = orders.scene
    orders.deliver()
    scene.run("first")
    batch = Checkpoint(scene.paths.checkpoint).committed()[-1]
    found = Twice(orders, orders.expected(), batch, newest(scene))
    orders.deliver()
    scene.run("second")
    return found


@pytest.fixture
def twice(once, tmp_path) -> Twice:
    """Over a copy of its root."""
    orders = copy(once.orders)
    orders.scene = copied(orders.scene, tmp_path / ROOT)
    return once._replace(orders=orders)


def test_a_rewind_goes_back_to_the_history_of_then_and_drains_on(spark, twice):
    scene, settings = twice.orders.scene, twice.orders.scene.settings
    assert shown(spark, scene, newest(scene)) == twice.orders.expected() != twice.first
    rewind(scene.spec, settings, twice.batch).execute()
    assert shown(spark, scene, newest(scene)) == twice.first
    assert doctor(scene.spec, settings).execute is None
    scene.run("behind the rewind")
    assert shown(spark, scene, newest(scene)) == twice.orders.expected()


def test_a_persons_restore_is_refused_and_taken_back_by_doctor(spark, twice):
    scene, settings = twice.orders.scene, twice.orders.scene.settings
    deltalake.DeltaTable(str(scene.paths.table)).restore(twice.version)
    assert scene.drain("refused").problem.code == "TABLE_REPLACED"
    doctor(scene.spec, settings).execute()
    assert shown(spark, scene, newest(scene)) == twice.orders.expected()


def test_maintain_changes_no_row_of_it(spark, twice):
    scene, settings = twice.orders.scene, twice.orders.scene.settings
    maintain(scene.spec, settings).execute()
    assert shown(spark, scene, newest(scene)) == twice.orders.expected()
    assert plan(scene.spec, settings).idle


def test_behind_a_reset_it_is_read_anew(spark, twice):
    scene, settings = twice.orders.scene, twice.orders.scene.settings
    reset(scene.spec, settings).execute()
    report = scene.run("behind the reset")
    assert report.account.accepted == len(twice.orders.sent)
    assert shown(spark, scene, newest(scene)) == twice.orders.expected()


def test_a_rebuild_computes_the_same_history_beside_and_drains_go_on_from_there_and_back(
    spark, kafka, tmp_path
):
    orders = Orders(kafka, tmp_path, seed=11)
    scene, spec = orders.scene, orders.scene.spec
    orders.deliver()
    scene.run("first")
    state = spec.state.model_copy(update={"version": 2})
    following = spec.model_copy(update={"state": state, "max_offsets_per_batch": 50})
    live = scene.paths
    begin(live, following, "", "tester")
    orders.deliver()
    scene.run("second")
    beside = scene.settings._replace(next="on")
    assert drain(following, beside, "beside").status == "succeeded"
    side = beside_paths(live, following)
    assert behind(live, side) == 0
    assert difference(table_of(live), table_of(side), following, None).none
    switch(spec, following, scene.settings.root, "switch")
    orders.deliver()
    assert drain(following, scene.settings, "third").status == "succeeded"
    table = Paths(scene.settings.root, following).table
    rows = deltalake.DeltaTable(str(table)).to_pyarrow_table().to_pylist()
    found = [row for row in rows if not row["_sluice_deleted"]]
    wanted = orders.expected()
    names = [*wanted[0]]
    found.sort(key=lambda row: (row["order_id"], row["lsn"]))
    assert [{name: row[name] for name in names} for row in found] == wanted
    switch_back(following, spec, scene.settings.root, "back")
    scene.run("fourth")
    assert shown(spark, scene, newest(scene)) == wanted
    assert Path(str(table)).exists()
