"""Commands around a History: whatever is taken back, mended, cleaned up or computed beside, its
table is DuckDB's over all that was sent.
"""

from pathlib import Path

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
from tests.spark.test_history_step import Orders, shown


@pytest.fixture
def orders(kafka, tmp_path) -> Orders:
    return Orders(kafka, tmp_path, seed=11)


def newest(scene) -> int:
    return deltalake.DeltaTable(str(scene.paths.table)).version()


def test_rewind_doctor_a_persons_restore_maintain_and_reset(spark, orders):
    scene, settings = orders.scene, orders.scene.settings
    orders.deliver()
    scene.run("first")
    first, back = orders.expected(), Checkpoint(scene.paths.checkpoint).committed()[-1]
    assert shown(spark, scene, newest(scene)) == first
    assert doctor(scene.spec, settings).execute is None
    orders.deliver()
    before = newest(scene)
    scene.run("second")
    assert shown(spark, scene, newest(scene)) == orders.expected() != first

    rewind(scene.spec, settings, back).execute()
    assert shown(spark, scene, newest(scene)) == first
    assert doctor(scene.spec, settings).execute is None
    scene.run("behind the rewind")
    assert shown(spark, scene, newest(scene)) == orders.expected()

    deltalake.DeltaTable(str(scene.paths.table)).restore(before)
    assert scene.drain("refused").problem.code == "TABLE_REPLACED"
    doctor(scene.spec, settings).execute()
    assert shown(spark, scene, newest(scene)) == orders.expected()

    orders.deliver()
    scene.run("third")
    maintain(scene.spec, settings).execute()
    assert shown(spark, scene, newest(scene)) == orders.expected()
    assert plan(scene.spec, settings).idle

    reset(scene.spec, settings).execute()
    report = scene.run("behind the reset")
    assert report.account.accepted == len(orders.sent)
    assert shown(spark, scene, newest(scene)) == orders.expected()


def test_a_rebuild_computes_the_same_history_beside_and_drains_go_on_from_there_and_back(
    spark, orders
):
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
    assert difference(live.table, side.table, following, None).none
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
