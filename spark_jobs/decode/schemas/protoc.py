"""protoc: Protobuf's own compiler (grpcio-tools), in a process of its own: from a schema's text to
descriptors. It brings the files that clients import and do not register.
"""

from __future__ import annotations

import binascii
import os
import subprocess
import tempfile
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from google.protobuf import descriptor_pb2
from google.protobuf.message import DecodeError

from spark_jobs.decode.schemas.schema import SchemaUnread
from spark_jobs.values.pinned import own, searching

_HEAD: Final = 'syntax = "proto3";\n'
_EXTENDED: Final = ("File", "Message", "Field", "Enum", "EnumValue")
_NAMES: Final = ("file", "message", "field", "enum", "enum_value")
FILES: Final = {
    "confluent/meta.proto": _HEAD
    + """package confluent;
import "google/protobuf/descriptor.proto";
message Rule { string name = 1; string doc = 2; string expr = 3; string sql = 4; }
message Meta {
  string doc = 1; map<string, string> params = 2; repeated string tags = 3; repeated Rule rules = 4;
}
"""
    + "".join(
        f"extend google.protobuf.{of}Options {{ Meta {name}_meta = 1088; }}\n"
        for of, name in zip(_EXTENDED, _NAMES, strict=True)
    ),
    "confluent/type/decimal.proto": _HEAD
    + """package confluent.type;
message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }
""",
    "confluent/type/variant.proto": _HEAD
    + """package confluent.type;
message Variant { bytes metadata = 1; bytes value = 2; }
""",
    "confluent/types/decimal.proto": _HEAD + 'import public "confluent/type/decimal.proto";\n',
}
"""The path by which a schema imports each -> its text."""


OWN: Final = "sluice_registered_schema.proto"
"""The schema's file: its registry gives it no name."""
SECONDS: Final = 60
_SHOWN: Final = 200
_PROGRAM: Final = """
import sys
from importlib.resources import files
from grpc_tools import protoc
known = str(files("grpc_tools") / "_proto")
sys.exit(protoc.main(["protoc", "-I.", "-I" + known, "--include_imports", *sys.argv[1:]]))
"""


class NotProtobuf(SchemaUnread):
    """The text does not compile; says why."""


def descriptor_set(text: str, references: Sequence[tuple[str, str]] = ()) -> bytes:
    """A FileDescriptorSet with all that the schema imports, its own file the last. `references`:
    the path by which it imports each, and its text. Raises NotProtobuf.

    Confluent's Python client registers a file's descriptor in base64, in place of its text.
    """
    own = _described(text)
    if own is None:
        return _compiled(text, references)
    described = [each for _, given in references if (each := _described(given))]
    texts = [(name, given) for name, given in references if _described(given) is None]
    names = {each.name for each in (own, *described)}
    imports = {name for each in (own, *described) for name in each.dependency if name not in names}
    stub = "".join(['syntax = "proto3";', *(f'import "{name}";' for name in sorted(imports))])
    found = descriptor_pb2.FileDescriptorSet.FromString(_compiled(stub, texts))
    found.file.pop()  # the stub
    found.file.extend([*described, own])
    return bytes(found.SerializeToString())


def _described(text: str) -> descriptor_pb2.FileDescriptorProto | None:
    """The file that is described so; None of a text."""
    try:
        found = descriptor_pb2.FileDescriptorProto.FromString(b64decode(text, validate=True))
    except (binascii.Error, ValueError, DecodeError):
        return None
    return found if found.name else None


def _compiled(text: str, references: Sequence[tuple[str, str]]) -> bytes:
    with tempfile.TemporaryDirectory(prefix="sluice-protoc-") as given:
        folder = Path(given)
        for name, content in (FILES | dict(references)).items():
            _write(folder, name, content)
        _write(folder, OWN, text)
        out = folder / "out.desc"
        try:
            done = subprocess.run(
                searching(own(), "-c", _PROGRAM, f"--descriptor_set_out={out}", OWN),
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
                env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            )
        except subprocess.TimeoutExpired:
            raise NotProtobuf(f"protoc took more than {SECONDS} s") from None
        if done.returncode or not out.exists():
            said = (done.stderr.strip() or "protoc failed").splitlines()[-1]
            raise NotProtobuf(said.replace(OWN, "the schema")[:_SHOWN])
        return out.read_bytes()


def _write(folder: Path, name: str, content: str) -> None:
    """A file that protoc may import. Its name is the registry's: it must be a Protobuf file's."""
    place = PurePosixPath(name)
    if place.is_absolute() or ".." in place.parts or place.suffix != ".proto":
        why = "which is no path of a .proto file below it"
        raise NotProtobuf(f"it imports {name[:_SHOWN]!r}, {why}")
    try:
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(content, encoding="utf-8")
    except OSError as error:
        raise NotProtobuf(f"it imports {name[:_SHOWN]!r}: {error.strerror}") from None
