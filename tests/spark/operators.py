"""A pipeline for each form of a stateful operator, with its oracle: SQL over the ledger."""

from importlib import import_module
from typing import Any, NamedTuple

from spark_jobs.spec import Aggregate, Deduplicate, Pipeline, Session, State, Transform, Tumbling
from spark_jobs.topics.flights import FLIGHTS

SUMS = {"flights": "count(*)", "miles": "sum(distance_miles)", "worst": "max(delay_minutes)"}
SUMS_SQL = "count(*) AS flights, sum(distance_miles)::BIGINT AS miles, max(delay_minutes) AS worst"
ON_TIME = "SELECT * FROM records WHERE missed_until IS NULL"
EVENTS = f"SELECT DISTINCT ON (event_id) * FROM ({ON_TIME})"
BUDGET = State(budget_rows=1_000_000)


class Operator(NamedTuple):
    """A form of an operator. `sql` may use $watermark, the one that all that was read leads to."""

    spec: Pipeline
    sql: str
    enters: str = "true"
    """SQL: which good records reach the first stateful step, and so move the watermark."""
    until: str | None = "event_time"
    """SQL: the moment that the watermark must not have reached, or the record is late; or None."""


def _pipeline(name: str, *steps: Any, **changes: Any) -> Pipeline:
    usual = {
        "name": name,
        "about": name,
        "topic": FLIGHTS,
        "watermark_delay": "2 hours",
        "steps": steps,
    }
    return Pipeline(**usual | changes)


def _example(name: str, sql: str, **lateness: Any) -> Operator:
    return Operator(import_module(f"tests.pipelines.{name}.spec").SPEC, sql, **lateness)


ALL = (
    Operator(_pipeline("whole_rows", Deduplicate(keys=("*",))), EVENTS),
    Operator(_pipeline("event_time_key", Deduplicate(keys=("event_id", "event_time"), scope="event_time")), EVENTS),
    Operator(
        _pipeline(
            "for_ever",
            Deduplicate(keys=("event_id",), scope="for_ever"),
            watermark_delay=None,
            state=BUDGET,
        ),
        "SELECT DISTINCT ON (event_id) * FROM records",
        until=None,
    ),
    Operator(
        _pipeline(
            "session_own_gap",
            Deduplicate(keys=("event_id",)),
            Aggregate(
                window=Session(
                    gap_sql="CASE WHEN origin = 'EWR' THEN '10 minutes' ELSE '30 minutes' END"
                ),
                keys=("origin", "carrier"),
                measures=SUMS,
                counts="flights",
            ),
        ),
        f"""WITH gaps AS (
                SELECT *, CASE WHEN origin = 'EWR' THEN INTERVAL 10 MINUTE ELSE INTERVAL 30 MINUTE END AS gap FROM ({EVENTS})),
            marked AS (
                SELECT *, event_time > lag(event_time + gap) OVER w AS opens FROM gaps
                WINDOW w AS (PARTITION BY carrier, origin ORDER BY event_time, event_id)),
            numbered AS (SELECT *, count_if(coalesce(opens, false)) OVER w AS session FROM marked
                WINDOW w AS (PARTITION BY carrier, origin ORDER BY event_time, event_id))
            SELECT min(event_time) AS window_start, max(event_time + gap) AS window_end, carrier, origin, {SUMS_SQL}
            FROM numbered GROUP BY carrier, origin, session HAVING max(event_time + gap) <= $watermark""",
    ),
    Operator(
        _pipeline(
            "update_window",
            Transform(where="event_type = 'departure'"),
            Aggregate(
                window=Tumbling(size="3 hours"),
                keys=("origin", "tail_number"),
                measures=SUMS,
                counts="flights",
            ),
            output_mode="update",
        ),
        f"""SELECT time_bucket(INTERVAL 3 HOUR, event_time) AS window_start, window_start + INTERVAL 3 HOUR AS window_end,
                   origin, tail_number, {SUMS_SQL}
            FROM ({ON_TIME}) WHERE event_type = 'departure' GROUP BY window_start, origin, tail_number""",
        enters="event_type = 'departure'",
        until="time_bucket(INTERVAL 3 HOUR, event_time) + INTERVAL 3 HOUR",
    ),
    Operator(
        _pipeline(
            "complete_windows",
            Aggregate(window=Tumbling(size="1 day"), measures=SUMS, counts="flights"),
            output_mode="complete",
            state=BUDGET,
        ),
        f"""SELECT time_bucket(INTERVAL 1 DAY, event_time) AS window_start, window_start + INTERVAL 1 DAY AS window_end,
                   {SUMS_SQL}
            FROM records GROUP BY window_start""",
        until=None,
    ),
)  # fmt: skip

