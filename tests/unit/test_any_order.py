"""Changes, copies, deletes, snapshots, batches, kills, rewinds, resets, maintenance and publishing
in any order: behind every command table and published table are what DuckDB makes of the changes.
"""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pyarrow as pa
from hypothesis import Phase, settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from spark_jobs.admin.maintain import maintain
from spark_jobs.admin.reset import reset
from spark_jobs.admin.rewind import rewind
from spark_jobs.checkpoint.integrity import Integrity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.errors import StateUnreadable
from spark_jobs.journal.begun import under_way
from spark_jobs.root.paths import Paths
from spark_jobs.runs.publish.due import Announced
from spark_jobs.runs.publish.publication import publish
from spark_jobs.spec import History
from spark_jobs.values.own_columns import DELETED, OFFSET, PARTITION, is_own
from tests.harness.aged import age
from tests.harness.long_form import LONG
from tests.harness.roots import ROOT
from tests.unit.followed import CHAINS, CHANGES, HISTORY, LATEST, Change, Followed, Record, killed

Rows = list[dict[str, Any]]
FORGOTTEN = timedelta(days=30)
"""Behind which a Latest forgets deletes, by default."""
NEWEST = f"""
SELECT * FROM given
QUALIFY row_number() OVER (PARTITION BY id, shop ORDER BY lsn DESC, {OFFSET} DESC, {PARTITION} DESC) = 1
ORDER BY id, shop
"""
VERSIONS = f"""
WITH places AS (
    SELECT * FROM given QUALIFY row_number() OVER (
        PARTITION BY id, shop, lsn ORDER BY {OFFSET} DESC, {PARTITION} DESC) = 1),
begun AS (
    SELECT *, max(made) OVER (PARTITION BY id, shop ORDER BY lsn) AS valid_from FROM places)
SELECT *, lead(valid_from) OVER chain AS valid_to,
       lead(lsn) OVER chain IS NULL AND NOT {DELETED} AS current
FROM begun WINDOW chain AS (PARTITION BY id, shop ORDER BY lsn)
ORDER BY id, shop, lsn
"""


@lru_cache(maxsize=100)
def of_all(changes: tuple[Change, ...], *, chained: bool) -> Rows:
    """The table, from all changes at once."""
    given = pa.Table.from_pylist([change.row(timed=chained) for change in changes], CHANGES)
    found = duckdb.connect().sql(VERSIONS if chained else NEWEST)
    assert given.schema == CHANGES
    rows: Rows = found.to_arrow_table().cast(CHAINS if chained else CHANGES).to_pylist()
    return rows


def live(rows: Rows) -> Rows:
    """What consumers see of it."""
    kept = (row for row in rows if not row[DELETED])
    return [{name: row[name] for name in row if not is_own(name)} for row in kept]


records = st.builds(
    Record,
    st.sampled_from("ab"),
    st.integers(0, 1),
    st.integers(0, 4),
    st.integers(0, 3),
    st.sampled_from([None, "paid", "sent"]),
)
changes = st.lists(st.tuples(records, st.integers(0, 1)), min_size=1, max_size=6)
deliveries = st.one_of(
    st.tuples(st.just("send"), changes),
    st.tuples(st.just("send"), changes),
    st.tuples(st.just("send_again"), st.floats(0, 1), st.integers(1, 4)),
    st.tuples(st.just("snapshot"), st.one_of(st.none(), st.integers(2, 4))),
)
something = precondition(lambda machine: machine.root.after)
"""Only where the table has been given a batch."""
much = precondition(lambda machine: len(machine.root.after) > 3)
kills = st.one_of(st.none(), st.none(), st.integers(0, 9))


