"""Metrics of runs, by Airflow's own: StatsD, Datadog or OpenTelemetry, whatever `[metrics]` names;
none where it names nothing.

Counters of a drain are of the batches that the run accounted for, and each batch is in one run's
account: a retry adds nothing twice. A repair counts when its staging has succeeded.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from spark_jobs.messages.kind import KINDS
from spark_jobs.messages.offset_account import UNKNOWABLE
from spark_jobs.messages.verdict import CHECK_CODES

if TYPE_CHECKING:
    from spark_jobs.messages.event import Event
    from spark_jobs.messages.report import Report

PREFIX = "sluice"
PUBLISH = "publish"
"""The kind of run of what publish counts."""
PROVE = "prove"
"""Likewise of what is counted before a night's proofs."""
log = logging.getLogger(__name__)


class Metric(NamedTuple):
    """One metric: its type, its unit, and what it says."""

    type: Literal["counter", "gauge", "timer"]
    unit: str
    about: str
    by: str = ""
    """The tag by which it is split, beside pipeline and kind."""


METRICS: dict[str, Metric] = {
    "runs": Metric("counter", "runs", "runs that left a report", "status"),
    "read": Metric("counter", "records", "records that Spark read"),
    "accepted": Metric("counter", "records", "records that entered the first stateful step"),
    "filtered": Metric("counter", "records", "records that a Transform removed before it"),
    "late": Metric(
        "counter", "records", "records behind the watermark; of a repair, late records that it took"
    ),
    "quarantined": Metric("counter", "records", "records in ops.quarantine", "reason"),
    "duplicates": Metric("counter", "records", "accepted records that a Deduplicate dropped"),
    "unaccounted": Metric("counter", "mismatches", "mismatches of the account; must be 0"),
    "unknown_counts": Metric(
        "counter", "runs", "runs that do not know this count, which is not sent then", "count"
    ),
    "rows_out": Metric(
        "counter", "rows", "rows written to the table; of a repair, rows of the ranges as computed"
    ),
    "checks": Metric("counter", "checks", "checks that were evaluated", "outcome"),
    "state_rows": Metric("gauge", "rows", "rows in all state stores at the end of the run"),
    "state_bytes": Metric("gauge", "bytes", "memory and files of the state stores"),
    "watermark_lag": Metric(
        "gauge", "seconds", "end of the run minus the watermark; 0 if that is ahead"
    ),
    "waiting": Metric("gauge", "offsets", "offsets that a limit left for the next run"),
    "phase": Metric("timer", "milliseconds", "the time that a phase of the run took", "phase"),
    "run": Metric("timer", "milliseconds", "the time from the run's begin to its end"),
    "rows_changed": Metric(
        "counter", "rows", "rows that the commit of a repair added, removed or changed", "change"
    ),
    "late_merged": Metric("counter", "records", "late records that are in the table since"),
    "published": Metric("counter", "versions", "table versions that consumers were told of"),
    "published_version": Metric("gauge", "version", "the newest of them"),
    "published_rows": Metric("counter", "rows", "rows written since the version told before"),
    "days": Metric(
        "gauge",
        "days",
        "published days in which nothing waits; of them the proved, and the wrong",
        "proof",
    ),
}
"""Name -> metric. docs/seeing.md has the same table."""

Value = tuple[str, str, float]
"""A metric's name, the value of its tag `by` (empty where it has none), and the number."""


def of_run(report: Report) -> None:
    """The metrics of a drain, also of one that failed in the middle: no other run counts its
    batches. Of a staging only if it did its work: another try computes all of it again.
    """
    finished = report.problem is None or report.problem.code in CHECK_CODES
    if KINDS[report.kind].moves_state or finished:
        _send(report.pipeline, report.kind, _of_report(report))


def of_swap(pipeline: str, kind: str, done: dict[str, Any]) -> None:
    """The metrics of a repair's commit. `done` is what the swap has returned; a swap that completes
    the record of an earlier try counts, since that try was killed before it came here.
    """
    rows = [("rows_changed", name, done[name]) for name in ("added", "removed", "changed")]
    _send(pipeline, kind, iter([*rows, ("late_merged", "", done["merged"])]))


def of_publication(event: Event) -> None:
    """The metrics of a version that consumers are told of."""
    values: list[Value] = [
        ("published", "", 1),
        ("published_version", "", event.table_version),
        ("published_rows", "", event.account.rows_out),
    ]
    _send(event.pipeline, PUBLISH, iter(values))


def of_proofs(pipeline: str, published: int, proved: int, wrong: int) -> None:
    """The metrics of a pipeline's days, before a night's proofs."""
    values = [("published", published), ("proved", proved), ("wrong", wrong)]
    _send(pipeline, PROVE, (("days", name, count) for name, count in values))


def _of_report(report: Report) -> Iterator[Value]:
    account, state = report.account, report.state
    yield "runs", report.status, 1
    for name in ("read", "accepted", "filtered", "late", "duplicates", "unaccounted", "rows_out"):
        if (count := getattr(account, name)) is not None:
            yield name, "", count
    for name in sorted(UNKNOWABLE):
        if getattr(account, name) is None:
            yield "unknown_counts", name, 1
    for reason in ("malformed", "premature"):
        yield "quarantined", reason, getattr(account, reason)
    for outcome in ("passed", "failed", "broken"):
        yield "checks", outcome, sum(check.outcome == outcome for check in report.checks)
    for phase, seconds in report.seconds.items():
        yield "phase", phase, seconds * 1000
    yield "run", "", (report.ended_at - report.started_at).total_seconds() * 1000
    if not (KINDS[report.kind].moves_state and report.batches):
        return  # a repair leaves the state alone, and a run without a batch did not see it
    yield "state_rows", "", state.rows
    yield "state_bytes", "", state.bytes
    yield "waiting", "", report.waiting
    if report.watermark is not None:
        lag = (report.ended_at - report.watermark).total_seconds()
        yield "watermark_lag", "", max(lag, 0)


def _send(pipeline: str, kind: str, values: Iterator[Value]) -> None:
    """Whatever is wrong with metrics, the run goes on."""
    try:
        # Airflow 3.2 has this class alone, 3.3 functions beside it.
        from airflow.sdk.observability.stats import Stats  # noqa: PLC0415 - parsing a DAG sends none

        tagged = _tagged()
        for name, part, value in values:
            metric = METRICS[name]
            tags = {"pipeline": pipeline, "kind": kind} | ({metric.by: part} if part else {})
            words = (name,) if tagged else (pipeline, kind, name, part)
            stat = ".".join(filter(None, (PREFIX, *words)))
            if metric.type == "counter":
                Stats.incr(stat, int(value), tags=tags)
            elif metric.type == "gauge":
                Stats.gauge(stat, value, tags=tags)
            else:
                Stats.timing(stat, value, tags=tags)
    except Exception as error:  # noqa: BLE001 - whatever a library of metrics raises
        log.warning("no metrics were sent: %s: %s", type(error).__name__, error)


def _tagged() -> bool:
    """Plain StatsD has no tags, so the names say it all: else the gauges of two pipelines would be
    one.
    """
    from airflow.sdk.configuration import conf  # noqa: PLC0415 - as above

    def on(name: str) -> bool:
        return bool(conf.getboolean("metrics", name, fallback=False))

    plain = on("statsd_on") and not on("statsd_influxdb_enabled")
    return on("statsd_datadog_enabled") or not plain
