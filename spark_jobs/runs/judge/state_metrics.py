"""State metrics: the values that the state checks evaluate. spec/state_metrics.py has their
meaning.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any, NamedTuple

from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.checkpoint.run import Run
from spark_jobs.messages.report import Account
from spark_jobs.ops import accounts
from spark_jobs.runs.judge.open_groups import OpenGroups
from spark_jobs.runs.judge.unjudged import Unjudged
from spark_jobs.runs.run_outcome import Drained
from spark_jobs.sink.keyed.standing import size
from spark_jobs.spec.analysis.state_checks import LEAST_READ, has_truncates
from spark_jobs.spec.checks.rule_share import PREFIX, rule_metrics
from spark_jobs.spec.inputs import Topics
from spark_jobs.spec.state_metrics import StateMetrics
from spark_jobs.table.delta.door import open_table


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
        state_growth=_share(state.rows - waiting.state_rows_before, entered),
        late_share=_share(account.late, decoded),
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
        **_rule_shares(run.spec.inputs, waiting),
    )


def _rule_shares(inputs: Topics, waiting: Unjudged) -> dict[str, Any]:
    """Of several topics, the rules of one name together."""
    failing = Counter[str]()
    for name, count in waiting.rules.items():
        failing[f"{PREFIX}{name.rpartition('/')[2]}"] += count
    return {
        name: _share(failing[name], waiting.account.read) for name in rule_metrics(inputs.rules)
    }


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
        return cls(*(_share(count, account.read) for count in counts))


def _nothing(account: Account, *, new: bool) -> int:
    """1 if nothing of what was read was accepted. `new`: the pipeline never took a record in."""
    whole = account.read and not account.accepted
    return int(bool(whole and (new or Rejected.of(account).all)))


def _truncates(run: Run, waiting: Unjudged) -> int:
    if not waiting.account.malformed or not has_truncates(run.spec):
        return 0
    return accounts.truncates(run.paths, run.identity, waiting.batches)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _known_share(part: int | None, whole: int) -> float | None:
    return None if part is None else _share(part, whole)


def _lag(newest: datetime | None, watermark: datetime | None) -> float | None:
    return (newest - watermark).total_seconds() if newest and watermark else None


def _remembered(run: Run) -> float | None:
    if not run.spec.keyed or not run.target.table.exists():
        return None
    found = size(open_table(path := run.target.table.path), path)
    return None if found is None else found.remembered / max(found.live, 1)


def _behind(run: Run) -> float | None:
    """Seconds from the watermark of the last batch to that of the next one; None without a batch or
    a watermark.
    """
    committed = run.checkpoint.committed()
    if not committed or run.spec.watermark_delay is None:
        return None
    last = run.checkpoint.batch(committed[-1])
    return max(0, run.checkpoint.next_watermark_ms(last.id) - last.watermark_ms) / 1000
