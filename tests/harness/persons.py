"""Persons: edits of a table that follows a key, as they are drawn, and what plain Python makes of a
table that was edited. Rows are those of tests/unit/followed.py, whose records nobody edits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from itertools import count
from shutil import copytree
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import pyarrow as pa
from deltalake import DeltaTable, Schema
from hypothesis import strategies as st
from pyarrow.dataset import ParquetReadOptions
from pyspark.sql import SparkSession
from upath import UPath

from spark_jobs.admin.maintain import maintain
from spark_jobs.audit.keyed_account import keyed
from spark_jobs.audit.written import written
from spark_jobs.spec import Latest, Pipeline
from spark_jobs.storage.root.path_forms import SparkPath
from spark_jobs.table.delta.commit import within
from spark_jobs.table.delta.table import Delta
from spark_jobs.table.entry import Commit, Note
from spark_jobs.values.own_columns import CONTENTS, DELETED, DELETED_AT, OFFSET, PARTITION
from tests.harness.roots import Root
from tests.unit.followed import CHAINS, CHANGES, HISTORY, LATEST, START, TOPIC, Change, Record

Row = dict[str, Any]
SAME = "old.id = new.id AND old.shop = new.shop AND old.lsn = new.lsn"
OWNER = "orders/1"
UNSAID = {DELETED_AT, "minute"}
"""What a clock says; and what a record has in the place of `made`."""
KEY, POSITION, PLACE = ("id", "shop"), ("lsn", OFFSET, PARTITION), (OFFSET, PARTITION)
SPAN = ("valid_from", "valid_to", "current")


class Edit(NamedTuple):
    """What somebody does to a key's newest or oldest row; or who takes the last edit back."""

    kind: Literal["update", "delete", "rekey", "merge", "restore"]
    which: Literal["newest", "oldest"]
    key: int
    """The number of the key, among those that there are."""

    def place(self, rows: list[Row]) -> Row | None:
        """The row; none of a table without one that somebody sees."""
        keys = sorted({tuple(row[name] for name in KEY) for row in rows if not row[DELETED]})
        if not keys:
            return None
        key = keys[self.key % len(keys)]
        of_key = [r for r in rows if tuple(r[n] for n in KEY) == key and not r[DELETED]]
        of_key.sort(key=lambda row: row["lsn"])
        return of_key[-1 if self.which == "newest" else 0]


class Done(NamedTuple):
    """An edit of the row `to`."""

    kind: str
    to: Row
    sets: dict[str, str]
    """Column -> text; empty deletes the row."""

    @property
    def where(self) -> str:
        return f"id = '{self.to['id']}' AND shop = {self.to['shop']} AND lsn = {self.to['lsn']}"

    def applied(self, rows: list[Row]) -> list[Row]:
        others = [row for row in rows if row is not self.to]
        return [*others, self.to | self.sets] if self.sets else others


def done(edit: Edit, to: Row, number: int) -> Done:
    """This edit, which is the `number`th."""
    sets: dict[str, dict[str, str]] = {
        "update": {"status": f"mended {number}"},
        "merge": {"status": f"merged {number}"},
        "rekey": {"id": f"z{number}"},
        "delete": {},
    }
    return Done(edit.kind, to, sets[edit.kind])


class Person(Protocol):
    """With what somebody edits a table."""

    def edit(self, path: UPath, made: Done) -> None: ...
    def restore(self, path: UPath, version: int) -> None: ...


class DeltaRs:
    """delta-rs."""

    def edit(self, path: UPath, made: Done) -> None:
        table, sets = DeltaTable(str(path)), {n: f"'{text}'" for n, text in made.sets.items()}
        if made.kind == "delete":
            table.delete(made.where)
        elif made.kind == "merge":
            source = pa.Table.from_pylist([{n: made.to[n] for n in ("id", "shop", "lsn")}])
            merger = table.merge(source, SAME, source_alias="new", target_alias="old")
            merger.when_matched_update(sets).execute()
        else:
            table.update(updates=sets, predicate=made.where)

    def restore(self, path: UPath, version: int) -> None:
        DeltaTable(str(path)).restore(version)


class Spark:
    """Plain Spark, with its defaults where a drain's session has others."""

    _DEFAULTS: ClassVar = {"spark.sql.parquet.outputTimestampType": "INT96"}

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def edit(self, path: UPath, made: Done) -> None:
        table = f"delta.`{path}`"
        sets = ", ".join(f"{name} = '{text}'" for name, text in made.sets.items())
        if made.kind == "delete":
            sql = f"DELETE FROM {table} WHERE {made.where}"
        elif made.kind == "merge":
            source = f"SELECT id, shop, lsn FROM {table} WHERE {made.where}"
            sql = f"MERGE INTO {table} AS old USING ({source}) AS new ON {SAME} WHEN MATCHED THEN UPDATE SET {sets}"  # fmt: skip
        else:
            sql = f"UPDATE {table} SET {sets} WHERE {made.where}"
        with within(self._session, self._DEFAULTS):
            self._session.sql(sql)

    def restore(self, path: UPath, version: int) -> None:
        self._session.sql(f"RESTORE TABLE delta.`{path}` TO VERSION AS OF {version}")


