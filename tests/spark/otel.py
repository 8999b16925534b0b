"""Values of many log records, as JSON, Avro and Protobuf."""

import json
from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

from spark_jobs.spec import Avro, Json, Protobuf
from tests.harness.schemas import by_fastavro


def of(name: str, *fields: tuple[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields]}


def many(record: Any) -> dict[str, Any]:
    return {"type": "array", "items": record}


RECORD = of("Log", ("timeUnixNano", "string"), ("body", of("Body", ("stringValue", "string"))))
SCOPE = of("ScopeLogs", ("scope", of("Scope", ("name", "string"))), ("logRecords", many(RECORD)))
TEXT = of("Text", ("stringValue", "string"))
RESOURCE = of("Resource", ("attributes", many(of("Attribute", ("key", "string"),
                                                 ("value", ["null", TEXT])))))  # fmt: skip
LOGS = of("Logs", ("resourceLogs", many(of("ResourceLogs", ("resource", RESOURCE),
                                           ("scopeLogs", many(SCOPE))))))  # fmt: skip


@cache
def described() -> tuple[bytes, Any]:
    """The FileDescriptorSet of the same, and its message's class."""
    file = descriptor_pb2.FileDescriptorProto(name="logs.proto", package="logs", syntax="proto3")
    kinds = descriptor_pb2.FieldDescriptorProto

    def put(record: dict[str, Any]) -> str:
        made = descriptor_pb2.DescriptorProto(name=record["name"])
        for number, field in enumerate(record["fields"], 1):
            kind = field["type"][1] if isinstance(field["type"], list) else field["type"]
            repeated = isinstance(kind, dict) and kind["type"] == "array"
            label = kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL
            one = made.field.add(name=field["name"], number=number, label=label)
            kind = kind["items"] if repeated else kind
            if kind == "string":
                one.type = kinds.TYPE_STRING
            else:
                one.type, one.type_name = kinds.TYPE_MESSAGE, put(kind)
        file.message_type.append(made)
        return f".logs.{made.name}"

    put(LOGS)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    kind = message_factory.GetMessageClass(pool.FindMessageTypeByName("logs.Logs"))
    return descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString(), kind


def by_protobuf(value: dict[str, Any]) -> bytes:
    content: bytes = json_format.ParseDict(value, described()[1]()).SerializeToString()
    return content


FORMATS: dict[str, tuple[Any, Any]] = {
    "json": (Json(), lambda value: json.dumps(value).encode()),
    "avro": (Avro(reader=json.dumps(LOGS)), lambda value: by_fastavro(LOGS, value)),
    "protobuf": (Protobuf(descriptor=described()[0], message="logs.Logs"), by_protobuf),
}
"""The format, and what encodes a value in it."""
