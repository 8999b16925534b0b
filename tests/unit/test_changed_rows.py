"""Changed rows: what is left of a key after a person's correction, by a real change data feed."""

from types import SimpleNamespace

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from spark_jobs.checks.changed_rows import _last, _without_view
from spark_jobs.values.own_columns import DELETED


def test_a_bad_key_mended_by_update_of_the_key_is_judged_by_its_new_key_alone(tmp_path):
    path = str(tmp_path / "t")
    rows = pa.table({"id": ["bad", "other"], DELETED: [False, False]})
    write_deltalake(path, rows, configuration={"delta.enableChangeDataFeed": "true"})
    DeltaTable(path).update(predicate="id = 'bad'", new_values={"id": "good"})
    feed = pa.table(DeltaTable(path).load_cdf(starting_version=0).read_all())
    feed = feed.cast(pa.schema([_without_view(field) for field in feed.schema]))
    left = _last(feed, SimpleNamespace(row_key=("id",)))
    assert sorted(left["id"].to_pylist()) == ["good", "other"]
