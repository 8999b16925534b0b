"""Comparison: computes the rows of a plan's unit, holds the table against them, counts, writes what
differs beside the table, and judges it. One way for every unit.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from spark_jobs import checks as expectations
from spark_jobs.launch.few_records import computed_once
from spark_jobs.messages.change import change_checks, metrics, needs_approval
from spark_jobs.messages.kind import KINDS
from spark_jobs.messages.stages import account_line
from spark_jobs.ops import repairs
from spark_jobs.repair.compute.account import change_of, counted, drained_of
from spark_jobs.repair.compute.staged import write_bad, write_changes
from spark_jobs.repair.exchange.staging import log_sample
from spark_jobs.repair.find.plan import offsets_in
from spark_jobs.repair.manifest import Manifest, MergedRecord, in_the_rows
from spark_jobs.repair.staged_verdict import staged_verdict
from spark_jobs.repair.unit.unit import unit_of
from spark_jobs.steps.classify import QUARANTINED
from spark_jobs.storage import failpoint
from spark_jobs.storage.pin import as_json
from spark_jobs.table.tables import table_of

if TYPE_CHECKING:
    from collections.abc import Collection
    from threading import Thread

    from pyspark.sql import Column, DataFrame

    from spark_jobs.errors import SluiceError
    from spark_jobs.repair.compute.judging import Compared, Computed, Judging, Seen
    from spark_jobs.repair.find.plan import RepairPlan
    from spark_jobs.repair.unit.unit import Unit
    from spark_jobs.runs.run_outcome import Phase, RunOutcome
    from spark_jobs.runs.watch.limits import StopRequest
    from spark_jobs.spec.analysis.ranged import Ranged
    from spark_jobs.storage.lease_view import Held
    from spark_jobs.storage.root.paths import Paths
    from spark_jobs.values.spans import Span

VALUES: Final = {"sample", "observed"}
"""Fields of a check's result that may have values of rows."""


class Staged(NamedTuple):
    """What a staging has written and found, beside its counts."""

    differing: Sequence[Span]
    """The parts of the ranges in which rows differ."""
    around: tuple[Span, ...]
    """The positions of the table's rows that they replace; empty if they are the plan's."""
    merged: tuple[MergedRecord, ...]
    copies: Seen | None
    """As Computed has it."""
    rules: Mapping[str, int] | None
    """The records that fail each rule; None without rules."""


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
        "horizon": plan.horizon.json,
        "batch": plan.batch,
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
        "rules": None if staged.rules is None else [*staged.rules.items()],
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
        newly_bad=found.newly_bad + found.excised,
        merged=staged.merged,
        approval="needed" if needs_approval(found, plan.approve) else "not needed",
    ).write(paths.staging(plan.repair_id) / "manifest.json")


class Rows(Protocol):
    """The rows of a unit, by Spark. The caller releases what is computed once
    (launch/few_records.py).
    """

    way: Ranged

    def __init__(self, unit: Unit, judging: Judging) -> None: ...

    def compute(self) -> Computed:
        """The rows that the records give, and what was observed of these. All that was observed is
        complete when it returns: the records are read once.
        """

    def compare(self, computed: Computed) -> Compared:
        """The table's rows at the plan's version, each with the computed row that is the same row.

        Raises RangeUnsupported or RangeInvalid if what was read is not enough for these rows.
        """

    def fates(self, computed: Computed, paired: DataFrame) -> tuple[MergedRecord, ...]:
        """What became of each late and each replayed record of the plan."""

    def hour(self) -> Column:
        """timestamp. The hour in which a paired row is; null where rows have no place in time."""

    def differing(self, hours: Collection[datetime], rows: int) -> tuple[Span, ...]:
        """What the swap is to replace, where `rows` rows differ, in these hours.

        Raises RangeInvalid for more rows than a swap can replace.
        """

    def write(self, compared: Compared, parts: tuple[Span, ...]) -> None:
        """Write beside the table what `put_in` needs for these parts, but for what differs."""

    def after(self, paired: DataFrame) -> DataFrame:
        """What consumers then see of the unit."""

    @property
    def proved(self) -> Span | None:
        """The range of which a verify says whether it is right; None where there is none, or where
        a person may swap.
        """


LOG = logging.getLogger(__name__)


class Comparison(NamedTuple):
    """What a stage has, beside the records."""

    outcome: RunOutcome
    held: Held
    """The stagings' lease: who slept for longer than it lasts stages nothing any more."""
    stop: StopRequest
    warming: Thread
    """Loads what checks the rows."""

    def made(self, judging: Judging) -> SluiceError | None:
        """The verdict of the checks. Manifest and ops.repairs say what was staged."""
        plan, outcome, spec = judging.plan, self.outcome, judging.spec
        folder = judging.paths.staging(plan.repair_id)
        LOG.info("%s: computes %s again", plan.pipeline, "; ".join(map(str, plan.spans[:5])))
        failpoint.at("staging")
        unit = unit_of(spec)
        rows: Rows = resolve_name(unit.rows)(unit, judging)
        computed = rows.compute()
        self._lap("query")
        compared = rows.compare(computed)
        paired = computed_once(compared.paired, plan.records_read)
        merged = rows.fates(computed, paired)
        told = counted(spec, paired, rows.hour())
        # A table as a source has them still.
        bad = 0 if plan.current else sum(computed.read.get[each.value] for each in QUARANTINED)
        excised = 0
        if bad and KINDS[plan.kind].swaps:
            self.held.confirm()
            excised = write_bad(judging, bad, outcome.run_id, folder)
        left = (bad - excised, excised)
        change = change_of(rows.way, plan, told, compared.carried, computed, merged, left)
        outcome.change, outcome.drained = change, drained_of(plan, computed, change)
        LOG.info("%s: %s", plan.pipeline, account_line(outcome.drained.account))
        LOG.info("%s: %s", plan.pipeline, change)
        self.held.confirm()
        write_changes(paired, folder)
        parts = rows.differing(told.hours, change.differs)
        rows.write(compared._replace(paired=paired), parts)
        failpoint.at("staged")
        self._lap("compare")
        self.warming.join()
        after = rows.after(paired)
        asked = change_checks(plan.kind, plan.approve, thinned=bool(change.thinned))
        outcome.checks = (
            *expectations.check_rows(spec, after),
            *expectations.check_change(asked, metrics(change)),
        )
        outcome.lap("checks")
        problem = staged_verdict(plan.pipeline, outcome.checks, rows.proved)
        around = unit.around(plan.spans)
        rules = computed.read.get.get("rules")
        around = () if around == plan.spans else around
        staged = Staged(parts, around, merged, computed.copies, rules)
        put_staged(judging.paths, rows.way, plan, outcome, staged, problem, self.held)
        failpoint.at("staged.judged")
        if problem and not change.thinned and not spec.inputs.personal:
            log_sample(folder)
        return problem

    def _lap(self, phase: Phase) -> None:
        self.outcome.lap(phase)
        self.stop.raise_if_asked()
