"""A bucket's processor in Spark's TwsTester: what it stores, and the counts that it yields."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from spark_jobs.steps.bucket import Bucket
from spark_jobs.steps.bucket_processor import KEYS, STATE, InBuckets, to_bytes, to_table

SCHEMA = pa.schema([("shop", pa.string()), ("amount", pa.int64())])
VISIT = Row(rows=None)


def balances(rows: pa.Table, state: pa.Table) -> tuple[pa.Table, pa.Table]:
    """A shop's sum so far. One of 0 is forgotten; the output has those above 9."""
    both = pa.concat_tables([state, rows]).group_by("shop").aggregate([("amount", "sum")])
    sums = both.rename_columns(SCHEMA.names)
    high = pc.greater(sums["amount"], 9)
    return sums.filter(high), sums.filter(pc.not_equal(sums["amount"], 0))


def packed(**amounts: int) -> Row:
    pairs = {"shop": list(amounts), "amount": list(amounts.values())}
    return Row(rows=to_bytes(pa.table(pairs, schema=SCHEMA)))


def begun() -> TwsTester:
    amount = pa.schema([SCHEMA.field("amount")])
    return TwsTester(InBuckets(Bucket(balances, ("shop",), amount, SCHEMA)))


def counts(rows: list[Any]) -> tuple[int, int, int]:
    [row] = rows
    return row.keys, row.written, row.removed


def test_it_counts_the_keys_that_a_batch_leaves_writes_and_removes():
    tester = begun()
    assert counts(tester.test(5, [packed(a=1, b=2), packed(c=3), VISIT])) == (3, 3, 0)
    assert counts(tester.test(5, [packed(a=-1, b=1, c=1), packed(b=1, d=1), VISIT])) == (3, 3, 1)
    assert counts(tester.test(5, [packed(d=-1, c=-4), packed(e=0), VISIT])) == (1, 0, 2)
    held = to_table([tester.peekValueState(STATE, 5)[0]])
    assert held.to_pylist() == [{"shop": "b", "amount": 4}]


def test_a_visit_without_rows_tells_how_many_keys_there_are_and_changes_none():
    tester = begun()
    assert counts(tester.test(5, [VISIT])) == (0, 0, 0)
    tester.test(5, [packed(a=1, b=2), VISIT])
    before = tester.peekValueState(STATE, 5)
    assert counts(tester.test(5, [VISIT])) == (2, 0, 0)
    assert tester.peekValueState(STATE, 5) == before
    assert counts(tester.test(6, [VISIT])) == (0, 0, 0), "another bucket's keys"


def test_a_bucket_whose_last_key_is_forgotten_leaves_nothing_behind():
    tester = begun()
    tester.test(5, [packed(a=1)])
    assert counts(tester.test(5, [packed(a=-1), VISIT])) == (0, 0, 1)
    assert tester.peekValueState(STATE, 5) is None
    assert tester.peekValueState(KEYS, 5) is None


def test_it_yields_the_output_packed_and_null_where_there_is_none():
    tester = begun()
    [row] = tester.test(5, [packed(a=10, b=2)])
    assert to_table([row.rows]).to_pylist() == [{"shop": "a", "amount": 10}]
    [row] = tester.test(5, [packed(b=1)])
    assert row.rows is None
