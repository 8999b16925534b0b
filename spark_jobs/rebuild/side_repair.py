"""Side repair: a planned repair of the table beside, computed and swapped in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.messages.job import Stage
from spark_jobs.repair.manifest import approve, read_manifest
from spark_jobs.repair.swap import Swapped, swap

if TYPE_CHECKING:
    from collections.abc import Container

    from spark_jobs.messages.report import Report
    from spark_jobs.rebuild.run import Rebuilding
    from spark_jobs.repair.find.plan import RepairPlan


def repair_beside(
    it: Rebuilding, planned: RepairPlan, run_id: str, passed_over: Container[str] = ()
) -> tuple[Report, Swapped | None]:
    """The stage's report, and what the swap did; None if the stage ended with a problem whose code
    is in `passed_over`. Raises any other one.
    """
    planned.store(it.side)
    report = it.submit(
        lambda at: Stage(
            pipeline=planned.pipeline,
            kind=planned.kind,
            repair_id=planned.repair_id,
            report=str(at),
            run_id=run_id,
        ),
        run_id,
        planned.offsets,
    )
    if report.problem and report.problem.code in passed_over:
        return report, None
    it.passed(report)
    if read_manifest(it.side, planned.repair_id).approval == "needed":
        # Nobody reads this table: the switch is what asks.
        approve(it.side, planned.repair_id, it.who)
    return report, swap(it.following, it.settings.root, planned.repair_id, run_id)
