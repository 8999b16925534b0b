"""Corrections of a table beside the stream: they mark the rows that they touch, and repairs mend
these. The table is that of test_side.py.
"""

import json

import deltalake
import pyarrow as pa

from spark_jobs.admin.rewind import rewind
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.noted_versions import noted_now
from spark_jobs.repair.find.outdated_rows import Outdated
from spark_jobs.repair.undo import undo
from spark_jobs.spec import Aggregate, Pipeline
from spark_jobs.spec.analysis.ranged import ranged
from spark_jobs.storage import failpoint
from spark_jobs.topics.flights import FLIGHTS
from spark_jobs.values.spans import MICROSECOND, Span
from tests.harness import oracle
from tests.harness.compare import assert_same
from tests.harness.crash import Images, over
from tests.harness.turns import alike
from tests.seams.test_side import CARRIERS, HOUR, Charge, Fees, charged
from tests.spark import truth
from tests.spark.test_repair import Repairs

pytestmark = alike("what a correction touches")

HUNDREDS = {"AA": (0, 1, 1, 3), "B6": (0, 1, 0, 0)}
"""Carrier -> the part of its fee that versions change. B6 has its first one again."""


def correct(fees: Fees, version: int) -> None:
    rows = [
        {"carrier": each, "fee": 100 * HUNDREDS.get(each, [0] * 4)[version] + ord(each[0])}
        for each in CARRIERS.split()
    ]
    deltalake.write_deltalake(fees.path, pa.Table.from_pylist(rows), mode="overwrite")


def of(spec: Pipeline, *versions: int):
    """What DuckDB makes of deliveries with the fees of these versions; of all with that of one."""
    found = " ".join(
        f"WHEN '{each}' THEN {[hundreds[version] for version in versions]}"
        f"[{'delivery' if len(versions) > 1 else 1}]"
        for each, hundreds in HUNDREDS.items()
    )
    return charged(spec, f"(CASE carrier {found} ELSE 0 END)")


def outdated(made) -> Outdated:
    checkpoint = Checkpoint(made.paths.checkpoint)
    known, newest = read_identity(made.paths), checkpoint.committed()[-1]
    assert known is not None
    own = (ranged(made.spec), made.paths, known.generations, newest)
    return Outdated(*own, noted_now(checkpoint, made.spec))


def hold(made, *versions: int, last: int) -> set[tuple[str, Span]]:
    """Each delivery has the fees of its version, and marks are open where the last one gives
    others, of those carriers alone. Gives the rows that differ.
    """
    known = truth.hold(made, of(made.spec, *versions))
    newest = truth.truth(of(made.spec, last), made.ledger, truth.ends(made)).rows
    was, now = (
        {(r["carrier"], r["window_end"]): r["fees"] for r in each} for each in (known.rows, newest)
    )
    differ = {key for key in was if was[key] != now[key]}
    marked = {json.loads(row["key"])["carrier"] for row in made.ops("outdated")}
    spans = [each.span for each_of in outdated(made).open for each in each_of.touching]
    assert {carrier for carrier, _ in differ} <= marked <= {*HUNDREDS}
    at = {key: key[1] - MICROSECOND for key in was if key[0] in marked}
    assert all(any(s.start <= at[key] < s.end for s in spans) for key in differ)
    assert all(any(s.start <= each < s.end for each in at.values()) for s in spans)
    return differ


def mended(made, last: int) -> str:
    """By one repair, without a person. Gives its id."""
    repairs = Repairs(made)
    staged = repairs.stage(plan := repairs.plan())
    assert staged.problem is None, (staged.problem, plan.lines)
    assert (staged.change.unaccounted, staged.change.unexplained) == (0, 0)
    assert staged.change.changed > 0
    repairs.swap(plan)
    known = truth.truth(of(made.spec, last), made.ledger, truth.ends(made))
    wanted = truth.canonical(of(made.spec, last), made.ledger, known.watermark)
    assert_same(oracle.comparable(made.table()), oracle.comparable(wanted), "the repaired table")
    assert outdated(made).ranges(known.watermark) == []
    return plan.repair_id


def test_rows_that_a_correction_touches_are_marked_and_mended_wherever_a_run_is_killed(
    scene, monkeypatch, tmp_path
):
    correct(fees := Fees(name="fees", path=str(tmp_path / "fees")), 0)
    sums = {"flights": "count(*)", "fees": "sum(fee)"}
    by_hour = Aggregate(window=HOUR, keys=("carrier",), measures=sums, counts="flights")
    usual = {"about": "Fees", "topic": FLIGHTS, "watermark_delay": "2 hours"}
    spec = Pipeline(name="marked", steps=(Charge(by=fees), by_hour), **usual)
    made = scene(spec, "first", events=3000, deliveries=3)
    correct(fees, 1)
    made.deliver()
    with monkeypatch.context() as at:
        at.setattr(failpoint, "at", (images := Images(made, tmp_path / "images")).at)
        made.run("second")
    assert hold(made, 0, 1, last=1)
    correct(fees, 2)
    correct(fees, 3)  # before any run has seen the second
    kept = Checkpoint(made.paths.checkpoint).committed()[-1]
    killed = {("marked", 1): 3, ("planned", 2): 3, ("table.committed", 2): 1}
    for moment, version in killed.items():
        each = over(made, images.taken[moment])
        each.run("resumed")
        hold(each, 0, version, last=version)
        if moment[0] == "table.committed":
            each.run("once more")  # which may take the newest
            hold(each, 0, version, last=3)
        mended(each, 3)
    made.deliver()
    made.run("third")
    assert hold(made, 0, 1, 3, last=3)
    repair = mended(made, 3)
    undo(made.spec, made.settings.root, repair, "undo")
    assert hold(made, 0, 1, 3, last=3), "the undo has opened them again"
    rewind(made.spec, made.settings, kept).execute()
    made.run("behind a rewind")
    assert hold(made, 0, 1, 3, last=3)
    mended(made, 3)