class Story(NamedTuple):
    """Records of before, then edits, then records: copies of some, late ones and new ones."""

    before: list[tuple[Record, int]]
    """Each with its partition."""
    edits: list[Edit]
    maintained: bool
    """Whether `sluice maintain` comes before the records, too; behind them it comes always."""
    after: list[list[tuple[Record, int]]]


records = st.builds(
    Record,
    st.sampled_from("ab"),
    st.just(0),
    st.integers(2, 6),
    st.integers(0, 4),
    st.sampled_from([None, "paid", "sent", "paid"]),
)
edits = st.builds(
    Edit,
    st.sampled_from(["update", "delete", "delete", "rekey", "merge", "restore"]),
    st.sampled_from(["newest", "newest", "oldest"]),
    st.integers(0, 2),
)


@st.composite
def stories(draw: st.DrawFn) -> Story:
    partition = st.integers(0, 1)
    before = draw(st.lists(st.tuples(records, partition), min_size=2, max_size=8))
    copies = st.sampled_from(before)
    new = st.tuples(records.map(lambda each: each._replace(lsn=each.lsn + 6)), partition)
    late = st.tuples(records.map(lambda each: each._replace(lsn=each.lsn - 2)), partition)
    batch = st.lists(st.one_of(copies, new, late, copies), min_size=1, max_size=4)
    return Story(
        before,
        draw(st.lists(edits, min_size=1, max_size=3)),
        draw(st.booleans()),
        draw(st.lists(batch, min_size=1, max_size=3)),
    )


def is_copy(change: Row, row: Row) -> bool:
    """By what the record said, which no edit changes."""
    return all(change[name] == row[name] for name in ("lsn", DELETED, CONTENTS))


def position(row: Row) -> tuple[int, ...]:
    return tuple(row[name] for name in POSITION)


def met(row: Row | None, change: Row) -> Row:
    """What stands at a place where the table has this row, or none, and this change comes."""
    if row is None:
        return change
    if position(change) <= position(row):
        return row
    return row | {name: change[name] for name in PLACE} if is_copy(change, row) else change


def by_place(changes: Iterable[Row], *names: str) -> dict[tuple[Any, ...], Row]:
    """The last change at each place."""
    ordered = sorted(changes, key=position)
    return {tuple(row[name] for name in names): row for row in ordered}


def latest(rows: list[Row], changes: list[Row]) -> list[Row]:
    """The table of a Latest with a batch of changes."""
    there, come = by_place(rows, *KEY), by_place(changes, *KEY)
    return [*(there | {key: met(there.get(key), new) for key, new in come.items()}).values()]


def history(rows: list[Row], changes: list[Row]) -> list[Row]:
    """The table of a History with a batch of changes, whose keys have new chains."""
    there, come = by_place(rows, *KEY, "lsn"), by_place(changes, *KEY, "lsn")
    every = there | {place: met(there.get(place), new) for place, new in come.items()}
    found, keys = [], {place[:2] for place in come}
    for key in {place[:2] for place in every}:
        chain = [every[place] for place in sorted(every) if place[:2] == key]
        found.extend(spanned(chain) if key in keys else chain)
    return found


def spanned(chain: list[Row]) -> list[Row]:
    begins = [max(row["made"] for row in chain[: at + 1]) for at in range(len(chain))]
    ends = [*begins[1:], None]
    last = [*[False] * (len(chain) - 1), True]
    return [
        row | dict(zip(SPAN, (begin, end, is_last and not row[DELETED]), strict=True))
        for row, begin, end, is_last in zip(chain, begins, ends, last, strict=True)
    ]


def changes_of(batch: list[tuple[Record, int]], first: int) -> list[Change]:
    """Records at offsets from this one on."""
    return [
        Change(record, partition, offset, START)
        for offset, (record, partition) in enumerate(batch, first)
    ]


def ordered(rows: Iterable[Row]) -> list[Row]:
    """In the order of their places, without UNSAID."""
    kept = ({name: row[name] for name in sorted(row) if name not in UNSAID} for row in rows)
    return sorted(kept, key=lambda row: (row["id"], row["shop"], row["lsn"]))


