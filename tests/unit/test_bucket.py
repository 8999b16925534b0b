"""State in buckets, without Spark: random rows in random batches give what a dict gives."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import event, given, settings, strategies as st

from spark_jobs.steps import bucket_processor as processor
from spark_jobs.steps.bucket import Bucket, OtherTypes, WrongResult
from spark_jobs.steps.bucket_processor import pack, to_bytes, to_table, unpack
from spark_jobs.values.conversions import arrow_type
from spark_jobs.values.own_columns import BUCKET
from tests.harness.long_form import examples

BUCKETS = 3
KEYS = ("shop", "day")
SHOPS = st.sampled_from(["a", "b", "c", "", None])
DAYS = st.sampled_from([None, *(datetime(2013, 1, 1 + day, tzinfo=UTC) for day in range(2))])
ROWS = st.lists(st.tuples(SHOPS, DAYS, st.integers(-3, 3)), max_size=12)
BATCHES = st.lists(ROWS, max_size=6)
IN = pa.schema([("shop", pa.string()), ("day", arrow_type("timestamp")), ("amount", pa.int64())])
TOTAL = pa.schema([("total", pa.int64())])
OUT = pa.schema([*list(IN)[:2], *TOTAL])


def totals(rows: pa.Table, state: pa.Table) -> tuple[pa.Table, pa.Table]:
    """A sum a key. One that comes to 0 is told and forgotten."""
    names = [*KEYS, "total"]
    new = rows.group_by(list(KEYS)).aggregate([("amount", "sum")]).rename_columns(names)
    both = pa.concat_tables([state, new]).group_by(list(KEYS)).aggregate([("total", "sum")])
    both = both.rename_columns(names)
    return both, both.filter(pc.not_equal(both["total"], 0))


def bucket(function: Any = totals) -> Bucket:
    return Bucket(function, KEYS, TOTAL, OUT)


def number(shop: str | None, day: datetime | None) -> int:
    """Any function of the key: Spark has its own."""
    return (len(shop or "xx") + (day.day if day else 0)) % BUCKETS


def table(rows: list[tuple[Any, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, IN, strict=True)], schema=IN
    )


def numbered(rows: list[tuple[Any, ...]]) -> pa.Table:
    numbers = pa.array([number(shop, day) for shop, day, _ in rows], pa.int32())
    return table(rows).append_column(BUCKET, numbers)


class InPlainPython:
    """The same, key by key, as the row form does it."""

    def __init__(self):
        self.held: dict[tuple[Any, ...], int] = {}

    def after(self, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        found = Counter[tuple[Any, ...]]()
        for shop, day, amount in rows:
            found[shop, day] += amount
        told = []
        for key, more in found.items():
            total = self.held.pop(key, 0) + more
            told.append((*key, total))
            if total:
                self.held[key] = total
        return told


class InBuckets:
    """As spark_jobs/steps/group_state.py does it, with Spark's part by hand: all through bytes."""

    def __init__(self, function: Any = totals):
        self.bucket = bucket(function)
        self.stored: dict[int, bytes] = {}
        self.written = self.removed = 0

    def after(self, rows: list[tuple[Any, ...]], at_once: int) -> list[tuple[Any, ...]]:
        of_bucket: dict[int, list[bytes]] = {at: [] for at in range(BUCKETS)}
        visited = set()
        for batch in pack(numbered(rows).to_batches(max_chunksize=at_once), BUCKETS):
            for row in batch.to_pylist():
                visited.add(row[BUCKET])
                if row["rows"] is not None:
                    of_bucket[row[BUCKET]].append(row["rows"])
        assert visited == set(range(BUCKETS)), (
            "each batch visits each bucket, or keys are not counted"
        )
        told: list[tuple[Any, ...]] = []
        for at, parts in of_bucket.items():
            if not parts:
                continue
            held = self.stored.pop(at, None)
            change = self.bucket.after(to_table(parts), to_table([held]) if held else None)
            if change.state.num_rows:
                self.stored[at] = to_bytes(change.state)
            self.written += change.written
            self.removed += change.removed
            for out in unpack([pa.record_batch({"rows": [to_bytes(change.output)]})], "rows"):
                told += [tuple(row.values()) for row in out.to_pylist()]
        return told

    @property
    def held(self) -> dict[tuple[Any, ...], int]:
        found = [
            tuple(row.values())
            for one in self.stored.values()
            for row in to_table([one]).to_pylist()
        ]
        assert len({row[:-1] for row in found}) == len(found), "a key is stored twice"
        return {row[:-1]: row[-1] for row in found}


@settings(deadline=None, derandomize=True, max_examples=examples(150), database=None)
@given(BATCHES, st.integers(1, 12))
def test_any_rows_in_any_batches_give_what_plain_python_gives_key_by_key(batches, at_once):
    oracle, ours = InPlainPython(), InBuckets()
    written = 0
    forgotten = 0
    for rows in batches:
        before = set(oracle.held)
        right = oracle.after(rows)
        assert (Counter(ours.after(rows, at_once)), ours.held) == (Counter(right), oracle.held)
        written += sum(total != 0 for *_, total in right)
        forgotten += len(before - set(oracle.held))
    assert (ours.written, ours.removed) == (written, forgotten)
    event(f"forgotten: {min(forgotten, 3)}")


