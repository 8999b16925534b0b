"""Evaluation: runs the checks over a run's rows and state, writes ops.checks, and moves the cursor
past rows that passed.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from spark_jobs.audit.audit import Audit
from spark_jobs.checkpoint.run import Run
from spark_jobs.checks import expectations
from spark_jobs.messages.report import CheckResult
from spark_jobs.messages.verdict import verdict
from spark_jobs.ops import ops_tables
from spark_jobs.runs.judge.open_groups import open_groups
from spark_jobs.runs.judge.state_metrics import state_metrics
from spark_jobs.runs.judge.timely import Metric, timely
from spark_jobs.runs.judge.unjudged import unjudged
from spark_jobs.runs.run_outcome import Drained
from spark_jobs.table import history

LOG = logging.getLogger(__name__)


def evaluate_checks(run: Run, audit: Audit, drained: Drained) -> tuple[CheckResult, ...]:
    """Check the rows and the account since the last version that passed, and the state.

    What does not pass is checked again by the next run, with what is new then: a failure stays
    until it is mended.
    """
    waiting = unjudged(run, audit.cursor)
    earlier = tuple(batch for batch in waiting.batches if batch not in audit.accounts)
    if earlier:
        LOG.warning(
            "%s: also judging batches %s of earlier runs, which have not passed the checks",
            run.spec.name,
            list(earlier),
        )
    with ThreadPoolExecutor(1) as beside:  # Spark reads the state while the output is judged
        reading = beside.submit(open_groups, run, audit.cursor, waiting)
        output = expectations.check_output(run, drained.table_version_before, drained.table_version)
        groups = reading.result()
    now = datetime.now(UTC)
    in_time = timely(run.spec, run.paths, run.identity, audit.cursor, now, drained.bounded_by)
    for name, metric in in_time.items():
        LOG.info("%s: %s: %s", run.spec.name, name, metric.told)
    metrics = state_metrics(run, audit.cursor, waiting, drained, groups)
    metrics = metrics.model_copy(update={name: each.value for name, each in in_time.items()})
    if metrics.unaccounted is None:
        LOG.warning(
            "%s: unaccounted is not known: the progress of a batch was lost, and no second source "
            "says how many rows it must have. Its check passes, and proves nothing",
            run.spec.name,
        )
    state = (_with_numbers(each, in_time) for each in expectations.check_state(run, metrics))
    results = (*output, *state)
    ops_tables.append(
        run.paths.root,
        "checks",
        [
            {
                "pipeline": run.spec.name,
                "generation": run.identity.generation,
                "run_id": run.run_id,
                "checked_at": now,
                "table_version": drained.table_version,
            }
            | result.model_dump()
            for result in results
        ],
    )
    if verdict(run.spec.name, drained.table_version, results) is None:
        audit.passed(_passed_version(run, drained), groups.records)
    return results


def _with_numbers(check: CheckResult, in_time: Mapping[str, Metric]) -> CheckResult:
    if (metric := in_time.get(check.column or "")) is None:
        return check
    return check.model_copy(update={"about": f"{metric.told}. {check.about}".rstrip()})


def _passed_version(run: Run, drained: Drained) -> int | None:
    """It stays where only files were joined or removed since: a publication would tell consumers of
    nothing.
    """
    before, now = drained.table_version_before, drained.table_version
    if before is None or now is None or before >= now:
        return now
    return now if history.rows_changed(run.target.table, before, now) else before
