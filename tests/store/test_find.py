"""`sluice find` over a root in the bucket: what is in objects is found as it is in files."""

import json

import deltalake
import pyarrow as pa

from spark_jobs.census.census import Census
from spark_jobs.storage.root.store import opened
from spark_jobs.table.delta import door
from tests.store.root import Root

CANARY = "canary-4711"


def test_a_value_is_found_in_each_object_that_has_it_and_nothing_is_written(store, bucket):
    root = Root(store, bucket)
    at = opened(root.url)
    table = at / "tables" / "people"
    rows = pa.table({"id": [CANARY, "b"], "n": [1, 2]})
    deltalake.write_deltalake(str(table), rows, storage_options=door.options(table))
    deltalake.DeltaTable(str(table), storage_options=door.options(table)).delete("n = 1")
    report = at / "reports" / "people" / "run.json"
    report.write_text(json.dumps({"problem": {"what": f"got '{CANARY}'"}}))
    before = root.objects("")
    found = Census(at, None, CANARY).answer()
    assert {each.kind: (each.place, each.entries) for each in found.found} == {
        "table": ("tables/people", 1),
        "log of a table": ("tables/people", 1),
        "reports": ("reports/people", 1),
    }
    assert (found.unread, root.objects("")) == ((), before)