class Edited:
    """A table, whoever writes its batches and edits it, and what plain Python has of it."""

    def __init__(self, folder: UPath, step: Any, put: Callable[..., None], by: Person) -> None:
        """`folder`: of the root."""
        self.spec = Pipeline(name="orders", about="Orders.", topic=TOPIC, steps=(step,))
        self.root = Root(folder, self.spec)
        self.step, self.rows = step, list[Row]()
        self.merge, self._by, self._offset, self._batches = put, by, 0, 0
        chains = not isinstance(step, Latest)
        self.columns, self.oracle = (CHAINS, history) if chains else (CHANGES, latest)
        DeltaTable.create(
            str(self.path),
            Schema.from_arrow(self.columns),
            partition_by=[DELETED, *(["current"] if chains else [])],
            configuration={"delta.enableChangeDataFeed": "true"},
        )

    @property
    def path(self) -> UPath:
        return self.root.paths.table

    def play(self, story: Story, *others: Callable[..., None]) -> None:
        """What comes behind the edits is put into copies of the root by these others too."""
        self.put(story.before)
        for number, edit in enumerate(story.edits):
            self.edit(edit, number)
        for each in (*map(self._copied, others, count()), self):
            if story.maintained:
                each.maintain()
            for batch in story.after:
                each.put(batch)
            each.maintain()
            each.put(story.after[0])  # copies, of what was forgotten new changes

    def _copied(self, put: Callable[..., None], number: int) -> Edited:
        made = copy(self)
        folder = UPath(f"{self.root.settings.root} {number}")
        copytree(self.root.settings.root, folder)
        made.root, made.merge = Root(folder, self.spec), put
        return made

    def maintain(self) -> None:
        """`sluice maintain --execute`, twice: nothing is forgotten by a time in INT96."""
        for _ in range(2):
            if execute := maintain(self.spec, self.root.settings).execute:
                execute()
        assert maintain(self.spec, self.root.settings).execute is None
        if isinstance(self.step, Latest):  # START was long ago
            self.rows = [row for row in self.rows if not row[DELETED]]
        self.agrees()

    def put(self, batch: list[tuple[Record, int]]) -> None:
        changes = changes_of(batch, self._offset)
        number, self._offset = self._batches, self._offset + len(batch)
        self._batches += 1
        before, said = self.rows, [c.row(timed=self.oracle is history) for c in changes]
        self.rows = self.oracle(before, said)
        note: Note = {"sluice": OWNER, "batch": number, "run": "run"}
        path = SparkPath(str(self.path))
        self.merge(changes, self.step, Commit(path, OWNER, number, note, self.path, len(batch)))
        self.agrees()
        found = written(Delta(self.path), [OWNER], number)[number]
        live = [sum(not row[DELETED] for row in rows) for rows in (before, self.rows)]
        was = ordered(before)
        new = sum(row not in was for row in ordered(self.rows))
        fates, log = found.fates, keyed(self.path, found, self.step)
        assert (fates.all, fates.written, fates.gained) == (len(batch), new, live[1] - live[0])
        assert (log.written, log.gained) == (fates.written, fates.gained)
        assert (log.changed or 0) <= fates.updated + fates.ended

    def edit(self, edit: Edit, number: int) -> None:
        if (to := edit.place(self.rows)) is None:
            return
        if edit.kind == "restore":  # of what another edit has just done
            version, rows = DeltaTable(str(self.path)).version(), self.rows
            self.edit(edit._replace(kind="update"), number)
            self._by.restore(self.path, version)
            self.rows = rows
        else:
            made = done(edit, to, number)
            self._by.edit(self.path, made)
            self.rows = made.applied(self.rows)
        self.agrees()

    def agrees(self) -> None:
        of_person = ParquetReadOptions(coerce_int96_timestamp_unit="us")
        read = DeltaTable(str(self.path)).to_pyarrow_dataset(parquet_read_options=of_person)
        found = read.to_table(columns=self.columns.names).cast(self.columns).to_pylist()
        assert ordered(found) == ordered(self.rows)


MENDED = Story(
    [(Record("a", 0, 2, 1, "paid"), 0)],
    [Edit("update", "newest", 0)],
    True,
    [[(Record("a", 0, 2, 1, "paid"), 0)]],
)
"""A copy behind a correction."""
NEWEST_GONE = Story(
    [(Record("a", 0, lsn, lsn, "paid"), 0) for lsn in (2, 3, 4)],
    [Edit("delete", "newest", 0)],
    False,
    [[(Record("a", 0, 3, 3, "paid"), 0)], [(Record("a", 0, 2, 2, "sent"), 0)]],
)
"""A copy, then a change that is not newer, behind a DELETE of the newest version."""
STEPS = {"latest": LATEST, "history": HISTORY}
