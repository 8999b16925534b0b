"""Deliveries as companies' topics have them, by other libraries than those that decode them."""

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from local.deliveries import Delivered
from local.flights import FlightEvent
from spark_jobs.spec import Avro, Compressed, Csv, Format, Protobuf, Topic
from spark_jobs.topics.flights import FLIGHTS
from tests.harness import enveloped
from tests.harness.schemas import protoc

Write = Callable[[FlightEvent, int], bytes]
"""An event of a delivery, from 0."""
TIMES: Final = ("event_time", "scheduled_time")
AVRO: Final[dict[str, Any]] = {
    "string": "string",
    "int": "int",
    "boolean": "boolean",
    "timestamp": {"type": "long", "logicalType": "timestamp-micros"},
}
PROTO = """syntax = "proto3";
package flights;
import "google/protobuf/timestamp.proto";
message Heartbeat { string id = 1; }
message Flight {
  string event_id = 1; string event_type = 2; google.protobuf.Timestamp event_time = 3;
  google.protobuf.Timestamp scheduled_time = 4; string carrier = 5; int32 flight = 6;
  optional string tail_number = 7; string origin = 8; string destination = 9;
  optional int32 delay_minutes = 10; bool cancelled = 11; int32 distance_miles = 12;
}
"""


class Encoding(NamedTuple):
    """How a topic is declared, and what writes it."""

    topic: Topic
    write: Write
    broken: Callable[[Delivered], bytes | None]

    def encode(self, records: Sequence[Delivered], number: int) -> list[Delivered]:
        """The delivery of this number, from 1, so written. A tombstone stays one."""
        return [
            replace(
                each, value=self.write(each.event, number - 1) if each.event else self.broken(each)
            )
            for each in records
        ]


@contextmanager
def encodings(url: str, topic: str, folder: Path) -> Iterator[dict[str, Encoding]]:
    """By name. Those with a registry register their schemas there as they write."""
    with SchemaRegistryClient({"url": url}) as client:
        yield {
            "json": Encoding(FLIGHTS, lambda event, _: event.to_json().encode(), _same),
            "gzip": _of(
                Compressed(by="gzip"), lambda event, _: gzip.compress(event.to_json().encode()), _gz
            ),
            "csv": _of(
                Csv(columns=("unread", *FLIGHTS.columns), delimiter=";"),
                lambda event, _: _row(event),
                lambda record: record.value and b"x;" + record.value[:30],
            ),
            "avro": _of(
                Avro(registry="main"), _avro(client, topic), lambda r: r.value and b"\0\0\0\0\1\xff"
            ),
            "protobuf": _of(
                Protobuf(registry="main", message="flights.Flight"),
                _protobuf(client, topic, folder),
                lambda r: r.value and b"\0\0\0\x7f\x7f\0",
            ),
            **{
                name: Encoding(declared, _around(wrap), _broken(wrap))
                for name, (declared, wrap) in enveloped.SHAPES.items()
            },
        }


def _of(format_: Format, write: Write, broken: Callable[[Delivered], bytes | None]) -> Encoding:
    return Encoding(FLIGHTS.model_copy(update={"format": format_}), write, broken)


def _around(wrap: enveloped.Wrap) -> Write:
    return lambda event, delivery: json.dumps(wrap(event.fields(), delivery)).encode()


def _broken(wrap: enveloped.Wrap) -> Callable[[Delivered], bytes | None]:
    """What is wrong with the flat object is wrong in this shape; what is none stays as it is."""

    def broken(record: Delivered) -> bytes | None:
        try:
            fields = json.loads(record.value or b"")
        except ValueError:
            return record.value
        return json.dumps(wrap(fields, 0)).encode() if isinstance(fields, dict) else record.value

    return broken


def _same(record: Delivered) -> bytes | None:
    return record.value


def _gz(record: Delivered) -> bytes | None:
    return None if record.value is None else gzip.compress(record.value)


def _row(event: FlightEvent) -> bytes:
    fields = json.loads(event.to_json())
    out = io.StringIO()
    cells = [fields.get(name) for name in FLIGHTS.columns]
    texts = [str(cell).lower() if isinstance(cell, bool) else cell for cell in cells]
    csv.writer(out, delimiter=";").writerow(['un;"read"', *texts])
    return out.getvalue().encode()


def _values(event: FlightEvent) -> dict[str, Any]:
    fields = event.fields() | {name: getattr(event, name) for name in TIMES}
    return {name: fields.get(name) for name in FLIGHTS.columns}


def _avro(client: SchemaRegistryClient, topic: str) -> Write:
    """The second delivery has another schema: a field more, one wider, others in another order."""

    def kind(name: str, of: str, required: bool, wide: bool) -> dict[str, Any]:
        made = "long" if wide and of == "int" else AVRO[of]
        return {"name": name, "type": made if required else ["null", made]}

    def schema(delivery: int) -> str:
        fields = [kind(f.name, f.type, f.required, delivery > 0) for f in FLIGHTS.fields]
        more = [{"name": "gate", "type": "string", "default": "A1"}] if delivery else []
        fields = [*more, *reversed(fields)] if delivery else fields
        return json.dumps(
            {"type": "record", "name": "Flight", "namespace": "flights", "fields": fields}
        )

    made: dict[int, AvroSerializer] = {}
    context = SerializationContext(topic, MessageField.VALUE)
    loose = {"auto.register.schemas": True, "normalize.schemas": False}

    def write(event: FlightEvent, delivery: int) -> bytes:
        which = min(delivery, 1)
        if which not in made:
            made[which] = AvroSerializer(client, schema(which), conf=loose)
        return bytes(
            made[which]({"gate": "B2"} | _values(event) if which else _values(event), context)
        )

    return write


def _protobuf(client: SchemaRegistryClient, topic: str, folder: Path) -> Write:
    done = protoc(folder, PROTO, "--include_imports", f"--descriptor_set_out={folder}/flights.desc")
    assert done.returncode == 0, done.stderr
    files = descriptor_pb2.FileDescriptorSet.FromString((folder / "flights.desc").read_bytes()).file
    pool = descriptor_pool.DescriptorPool()
    for file in files:
        pool.Add(file)
    kind = message_factory.GetMessageClass(pool.FindMessageTypeByName("flights.Flight"))
    context = SerializationContext(topic, MessageField.VALUE)
    made: list[ProtobufSerializer] = []

    def write(event: FlightEvent, _: int) -> bytes:
        message = kind()
        for name, value in _values(event).items():
            if name in TIMES:
                getattr(message, name).FromDatetime(value)
            elif value is not None:
                setattr(message, name, value)
        if not made:
            made.append(ProtobufSerializer(kind, client, {"use.deprecated.format": False}))
        return bytes(made[0](message, context))

    return write
