"""Schemas of a registry, kept under a root as a run keeps them; records by other libraries."""

import io
import json
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fastavro

from spark_jobs.decode.schemas.kept import Kept
from spark_jobs.decode.schemas.registry import Registered


class Answers:
    """What a registry has, by id."""

    url = "http://registry.example"

    def __init__(self, schemas: Mapping[int, Registered]) -> None:
        self._schemas = schemas

    def schema(self, number: int) -> Registered | None:
        return self._schemas.get(number)


def keep(root: Path, schemas: Mapping[int, Registered | None], name: str = "main") -> None:
    """Keep them under the root; None: the registry has none."""
    answers: Any = Answers({number: each for number, each in schemas.items() if each})
    Kept(str(root), name).fetch(map(str, schemas), lambda: answers)


def avro(schema: Any) -> Registered:
    return Registered("AVRO", json.dumps(schema), ())


def framed(number: int, content: bytes) -> bytes:
    """In Confluent's wire format."""
    return b"\0" + struct.pack(">I", number) + content


def by_fastavro(schema: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def protoc(folder, schema, *asked, given=b"") -> subprocess.CompletedProcess[bytes]:
    """Protobuf's compiler in C++, another implementation than Python's, which also encodes."""
    (folder / "given.proto").write_text(schema)
    program = (
        "import sys; from importlib.resources import files; from grpc_tools import protoc;"
        "known = str(files('grpc_tools') / '_proto');"
        "sys.exit(protoc.main(['protoc', '-I.', '-I' + known, *sys.argv[1:], 'given.proto']))"
    )
    return subprocess.run(
        [sys.executable, "-c", program, *asked],
        cwd=folder,
        input=given,
        capture_output=True,
        check=False,
    )
