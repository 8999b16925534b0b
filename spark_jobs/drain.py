"""A drain: resume the live checkpoint, consume what Kafka holds now, account for it, judge it, report."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime
from threading import Thread
from typing import Any

from spark_jobs import failpoint, ops
from spark_jobs.audit.audit import Audit
from spark_jobs.checkpoint import Checkpoint
from spark_jobs.cluster import Cluster
from spark_jobs.contract.errors import CheckBroken, CheckFailed, SluiceError
from spark_jobs.contract.fingerprint import in_force
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.report import Problem, Report
from spark_jobs.contract.settings import Settings
from spark_jobs.contract.spec import Pipeline
from spark_jobs.contract.steps import Aggregate
from spark_jobs.contract.store import is_remote
from spark_jobs.cursor import read_cursor
from spark_jobs.failure import understood
from spark_jobs.identity import Identity, in_words, lost, settle, warned
from spark_jobs.integrity import drop_orphans
from spark_jobs.kafka import TopicState, topic_state
from spark_jobs.lease import lease
from spark_jobs.query import Query
from spark_jobs.run import Run
from spark_jobs.stages import checks, table
from spark_jobs.stages.bound import Bound
from spark_jobs.stopping import Wish, heard
from spark_jobs.store import require_writable


def drain(spec: Pipeline, settings: Settings, run_id: str, say: Callable[[str], None], wish: Wish | None = None) -> Report:
    """Run it. Always returns a report, also of a failure; `say` gets a line of progress at a time.

    SIGTERM and Ctrl-C are a wish to stop (stopping.py). Whoever has heard it for longer gives `wish`.
    """
    with nullcontext(wish) if wish else heard() as whoever:
        return _reported(spec, settings, run_id, say, whoever)


def _reported(spec: Pipeline, settings: Settings, run_id: str, say: Callable[[str], None], wish: Wish) -> Report:
    record: dict[str, Any] = {"pipeline": spec.name, "run_id": run_id, "started_at": datetime.now(UTC)}
    problem: SluiceError | None
    try:
        bound = _run(spec, settings, run_id, say, record, wish)
        # A verdict first: the account of these batches is this run's, and no later run would say what is wrong with it.
        problem = _verdict(record["checks"]) or bound.stopped
    except SluiceError as error:
        problem = error
    except Exception as error:  # noqa: BLE001 - whatever Spark, Delta or the disk threw, the report must say so
        problem = understood(error, spec.name)
    report = Report(
        **record, ended_at=datetime.now(UTC), status="failed" if problem else "succeeded",
        problem=Problem.of(problem) if problem else None,
    )
    return _noted(report, settings, spec) if record.get("generation") else report


def _noted(report: Report, settings: Settings, spec: Pipeline) -> Report:
    """The report, with its row in ops.runs; a failure to write that is the run's, unless it has one already."""
    try:
        ops.append(Paths(settings.root, spec).root, "runs", [_row(report)])
    except Exception as error:
        if not is_remote(settings.root):
            raise
        if report.problem is None:
            problem = Problem.of(understood(error, spec.name))
            return report.model_copy(update={"status": "failed", "problem": problem})
    return report


def _run(
    spec: Pipeline, settings: Settings, run_id: str, say: Callable[[str], None], record: dict[str, Any], wish: Wish
) -> Bound:
    """The run, until it has no more to do or is asked to stop.

    Until it has accounted for a batch it may simply end. From then on it is ended between two batches, and its checks are run:
    the account of its batches is judged by itself alone. A wish that comes while the checks work finds a run that is done.
    """
    clock = _Clock(record)
    paths = Paths(settings.root, spec)
    require_writable(paths)
    with lease(paths.lease, run_id) as held, Cluster(spec.name, settings, say) as cluster:
        failpoint.at("leased")
        topic = topic_state(settings, spec.topic.name)
        identity = _settled(spec, paths, topic, say, record)
        held.confirm()  # over another run's identity, this one's would make its checkpoint a stranger to its table
        identity.write(paths.identity)
        drop_orphans(Checkpoint(paths.checkpoint))
        spec = in_force(spec, identity.fingerprint)
        clock.lap("settle")
        wish.heed()
        warming = checks.warm_up()
        run = Run(spec, settings, paths, identity, run_id, cluster.session(spec.state), held)
        clock.lap("start")
        wish.heed()
        return _drained(run, topic, warming, say, record, clock, wish)


def _drained(
    run: Run, topic: TopicState, warming: Thread, say: Callable[[str], None], record: dict[str, Any], clock: _Clock, wish: Wish
) -> Bound:
    """Read to the end or to the bound, account for it, judge it; into the record."""
    name, audit = run.spec.name, Audit(run)
    audit.catch_up({}, ended=True)
    recovered = tuple(audit.accounts)
    if recovered:
        say(f"{name}: completed the account of batches {list(recovered)}, which an earlier run had left")
    clock.lap("recover")
    if not recovered:
        wish.heed()
    say(f"{name}: Spark is up; reading topic {run.spec.topic.name} to its end, batch by batch")
    bound = Bound(run.spec, wish)
    Query(run, audit, topic.latest, bound, say).run()
    clock.lap("query")
    warming.join()
    _describe(run, audit, recovered, record)
    record.update(bounded_by=bound.reached, waiting=_waiting(topic.latest, record) if bound.reached else 0)
    failpoint.at("checks")
    record["checks"] = _judge(run, audit, record)
    failpoint.at("judged")
    clock.lap("checks")
    return bound


