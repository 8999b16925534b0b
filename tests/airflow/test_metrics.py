"""Metrics of runs, as a real StatsD server receives them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.configuration import conf
from airflow.sdk.observability.metrics import stats_utils
from airflow.sdk.observability.stats import Stats

from sluice_airflow import metrics
from spark_jobs.errors import CheckFailed, SparkFailed
from spark_jobs.messages.event import Event
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.report import Problem, Report
from tests.airflow.reports import NOON, check, report
from tests.harness.statsd import Statsd, statsd

REPO = Path(__file__).parents[2]
PIPELINE = "sales_hourly"


@pytest.fixture
def server() -> Iterator[Statsd]:
    with statsd() as found:
        yield found


def lines(server: Statsd) -> dict[str, str]:
    """Name -> value and type; each came once."""
    found = server.lines()
    assert all(len(values) == 1 for values in found.values()), found
    return {name: value for name, [value] in found.items()}


def begin(factory: Callable[[], Any]):
    """As each documented version's task runner has it."""
    names = {"export_legacy_names": conf.getboolean("metrics", "legacy_names_on", fallback=True)}
    asked = signature(Stats.initialize).parameters
    Stats.initialize(factory=factory, **{each: names[each] for each in names if each in asked})


@contextmanager
def sending(patch: pytest.MonkeyPatch, **options: object) -> Iterator[None]:
    """As Airflow's task runner begins, with these options of `[metrics]`."""
    for name, value in options.items():
        patch.setenv(f"AIRFLOW__METRICS__{name.upper()}", str(value))
    given = [Stats] if signature(stats_utils.get_stats_factory).parameters else []
    factory, made = stats_utils.get_stats_factory(*given), list[Any]()

    def kept() -> Any:
        made.append(factory())
        return made[-1]

    begin(kept)
    try:
        yield
    finally:
        for backend in made:
            if hasattr(backend, "statsd"):
                backend.statsd.close()
        begin(stats_utils.NoStatsLogger)


@pytest.fixture
def plain(server, monkeypatch) -> Iterator[Statsd]:
    with sending(monkeypatch, statsd_on=True, statsd_port=server.port):
        yield server


def event(**changes: Any) -> Event:
    return Event(
        **{
            "number": 3, "table": "/t", "pipeline": PIPELINE, "run_id": "r", "generation": "g",
            "table_version": 7, "table_version_before": 5, "account": Account(rows_out=4),
            "watermark": None, "offsets_end": {},
        }
        | changes
    )  # fmt: skip


def test_a_drain_sends_its_account_its_state_and_its_times_once(plain):
    metrics.of_run(report(None, check(), check("failed", "state"), waiting=5))
    drain = f"airflow.sluice.{PIPELINE}.drain"
    assert lines(plain) == {
        f"{drain}.{name}": value
        for name, value in {
            "runs.succeeded": "1|c", "read": "12|c", "accepted": "6|c", "filtered": "0|c",
            "late": "3|c", "quarantined.malformed": "1|c", "quarantined.premature": "2|c",
            "duplicates": "0|c", "unaccounted": "0|c", "rows_out": "4|c", "checks.passed": "1|c",
            "checks.failed": "1|c", "checks.broken": "0|c", "state_rows": "7|g",
            "state_bytes": "900|g", "watermark_lag": "3620.0|g", "waiting": "5|g",
            "phase.start": "2500.000000|ms", "phase.query": "6250.000000|ms",
            "run": "20000.000000|ms",
        }.items()
    }  # fmt: skip


def test_a_count_that_is_not_known_is_not_sent_as_0_and_it_is_sent_that_it_is_not_known(plain):
    unknown = Account(read=12, duplicates=None, unaccounted=None)
    metrics.of_run(report(account=unknown))
    found, drain = lines(plain), f"airflow.sluice.{PIPELINE}.drain"
    assert found.keys().isdisjoint({f"{drain}.duplicates", f"{drain}.unaccounted"})
    assert found[f"{drain}.unknown_counts.unaccounted"] == "1|c"
    assert found[f"{drain}.unknown_counts.duplicates"] == "1|c"


def test_where_there_are_tags_the_pipeline_is_one_and_all_have_one_name(server, monkeypatch):
    on = {"statsd_on": True, "statsd_port": server.port, "statsd_influxdb_enabled": True}
    with sending(monkeypatch, **on):
        metrics.of_run(report())
    found = lines(server)
    tags = f"pipeline={PIPELINE},kind=drain"
    assert found[f"airflow.sluice.read,{tags}"] == "12|c"
    assert found[f"airflow.sluice.quarantined,{tags},reason=malformed"] == "1|c"
    assert found[f"airflow.sluice.phase,{tags},phase=query"] == "6250.000000|ms"


