"""What a spec says of the source's transactions, and what Debezium does."""

import json
from typing import NamedTuple

import pytest

from spark_jobs.checkpoint.notes.whole import Whole, WholeEnds
from spark_jobs.errors import SpecInvalid, TransactionsUnusable
from spark_jobs.runs.transactions.cut import Change
from spark_jobs.runs.transactions.look import Begin, look
from spark_jobs.runs.transactions.marks import Mark, block, mark
from spark_jobs.runs.transactions.view import Told
from spark_jobs.spec import Avro
from tests.harness.refused import fails, has
from tests.unit.specs import pipeline, topic

TOLD = topic(name="eu.public.orders", envelope="debezium", transactions="eu.transaction")


@pytest.mark.parametrize(
    ("changes", "given"),
    [
        ({"envelope": None}, "eu.transaction"),
        ({"format": Avro(registry="orders-value")}, "eu.transaction"),
        ({"transactions": "eu.public.orders"}, "it is the topic itself"),
        ({"transactions": "a b"}, "Kafka does not allow this topic name"),
    ],
)
def test_a_topic_tells_of_transactions_in_another_one_by_debeziums_envelope(changes, given):
    with fails(SpecInvalid, "fields_refused", problems=has("transactions is", given)):
        topic(**dict(TOLD) | changes)


def test_publish_at_transaction_needs_topics_that_say_where_and_all_the_same():
    pipeline(topic=TOLD, publish_at="transaction")
    with fails(
        SpecInvalid, "fields_refused", problems=has("publish_at is", "topic sales does not")
    ):
        pipeline(publish_at="transaction")
    us = TOLD.model_copy(update={"name": "us.public.orders", "transactions": "us.transaction"})
    pipeline(topic=None, topics=(TOLD, us))
    with fails(SpecInvalid, "fields_refused", problems=has("publish_at is", "of two sources")):
        pipeline(topic=None, topics=(TOLD, us), publish_at="transaction")


@pytest.mark.parametrize("wrapped", [False, True])
def test_marks_and_changes_are_read_with_connects_schema_and_without(wrapped):
    def sent(value):
        return json.dumps({"schema": {}, "payload": value} if wrapped else value).encode()

    tables = [{"data_collection": "public.orders", "event_count": 2}]
    end = {"status": "END", "id": "571:99", "event_count": 2, "data_collections": tables}
    assert mark(sent(end), 7, 1) == Mark("571", 7, 1, {"public.orders": 2})
    begin = {"status": "BEGIN", "id": "file=b.3,pos=1", "data_collections": None, "ts_ms": 1}
    assert mark(sent(begin), 8, 1) == Mark("file=b.3,pos=1", 8, 1, None)
    of = {"id": "571:50", "total_order": 3, "data_collection_order": 2}
    assert block(sent({"op": "c", "after": {"id": 1}, "transaction": of})) == ("571", 2)
    assert block(sent({"op": "r", "after": {"id": 1}, "transaction": None})) is None
    assert block(sent({"op": "r"})) is None


@pytest.mark.parametrize("value", [None, b"", b"{", b"[]", b'{"status": "X"}', b'{"id": 5}'])
def test_what_is_neither_is_neither(value):
    assert mark(value, 0, 0) is None
    assert block(value) is None


class Logs(NamedTuple):
    """See View."""

    ends: list[Mark]

    def told(self) -> Told:
        return Told("T", 0, len(self.ends))

    def marks(self, first: int, end: int) -> list[Mark]:
        return self.ends[first:end]

    def changes(self, ranges) -> dict[int, list[Change]]:
        return {p: [Change(0, "t", 1, 0)] for p in ranges}


def test_a_topic_that_its_transactions_end_does_not_count_is_refused():
    logs = Logs([Mark("t", 0, 0, {"public.lines": 1})])
    begin = Begin({0: 0}, {0: 0}, None)
    with fails(TransactionsUnusable, "not_counted", topic=TOLD.name, id="t"):
        look(logs, logs.told(), (TOLD,), begin, {0: 1})


def test_a_batch_is_at_an_end_if_it_has_all_up_to_it_and_nothing_else():
    first, last = (
        Whole(offsets={0: at, 1: 0}, unread=(1,), topic_id="T", behind=at, up_to=None)
        for at in (3, 5)
    )
    ends = WholeEnds(ends=(first, last))
    at = {3: first, 5: last}
    for offset in range(7):
        assert ends.end_of({0: offset}) == at.get(offset)
        assert ends.end_of({0: offset, 1: 0}) == at.get(offset)
        assert ends.end_of({0: offset, 1: 1}) is None
    assert ends.end_of({1: 0}) is None