def _settled(spec: Pipeline, paths: Paths, topic: TopicState, say: Callable[[str], None], record: dict[str, Any]) -> Identity:
    """The checkpoint's identity, once spec, topic and table are found to belong to it."""
    for line in warned(spec, paths):
        say(f"{spec.name}: {line}")
    identity, gone = settle(spec, paths, topic), lost(paths, topic)
    if gone:
        say(f"{spec.name}: goes on without what Kafka's retention removed unread, as the spec says: {in_words(gone)}")
        record["lost"] = {str(partition): span for partition, span in gone.items()}
    table.refuse_replaced(paths.table, identity.table_id, read_cursor(paths.cursor).table_version)
    table.refuse_ahead(paths.table, identity.owner(spec.name), Checkpoint(paths.checkpoint))
    return identity


def _describe(run: Run, audit: Audit, recovered: tuple[int, ...], record: dict[str, Any]) -> None:
    record["seconds"]["audit"] = round(audit.seconds, 3)  # within recover and query: it works while the query does
    committed = run.checkpoint.committed()
    before = audit.cursor.judged_table_version
    record.update(
        generation=run.identity.generation, batches=tuple(audit.accounts), recovered=recovered, account=audit.total,
        state=audit.cursor.state.model_copy(update={"rows_before": audit.rows_before}),
        table_version_before=before, table_version=table.version(run.paths.table),
    )
    if committed:
        last = run.checkpoint.batch(committed[-1])
        start = run.checkpoint.batch(min(audit.accounts)).start if audit.accounts else last.end
        record.update(
            offsets_start={str(p): o for p, o in start.items()}, offsets_end={str(p): o for p, o in last.end.items()},
            watermark=last.watermark, open_until=_open_until(run.spec, audit),
        )


def _open_until(spec: Pipeline, audit: Audit) -> datetime | None:
    """The watermark at which the last open window closes."""
    windows = [step.window for step in spec.steps if isinstance(step, Aggregate) and step.window]
    newest = audit.cursor.last_event_time
    return windows[-1].last_end(newest) if windows and newest and audit.cursor.state.open else None


def _waiting(target: dict[int, int], record: dict[str, Any]) -> int:
    done: dict[str, int] = record.get("offsets_end", {})
    return sum(end - done.get(str(partition), 0) for partition, end in target.items())


def _judge(run: Run, audit: Audit, record: dict[str, Any]) -> tuple[Any, ...]:
    """Judge, write ops.checks, and move the cursor past what passed."""
    metrics = checks.state_metrics(record["account"], record["state"], audit.cursor, _watermark(run, audit, record))
    results = (
        *checks.judge_output(run, record["table_version_before"], record["table_version"]),
        *checks.judge_state(run, metrics),
    )
    now = datetime.now(UTC)
    ops.append(run.paths.root, "checks", [
        {"pipeline": run.spec.name, "run_id": run.run_id, "checked_at": now, "table_version": record["table_version"]}
        | result.model_dump() for result in results
    ])
    if _verdict(results) is None:
        audit.passed(record["table_version"])
    return results


def _watermark(run: Run, audit: Audit, record: dict[str, Any]) -> checks.Watermark:
    newest, watermark, committed = audit.cursor.last_event_time, record.get("watermark"), run.checkpoint.committed()
    lag = (newest - watermark).total_seconds() if newest and watermark else None
    if not committed or run.spec.watermark_delay is None:
        return checks.Watermark(lag, None)
    last = run.checkpoint.batch(committed[-1])
    return checks.Watermark(lag, max(0, run.checkpoint.next_watermark_ms(last.id) - last.watermark_ms) / 1000)


def _verdict(results: tuple[Any, ...]) -> SluiceError | None:
    broken = [result for result in results if result.outcome == "broken"]
    if broken:
        return CheckBroken(f"{broken[0].type} on {broken[0].column} could not be evaluated: {broken[0].observed}",
                           "Correct the check in the pipeline's spec, then run again.")
    failed = [r for r in results if r.outcome == "failed" and r.severity == "critical"]
    if failed:
        names = ", ".join(f"{r.type} on {r.column} ({r.unexpected} rows)" for r in failed)
        return CheckFailed(f"{len(failed)} critical check(s) failed: {names}. Nothing is published.",
                           "See the failing values: sluice show checks.")
    return None


class _Clock:
    """Seconds by phase, into the report."""

    def __init__(self, record: dict[str, Any]) -> None:
        self._laps = record.setdefault("seconds", {})
        self._record = record
        self._at = time.monotonic()

    def lap(self, phase: str) -> None:
        now = time.monotonic()
        self._laps[phase] = round(now - self._at, 3)
        self._at = now
        if phase == "query":
            self._record["query_seconds"] = self._laps[phase]


def _row(report: Report) -> dict[str, Any]:
    """The run as ops.runs has it."""
    account = report.account
    return {
        **report.model_dump(include={"pipeline", "run_id", "kind", "status", "started_at", "ended_at", "query_seconds",
                                     "watermark", "table_version"}),
        **{name: getattr(account, name)
           for name in ("read", "rows_out", "duplicates", "late", "malformed", "premature", "unaccounted")},
        "problem": report.problem.code if report.problem else None, "batches": len(report.batches),
        "state_rows": report.state.rows, "report": report.model_dump_json(),
    }
