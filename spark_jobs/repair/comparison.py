"""Comparison: computes the rows of a plan's unit, holds the table against them, counts, writes what
differs beside the table, and judges it. One way for every unit.
"""

from __future__ import annotations

import logging
from pkgutil import resolve_name
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checks import expectations
from spark_jobs.launch.few_records import computed_once
from spark_jobs.messages.change import change_checks, metrics
from spark_jobs.messages.kind import KINDS
from spark_jobs.messages.stages import account_line
from spark_jobs.messages.verdict import staged_verdict
from spark_jobs.repair.compute.account import change_of, counted, drained_of
from spark_jobs.repair.compute.result import Staged, put_staged
from spark_jobs.repair.compute.staged import write_bad, write_changes
from spark_jobs.repair.exchange.sample import log_sample
from spark_jobs.repair.unit.of_spec import unit_of
from spark_jobs.storage import failpoint

if TYPE_CHECKING:
    from threading import Thread

    from spark_jobs.errors import SluiceError
    from spark_jobs.launch.stopping import StopRequest
    from spark_jobs.repair.compute.judging import Judging
    from spark_jobs.repair.unit.rows import Rows
    from spark_jobs.runs.run_outcome import Phase, RunOutcome
    from spark_jobs.storage.lease_view import Held

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
        change = change_of(rows.way, plan, told, compared.carried, computed, merged)
        outcome.change, outcome.drained = change, drained_of(plan, computed, change)
        LOG.info("%s: %s", plan.pipeline, account_line(outcome.drained.account))
        LOG.info("%s: %s", plan.pipeline, change)
        self.held.confirm()
        write_changes(paired, folder)
        parts = rows.differing(told.hours, change.differs)
        rows.write(compared._replace(paired=paired), parts)
        if change.newly_bad and KINDS[plan.kind].swaps:
            write_bad(judging, change.newly_bad, outcome.run_id, folder)
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
        staged = Staged(parts, () if around == plan.spans else around, merged, computed.copies)
        put_staged(judging.paths, rows.way, plan, outcome, staged, problem, self.held)
        failpoint.at("staged.judged")
        if problem and not change.thinned:
            log_sample(folder)
        return problem

    def _lap(self, phase: Phase) -> None:
        self.outcome.lap(phase)
        self.stop.raise_if_asked()
