"""The history over which the pages are measured."""

from pathlib import Path

import deltalake

from bench.history import History
from spark_jobs.ops import ops_tables


def test_a_history_that_grows_has_a_commit_a_run(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.begin_with(27)
    history.grow(30)
    assert history.batches == 30
    files = deltalake.DeltaTable(str(tmp_path / "ops" / "batches")).file_uris()
    assert len(files) == 4, "27 runs, then three"
    rows = "SELECT count(*) AS n, count(DISTINCT batch_id) AS different FROM batches"
    assert ops_tables.query(history.root, "batches", rows).to_pylist() == [
        {"n": 30, "different": 30}
    ]
