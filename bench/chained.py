"""A table as a topic: hours of what another pipeline published, against a stream over the same
Delta table by hand (delta_by_hand.py), and against Flink over lines
(flink_sql/table.sql).
"""

from __future__ import annotations

from pathlib import Path

from deltalake import DeltaTable

from bench.arms import Arm, FlinkSql, Script, Sluice, flink_jar
from bench.lines import write_lines
from bench.own_pipelines import PACKAGE
from bench.published import Published
from bench.results import Measure
from bench.rounds import Rounds, Say, Target, costs
from bench.topic import Topic
from spark_jobs.settings.installation import Settings

SLUICE, RIVAL = "Sluice", "Delta stream by hand"
FLINK = "Flink over lines"


def measures(home: Path, at: Settings, say: Say, topic: Topic, later: int) -> list[Measure]:
    """What the topic holds, and so many deliveries: published by the first pipeline, and drained by
    the second.
    """
    home.mkdir()
    turns, brokers = Rounds(topic, say), topic.brokers
    root, own = home / "sluice", at._replace(pipelines=PACKAGE)
    first = Published(root, brokers, own, "the first pipeline", pipeline="departures")
    loaded = _rows(first, "first-load")
    arms: dict[str, Arm] = {
        SLUICE: Sluice(root, brokers, own, SLUICE, pipeline="departures_by_hour"),
        RIVAL: Script(
            home / "script", brokers, at, RIVAL, "delta_by_hand.py", source=str(first.table)
        ),
    }
    flink = {FLINK: _flink(home, at, brokers, first.table)} if flink_jar() else {}
    loads, rounds, came = [turns.round(arms | flink, "load", loaded, turn=0)], [], 0
    for number in range(1, later + 1):
        topic.publish_next()
        came = _rows(first, f"first-{number}")
        rounds.append(turns.round(arms, f"delivery-{number}", came, turn=number))
    found = costs(
        f"{loaded:,} rows of another pipeline",
        loads,
        SLUICE,
        dict.fromkeys((RIVAL, *flink), Target()),
    )
    if rounds:
        work = f"{later} deliveries of {came:,} rows of another pipeline"
        found += costs(work, rounds, SLUICE, {RIVAL: Target()})
    return found


def _flink(home: Path, at: Settings, brokers: str, table: Path) -> FlinkSql:
    """Its file is written when no clock runs."""
    lines = home / "departures.json"
    query = """
        select event_time, carrier, origin, delay_minutes, cancelled from rows order by event_time
    """
    write_lines(lines, query, DeltaTable(str(table)).to_pyarrow_table())
    return FlinkSql(home / "flink", brokers, at, FLINK, "table", beside=str(lines))


def _rows(first: Published, label: str) -> int:
    """Drain and publish. How many rows that gave."""
    done = first.drain(label)
    assert done.report is not None  # Sluice's arm always has one
    return done.report.account.rows_out or 0