def test_rows_are_packed_in_their_order_and_in_as_many_parts_as_memory_asks_for(monkeypatch):
    rows = [("a", None, amount) for amount in range(10)]
    assert amounts(rows) == [[*range(10)]]
    monkeypatch.setattr(processor, "BYTES_TOGETHER", 1)
    assert amounts(rows) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def amounts(rows: list[tuple[Any, ...]]) -> list[list[int]]:
    given = numbered(rows).to_batches(max_chunksize=4)
    found = [row["rows"] for batch in pack(given, BUCKETS) for row in batch.to_pylist()]
    return [to_table([part])["amount"].to_pylist() for part in found if part is not None]


def test_the_code_gets_the_state_of_the_keys_that_have_rows_and_of_no_others():
    seen: list[pa.Table] = []

    def looks(rows: pa.Table, state: pa.Table) -> tuple[pa.Table, pa.Table]:
        seen.append(state)
        return totals(rows, state)

    first = bucket(looks).after(table([("a", None, 1), ("b", None, 2)]), None)
    assert (seen[0].num_rows, seen[0].column_names) == (0, [*KEYS, "total"])
    second = bucket(looks).after(table([("b", None, 3)]), first.state)
    assert seen[1].to_pylist() == [{"shop": "b", "day": None, "total": 2}]
    assert {row["shop"]: row["total"] for row in second.state.to_pylist()} == {"a": 1, "b": 5}


def returns(output: Any = None, state: Any = None) -> Any:
    """A function that returns what `totals` does, less what is given here."""

    def function(rows: pa.Table, held: pa.Table) -> Any:
        usual, new = totals(rows, held)
        return (output or (lambda _: usual))(usual), (state or (lambda _: new))(new)

    return function


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda rows, _: rows, r"it is Table; give two pyarrow Tables, \(output, state\)"),
        (lambda *_: None, "it is NoneType; give two"),
        (lambda rows, _: (rows, None), r"it is Table, NoneType; give two"),
        (lambda rows, state: (rows, state, state), "it is Table, Table, Table; give two"),
        (
            returns(output=lambda out: out.drop_columns(["total"])),
            "the output has the columns shop, day; declared are shop, day, total",
        ),
        (
            returns(state=lambda new: new.append_column("more", new["total"])),
            "the state has the columns shop, day, total, more; declared are shop, day, total",
        ),
        (
            returns(output=lambda out: out.set_column(2, "total", out["shop"])),
            "the output's column total is string, and declared as int64",
        ),
        (
            returns(state=lambda new: new.set_column(2, "total", pa.array([1.5]))),
            "the state's column total is double, and declared as int64",
        ),
        (
            returns(output=lambda out: out.set_column(0, "shop", out["total"])),
            "the output's column shop is int64, and declared as string",
        ),
        (
            returns(state=lambda new: pa.concat_tables([new, new])),
            "the state has this key twice: shop='a', day=None",
        ),
        (
            returns(state=lambda new: new.set_column(0, "shop", pa.array(["z"]))),
            "the state has a key of which it got no row: shop='z', day=None",
        ),
    ],
)
def test_what_the_code_must_not_return_is_refused_in_words(function, says):
    with pytest.raises(WrongResult, match=f"^{says}"):
        bucket(function).after(table([("a", None, 1)]), None)


def test_a_number_that_the_declared_type_cannot_hold_is_refused_and_not_cut():

    def wide(rows: pa.Table, state: pa.Table) -> tuple[pa.Table, pa.Table]:
        return totals(rows, state.set_column(2, "total", state["total"].cast(pa.int64())))

    declared = Bucket(wide, KEYS, pa.schema([("total", pa.int32())]), OUT)
    with pytest.raises(WrongResult, match=r"total is int64, and declared as int32: .*4294967296"):
        declared.after(table([("a", None, 2**32)]), None)
    assert declared.after(table([("a", None, 7)]), None).state["total"].type == pa.int32()


def test_state_of_other_types_than_todays_is_refused():
    held = bucket().after(table([("a", None, 1)]), None).state
    other = held.set_column(0, "shop", pa.array([1], pa.int64()))
    with pytest.raises(
        OtherTypes, match=r"the stored state has the columns shop int64, day .*today"
    ):
        bucket().after(table([("a", None, 1)]), other)


def test_rows_that_spark_marks_as_never_null_are_keys_like_others():
    strict = pa.schema(
        [pa.field(field.name, field.type, nullable=field.name != "shop") for field in IN]
    )
    rows = table([("a", None, 1)]).cast(strict)
    first = bucket().after(rows, None)
    assert bucket().after(rows, to_table([to_bytes(first.state)])).state["total"].to_pylist() == [2]


def test_a_days_microseconds_are_kept():
    day = datetime(2013, 1, 1, tzinfo=UTC) + timedelta(microseconds=1)
    state = bucket().after(table([("a", day, 1)]), None).state
    assert to_table([to_bytes(state)])["day"].to_pylist() == [day]
