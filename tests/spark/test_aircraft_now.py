"""The shipped pipeline that follows a key, over the demo's mess: duplicates, late records, records
out of order and cancelled flights.
"""

import pytest
from deltalake import DeltaTable

from spark_jobs.checkpoint.notes.live import refuse_dead
from spark_jobs.table.published import table as published_table
from tests.harness import oracle
from tests.harness.compare import assert_same
from tests.harness.turns import alike
from tests.spark.whole import FOR_EVER

pytestmark = [pytest.mark.usefixtures("compiled"), alike("a table that follows a key")]


def test_each_aircraft_has_its_newest_event_and_none_while_that_is_a_cancelled_flight(scene):
    made = scene("aircraft_now", events=6000, checked=True, stores=None)
    deleted = superseded = 0
    for number in range(3):
        counts = made.deliver()
        report = made.run(f"run-{number}")
        account = report.account
        assert account.read == sum(counts.values())
        assert account.malformed == counts["malformed"] > 0
        assert account.premature == counts["premature"] > 0
        deleted += account.deleted
        superseded += account.superseded
        published_table.move(made.paths, report.table_version, refuse_dead)
        shown = DeltaTable(str(made.paths.published_table)).to_pyarrow_table().to_pylist()
        wanted = oracle.aircraft_now(oracle.events(made.ledger, set()), FOR_EVER)
        assert_same(oracle.comparable(shown), oracle.comparable(wanted), "the published table")
        made.assert_exact()
    assert min(deleted, superseded) > 0
