"""Whatever is done to a table in whatever order, a reader's rows are the table's wherever nothing is
marked: rows by delta-rs, the reader's by the numbers that it notes.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from hypothesis import given, settings, strategies as st

from spark_jobs.spec.table.upstream import Rows
from spark_jobs.storage.pin import Pin
from spark_jobs.upstream import noted
from spark_jobs.upstream.file_rows import rows_of
from spark_jobs.upstream.noted import DRAINED, Noted
from spark_jobs.upstream.rows_side import RowsSide
from spark_jobs.upstream.table_log import own_id
from tests.harness.turns import alike
from tests.unit.test_upstream_moves import HOUR, NOON, Tables
from tests.unit.test_upstream_side import FIELDS, Root

COLUMNS = {each.name: each.type for each in FIELDS}


class At(NamedTuple):
    """What a rewind brings back."""

    done: int
    pin: int
    rows: Counter[tuple[float, int]]
    marked: frozenset[int]


class Reader:
    """A pipeline without state over the table, as drains, repairs and rewinds make it."""

    def __init__(self, table: Tables) -> None:
        self.table, self.note = table, None
        self.now = At(0, -1, Counter(), frozenset())
        self.before = [self.now]
        self._side = RowsSide(Rows(name="t", path=table.path, event_time="at", fields=FIELDS), Root)

    def run(self, most: int | None) -> None:
        pin, done = self.table.newest, self.now.done
        marked = set(self.now.marked)
        if self.note is None:
            self.note = noted.begun(self.table.read, pin)
        else:
            id_ = own_id("t", self.table.read.log)
            both = (Pin(table_id=id_, version=each) for each in (self.now.pin, pin))
            for each in self._side.changed(None, *both):
                assert each.start is not None
                first, last = ((of - NOON) // HOUR for of in (each.start, each.end))
                marked |= {*range(first, last + 1)}
            self.note = noted.followed(self.note, self.now.pin, self.table.read, pin)
        end = self.note.until(done, self.note.end, most)
        rows = self.now.rows + self._read(self.note, done, end)
        self.now = At(end, pin, rows, frozenset(marked))
        self.before.append(self.now)

    def _read(self, note: Noted, first: int, stop: int) -> Counter[tuple[float, int]]:
        found = Counter[tuple[float, int]]()
        for file, (a, b) in note.within({DRAINED: ((first, stop),)} if first < stop else {}):
            for part in rows_of(self.table.path, file, COLUMNS, a - file.first, b - file.first):
                found.update(self._rows(part.to_pylist()))
        return found

    @staticmethod
    def _rows(given) -> list[tuple[int, int]]:
        return [((row["at"] - NOON) // HOUR, row["n"]) for row in given]

    def live(self) -> Counter[tuple[int, int]]:
        """As of the version that the last run noted, by the files that repairs read."""
        found = Counter[tuple[int, int]]()
        for file in self.note.live(self.now.pin):
            for part in rows_of(self.table.path, file, COLUMNS):
                found.update(self._rows(part.to_pylist()))
        delta = self.table.delta
        delta.load_as_version(self.now.pin)
        assert found == Counter(self._rows(delta.to_pyarrow_table().to_pylist()))
        return found

    @property
    def behind(self) -> bool:
        return self.now.done < self.note.end

    def hold(self) -> None:
        """What drains have and the table has not, or the other way, is at marked times."""
        live, rows = self.live(), self.now.rows
        differ = {at for at, _ in (live - rows) + (rows - live)}
        assert differ <= self.now.marked, (differ, self.now)

    def repair(self) -> None:
        marked = self.now.marked
        kept = Counter({row: n for row, n in self.now.rows.items() if row[0] not in marked})
        kept.update({row: n for row, n in self.live().items() if row[0] in marked})
        assert kept == self.live()
        self.now = self.now._replace(rows=kept, marked=frozenset())

    def rewind(self, back: int) -> None:
        self.before = self.before[: max(2, len(self.before) - back)]
        self.now = self.before[-1]


DOES = st.one_of(
    st.tuples(st.just("append"), st.lists(st.integers(0, 9), min_size=1, max_size=3)),
    st.tuples(st.sampled_from(["delete", "update"]), st.integers(0, 9)),
    st.tuples(st.sampled_from(["optimize", "restore", "repair"]), st.none()),
    st.tuples(st.just("run"), st.sampled_from([None, None, 1])),
    st.tuples(st.just("rewind"), st.integers(1, 3)),
)


@alike("whatever comes in whatever order")
@settings(max_examples=20, deadline=None)
@given(st.lists(DOES, min_size=3, max_size=14))
def test_where_nothing_is_marked_a_reader_has_what_the_table_has(does):  # noqa: C901 - an act each
    with tempfile.TemporaryDirectory() as folder:
        table = Tables(Path(folder))
        table.append(0, 5)
        reader = Reader(table)
        reader.run(None)
        for what, how in (*does, ("run", None)):
            match what:
                case "append":
                    table.append(*how)
                case "delete":
                    table.delta.delete(f"n = {how}")
                case "update":
                    table.delta.update(updates={"n": "n + 100"}, predicate=f"n = {how}")
                case "optimize":
                    table.delta.optimize.compact()
                case "restore" if table.newest:
                    table.delta.restore(max(0, table.newest - 2))
                case "run":
                    reader.run(how)
                case "rewind":
                    reader.rewind(how)
                case "repair" if not reader.behind:
                    reader.repair()
            if not reader.behind:
                reader.hold()
        assert not reader.behind
        reader.hold()
