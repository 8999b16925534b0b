"""Record: what a staging found, in its manifest and in ops.repairs."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs.messages.change import needs_approval
from spark_jobs.messages.kind import KINDS
from spark_jobs.ops import repairs
from spark_jobs.repair.find.plan import offsets_in
from spark_jobs.repair.manifest import Manifest, MergedRecord, in_the_rows
from spark_jobs.side.port import as_json
from spark_jobs.table.tables import table_of

if TYPE_CHECKING:
    from pyspark.sql import Observation

    from spark_jobs.errors import SluiceError
    from spark_jobs.repair.find.plan import RepairPlan
    from spark_jobs.runs.run_outcome import RunOutcome
    from spark_jobs.spec.analysis.ranged import Ranged
    from spark_jobs.storage.lease_view import Held
    from spark_jobs.storage.root.paths import Paths
    from spark_jobs.values.spans.span import Span

VALUES: Final = {"sample", "observed"}
"""Fields of a check's result that may have values of rows."""


class Staged(NamedTuple):
    """What a staging has written and found, beside its counts."""

    differing: Sequence[Span]
    """The parts of the ranges in which rows differ."""
    around: tuple[Span, ...]
    """The positions of the table's rows that they replace; empty if they are the plan's."""
    merged: tuple[MergedRecord, ...]
    copies: Observation | None
    """As Computed has it."""


def put_staged(
    paths: Paths,
    way: Ranged,
    plan: RepairPlan,
    outcome: RunOutcome,
    staged: Staged,
    problem: SluiceError | None,
    held: Held,
) -> None:
    """Write the row of ops.repairs and, if the checks passed and it swaps, the manifest. `problem`
    is the checks' verdict.
    """
    found, account, swaps = outcome.change, outcome.drained.account, KINDS[plan.kind].swaps
    assert found is not None
    good = problem is None
    if not swaps:
        state: repairs.State = "canonical" if good and not found.differs + found.parts else "failed"
    else:
        state = "staged" if good else "failed"
    row = {
        "pipeline": plan.pipeline,
        "repair_id": plan.repair_id,
        "generation": plan.generation,
        "kind": plan.kind,
        "state": state,
        "ranges": [span._asdict() for span in plan.spans],
        "horizon": json.dumps(plan.horizon),
        "request": json.dumps(
            {"who": plan.who, "note": plan.note, "run": outcome.run_id}
            | ({"without": plan.without} if plan.without else {})
        ),
        "sources": json.dumps(
            {
                "kafka": offsets_in(plan.parts),
                "archive": offsets_in(plan.archived),
                "late": plan.late,
                "quarantine": plan.from_quarantine,
            }
        ),
        "read": account.read,
        "malformed": account.malformed,
        "premature": account.premature,
        "filtered": account.filtered,
        "kept_aside": account.kept_aside,
        "outside": account.outside,
        "used": account.accepted,
        "duplicates": account.duplicates,
        **in_the_rows(staged.merged),
        "rows_before": found.rows_before,
        "rows_after": found.rows_after,
        "added": found.added,
        "removed": found.removed,
        "changed": found.changed,
        "unexplained": found.unexplained,
        "unaccounted": found.unaccounted,
        **(staged.copies.get if staged.copies else {}),
        "spec_digest": plan.spec_digest,
        "inputs": as_json(plan.inputs),
        "table_version_before": plan.table_version,
        "staged_at": datetime.now(UTC),
        "seconds": sum(outcome.seconds.values()),
        # Rows of ops.repairs are never removed: they have no values of rows.
        "report": outcome.report(problem).model_dump_json(exclude={"checks": {"__all__": VALUES}}),
    }
    repairs.put(paths.root, [row], held)
    if not (good and swaps):
        return
    Manifest(
        repair_id=plan.repair_id,
        attempt=uuid.uuid4().hex,
        pipeline=plan.pipeline,
        generation=plan.generation,
        kind=plan.kind,
        spans=plan.spans,
        around=staged.around,
        differing=tuple(staged.differing),
        position=way.position,
        spec_digest=plan.spec_digest,
        inputs=plan.inputs,
        table_id=table_of(paths).identifier(),
        table_version=plan.table_version,
        added=found.added,
        removed=found.removed,
        changed=found.changed,
        unexplained=found.unexplained,
        newly_bad=found.newly_bad,
        merged=staged.merged,
        approval="needed" if needs_approval(found, plan.approve) else "not needed",
    ).write(paths.staging(plan.repair_id) / "manifest.json")
