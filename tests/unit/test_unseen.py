"""A declared path that no record of a sample has is told, with the nearest one that is there."""

import base64
import gzip
import json

import pytest

from spark_jobs.cli.sample import unseen_lines
from spark_jobs.draft.sample import Sampled
from spark_jobs.proof.answer import Unseen, unseen
from spark_jobs.spec import Compressed, Field, Json, Topic
from tests.unit.test_new import order, sampled

AT = Field(name="at", type="timestamp", path="placedAt")


def topic(*fields, **more):
    return Topic(name="orders", event_time="at", fields=(AT, *fields), **more)


def optional(path, kind="string", **more):
    return Field(name="x", type=kind, path=path, required=False, **more)


@pytest.mark.parametrize(
    ("path", "nearest"),
    [
        ("orderID", "orderId"),
        ("customer.idd", "customer.id"),
        ("custmer.id", "customer"),
        ("customer.address.city", None),
        ("lines[0].skuu", "lines[0].sku"),
        ("lines[3].sku", None),
        ("orderId.text", None),
    ],
)
def test_a_path_that_no_record_has_is_told_with_the_nearest_name(path, nearest):
    sample = sampled([order(n, lines=[{"sku": "a"}]) for n in range(20)])
    assert [*unseen(topic(optional(path)), sample)] == [Unseen("x", path, nearest, 20)]


@pytest.mark.parametrize("path", ["orderId", "customer.id", "note", "lines[0].sku"])
def test_a_path_that_one_record_has_is_not_told_though_it_is_null_there(path):
    sample = sampled(
        [order(1), order(2, note=None, lines=[{"sku": None}]), b"no json", b"[1]", None]
    )
    assert [*unseen(topic(optional(path)), sample)] == []


def test_of_several_paths_one_must_be_there():
    assert [*unseen(topic(optional(("id", "orderId"))), sampled([order(1)]))] == []


def test_paths_are_looked_for_where_the_envelope_has_them():
    sample = sampled(
        [{"before": None, "after": order(n), "op": "c", "source": {"lsn": n}} for n in range(3)]
    )
    fields = (
        optional("orderid"),
        Field(name="op", type="string", part="envelope"),
        Field(name="lsn", type="bigint", part="envelope", path="source.lsm", required=False),
    )
    found = unseen(topic(*fields, envelope="debezium"), sample)
    assert [*found] == [
        Unseen("x", "orderid", "orderId", 3),
        Unseen("lsn", "source.lsm", "source.lsn", 3),
    ]


def test_a_cloudevent_is_looked_into_in_either_mode_and_where_its_data_is_in_base64():
    data, named = order(1), {"specversion": "1.0", "type": "placed"}
    coded = base64.b64encode(json.dumps(data).encode()).decode()
    structured = [named | {"data": data}, named | {"data_base64": coded}, {"data_base64": "??"}]
    headers = [(f"ce_{name}", of.encode()) for name, of in named.items()]
    binary = Sampled(0, 0, 0, None, json.dumps(data).encode(), headers)
    fields = (
        optional("orderid"),
        Field(name="type", type="string", part="envelope"),
        Field(name="of", type="string", part="envelope", path="tipe", required=False),
    )
    made = topic(*fields, envelope="cloudevents")
    told = [Unseen("x", "orderid", "orderId", 3), Unseen("of", "tipe", "type", 4)]
    assert [*unseen(made, [*sampled(structured), binary])] == told


def test_headers_and_keys_are_looked_at_as_values_are():
    value = json.dumps(order(1)).encode()
    sample = [Sampled(0, 0, 0, b'{"keyId": 1}', value, [("traceId", b"1")])]
    key = Field(name="k", type="bigint", part="key", path="keyID", required=False)
    header = optional("traceID", part="header")
    found = [*unseen(topic(key, header, key=Json()), sample)]
    assert found == [Unseen("k", "keyID", "keyId", 1), Unseen("x", "traceID", "traceId", 1)]


def test_what_is_compressed_is_looked_into_and_another_format_tells_nothing():
    values = [gzip.compress(json.dumps(order(n)).encode()) for n in range(3)]
    made = topic(optional("orderID"), format=Compressed(by="gzip"))
    assert [*unseen(made, sampled(values))] == [Unseen("x", "orderID", "orderId", 3)]
    assert [*unseen(topic(optional("orderID")), sampled([b"a,b"]))] == []


def test_a_preview_says_it_in_a_line():
    [line] = unseen_lines(topic(optional("orderID")), sampled([order(1)]))
    assert all(part in line for part in ("x", "orderID", "orderId", "1 "))
