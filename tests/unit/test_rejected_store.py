"""Rejected records that are in the driver's memory: stored once, up to the byte budget of a batch."""

from types import SimpleNamespace
from typing import Any

from upath import UPath

from spark_jobs.ops import ops_tables
from spark_jobs.rejected.rejected_record import RejectedRecord
from spark_jobs.rejected.rejected_store import keep
from spark_jobs.source.micro_batch import Batch
from spark_jobs.source.positions import Positions
from spark_jobs.steps.classify import Outcome
from tests.unit.specs import pipeline

BATCH = Batch(7, Positions({0: 0}), Positions({0: 100}), 0, 1000)


def run(root: UPath, megabytes: str) -> Any:
    """What of a run the store asks for."""
    return SimpleNamespace(
        spec=pipeline(),
        identity=SimpleNamespace(generation="g1", generations=("g1",)),
        settings=SimpleNamespace(quarantine_megabytes=megabytes),
        paths=SimpleNamespace(root=root, pipeline=pipeline().name),
        run_id="r",
    )


def record(offset: int, outcome: Outcome, size: int) -> RejectedRecord:
    reason = "not JSON" if outcome is Outcome.MALFORMED else None
    return RejectedRecord(0, offset, None, None, None, None, b"x" * size, None, outcome, reason)


def test_what_is_beyond_the_budget_is_counted_also_by_a_second_try(tmp_path):
    given = run(UPath(tmp_path), "1")
    bad = [record(n, Outcome.MALFORMED, 400_000) for n in range(5)]
    late = [record(n, Outcome.LATE, 400_000) for n in range(10, 15)]
    assert keep(given, given.spec, BATCH, bad[:4]) == 2
    assert keep(given, given.spec, BATCH, [*bad[:4], *late]) == 2, "nothing is stored twice"
    rows = ops_tables.query(
        given.paths.root, "quarantine", 'SELECT "offset", value, left_out FROM quarantine'
    ).to_pylist()
    kept = {row["offset"]: (len(row["value"] or b""), row["left_out"]) for row in rows}
    whole, beyond = (400_000, None), (0, 400_000)
    assert kept == {0: whole, 1: whole, 2: beyond, 3: beyond}
    stored = ops_tables.query(given.paths.root, "late", "SELECT value FROM late").to_pylist()
    assert [len(row["value"]) for row in stored] == [400_000] * 5, "a repair merges these"
