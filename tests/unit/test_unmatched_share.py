"""The share of rows for which a dimension has none, as a state check."""

from types import SimpleNamespace
from typing import Any

import pytest

from spark_jobs.audit.own_shares import own_shares
from spark_jobs.checkpoint.identity import Identity
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.errors import SpecInvalid
from spark_jobs.messages.offset_account import Account
from spark_jobs.ops import ops_tables
from spark_jobs.runs.evaluation import unjudged
from spark_jobs.spec import Dimension, Field, Lookup, Transform, unmatched_share
from spark_jobs.storage.root.paths import Paths
from tests.harness.refused import fails, has
from tests.unit.specs import deduplicate, pipeline


def lookup(**changes: Any) -> Lookup:
    fields = (Field(name="region", type="string"),)
    shops = Dimension(table="shops", key=("id",), fields=fields)
    return Lookup(**{"dimension": shops, "on": {"id": "shop"}} | changes)


def bounded(*steps: Any, most: float = 0.05) -> Any:
    return pipeline(steps=steps, state_checks=(unmatched_share("shops", most),))


def test_a_check_bounds_the_metric_of_its_dimension():
    [check] = bounded(lookup(), deduplicate()).state_checks
    assert check.kwargs == {"column": "unmatched_share_shops", "max_value": 0.05}
    assert check.severity == "critical"
    with fails(SpecInvalid, "fields_refused", fields="most"):
        unmatched_share("shops", 2)


@pytest.mark.parametrize(
    "steps",
    [
        (deduplicate(),),
        (deduplicate(), lookup(), Transform(where="region IS NOT NULL")),
        (lookup(missing="quarantine"), deduplicate()),
    ],
    ids=["none", "behind the state, rows dropped", "quarantined"],
)
def test_a_check_of_what_no_count_tells_is_refused(steps):
    with fails(SpecInvalid, "fields_refused", problems=has("unmatched_share_shops")):
        bounded(*steps)


def shares(tmp_path, spec: Any, *batches: dict[str, int] | None) -> dict[str, float | None]:
    """Of batches with these unmatched counts, as the checks read them: each took in 30 records, 10
    of them late, and wrote 12 rows.
    """
    paths = Paths(str(tmp_path), spec)
    account = Account(read=40, filtered=10, accepted=20, late=10, rows_out=12).row()
    for number, unmatched in enumerate(batches):
        own = {"pipeline": spec.name, "generation": "g", "batch_id": number}
        row = own | {"unmatched": None if unmatched is None else [*unmatched.items()]}
        ops_tables.append(paths.root, "batches", [row | account])
    identity = Identity(generation="g", topic_id="t", fingerprint={})
    run: Any = SimpleNamespace(paths=paths, identity=identity)
    waiting = unjudged(run, Cursor(judged=-1, audited=len(batches) - 1))
    return own_shares(spec, waiting.rows, waiting.account)


SPEC = bounded(lookup(), deduplicate())


@pytest.mark.parametrize(
    ("batches", "share"),
    [
        ([{"shops": 3}, {"shops": 0}], 3 / 60),
        ([{"shops": 3}, None], 3 / 30),
        ([{"shops": 3}, {"payments": 9}], 3 / 30),
        ([None, None], None),
        ([], 0),
    ],
    ids=["known", "one lost", "one of an older spec", "all lost", "nothing read"],
)
def test_the_share_is_of_the_records_that_were_looked_up_and_counted(tmp_path, batches, share):
    assert shares(tmp_path, SPEC, *batches) == {"unmatched_share_shops": share}


def test_behind_the_state_the_share_is_of_the_rows_that_were_written(tmp_path):
    behind = bounded(deduplicate(), lookup())
    assert shares(tmp_path, behind, {"shops": 3}) == {"unmatched_share_shops": 3 / 12}


def test_of_two_lookups_in_one_dimension_each_record_counts_twice(tmp_path):
    anew = Transform(sql="SELECT * EXCEPT (region) FROM rows")
    other = lookup(on={"id": "amount"})
    twice = pipeline(steps=(lookup(), anew, other, deduplicate()))
    assert shares(tmp_path / "twice", twice, {"shops": 45}) == {"unmatched_share_shops": 45 / 60}
