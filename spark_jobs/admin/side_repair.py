"""Side repair: a planned repair of the side table, computed and swapped in; and the completion of
one whose swap was cut off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.checkpoint.cursor import read_cursor
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.contract.errors import RepairUnknown, StagingStale
from spark_jobs.launch import submit
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.repair.manifest import approve, read_manifest
from spark_jobs.repair.preconditions import Claim, committed
from spark_jobs.repair.swap import Swapped, swap

if TYPE_CHECKING:
    from collections.abc import Container

    from spark_jobs.admin.rebuild_run import Rebuilding
    from spark_jobs.contract.report import Report
    from spark_jobs.repair.plan import RepairPlan


def complete_beside(it: Rebuilding) -> None:
    """Let the cursor know of each repair that is in the side table: a swap that was cut off behind
    its commit moves it, if it is repeated. Of a live table the next drain does so; beside, nothing
    need be left to drain.
    """
    known = read_identity(it.side)
    if known is None:
        return
    of_it = ops_tables.among("generation", known.generations)
    ended = f"{of_it} AND state IN ('staged', 'swapped')"
    for row in repairs.stored(it.side.root, it.following.name, ended):
        try:
            manifest = read_manifest(it.side, row["repair_id"])
            claim = Claim(row["repair_id"], manifest, manifest.table_version)
            version = committed(it.side, known, claim)
        except (RepairUnknown, StagingStale):
            continue  # nothing of it is in the table
        judged = read_cursor(it.side.cursor).judged_table_version
        if version is not None and judged is not None and judged < version:
            swap(it.following, it.beside.root, row["repair_id"], it.run)


def repair_beside(
    it: Rebuilding, planned: RepairPlan, run_id: str, passed_over: Container[str] = ()
) -> tuple[Report, Swapped | None]:
    """The stage's report, and what the swap did; None if the stage ended with a problem whose code
    is in `passed_over`. Raises any other one.
    """
    planned.store(it.side)
    report = it.submit(
        lambda at: submit.stage_arguments(planned.pipeline, planned.repair_id, at, run_id),
        run_id,
        planned.offsets,
    )
    if report.problem and report.problem.code in passed_over:
        return report, None
    it.passed(report)
    if read_manifest(it.side, planned.repair_id).approval == "needed":
        # Nobody reads this table: the switch is what asks.
        approve(it.side, planned.repair_id, it.who)
    return report, swap(it.following, it.beside.root, planned.repair_id, run_id)