def test_opentelemetry_has_them_by_attributes(monkeypatch):
    """Airflow's own logger over OpenTelemetry's SDK, which keeps what it would export."""
    from airflow.sdk._shared.observability.metrics.otel_logger import SafeOtelLogger  # noqa: PLC0415 - heavy, and only here
    from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader  # noqa: PLC0415

    reader = InMemoryMetricReader()
    provider = MeterProvider(metric_readers=[reader])
    monkeypatch.setenv("AIRFLOW__METRICS__OTEL_ON", "True")
    begin(lambda: SafeOtelLogger(provider))
    try:
        metrics.of_run(report())
        found = reader.get_metrics_data()
    finally:
        begin(stats_utils.NoStatsLogger)
        provider.shutdown()
    points = {
        (metric.name, *sorted(dict(point.attributes or {}).values())): point
        for resource in found.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        for point in metric.data.data_points
    }
    assert points["airflow.sluice.read", "drain", PIPELINE].value == 12  # type: ignore[union-attr]
    assert points["airflow.sluice.state_rows", "drain", PIPELINE].value == 7  # type: ignore[union-attr]
    phase = points["airflow.sluice.phase", "drain", "query", PIPELINE]
    assert (phase.sum if hasattr(phase, "sum") else phase.value) == 6250, "3.2 has a gauge"  # type: ignore[union-attr]


def test_a_failed_run_counts_what_it_had_accounted_for_and_a_staging_when_it_is_done(plain):
    died, unjudged = Problem.of(SparkFailed("x")), Problem.of(CheckFailed("x"))
    metrics.of_run(report(died))
    assert lines(plain)[f"airflow.sluice.{PIPELINE}.drain.read"] == "12|c"
    metrics.of_run(report(died, kind="repair"))
    assert lines(plain) == {}, "another try computes all of it again"
    metrics.of_run(report(unjudged, kind="repair"))
    found = lines(plain)
    assert found[f"airflow.sluice.{PIPELINE}.repair.late"] == "3|c"
    assert not [name for name in found if "state" in name or "watermark" in name]


def test_a_run_without_a_batch_says_nothing_of_the_state_that_it_has_not_seen(plain):
    metrics.of_run(
        report(batches=(), account=Account(), state=Report.model_fields["state"].default)
    )
    found = lines(plain)
    assert found[f"airflow.sluice.{PIPELINE}.drain.read"] == "0|c"
    assert f"airflow.sluice.{PIPELINE}.drain.state_rows" not in found


def test_a_watermark_ahead_of_the_clock_is_no_lag(plain):
    metrics.of_run(report(watermark=NOON + timedelta(hours=1)))
    assert lines(plain)[f"airflow.sluice.{PIPELINE}.drain.watermark_lag"] == "0|g"


def test_a_night_of_proofs_sends_how_many_days_are_proved_and_how_many_are_wrong(plain):
    metrics.of_proofs(PIPELINE, 9, 7, 1)
    name = f"airflow.sluice.{PIPELINE}.prove.days"
    assert lines(plain) == {
        f"{name}.published": "9|g",
        f"{name}.proved": "7|g",
        f"{name}.wrong": "1|g",
    }


def test_a_swap_and_a_publication_send_theirs(plain):
    metrics.of_swap(PIPELINE, "backfill", {"added": 6, "removed": 1, "changed": 20, "merged": 26})
    metrics.of_publication(event())
    name = f"airflow.sluice.{PIPELINE}"
    assert lines(plain) == {
        f"{name}.backfill.rows_changed.added": "6|c",
        f"{name}.backfill.rows_changed.removed": "1|c",
        f"{name}.backfill.rows_changed.changed": "20|c",
        f"{name}.backfill.late_merged": "26|c",
        f"{name}.publish.published": "1|c",
        f"{name}.publish.published_version": "7|g",
        f"{name}.publish.published_rows": "4|c",
    }


def test_nothing_is_sent_where_metrics_are_off(server, monkeypatch):
    with sending(monkeypatch, statsd_port=server.port):
        metrics.of_run(report())
    assert lines(server) == {}


def test_a_library_of_metrics_that_fails_does_not_fail_the_run(plain, monkeypatch, caplog):
    def fails(*_: object, **__: object):
        raise ValueError("count must be a positive value.")

    monkeypatch.setattr(Stats, "incr", fails)
    metrics.of_run(report())
    assert "no metrics were sent: ValueError: count must be" in caplog.text


def test_the_document_has_each_metric_with_its_type_and_unit():
    page = (REPO / "docs" / "seeing.md").read_text().partition("\n## Metrics\n")[2]
    section = page.partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    assert rows == [
        f"| `{name}` | {metric.type} | {metric.unit} | {f'`{metric.by}`' if metric.by else ''} "
        f"| {metric.about} |"
        for name, metric in metrics.METRICS.items()
    ]


def test_each_metric_of_the_table_is_sent_by_something(plain):
    metrics.of_run(report(None, check(), account=Account(duplicates=None)))
    metrics.of_swap(PIPELINE, "repair", {"added": 1, "removed": 1, "changed": 1, "merged": 1})
    metrics.of_publication(event())
    metrics.of_proofs(PIPELINE, 9, 7, 1)
    sent = {name.split(".")[4] for name in lines(plain)} | {"duplicates"}
    assert sent == set(metrics.METRICS)