class AnyOrder(RuleBasedStateMachine):
    """Of a pipeline; its step is the subclass's."""

    step: Any

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory(prefix="sluice-any-order-")
        self.root = Followed(Path(self.folder.name) / ROOT, self.step)
        self.chained = isinstance(self.step, History)
        self.airflow, self.aged, self.drained = Announced(), False, False

    def teardown(self) -> None:
        self.folder.cleanup()

    @initialize(first=changes)
    def begins(self, first: list[tuple[Record, int]]) -> None:
        self.root.send(first)

    @rule(
        more=deliveries,
        shares=st.lists(st.sampled_from([0.3, 0.6, 1.0]), min_size=1, max_size=3),
        old=st.booleans(),
        kill=kills,
        meanwhile=st.sampled_from(["", "", "kill", "optimize", "another of this batch"]),
    )
    def drain(
        self, more: Any, shares: list[float], *, old: bool, kill: int | None, meanwhile: str
    ) -> None:
        """Of what is sent before. `old`: its deletes are soon forgotten."""
        how, *what = more
        getattr(self.root, how)(*what)
        self.root.clock = datetime.now(UTC) - FORGOTTEN * 2 * old
        self.root.clock = self.root.clock.replace(microsecond=0)
        self.drained = False
        with killed(kill):
            self.root.drain(shares, meanwhile)
            self.drained = True
            self.accounts_sum_up()

    def accounts_sum_up(self) -> None:
        """Of all batches that the table is made of; of a History the ends of chains are not told."""
        rows = self.root.told("batches", "generation, accepted, inserted, deleted")
        ours = [row for row in rows if row["generation"] in self.root.identity.generations]
        assert sum(row["accepted"] for row in ours) == len(self.root.read())
        if not self.chained:
            grown = sum(row["inserted"] - row["deleted"] for row in ours)
            assert grown == len(live(self.wanted()))

    @something
    @rule(number=st.integers(0, 20), kill=kills)
    def go_back(self, number: int, kill: int | None) -> None:
        paths = self.root.now()
        batches = Integrity(Checkpoint(paths.checkpoint), stateful=False).restorable_batches
        if not batches:
            return
        batch = batches[number % len(batches)]
        try:
            with killed(kill):
                execute = rewind(self.root.spec, self.root.settings, batch).execute
                assert execute is not None
                execute()
        except StateUnreadable:
            assert self.aged, "nothing of it is old enough to be removed"
            return
        self.root.rewound(batch)
        self.drained = False

    @much
    @rule(kill=kills)
    def begin_again(self, kill: int | None) -> None:
        self.root.now()
        with killed(kill):
            execute = reset(self.root.spec, self.root.settings).execute
            assert execute is not None
            execute()
        self.root.was_reset()
        self.drained = False

    @something
    @rule(days=st.sampled_from([0, 1, 8]))
    def care(self, days: int) -> None:
        """After some days."""
        if days:
            age(Path(self.root.settings.root), days)
            self.aged = True
        self.root.now()
        execute = maintain(self.root.spec, self.root.settings).execute
        if execute is None:
            return
        execute()
        if not self.chained:
            self.root.forget(datetime.now(UTC) - FORGOTTEN)

    @something
    @rule(kill=kills, told=st.booleans())
    def tell(self, kill: int | None, *, told: bool) -> None:
        """`told`: whether Airflow has the event."""
        event = None
        with killed(kill):
            event = publish(Paths(*self.root.of), self.root.spec, self.airflow)
            if self.drained:
                assert self.root.rows(self.root.paths.published_table) == live(self.wanted())
        if event and told:
            assert event.number == self.airflow.number + 1
            self.airflow = Announced(event.number, event.generation, event.table_version)

    def wanted(self, seen: tuple[Change, ...] | None = None) -> Rows:
        return of_all(self.root.seen if seen is None else seen, chained=self.chained)

    @invariant()
    def the_table_is_that_of_all_its_changes(self) -> None:
        if under_way(paths := Paths(*self.root.of)) is None:
            assert self.root.rows(paths.table) == self.wanted()

    @invariant()
    def consumers_see_rows_that_were_judged(self) -> None:
        rows = self.root.rows(self.root.paths.published_table)
        assert any(rows == live(self.wanted(seen)) for seen in reversed(self.root.judged))


class LatestInAnyOrder(AnyOrder):
    step = LATEST


class HistoryInAnyOrder(AnyOrder):
    step = HISTORY


few = settings(
    max_examples=150 if LONG else 6,
    stateful_step_count=14,
    # Fewer steps are looked for in the long form alone: that takes minutes.
    phases=[Phase.generate, *([Phase.shrink] if LONG else [])],
    report_multiple_bugs=False,
)
TestLatest = LatestInAnyOrder.TestCase
TestHistory = HistoryInAnyOrder.TestCase
TestLatest.settings = TestHistory.settings = few
