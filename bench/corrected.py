"""A correction of a table beside the stream: 100 of its keys, which 20 days of a year have. A
repair reads these days; the figure counts only if the table is then DuckDB's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from bench import oracle
from bench.aircraft import KEYS, Aircraft, tail
from bench.arms import Sluice
from bench.oracle import Wanted
from bench.own_pipelines import PACKAGE
from bench.process import run
from bench.results import Measure
from bench.rounds import Say
from bench.topic import Topic
from local.deliveries import CLEAN, deliver
from local.flights import FlightEvent, flight_events_many
from spark_jobs.launch import submit
from spark_jobs.messages.job import Stage
from spark_jobs.messages.report import Report, read_report
from spark_jobs.messages.request import Request
from spark_jobs.registry import find as registry
from spark_jobs.repair.find.plan import RepairPlan
from spark_jobs.repair.planner import plan_repair
from spark_jobs.repair.swap import swap
from spark_jobs.settings.installation import Settings
from spark_jobs.storage.root.paths import Paths

PIPELINE, WHO = "seats_by_day", "the bench"
CORRECTED, DAYS, EVERY = 100, 365, 18
"""So many keys are corrected; of so many days each 18th has them."""
HAVING: Final = len(range(0, DAYS, EVERY))
FIRST: Final = datetime(2013, 1, 1, tzinfo=UTC)


def measures(
    home: Path, at: Settings, say: Say, topic: Topic, aircraft: Aircraft, records: int
) -> list[Measure]:
    """A year of so many records."""
    home.mkdir()
    arm = Sluice(home / "sluice", topic.brokers, at._replace(pipelines=PACKAGE), pipeline=PIPELINE)
    each = max(2 * CORRECTED, records // DAYS)
    topic.publish(deliver(year([*flight_events_many(each)]), CLEAN))
    arm.drain("load")
    oracle.hold(arm.table, topic.ledger, "Sluice", wanted(aircraft))
    aircraft.write(CORRECTED)
    topic.publish(deliver(_day(DAYS, [*flight_events_many(1)]), CLEAN))
    arm.drain("corrected")
    plan, report = _repaired(arm, home)
    oracle.hold(arm.table, topic.ledger, "Sluice, repaired", wanted(aircraft))
    days = sum((span.end - span.start) / timedelta(days=1) for span in plan.spans)
    read = report.account.read
    say(
        f"{CORRECTED} keys corrected: {days:g} of {DAYS} days computed again, {read:,} of "
        f"{topic.sent:,} records read; its rows are DuckDB's"
    )
    work = f"{CORRECTED} keys of {topic.sent:,} records corrected, in {HAVING} of {DAYS} days"
    return [
        Measure.limit(f"{work}: days computed again", HAVING, [days], ""),
        Measure.share(f"{work}: records read", 0.2, [read / topic.sent]),
    ]


def wanted(aircraft: Aircraft) -> Wanted:
    """Of seats_by_day."""
    return Wanted(
        "window_start, window_end, tail_number, flights, seats",
        f"""
        with days as (
        select time_bucket(interval 1 day, event_time) as window_start,
            window_start + interval 1 day as window_end, sent.tail_number, count(*) as flights,
            sum(seats)::bigint as seats
        from sent left join read_parquet('{aircraft.file}') aircraft
            on aircraft.tail_number = sent.tail_number
            and (valid_from is null or valid_from <= event_time)
            and (valid_to is null or event_time < valid_to)
        group by all
        )
        select * from days
        where window_end <= (select max(event_time) - interval 2 hours from sent)
        """,
        "select *",
    )


def year(flights: Sequence[FlightEvent]) -> Iterator[FlightEvent]:
    """These flights on each day."""
    for day in range(DAYS):
        yield from _day(day, flights)


def _day(day: int, flights: Sequence[FlightEvent]) -> Iterator[FlightEvent]:
    """These flights on a day, the first 100 by the corrected aircraft if the day has them."""
    for number, flight in enumerate(flights):
        has = number < CORRECTED and day % EVERY == 0
        at = FIRST + timedelta(days=day, seconds=86_000 * number // len(flights))
        yield replace(
            flight,
            event_id=f"{day}-{number}",
            event_time=at,
            scheduled_time=at,
            tail_number=tail(number if has else CORRECTED + number % (KEYS - CORRECTED)),
        )


def _repaired(arm: Sluice, home: Path) -> tuple[RepairPlan, Report]:
    """By a process of its own, as Airflow does it."""
    spec, path = registry.load(PIPELINE), home / "repair.json"
    paths = Paths(arm.settings.root, spec)
    plan = plan_repair(spec, arm.settings, Request(kind="repair", who=WHO))
    plan.store(paths)
    job = Stage(
        pipeline=PIPELINE,
        kind=plan.kind,
        repair_id=plan.repair_id,
        report=str(path),
        run_id="repair",
    )
    words = submit.command(arm.settings, job, plan.offsets)
    run(words, submit.environment(arm.settings), home / "repair.log", home)
    swap(spec, arm.settings.root, plan.repair_id, WHO)
    return plan, read_report(path)
