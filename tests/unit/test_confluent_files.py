"""The files that Confluent's clients import and do not register: as its own client describes them."""

from decimal import Decimal

import pytest
from confluent_kafka.schema_registry.confluent import meta_pb2
from confluent_kafka.schema_registry.confluent.type import decimal_pb2, variant_pb2
from confluent_kafka.schema_registry.confluent.types import decimal_pb2 as older_pb2
from google.protobuf import descriptor_pb2

from spark_jobs.decode.schemas.protoc import descriptor_set
from spark_jobs.spec import Field, Protobuf, Topic
from tests.unit.decoding import Decoding

KNOWN = {each.DESCRIPTOR.name: each for each in (meta_pb2, decimal_pb2, variant_pb2, older_pb2)}
SCHEMA = "\n".join([
    'syntax = "proto3";', "package shop;", *(f'import "{name}";' for name in KNOWN),
    'message Sale { option (confluent.message_meta).doc = "A sale."; confluent.type.Decimal price = 1;',
    ' string note = 2 [(confluent.field_meta).tags = "PII"]; }',
])  # fmt: skip
FIELDS = (
    Field(name="price", type="decimal(8,2)", required=False),
    Field(name="note", type="string"),
    Field(name="at", type="timestamp", part="timestamp"),
)


def described(file: descriptor_pb2.FileDescriptorProto) -> descriptor_pb2.FileDescriptorProto:
    """Without what each compiler writes in a way of its own."""
    for message in [
        *file.message_type,
        *(each for m in file.message_type for each in m.nested_type),
    ]:
        for field in message.field:
            field.ClearField("json_name")
    for field in file.extension:
        field.ClearField("json_name")
    file.ClearField("options")
    file.ClearField("source_code_info")
    file.message_type.sort(key=lambda message: message.name)
    return file


@pytest.fixture(scope="module")
def compiled() -> bytes:
    return descriptor_set(SCHEMA)


def test_they_are_as_the_client_has_them(compiled):
    found = {file.name: file for file in descriptor_pb2.FileDescriptorSet.FromString(compiled).file}
    for name, module in KNOWN.items():
        theirs = descriptor_pb2.FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)
        assert described(found[name]) == described(theirs)


@pytest.mark.parametrize(
    ("value", "scale", "wanted"),
    [
        ((-1234567).to_bytes(3, "big", signed=True), 2, Decimal("-12345.67")),
        (b"\x05", -3, Decimal("5000.00")),
        (b"\x05", 3, "`$.price` is a number that decimal(8,2) has not"),
        (b"", 0, "`$.price` is no decimal of at most 38 digits"),
        (b"\x01", 2**31 - 1, "`$.price` is no decimal of at most 38 digits"),
    ],
)
def test_a_decimal_is_a_number(compiled, value, scale, wanted):
    price = decimal_pb2.Decimal(value=value, precision=8, scale=scale).SerializeToString()
    format_ = Protobuf(message="shop.Sale", descriptor=compiled)
    topic = Topic(name="t", event_time="at", fields=FIELDS, format=format_)
    row, why = Decoding(topic).row(b"\x0a" + bytes([len(price)]) + price + b"\x12\x01n")
    assert (why or row[0]) == wanted
