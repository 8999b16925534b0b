"""`sluice maintain` over a root in the bucket, with the rights that the documentation names."""

import deltalake
import pyarrow as pa

from spark_jobs.admin.maintain import maintain, maintain_ops
from spark_jobs.checkpoint.identity import Identity
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.ops import ops_tables
from spark_jobs.settings.installation import Settings
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.delta import door
from tests.harness.turns import alike
from tests.store.root import Root
from tests.unit.specs import pipeline

pytestmark = alike("a root on a store")

SPEC = pipeline()


def test_it_joins_and_removes_under_the_lease_with_the_documented_rights(store, bucket, tmp_path):
    root = Root(store, bucket)
    settings = Settings(root.url, "none:1", tmp_path, "local[1]", "1g")
    paths = Paths(root.url, SPEC)
    Identity(generation="g", topic_id="t", fingerprint={}).write(paths.identity)
    Cursor(judged_table_version=0).write(paths.cursor)
    table, options = str(paths.table), door.options(paths.table)
    for number in range(3):
        rows = pa.table({"n": [number]})
        deltalake.write_deltalake(table, rows, mode="append", storage_options=options)
        ops_tables.append(paths.root, "runs", [{"pipeline": SPEC.name, "run_id": str(number)}])
    for intent in (maintain(SPEC, settings), maintain_ops(settings)):
        intent.execute()
    assert maintain(SPEC, settings).execute is None
    assert [
        len(door.open_table(path).file_uris()) for path in (paths.table, paths.ops("runs"))
    ] == [1, 1]
    found = ops_tables.query(paths.root, "runs", "SELECT run_id FROM runs ORDER BY run_id")
    assert found.column("run_id").to_pylist() == ["0", "1", "2"]
    assert door.version_is_whole(paths.table, 2), "its files are not a week old"
    assert any(name.endswith(".checkpoint.parquet") for name in root.objects("ops/runs/"))
    door.open_table(paths.table).vacuum(
        0, dry_run=False, full=True, enforce_retention_duration=False
    )
    assert not door.version_is_whole(paths.table, 2)
