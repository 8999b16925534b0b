"""Rows that a repair computes of a key, beside a person's corrections, are those that a drain makes."""

import pytest
from deltalake import DeltaTable

from spark_jobs.steps.keyed.merge import standing
from tests.unit import test_fold as rows, test_partial_versions as versions

FIRST = [({"status": "new", "note": "x"}, 1), ({"status": "paid"}, 2)]


@pytest.mark.parametrize("of", [rows, versions], ids=["rows", "versions"])
@pytest.mark.parametrize(
    ("said", "lsn"),
    [
        ({"status": "sent"}, 3),
        ({"status": "sent", "note": "y"}, 3),
        ({"status": "new", "note": "x"}, 1),
        ({"status": "paid"}, 2),
        ({"status": "other"}, 2),
        ({"note": "before"}, 0),
        (None, 4),
    ],
    ids=["behind", "sets it", "copy of the setter", "copy", "at its place", "before", "delete"],
)
@pytest.mark.parametrize("mended", [False, True], ids=["as it came", "mended"])
def test_a_repair_computes_what_a_drain_makes(tmp_path, of, said, lsn, mended):
    path = of.table_at(tmp_path / "orders")
    put(of, path, [of.Change("a", at, s, n) for n, (s, at) in enumerate(FIRST)], 0)
    if mended:
        DeltaTable(str(path)).update({"note": "'mine'"}, predicate="lsn = 2")
    known = DeltaTable(str(path)).to_pyarrow_table()
    change = of.Change("a", lsn, said, 5)
    computed = standing(known, of.table_of([change]), of.STEP)
    put(of, path, [change], 1)
    assert in_order(computed) == in_order(DeltaTable(str(path)).to_pyarrow_table())


def put(of, path, batch, number):
    (of.merge if of is rows else of.put)(path, batch, number)


def in_order(table):
    names = sorted(table.column_names)
    found = table.select(names).to_pylist()
    return sorted(
        ({n: sorted(v) if isinstance(v, list) else v for n, v in r.items()} for r in found),
        key=lambda row: row["lsn"],
    )
