"""Evaluation: runs the checks over a run's rows and state, writes ops.checks, and moves the cursor.

A verdict is about all batches whose rows have not passed the critical checks yet, of this run and
of earlier ones. If only this run's were judged, a run that reads nothing would pass what failed
before.

The state checks evaluate metrics; spec/checks/check.py has their meanings. One holds the records
that entered an Aggregate against those in its state and in the rows that it wrote, since the last
verdict that passed.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs import checks as expectations
from spark_jobs.audit.counting import Counting, Grouped, counting
from spark_jobs.audit.own_shares import own_shares, share
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.checkpoint.run import Run
from spark_jobs.messages.offset_account import OF_BATCHES, Account
from spark_jobs.messages.report import CheckResult
from spark_jobs.messages.verdict import verdict
from spark_jobs.ops import accounts, ops_tables
from spark_jobs.runs.account.audit import Audit
from spark_jobs.runs.run_outcome import Drained
from spark_jobs.spec.analysis.state_checks import LEAST_READ, has_truncates, state_checks_of
from spark_jobs.spec.checks.check import TIMELY, StateMetrics
from spark_jobs.state.open_groups import MOST_STATE_ROWS
from spark_jobs.state.table import Stores
from spark_jobs.storage.root.path_forms import state_url
from spark_jobs.table import history

if TYPE_CHECKING:
    from spark_jobs.ops.schema import Row
    from spark_jobs.runs.timely import Metric

BY_THE_CLOCK: Final = "spark_jobs.runs.timely:timely"
"""What measures the metrics that change while nothing happens. Loaded by name: few specs ask."""
COLUMNS = ("batch_id", "state_rows", "groups_in", "groups_out", "rules", "unmatched", *OF_BATCHES)


class Unjudged(NamedTuple):
    """The account that the checks judge."""

    batches: tuple[int, ...] = ()
    """Their ids."""
    account: Account = Account()
    """The sum over them."""
    state_rows_before: int = 0
    """Rows in all state stores after the last batch that passed; 0 if none has."""
    grouped: Grouped | None = None
    """The sum over them; None if one is not known."""
    rows: tuple[Row, ...] = ()
    """Their rows in ops.batches."""


def unjudged(run: Run, cursor: Cursor) -> Unjudged:
    """The batches after the cursor's `judged`, up to its `audited`, from their rows in
    ops.batches.

    Raises CheckpointBroken unless each has its row.
    """
    rows = accounts.since_judged(run.paths, run.identity, cursor, COLUMNS)
    passed = [row for row in rows if row["batch_id"] == cursor.judged]
    waiting = [row for row in rows if row["batch_id"] > cursor.judged]
    return Unjudged(
        batches=tuple(row["batch_id"] for row in waiting),
        account=sum(map(Account.of_row, waiting), Account()),
        state_rows_before=(passed[0]["state_rows"] or 0) if passed else 0,
        grouped=_grouped(waiting),
        rows=tuple(waiting),
    )


def _grouped(rows: list[Row]) -> Grouped | None:
    entered, written = ([row[name] for row in rows] for name in ("groups_in", "groups_out"))
    known = [count for count in (*entered, *written) if count is not None]
    if len(known) < 2 * len(rows):
        return None
    return Grouped(sum(known[: len(rows)]), sum(known[len(rows) :]))


class OpenGroups(NamedTuple):
    """None where it is not known."""

    records: int | None = None
    """Records in the open groups now."""
    unaccounted: int | None = None
    """By how many records entered, open and written disagree."""


def open_groups(run: Run, cursor: Cursor, waiting: Unjudged) -> OpenGroups:
    """Read the state after the last audited batch, and balance it with what the waiting batches
    put in and took out.
    """
    step = counting(run.spec)
    if step is None or cursor.state.rows > MOST_STATE_ROWS:
        return OpenGroups()
    if not waiting.batches:
        return OpenGroups(records=cursor.open_records)
    now = _records(run, cursor.audited, step)
    before = 0 if cursor.judged < 0 else cursor.open_records
    if now is None or before is None or waiting.grouped is None:
        return OpenGroups(records=now)
    entered, written = waiting.grouped
    return OpenGroups(now, abs(before + entered - written - now))


def _records(run: Run, batch: int, step: Counting) -> int | None:
    if batch not in run.checkpoint.readable():
        return None
    return step.open(Stores(run.spark, state_url(run.target.checkpoint), batch))


def state_metrics(
    run: Run, cursor: Cursor, waiting: Unjudged, drained: Drained, groups: OpenGroups
) -> StateMetrics:
    """The metrics that the state checks evaluate: counts, bytes, seconds, and shares from 0 to 1.

    The account's metrics are of all batches that have not passed yet; the others are of the run's
    end. What was rejected is judged of this run too, so that good batches that wait beside it do
    not hide it.
    """
    account = waiting.account
    state = drained.state
    entered = account.accepted + account.late
    decoded = entered + account.premature + account.filtered
    own = [drained.account] if drained.account.read >= LEAST_READ else []
    rejected = [Rejected.of(each) for each in (account, *own)]
    new = cursor.last_event_time is None
    return StateMetrics(
        unaccounted=account.unaccounted,
        groups_unaccounted=groups.unaccounted,
        rows_read=account.read,
        state_rows=state.rows,
        state_bytes=state.bytes,
        state_growth=share(state.rows - waiting.state_rows_before, entered),
        late_share=share(account.late, decoded),
        malformed_share=max(each.malformed for each in rejected),
        premature_share=max(each.premature for each in rejected),
        rejected_share=max(each.all for each in rejected),
        nothing_accepted=max(_nothing(each, new=new) for each in (account, drained.account)),
        truncates=_truncates(run, waiting),
        duplicate_share=_known_share(account.duplicates, account.accepted),
        watermark_lag_seconds=_lag(cursor.last_event_time, drained.watermark),
        behind_watermark_seconds=_behind(run),
        still_batches=cursor.still_batches,
        archive_lag=drained.archive_lag,
        remembered_share=_remembered(run),
        timers_per_row=cursor.timers_waiting / state.rows
        if cursor.timers_waiting and state.rows
        else None,
        **own_shares(run.spec, waiting.rows, account),
    )


class Rejected(NamedTuple):
    """Shares of the records that were read, from 0 to 1."""

    malformed: float
    premature: float
    all: float
    """Late ones too."""

    @classmethod
    def of(cls, account: Account) -> Rejected:
        kinds = (account.malformed, account.premature)
        counts = (*kinds, sum(kinds) + account.late)
        return cls(*(share(count, account.records) for count in counts))


def _nothing(account: Account, *, new: bool) -> int:
    """1 if nothing of what was read was accepted. `new`: the pipeline never took a record in."""
    whole = account.read and not account.accepted
    return int(bool(whole and (new or Rejected.of(account).all)))


def _truncates(run: Run, waiting: Unjudged) -> int:
    if not waiting.account.malformed or not has_truncates(run.spec):
        return 0
    return accounts.truncates(run.paths, run.identity, waiting.batches)


def _known_share(part: int | None, whole: int) -> float | None:
    return None if part is None else share(part, whole)


def _lag(newest: datetime | None, watermark: datetime | None) -> float | None:
    return (newest - watermark).total_seconds() if newest and watermark else None


def _remembered(run: Run) -> float | None:
    if (step := run.spec.keyed) is None or not (table := run.target.table).exists():
        return None
    found: float | None = resolve_name(step.remembers_share)(table.path, table.version())
    return found


def _behind(run: Run) -> float | None:
    """Seconds from the watermark of the last batch to the next batch's; None without a batch or
    a watermark.
    """
    committed = run.checkpoint.committed()
    if not committed or run.spec.watermark_delay is None:
        return None
    last = run.checkpoint.batch(committed[-1])
    return max(0, run.checkpoint.next_watermark_ms(last.id) - last.watermark_ms) / 1000


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
    in_time = _in_time(run, audit.cursor, now, drained.bounded_by)
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
    state = (_with_numbers(each, in_time) for each in expectations.check_metrics(run.spec, metrics))
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


def _in_time(run: Run, cursor: Cursor, now: datetime, bounded_by: str) -> Mapping[str, Metric]:
    if TIMELY.isdisjoint(name for each in state_checks_of(run.spec) for name in each.columns):
        return {}
    found: Mapping[str, Metric] = resolve_name(BY_THE_CLOCK)(
        run.spec, run.paths, run.identity, cursor, now, bounded_by
    )
    return found


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
