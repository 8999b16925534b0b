"""A drain: resume the live checkpoint, consume what Kafka holds now, account for it, judge it, report."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from types import FrameType
from typing import Any

from pyspark.sql import functions as F

from spark_jobs import ops
from spark_jobs.contract.errors import CheckBroken, CheckFailed, SluiceError, Stopped, unexpected
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.report import Problem, Report, StateUse
from spark_jobs.contract.settings import Settings
from spark_jobs.contract.spec import Pipeline
from spark_jobs.identity import settle
from spark_jobs.kafka import topic_state
from spark_jobs.lease import lease
from spark_jobs.run import Run
from spark_jobs.session import session
from spark_jobs.stages import checks, fate, sink, source, table
from spark_jobs.stages.audit import Audit
from spark_jobs.stages.bound import Bound
from spark_jobs.stages.progress import Follower
from spark_jobs.stages.suspects import Suspects
from spark_jobs.stateful.chain import from_state_on
from spark_jobs.watch import Watch

POLL_SECONDS = 0.2
ASKED = "SIGTERM or Ctrl-C"


def drain(spec: Pipeline, settings: Settings, run_id: str, say: Callable[[str], None]) -> Report:
    """Run it. Always returns a report, also of a failure; `say` gets a line of progress at a time."""
    record: dict[str, Any] = {"pipeline": spec.name, "run_id": run_id, "started_at": datetime.now(UTC)}
    problem: SluiceError | None
    try:
        _run(spec, settings, run_id, say, record)
        problem = _verdict(record["checks"])
    except SluiceError as error:
        problem = error
    except Exception as error:  # noqa: BLE001 - whatever Spark, Delta or the disk threw, the report must say so
        problem = unexpected(error)
    report = Report(
        **record, ended_at=datetime.now(UTC), status="failed" if problem else "succeeded",
        problem=Problem.of(problem) if problem else None,
    )
    if record.get("generation"):
        ops.append(Paths(settings.root, spec).root, "runs", [_row(report)])
    return report


def _run(spec: Pipeline, settings: Settings, run_id: str, say: Callable[[str], None], record: dict[str, Any]) -> None:
    clock = _Clock(record)
    paths = Paths(settings.root, spec)
    paths.ensure_writable()
    with lease(paths.lease, run_id):
        topic = topic_state(settings.kafka, spec.topic.name)
        identity = settle(spec, paths, topic)
        identity.write(paths.identity)
        warming = checks.warm_up()
        spark = session(spec.name, spec.state)
        run = Run(spec, settings, paths, identity, run_id, spark)
        clock.lap("start")
        audit = Audit(run)
        audit.catch_up({}, ended=True)
        recovered = tuple(audit.accounts)
        if recovered:
            say(f"{spec.name}: completed the account of batches {list(recovered)}, which an earlier run had left")
        clock.lap("recover")
        say(f"{spec.name}: Spark is up; reading topic {spec.topic.name} to its end, batch by batch")
        bound = Bound(spec)
        _consume(run, audit, topic.latest, say, bound)
        clock.lap("query")
        warming.join()
        _describe(run, audit, recovered, record)
        record.update(bounded_by=bound.reached, waiting=_waiting(topic.latest, record) if bound.reached else 0)
        record["checks"] = _judge(run, audit, record)
        clock.lap("checks")
    if bound.reached == ASKED:
        raise Stopped("the run was asked to stop before Kafka was drained.", "The next run goes on from there.")


def _consume(run: Run, audit: Audit, target: dict[int, int], say: Callable[[str], None], bound: Bound) -> None:
    """Run the query to its end or its bound, auditing as it goes."""
    judged = fate.judged(source.follow(run.spark, run.spec, run.settings.kafka), run.spec)
    audit.suspects = suspects = _suspects(run, target)
    judged = judged.withColumn("suspect", suspects.bit(run.spec))
    counted = judged.observe("fate", *fate.counts(run.spec), suspects.bitmap(F.col("suspect")))
    entered = counted.where(F.col("fate") == "entered")
    rows = from_state_on(entered.select(*run.spec.topic.columns), run.spec)
    version = table.ensure(run.paths.table, rows.schema, run.spec, run.identity.generation)
    if audit.cursor.judged_table_version is None:
        audit.cursor = audit.cursor.model_copy(update={"judged_table_version": version})
        audit.cursor.write(run.paths.cursor)
    watch = Watch(run, target, say)
    with _stoppable() as asked:
        query = sink.start(rows, run, bound)
        follower = Follower(query)
        while not query.awaitTermination(POLL_SECONDS) and not bound.reached:  # type: ignore[arg-type]  # it takes fractions
            _keep_up(follower, audit, watch, ended=False)
            if asked:
                bound.stop(ASKED)
        query.stop()
        _keep_up(follower, audit, watch, ended=True)


def _suspects(run: Run, target: dict[int, int]) -> Suspects:
    committed = run.checkpoint.committed()
    if not committed:
        return Suspects.among(target, 0)
    last = run.checkpoint.batch(committed[-1])
    return Suspects.among({p: end - last.end.get(p, 0) for p, end in target.items()}, last.watermark_ms)


def _keep_up(follower: Follower, audit: Audit, watch: Watch, *, ended: bool) -> None:
    progress = follower.progress()
    watch.show(progress)
    audit.catch_up(progress, ended=ended)


def _describe(run: Run, audit: Audit, recovered: tuple[int, ...], record: dict[str, Any]) -> None:
    record["seconds"]["audit"] = round(audit.seconds, 3)  # within recover and query: it works while the query does
    committed = run.checkpoint.committed()
    before = audit.cursor.judged_table_version
    record.update(
        generation=run.identity.generation, batches=tuple(audit.accounts), recovered=recovered, account=audit.total,
        state=StateUse(rows=audit.cursor.state.rows, bytes=audit.cursor.state.bytes, rows_before=audit.rows_before),
        table_version_before=before, table_version=table.version(run.paths.table),
    )
    if committed:
        last = run.checkpoint.batch(committed[-1])
        start = run.checkpoint.batch(min(audit.accounts)).start if audit.accounts else last.end
        record.update(
            offsets_start={str(p): o for p, o in start.items()}, offsets_end={str(p): o for p, o in last.end.items()},
            watermark=last.watermark,
        )


def _waiting(target: dict[int, int], record: dict[str, Any]) -> int:
    done: dict[str, int] = record.get("offsets_end", {})
    return sum(end - done.get(str(partition), 0) for partition, end in target.items())


def _judge(run: Run, audit: Audit, record: dict[str, Any]) -> tuple[Any, ...]:
    """Judge, write ops.checks, and move the cursor past what passed."""
    newest, watermark = audit.cursor.last_event_time, record.get("watermark")
    lag = (newest - watermark).total_seconds() if newest and watermark else None
    metrics = checks.state_metrics(record["account"], record["state"], lag)
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
        passed = {"judged": audit.cursor.audited, "judged_table_version": record["table_version"]}
        audit.cursor = audit.cursor.model_copy(update=passed)
        audit.cursor.write(run.paths.cursor)
    return results


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


@contextmanager
def _stoppable() -> Iterator[list[int]]:
    """Within the block, SIGTERM and Ctrl-C are noted in the list instead of killing the process."""
    asked: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        asked.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
