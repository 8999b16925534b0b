"""What a spec says of the source's transactions, and what Debezium does."""

import json
from typing import NamedTuple

import pytest

from spark_jobs.errors import SpecInvalid, TransactionsUnusable
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Avro, MoreTopics
from spark_jobs.transactions import Transactions
from spark_jobs.transactions.cut import Change
from spark_jobs.transactions.look import Begin, look
from spark_jobs.transactions.transaction_ends import Whole, WholeEnds
from spark_jobs.transactions.view import Mark, Told, block, mark
from tests.harness.refused import fails, has
from tests.unit.specs import pipeline, topic

ORDERS = topic(name="eu.public.orders", envelope="debezium")
TOLD_IN = Transactions(topic="eu.transaction")


LIKE = MoreTopics(pattern=r"eu\..*", like=topic(name="eu.like", envelope="debezium"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"topic": topic()}, "Debezium's envelope"),
        ({"topics": (ORDERS, topic())}, "Debezium's envelope"),
        ({"topic": dict(ORDERS) | {"format": Avro(registry="orders-value")}}, "read of JSON alone"),
        ({"topic": dict(ORDERS) | {"name": "eu.transaction"}}, "it is a topic of changes"),
        ({"topics": (ORDERS,), "more_topics": LIKE}, "eu.transaction is of it"),
    ],
    ids=["no envelope", "one of two", "no JSON", "the topic itself", "of a pattern"],
)
def test_transactions_are_of_topics_that_say_in_debeziums_envelope_which(given, said):
    given = {name: topic(**of) if isinstance(of, dict) else of for name, of in given.items()}
    given = {"topic": None} | given
    pipeline(**given)
    with fails(SpecInvalid, "fields_refused", problems=has(said)):
        pipeline(**given, publish_at=TOLD_IN)


def test_the_topic_that_tells_of_transactions_has_a_name_that_kafka_allows():
    pipeline(topic=ORDERS, publish_at=TOLD_IN)
    with fails(SpecInvalid, "fields_refused", problems=has("Kafka does not allow")):
        Transactions(topic="a b")


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
    with fails(
        TransactionsUnusable, "not_counted", topic=ORDERS.name, transactions=TOLD_IN.topic, id="t"
    ):
        look(logs, logs.told(), (ORDERS,), TOLD_IN.topic, begin, {0: 1})


def test_a_batch_is_at_an_end_if_it_has_all_up_to_it_and_nothing_else():
    first, last = (
        Whole(offsets=Positions({0: at, 1: 0}), unread=(1,), topic_id="T", behind=at, up_to=None)
        for at in (3, 5)
    )
    ends = WholeEnds(ends=(first, last))
    at = {3: first, 5: last}
    for offset in range(7):
        assert ends.end_of(Positions({0: offset})) == at.get(offset)
        assert ends.end_of(Positions({0: offset, 1: 0})) == at.get(offset)
        assert ends.end_of(Positions({0: offset, 1: 1})) is None
    assert ends.end_of(Positions({1: 0})) is None
