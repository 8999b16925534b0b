"""What grows, and what that costs a delivery: keys of state, runs, batches in the ops tables, files
of the output table. Each against the same pipeline with little of it, over the same records.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import duckdb
from deltalake import DeltaTable
from deltalake.transaction import AddAction, RemoveAction
from pyarrow import parquet

from bench import hourly, oracle, workload
from bench.arms import Arm, Sluice
from bench.history import History
from bench.oracle import DELAYS, Wanted
from bench.own_pipelines import PACKAGE, own_pipelines
from bench.results import Measure
from bench.rounds import Round, Rounds, Say, Target, growth
from bench.topic import Topic, running
from bench.warm import Warm
from spark_jobs.messages.report import StateUse
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import Settings

HOURS: Final = (5, 50, 200)
"""Of ids in the state; each has a pipeline in bench/pipelines, and a topic of its own."""
NEAR: Final = 0.05
"""The state has that many keys, give or take this share."""
SIZE: Final = 200
"""Flight events of a run: so few that what a run costs anyway is most of it."""
RUNS, BATCHES, FILES = 60, 5_000, 10_000
TARGET: Final = Target(cpu=1.25)
OLD: Final = f"""
    select timestamptz '1970-01-01 00:00:00+00' + i * interval 1 hour as window_start,
        timestamptz '1970-01-01 01:00:00+00' + i * interval 1 hour as window_end, 'AA' as carrier,
        'JFK' as origin, 1::bigint as flights, 1::double as mean_delay_minutes,
        1::int as max_delay_minutes, 0::bigint as cancellations
    from range({FILES}) as rows(i)
"""
"""Rows of the output table that somebody had written before: a file each."""


class Keys:
    """One number of keys: its topic, and the arm that drains it."""

    def __init__(
        self, home: Path, brokers: str, settings: Settings, hours: int, each: int, say: Say
    ) -> None:
        name = f"keys_of_{hours}_hours"
        spec = registry.load(name)
        delay = spec.watermark_delay
        assert delay
        self.hours, self.count = hours, hours * each
        self.topic = Topic(brokers, home / f"ledger-{hours}", [], spec.topic.name)
        self.arm = f"{self.count:,} keys"
        own = settings._replace(pipelines=PACKAGE)
        self._sluice = Sluice(home / f"keys-{hours}", brokers, own, self.arm, pipeline=name)
        self._turns = Rounds(self.topic, say, oracle.delays(delay))

    def round(self, label: str, records: int, turn: int) -> Round:
        """A drain, over the state that was asked for."""
        done = self._turns.round({self.arm: self._sluice}, label, records, turn=turn)
        report = done[self.arm].report
        assert report is not None  # Sluice's arm always has one
        hold_keys(report.state, self.count)
        return done


def of_keys(home: Path, settings: Settings, say: Say, each: int, rounds: int) -> list[Measure]:
    """So many deliveries of so many departures over each number of keys, which take turns. An hour
    has as many departures as a delivery, and each is the next hour: as many keys come as go.
    """
    home.mkdir()
    with own_pipelines(), running(home, []) as broker:
        sets = [Keys(home, broker.brokers, settings, hours, each, say) for hours in HOURS]
        for first in range(0, HOURS[-1], HOURS[0]):
            hours = range(first, first + HOURS[0])
            records = [record for hour in hours for record in hourly.delivery(hour, each)]
            for keys in sets:
                if first >= HOURS[-1] - keys.hours:
                    keys.topic.publish(records)
        for keys in sets:
            keys.round("load", keys.topic.sent, 0)
        found = []
        for number in range(rounds):
            records = hourly.delivery(HOURS[-1] + number, each)
            done: Round = {}
            first = number % len(sets)
            for keys in (*sets[first:], *sets[:first]):
                keys.topic.publish(records)
                done |= keys.round(f"delivery-{number + 1}", len(records), number)
            found.append(done)
    few = sets[0].arm
    return [
        row
        for keys in sets[1:]
        for row in growth(f"a delivery over {keys.arm}", found, keys.arm, few, TARGET)
    ]


def hold_keys(state: StateUse, count: int) -> None:
    """Raises RuntimeError unless the state has about so many keys: the open windows are none."""
    found = state.rows - state.open
    if abs(found - count) > NEAR * count:
        message = f"not the state that was asked for: {found:,} keys, and not {count:,}"
        raise RuntimeError(message)


class OverFiles(Sluice):
    """Its output table has so many files, of which a drain reads none."""

    wanted: Wanted | None = DELAYS._replace(query=f"{DELAYS.query} union all ({OLD})")

    def litter(self) -> None:
        """Write them, in one commit."""
        table = DeltaTable(str(self.table))
        with duckdb.connect() as db:
            db.execute("set timezone = 'UTC'")
            rows = db.sql(f"select {DELAYS.columns} from ({OLD})").to_arrow_table()
        added: list[AddAction | RemoveAction] = []
        for at in range(FILES):
            path = self.table / f"old-{at}.parquet"
            parquet.write_table(rows.slice(at, 1), path)
            size = path.stat().st_size
            added.append(AddAction(path.name, size, {}, 0, True, '{"numRecords": 1}'))
        table.create_write_transaction(added, mode="append", schema=table.schema())


def of_past(home: Path, settings: Settings, say: Say, rounds: int) -> list[Measure]:
    """Run 60 against run 2; the same with batches of history, and with files in the table."""
    home.mkdir()
    second, later = "run 2", f"run {RUNS}"
    longer, wider = f"{BATCHES:,} batches of history", f"a table of {FILES:,} files"
    History(home / longer / "root").begin_with(BATCHES)
    say(f"wrote {BATCHES:,} batches of history")
    with running(home, workload.deliveries(SIZE, RUNS - 2 + rounds, SIZE)) as topic:
        warm = Warm(home / later, topic.brokers, settings, later)
        try:
            for number in range(1, RUNS):
                topic.publish_next()
                warm.load(f"fill-{number}")
        finally:
            warm.end()
        files = OverFiles(home / wider, topic.brokers, settings, wider)
        arms: dict[str, Arm] = {
            name: Sluice(home / name, topic.brokers, settings, name)
            for name in (later, second, longer)
        }
        turns = Rounds(topic, say)
        for name in (second, longer):
            turns.drained(arms[name], "first", topic.sent)
        files.drain("first")
        files.litter()
        say(f"wrote {FILES:,} files")
        arms[wider] = files
        done = []
        for number in range(1, rounds + 1):
            records = topic.publish_next()
            done.append(turns.round(arms, f"run-{number}", records, turn=number))
    return [
        row
        for name in (later, longer, wider)
        for row in growth(f"a run of {SIZE} events: {name}", done, name, second, TARGET)
    ]