EXAMPLES = (
    _example("carrier_ranking", f"SELECT carrier, {SUMS_SQL} FROM records GROUP BY carrier", until=None),
    _example("airport_delays", f"SELECT origin, {SUMS_SQL} FROM records GROUP BY origin", until=None),
    _example(
        "rush_hours",
        f"""WITH marked AS (
                SELECT *, event_time > lag(event_time) OVER w + INTERVAL 15 MINUTE AS opens FROM ({EVENTS})
                WINDOW w AS (PARTITION BY carrier, origin ORDER BY event_time, event_id)),
            numbered AS (SELECT *, count_if(coalesce(opens, false)) OVER w AS session FROM marked
                WINDOW w AS (PARTITION BY carrier, origin ORDER BY event_time, event_id))
            SELECT min(event_time) AS window_start, max(event_time) + INTERVAL 15 MINUTE AS window_end, carrier, origin,
                   {SUMS_SQL}
            FROM numbered GROUP BY carrier, origin, session HAVING max(event_time) + INTERVAL 15 MINUTE <= $watermark""",
    ),
    _example(
        "busy_runways",
        f"""SELECT window_start, window_start + INTERVAL 1 HOUR AS window_end, carrier, {SUMS_SQL}
            FROM records, LATERAL (
                SELECT unnest([time_bucket(INTERVAL 20 MINUTE, event_time) - k * INTERVAL 20 MINUTE FOR k IN [0, 1, 2]])
                       AS window_start)
            WHERE window_start + INTERVAL 1 HOUR > event_time AND window_start + INTERVAL 1 HOUR <= $watermark
              AND (missed_until IS NULL OR window_start + INTERVAL 1 HOUR > missed_until)
            GROUP BY window_start, carrier""",
        until="time_bucket(INTERVAL 20 MINUTE, event_time) + INTERVAL 20 MINUTE",
    ),
    _example(
        "carrier_totals",
        """
        SELECT carrier, count(*) AS events, sum(distance_miles)::BIGINT AS miles FROM records GROUP BY carrier""",
        until=None,
    ),
    _example(
        "aircraft_tours",
        f"""
        WITH marked AS (
            SELECT *, event_time > lag(event_time) OVER w + INTERVAL 6 HOUR AS opens
            FROM ({EVENTS}) WHERE tail_number IS NOT NULL
            WINDOW w AS (PARTITION BY tail_number ORDER BY event_time, event_id)),
        numbered AS (SELECT *, count_if(coalesce(opens, false)) OVER w AS tour FROM marked
            WINDOW w AS (PARTITION BY tail_number ORDER BY event_time, event_id))
        SELECT tail_number, min(event_time) AS began_at, max(event_time) AS ended_at, count(*) AS events
        FROM numbered GROUP BY tail_number, tour HAVING max(event_time) + INTERVAL 6 HOUR < $watermark""",
        enters="tail_number IS NOT NULL",
    ),
    _example(
        "airport_medians",
        f"""
        SELECT origin, event_time::DATE AS day, count(*) AS events, median(delay_minutes)::DOUBLE AS median_delay_minutes
        FROM ({ON_TIME}) WHERE delay_minutes IS NOT NULL
        GROUP BY origin, day HAVING event_time::DATE + INTERVAL 1 DAY <= $watermark""",
        enters="delay_minutes IS NOT NULL",
    ),
    _example(
        "carrier_days",
        f"""
        SELECT carrier, strftime(event_time, '%Y-%m-%d') AS day, count(*) AS events, sum(distance_miles)::BIGINT AS miles
        FROM ({ON_TIME}) GROUP BY carrier, day HAVING max(event_time::DATE) + INTERVAL 1 DAY <= $watermark""",
    ),
    _example("first_flights", "SELECT DISTINCT tail_number FROM records WHERE tail_number IS NOT NULL", until=None),
    _example(
        "daily_flights",
        f"""
        WITH hours AS (
            SELECT time_bucket(INTERVAL 1 HOUR, event_time) AS hour, origin, count(*) AS events FROM ({EVENTS})
            GROUP BY hour, origin HAVING count(*) > 1)
        SELECT time_bucket(INTERVAL 1 DAY, hour) AS window_start, window_start + INTERVAL 1 DAY AS window_end, origin,
               count(*) AS hours, sum(events)::BIGINT AS events, max(events) AS most
        FROM hours GROUP BY window_start, origin HAVING time_bucket(INTERVAL 1 DAY, hour) + INTERVAL 1 DAY <= $watermark""",
    ),
    _example("airports_served", f"SELECT event_id, unnest([origin, destination]) AS airport FROM ({EVENTS})"),
    _example(
        "busy_days",
        f"""
        SELECT time_bucket(INTERVAL 1 DAY, event_time) AS window_start, window_start + INTERVAL 1 DAY AS window_end, origin,
               count(DISTINCT tail_number) AS aircraft
        FROM ({ON_TIME}) WHERE tail_number IS NOT NULL
        GROUP BY window_start, origin HAVING time_bucket(INTERVAL 1 DAY, event_time) + INTERVAL 1 DAY <= $watermark""",
        enters="tail_number IS NOT NULL",
    ),
)  # fmt: skip
"""Pipelines of tests/pipelines, and what each must give."""
ALL += EXAMPLES
BY_THE_CLOCK = _example(
    "quiet_gates",
    "SELECT origin, count(*) AS events FROM records GROUP BY origin, delivery",
    until=None,
)
"""Where each delivery is drained, and again when its airports have been quiet."""


def named(name: str) -> Operator:
    """The form of that pipeline."""
    return next(operator for operator in (*ALL, BY_THE_CLOCK) if operator.spec.name == name)
