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
import pytest
from hypothesis import Phase, given, settings, strategies as st

from spark_jobs.admin.maintain import maintain
from spark_jobs.admin.reset import reset
from spark_jobs.admin.rewind import rewind
from spark_jobs.checkpoint.integrity import Integrity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.begun import under_way
from spark_jobs.errors import StateUnreadable
from spark_jobs.runs.publish.due import Announced
from spark_jobs.runs.publish.publication import publish
from spark_jobs.spec import History, Latest
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.own_columns import DELETED, OFFSET, PARTITION, is_own
from tests.harness.aged import age
from tests.harness.long_form import LONG
from tests.harness.roots import ROOT
from tests.harness.turns import alike
from tests.unit.followed import (
    CHAINS,
    CHANGES,
    HISTORY,
    LATEST,
    VERSIONS,
    Change,
    Followed,
    Record,
    killed,
)

Rows = list[dict[str, Any]]
FORGOTTEN = timedelta(days=30)
"""Behind which a Latest forgets deletes, by default."""
NEWEST = f"""
SELECT * FROM given
QUALIFY row_number() OVER (PARTITION BY id, shop ORDER BY lsn DESC, {OFFSET} DESC, {PARTITION} DESC) = 1
ORDER BY id, shop
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
kills = st.one_of(st.none(), st.none(), st.none(), st.integers(0, 9))
shares = st.lists(st.sampled_from([0.3, 0.6, 1.0]), min_size=1, max_size=3)
others = st.sampled_from(["", "", "", "kill", "optimize", "another of this batch"])
drains = st.tuples(st.just("drain"), deliveries, shares, st.booleans(), kills, others)
tells = st.tuples(st.just("tell"), kills, st.booleans())
commands = st.one_of(
    *[drains] * 4,
    *[tells] * 2,
    st.tuples(st.just("care"), st.sampled_from([0, 1, 8])),
    *[st.tuples(st.just("go_back"), st.integers(0, 3), kills)] * 2,
    st.tuples(st.just("begin_again"), kills),
)


class Given:
    """Carries out commands, by their names, and says what the tables must be."""

    def __init__(self, folder: str, step: Latest | History) -> None:
        self.root = Followed(Path(folder) / ROOT, step)
        self.chained = isinstance(step, History)
        self.airflow, self.aged, self.drained = Announced(), False, False

    def drain(
        self, more: Any, shares: list[float], old: bool, kill: int | None, meanwhile: str
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

    def go_back(self, batches: int, kill: int | None) -> None:
        paths = self.root.now()
        kept = Integrity(Checkpoint(paths.checkpoint), stateful=False).restorable_batches
        if not kept:
            return
        batch = kept[-1 - batches % len(kept)]
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

    def begin_again(self, kill: int | None) -> None:
        if len(self.root.after) < 4:
            return
        self.root.now()
        with killed(kill):
            execute = reset(self.root.spec, self.root.settings).execute
            assert execute is not None
            execute()
        self.root.was_reset()
        self.drained = False

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

    def tell(self, kill: int | None, told: bool) -> None:
        """`told`: whether Airflow has the events."""
        events = ()
        with killed(kill):
            events = publish(Paths(*self.root.of), self.root.spec, self.airflow)
            if self.drained:
                assert self.root.rows(self.root.paths.published_table) == live(self.wanted())
        for event in events if told else ():
            assert event.number == self.airflow.number + 1
            self.airflow = Announced(event.number, event.generation, event.table_version)

    def wanted(self, seen: tuple[Change, ...] | None = None) -> Rows:
        return of_all(self.root.seen if seen is None else seen, chained=self.chained)

    def holds(self) -> None:
        """The table is that of all its changes, and consumers see rows that were judged."""
        if under_way(paths := Paths(*self.root.of)) is None:
            assert self.root.rows(paths.table) == self.wanted()
        rows = self.root.rows(self.root.paths.published_table)
        assert any(rows == live(self.wanted(seen)) for seen in reversed(self.root.judged))


@alike("whatever comes in whatever order")
@settings(
    max_examples=150 if LONG else 2,
    # Fewer commands are looked for in the long form alone: that takes minutes.
    phases=[Phase.generate, *([Phase.shrink] if LONG else [])],
)
@given(first=changes, commands=st.lists(commands, min_size=12, max_size=16))
@pytest.mark.parametrize("step", [LATEST, HISTORY], ids=lambda step: step.kind)
def test_whatever_comes_in_whatever_order_the_tables_are_duckdbs(step, first, commands):
    with TemporaryDirectory(prefix="sluice-any-order-") as folder:
        done = Given(folder, step)
        done.drain(("send", first), [1.0], False, None, "")
        for name, *how in commands:
            getattr(done, name)(*how)
            done.holds()
