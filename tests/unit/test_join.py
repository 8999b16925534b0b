"""A Join as it is declared: what is refused, which times it needs, and when its rows can be counted."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from spark_jobs.audit.balance import balance
from spark_jobs.audit.counting import Grouped
from spark_jobs.audit.left_rows import LeftRows
from spark_jobs.audit.progress import OperatorProgress, Progress
from spark_jobs.audit.record_counts import RecordCounts
from spark_jobs.errors import SpecInvalid
from spark_jobs.messages.offset_account import Account
from spark_jobs.ops.operator_metrics import REPORTED
from spark_jobs.registry.fingerprint.fields import Declared, changes, fingerprint
from spark_jobs.source.micro_batch import Batch
from spark_jobs.source.place import Place
from spark_jobs.source.positions import Positions
from spark_jobs.spec import (
    Aggregate,
    Deduplicate,
    Dimension,
    Field,
    Join,
    Latest,
    Layout,
    Lookup,
    Pipeline,
    Topic,
    Transform,
    Tumbling,
)
from spark_jobs.spec.analysis.columns import origins_of
from spark_jobs.spec.analysis.ranged import ranged
from spark_jobs.spec.analysis.state_checks import counting_step
from spark_jobs.values.numbering import numbered_in
from spark_jobs.values.spans import Span, microseconds
from spark_jobs.where.ask import Seen
from spark_jobs.where.in_table import Paired

MINUTE = timedelta(minutes=1)
NO_TABLE: Any = None
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def topic(name: str, *more: Field, **kinds: str) -> Topic:
    fields = [Field(name=each, type=kind) for each, kind in ({"at": "timestamp"} | kinds).items()]
    return Topic(name=name, fields=(*fields, *more), event_time="at")


ORDERS = topic("orders", order_id="string", amount="bigint", share="double")
NOTE = Field(name="note", type="string", required=False)
PAYMENTS = topic(
    "payments", NOTE, order="string", payment_id="string", amount="bigint", part="double"
)
TAGGED = (ORDERS, topic("payments", order="string", ka="string", tags="map<string,string>"))
BY_ORDER = {"payments": (Deduplicate(keys=("order",)),)}


def paid(*after: Any, **changes: Any) -> Pipeline:
    own = {
        name: changes.pop(name)
        for name in ("topics", "output_mode", "layout", "watermark_delay")
        if name in changes
    }
    join = {
        "left": "orders",
        "right": "payments",
        "on": {"order_id": "order"},
        "within": ("-10 minutes", "30 minutes"),
    }
    return Pipeline(
        **{"name": "paid", "about": "Paid", "topics": (ORDERS, PAYMENTS), "watermark_delay": "1 hour"} | own,
        steps=(Join(**join | changes), *after),
    )  # fmt: skip


def test_the_right_columns_have_its_topics_name_before_them_or_the_prefix():
    joined = ("at", "order_id", "amount", "share")
    right = ("at", "note", "payment_id", "amount", "part")
    [step] = paid().steps
    assert step.columns_after(None) == (*joined, *(f"payments_{name}" for name in ("at", "payment_id", "amount", "part", "note")))  # fmt: skip
    [step] = paid(prefix="p_").steps
    assert {*step.columns_after(None)} == {*joined, *(f"p_{name}" for name in right)}


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"prefix": ""}, "Join.prefix"),
        ({"on": {"order_id": "id"}}, "Join.on"),
        ({"on": {"id": "order"}}, "Join.on"),
        ({"on": {"amount": "order"}}, "Join.on"),
        ({"on": {"share": "part"}}, "Join.on"),
        ({"on": {"order_id": "note"}}, "Join.on"),
        ({"on": {"at": "at"}}, "Join.on"),
        ({"on": {}}, "on"),
        ({"within": ("30 minutes", "0 minutes")}, "within"),
        ({"within": ("soon", "later")}, "within.0, within.1"),
        ({"how": "full"}, "how"),
        ({"right": "orders"}, "right"),
        ({"left": "sales"}, "join.takes"),
        ({"topics": (ORDERS, PAYMENTS, topic("third"))}, "join.takes"),
        ({"output_mode": "update"}, "output_mode"),
        ({"before": {"sales": (Deduplicate(keys=("order",)),)}}, "before"),
        ({"before": {"payments": ()}}, "before['payments']"),
        ({"before": {"payments": (Deduplicate(keys=("order",), scope="for_ever"),)}}, "before['payments'].scope"),
        ({"before": {"payments": (Deduplicate(keys=("order_id",)),)}}, "Deduplicate.keys"),
        ({"before": {"payments": (Deduplicate(keys=("order",), scope="event_time"),)}}, "Deduplicate.keys"),
        ({"before": {"payments": (Deduplicate(keys=("tags",)),)}, "topics": TAGGED}, "before['payments'].keys"),
        ({"before": {"payments": (Deduplicate(keys=("*",)),)}, "topics": TAGGED}, "before['payments'].keys"),
        ({"prefix": "kaf", "topics": TAGGED}, "Join.prefix"),
    ],
)  # fmt: skip
def test_what_cannot_be_joined_is_refused_by_its_field(given, field):
    with pytest.raises(SpecInvalid) as refused:
        paid(**given)
    assert refused.value.parameters["fields"] == field


@pytest.mark.parametrize(
    "step",
    [
        Deduplicate(keys=("order_id",)),
        Aggregate(keys=("order_id",), window=Tumbling(size="1 hour"), measures={"n": "count(*)"}),
        Latest(keys=("order_id",), order_by=("at",)),
        Lookup(dimension=Dimension(table="payments", key=("id",), fields=(NOTE,)), on={"id": "order_id"}),
    ],
    ids=lambda step: step.kind,
)  # fmt: skip
def test_no_step_with_state_follows_a_join_and_no_table_of_its_right_topics_name(step):
    with pytest.raises(SpecInvalid) as refused:
        paid(step)
    assert refused.value.parameters["fields"] == "steps"


def test_a_step_without_state_follows_it():
    assert paid(Transform(where="payments_amount > 0")).first_stateful == 0


def test_each_topics_records_are_needed_and_touch_rows_by_the_range():
    way, span = ranged(paid()), Span(NOON, NOON + MINUTE)
    assert way.needed_of(span, "orders") == span
    assert way.needed_of(span, "payments") == Span(NOON - 10 * MINUTE, NOON + 31 * MINUTE)
    copies = ranged(paid(before=BY_ORDER))
    hour = 60 * MINUTE
    wider = Span(NOON - 10 * MINUTE - hour, NOON + 31 * MINUTE + hour)
    assert (copies.needed_of(span, "payments"), copies.needed_of(span, "orders")) == (wider, span)
    instant = timedelta(microseconds=1)
    touched = way.touched(NOON, partition=65536)
    assert touched == Span(NOON - 30 * MINUTE, NOON + 10 * MINUTE + instant)
    assert way.touched(NOON, partition=0) == Span(NOON, NOON + instant)


@pytest.mark.parametrize(("within", "after"), [(("5 minutes", "30 minutes"), 30), (("-9 minutes", "-5 minutes"), 0)])  # fmt: skip
def test_no_row_comes_once_the_watermark_has_passed_the_range(within, after):
    until = ranged(paid(within=within)).closed_until(NOON)
    assert until == NOON - after * MINUTE - timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("given", "counted"),
    [
        ({"before": BY_ORDER}, True),
        ({}, False),
        ({"before": {"payments": (Deduplicate(keys=("payment_id",)),)}}, False),
        ({"before": {"orders": (Deduplicate(keys=("order_id",)),)}}, False),
        ({"before": BY_ORDER, "within": ("0 minutes", "2 hours")}, False),
    ],
    ids=["by the key", "none", "by another", "of left", "longer than copies are known"],
)
def test_left_rows_are_counted_where_each_finds_one_at_most(given, counted):
    assert (counting_step(paid(**given)) == 0) == counted


def test_left_rows_enter_as_accepted_or_as_their_deduplicate_let_through():
    seen = Progress(3, 1.0, 9, {"join_left": {"rows": 6}, "joined": {"rows": 4}}, ())
    topics = {"orders": {"accepted": 7}, "payments": {"accepted": 2}}
    once = paid(before=BY_ORDER)
    assert LeftRows.of(once, 0).observed(seen, Account(), topics) == Grouped(7, 4)
    both = paid(before=BY_ORDER | {"orders": (Deduplicate(keys=("order_id",)),)})
    assert LeftRows.of(both, 0).observed(seen, Account(), topics) == Grouped(6, 4)


def test_no_table_is_parted_by_a_personal_field_by_its_new_name():
    card = Field(name="card", type="string", personal=True)
    with pytest.raises(SpecInvalid) as refused:
        paid(
            topics=(ORDERS, topic("payments", card, order="string")),
            layout=Layout(partition_by=("payments_card",)),
        )
    assert refused.value.parameters["fields"] == "layout.partition_by"


def test_a_table_may_be_parted_by_what_a_personal_field_finds():
    fields = (Field(name="region", type="int"),)
    buyers = Dimension(table="buyers", key=("id",), fields=fields)
    buyer = Field(name="buyer", type="string", personal=True)
    paid(
        Lookup(dimension=buyers, on={"id": "payments_buyer"}),
        topics=(ORDERS, topic("payments", buyer, order="string")),
        layout=Layout(partition_by=("region",)),
    )


def operator(name: str, dropped: int, duplicates: int) -> OperatorProgress:
    reported = dict.fromkeys(REPORTED, 0) | {"numRowsDroppedByWatermark": dropped}
    return OperatorProgress(name, reported, {"numDroppedDuplicateRows": duplicates})


@pytest.mark.parametrize(("left", "right"), [(5, 3), (4, 3), (5, 2), (6, 3)])
def test_a_row_that_a_side_loses_or_doubles_before_the_join_is_unaccounted(left, right):
    """10 records: an order late for the join, a payment late for its Deduplicate, and a copy."""
    observed = {
        "fate": {"good": 10},
        "entered": {"rows": 10},
        "after_0": {"rows": 3},
        "join_left": {"rows": left},
        "join_right": {"rows": right},
    }
    operators = operator("dedupe", 1, 1), operator("join", 1, 0)
    batch = Batch(7, Positions({0: 0}), Positions({0: 10}), 0, 0)
    found = RecordCounts(read=10, late=2, accepted=8)
    seen = Progress(7, 1.0, 10, observed, operators)
    account = balance(paid(before=BY_ORDER), batch, seen, found, 3)
    assert account.duplicates == 1
    assert account.unaccounted == abs(5 + 3 - left - right)


@pytest.mark.parametrize(("was", "now", "weight"), [("30 minutes", "1 hour", "refused"), ("1 hour", "30 minutes", "warned"), ("1 hour", "2 hours", None)])  # fmt: skip
def test_left_rows_are_counted_from_the_first_batch_on_or_not_at_all(was, now, weight):
    both = [paid(before=BY_ORDER, watermark_delay=each) for each in (was, now)]
    stored, wanted = (fingerprint(each, "4.2.0") for each in both)
    found = {each.field: each.weight for each in changes(stored, wanted, Declared(both[1]))}
    assert found.get("steps[0].counted") == weight


@pytest.mark.parametrize(
    ("given", "account", "grouped"),
    [
        ({"how": "left"}, Account(), Grouped(7, 5)),
        ({"how": "inner"}, Account(), None),
        ({"how": "left"}, Account(unknown=1), None),
        ({"how": "left", "before": BY_ORDER | {"orders": (Deduplicate(keys=("order_id",)),)}}, Account(), None),
    ],
    ids=["left", "inner: what found none is nowhere", "records are gone", "copies"],
)  # fmt: skip
def test_left_rows_of_a_lost_batch_are_known_by_kafka_and_its_commit(given, account, grouped):
    written: Any = SimpleNamespace(rows=5)
    counted = LeftRows.of(paid(**{"before": BY_ORDER} | given), 0)
    topics = {"orders": {"accepted": 7}, "payments": {"accepted": 2}}
    assert counted.again(NO_TABLE, account, topics, None, written) == grouped


def test_a_side_without_a_deduplicate_is_doubted():
    assert [len(paid(before=of).steps[0].doubts) for of in ({}, BY_ORDER)] == [2, 1]


def test_a_new_field_of_either_topic_changes_the_state_and_is_refused():
    def weights(topics: tuple[Topic, ...]) -> set[str]:
        was, now = fingerprint(paid(), "4.2.0"), fingerprint(paid(topics=topics), "4.2.0")
        return {each.weight for each in changes(was, now, Declared(paid()))}

    tip = Field(name="tip", type="bigint", required=False)
    for topics in (
        (topic("orders", tip, order_id="string", amount="bigint", share="double"), PAYMENTS),
        (ORDERS, topic("payments", NOTE, tip, order="string", payment_id="string", amount="bigint", part="double")),
    ):  # fmt: skip
        assert "refused" in weights(topics)
    first, *fields = ORDERS.fields
    renamed = first.model_copy(update={"path": (first.name, "old")})
    assert weights((ORDERS.model_copy(update={"fields": (renamed, *fields)}), PAYMENTS)) == {
        "warned"
    }


def test_a_column_of_the_table_comes_from_its_own_topic_and_equal_keys_from_both():
    spec = paid(Transform(where="amount > 0"))

    def of(name: str) -> dict[str, str]:
        return {new: origin.column for new, (origin,) in origins_of(spec, name).items()}

    assert of("orders") == {name: name for name in ("at", "order_id", "amount", "share")}
    assert of("payments") == {
        "order_id": "order",
        "payments_at": "at",
        "payments_payment_id": "payment_id",
        "payments_amount": "amount",
        "payments_part": "part",
        "payments_note": "note",
    }


def test_a_record_without_a_row_waits_until_none_of_the_other_topic_can_come_or_found_none():
    def alone(spec: Pipeline, place: Place, watermark: datetime) -> str:
        row = dict.fromkeys(spec.inputs.columns, "x") | {"at": microseconds(NOON)}
        found = Paired.of(spec, place, Seen(0, row))
        assert found is not None
        return found.alone([SimpleNamespace(watermark=watermark)])  # type: ignore[list-item]

    order, payment = Place(0, 1), Place(numbered_in(1, 0), 1)
    left, inner = paid(how="left", before=BY_ORDER), paid()
    soon, late = NOON, NOON + timedelta(hours=1)
    waits = "it waits in the state for a row of {}, until 2026-03-01 12:{}:00{}"
    assert [alone(left, order, at) for at in (soon, late)] == [
        waits.format("payments", 30, "; then it leaves alone"),
        "",
    ]
    assert alone(inner, order, late) == "no row of payments found it"
    assert alone(left, payment, soon) == waits.format("orders", 10, "")
    assert alone(left, payment, late) == "no row of orders found it"
    renamed = paid(Transform(sql="SELECT amount AS order_id, at FROM rows"))
    seen = Seen(0, dict.fromkeys(renamed.inputs.columns, "x"))
    assert Paired.of(renamed, order, seen) is None
