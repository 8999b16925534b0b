"""Formats: how a topic's values, or keys, are encoded, as a spec declares it.

Light: a format names its decoder, which is imported where bytes are decoded (decode/formats.py). A
package of yours brings another one as a class of its own; no table names it.
"""

from __future__ import annotations

from typing import ClassVar, Final

from pydantic import SerializeAsAny

from spark_jobs.spec.model import Model

LINES: Final = "spark_jobs.files.text:Lines"
"""A record a line."""


class Format(Model):
    """One encoding, with its settings: `Json()`, another one below, or a class of your own."""

    kind: ClassVar[str]
    """Its name, in the fingerprint and in texts."""
    decoder: ClassVar[str]
    """Its decoder as module:name, a class as the Decoder of decode/formats.py says."""
    elements: ClassVar[str] = ""
    """What takes a value with many records apart, as module:name of a class as the Elements of
    decode/formats.py says; empty: nothing does.
    """
    not_rows: ClassVar[frozenset[str]] = frozenset()
    """Fields that change no row, as an address. All others are in the fingerprint."""

    layout: ClassVar[str] = ""
    """How files have records of it (files/layout.py), as module:name; empty: no file has."""
    of_files: ClassVar[bool] = False
    """Whether files alone have records of it."""
    of_texts: ClassVar[bool] = False
    """Whether a value is one text, or named ones: a field with parts is in none."""

    @property
    def reads_headers(self) -> bool:
        """Whether its decoder looks at the records' headers."""
        return False

    @property
    def asks(self) -> str:
        """The module that asks a registry for the schemas whose ids its records have, by `look`
        before a query and by `ask_again` before a replay (runs/schema_look.py); empty: they have
        none.
        """
        return ""

    @property
    def within(self) -> Format:
        """The format of what is in it: itself, unless it is around another one."""
        return self


class Json(Format):
    """One JSON object a record (RFC 8259), in UTF-8."""

    kind: ClassVar[str] = "json"
    decoder: ClassVar[str] = "spark_jobs.decode.json.decoder:JsonDecoder"
    elements: ClassVar[str] = "spark_jobs.decode.json.elements:JsonElements"
    layout: ClassVar[str] = LINES


class Text(Format):
    """The whole value, or key, is one text, in UTF-8."""

    kind: ClassVar[str] = "text"
    decoder: ClassVar[str] = "spark_jobs.decode.plain:TextDecoder"
    layout: ClassVar[str] = LINES
    of_texts: ClassVar[bool] = True


class Parquet(Json):
    """A row of a Parquet file, made one JSON object. For Files alone."""

    kind: ClassVar[str] = "parquet"
    layout: ClassVar[str] = "spark_jobs.files.parquet:ParquetFile"
    of_files: ClassVar[bool] = True


AnyFormat = SerializeAsAny[Format]
"""A field that holds one: written with the fields of its class."""
JSON: Final = Json()
TEXT: Final = Text()
