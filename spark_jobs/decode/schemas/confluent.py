"""Confluent: the files that its clients import and do not register: what a schema says of itself,
and numbers of decimal digits. As confluent_kafka.schema_registry.confluent describes them.
"""

from __future__ import annotations

from typing import Final

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
