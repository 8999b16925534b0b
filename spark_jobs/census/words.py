"""Words: the values that are looked for where no condition can be asked, in every form that a file
may have them in.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import math
import re
import struct
from base64 import b64encode
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final, NamedTuple, Self
from unicodedata import normalize

import pyarrow as pa

from spark_jobs.values.times import EPOCH, iso

CUT: Final = 32
"""Characters that Delta keeps of a text in a log's statistics."""
_LITERALS: Final = re.compile(r"'((?:[^']|'')*)'|(?<![\w.])(-?\d+(?:\.\d+)?)(?![\w.])")
SHORTEST: Final = 6
"""Bytes of a form that stands for a text: a shorter one is found by chance."""
_OF_URLS: Final = bytes.maketrans(b"+/", b"-_")
_SHORT: Final = bytes.maketrans(b"bfnrt", b"\b\f\n\r\t")
_ESCAPES: Final = (
    re.compile(rb'((?:\\u[0-9A-Fa-f]{4})+)|\\(["\\/bfnrt])()'),
    re.compile(rb"()()%([0-9A-Fa-f]{2})"),
)
"""Of JSON; of paths and names of folders."""
LEVELS: Final = 8
"""How often a text may be escaped. A value of hundred thousand levels would take hours."""
_NUMBER: Final = re.compile(r"-?\d{1,38}(?:\.\d{1,38})?")
_NOTHING: Final = re.compile(rb"(?!)")
_INFLATED: Final[dict[bytes, Callable[[bytes], bytes]]] = {
    b"\x1f\x8b": gzip.decompress,
    b"BZh": bz2.decompress,
    b"\xfd7zXZ": lzma.decompress,
    b"\x28\xb5\x2f\xfd": lambda content: bytes(
        pa.input_stream(pa.BufferReader(content), compression="zstd").read()
    ),
}
"""With what a compressed text begins -> what inflates it."""


def inflated(content: bytes) -> bytes | None:
    """None of what is not compressed as a whole. Raises the errors of damage."""
    of = (inflate for begins, inflate in _INFLATED.items() if content.startswith(begins))
    return next((inflate(content) for inflate in of), None)


def literals(sql: str) -> Iterator[object]:
    """The texts and numbers that stand in a condition.

    >>> [*literals("customer_id = 17 AND name <> 'O''Hara'")]
    [17, "O'Hara"]
    """
    for text, number in _LITERALS.findall(sql):
        if number:
            yield float(number) if "." in number else int(number)
        elif text:
            yield text.replace("''", "'")


def texts(value: object) -> Iterator[str]:
    """A value as JSON, logs and names of folders have it; a text in each normal form of Unicode.

    >>> [*texts(17), *texts(True)]
    ['17']
    """
    if isinstance(value, str):
        yield from dict.fromkeys((value, *(normalize(form, value) for form in ("NFC", "NFD"))))
    elif isinstance(value, bytes):
        yield value.decode(errors="replace")
    elif isinstance(value, datetime):
        for unit in ("seconds", "milliseconds", "microseconds"):
            for form in (iso(value, between, unit) for between in ("T", " ")):
                yield from (form, f"{form}Z")
    elif isinstance(value, date):
        yield value.isoformat()
    elif isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        yield str(value)
        if not isinstance(value, int) and math.isfinite(value):
            yield format(Decimal(str(value)).normalize(), "f")


def binary(value: object) -> Iterator[bytes]:
    """A value as Spark's rows in a state store have it, of each type that may have it: in eight
    bytes, a short one before zeros; and as an ordered key has it.
    """
    if isinstance(value, datetime):
        value = (value.replace(tzinfo=value.tzinfo or UTC) - EPOCH) // (EPOCH.resolution)
    elif isinstance(value, date):
        value = (value - EPOCH.date()).days
    elif isinstance(value, Decimal) and value.is_finite():
        value = int(value.scaleb(-int(value.as_tuple().exponent)))
        if not -(2**63) <= value < 2**63:
            yield value.to_bytes((value.bit_length() + 8) // 8, "big", signed=True)
    if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63:
        yield struct.pack("<q", value)
        yield struct.pack(">Q", (value + 2**63) % 2**64)
        if -(2**31) <= value < 0:
            yield struct.pack("<ii", value, 0)
    elif isinstance(value, float):
        yield struct.pack("<d", value)
        with suppress(OverflowError):
            yield struct.pack("<fi", value, 0)


def unescaped(content: bytes) -> set[bytes]:
    r"""What JSON has escaped once, and what a path has: a text may have the other's signs itself.

    >>> sorted(each.decode() for each in unescaped(rb"\u00E9 %C3%A9 %25C3"))
    ['\\u00E9 é %C3', 'é %C3%A9 %25C3']
    """

    def letters(found: re.Match[bytes]) -> bytes:
        units, short, byte = found.groups()
        if units:
            utf_16 = bytes.fromhex(units.replace(b"\\u", b"").decode())
            return utf_16.decode("utf-16-be", errors="replace").encode()
        return bytes.fromhex(byte.decode()) if byte else short.translate(_SHORT)

    return {escape.sub(letters, content) for escape in _ESCAPES}


def packed(text: str) -> set[bytes]:
    """The text in UTF-16, behind its length, and what Base64 and hexadecimal digits make of it
    wherever it stands.
    """
    raw = text.encode()
    digits = raw.hex().encode()
    found = {text.encode("utf-16-le"), text.encode("utf-16-be"), digits, digits.upper()}
    for before in range(3):
        whole = b64encode(b"\0" * before + raw)[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]
        found |= {whole, whole.translate(_OF_URLS)}
    return {each for each in found if len(each) >= SHORTEST} | _behind_length(raw)


def _behind_length(raw: bytes) -> set[bytes]:
    """As Avro, Protobuf, MessagePack and CBOR have it: a length's byte may be a letter."""
    length, heads = len(raw), [_varint(2 * len(raw)), _varint(len(raw))]
    if length < 0x20:  # noqa: PLR2004 - what MessagePack has in one byte
        heads.append(bytes([0xA0 | length]))
    if SHORTEST <= length < 0x18:  # noqa: PLR2004 - what CBOR has in one, a letter
        heads.append(bytes([0x60 | length]))
    if length <= 0xFF:  # noqa: PLR2004 - a byte
        heads += [bytes((0xD9, length)), bytes((0x78, length))]
    return {head + raw for head in heads}


def _varint(number: int) -> bytes:
    low, more = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + _varint(more) if more else bytes([low])


class Words(NamedTuple):
    """What is looked for, compiled."""

    names: frozenset[str] | None
    """Of the columns that have the values; None of all."""
    exact: frozenset[str]
    cut: tuple[str, ...]
    """The starts of texts that are too long for statistics."""
    plain: re.Pattern[bytes]
    stored: re.Pattern[bytes]
    """In what is no text, where a value has no spaces around it."""

    @classmethod
    def of(cls, values: Collection[object], names: Collection[str]) -> Self:
        """Whole words: 17 is not in 170, and in a_17."""
        return cls._made(values, values, frozenset(names), _word)

    @classmethod
    def of_bytes(cls, text: str) -> Self:
        """This text, wherever it is, also within a word."""
        return cls._made([text], [int(text)] if text.isdecimal() else [], None, bytes)

    @classmethod
    def _made(
        cls,
        values: Collection[object],
        in_rows: Collection[object],
        names: frozenset[str] | None,
        as_words: Callable[[bytes], bytes],
    ) -> Self:
        exact = {text for value in values for text in texts(value) if text}
        whole = (value for value in values if isinstance(value, str | bytes))
        of_texts = {text for value in whole for text in texts(value) if text}
        others = {form for text in of_texts for form in packed(text)}
        stored = {form for value in in_rows for form in binary(value)}
        return cls(
            names,
            frozenset(exact),
            tuple(text[:CUT] for text in exact if len(text) > CUT),
            _pattern(as_words(_any({text.encode() for text in exact})), others),
            _pattern(b"", others | stored | {text.encode() for text in of_texts}),
        )

    def in_bytes(self, content: bytes) -> bool:
        """Whether bytes have one of them; those with a zero are no text."""
        if (self.stored if b"\0" in content else self.plain).search(content):
            return True
        seen = found = {content}
        for _ in range(LEVELS):
            found = {plainer for each in found for plainer in unescaped(each)} - seen
            if any(map(self.plain.search, found)):
                return True
            seen |= found
        return False

    def in_tree(self, tree: object, name: str = "", *, anywhere: bool = False) -> bool:
        """Whether a document of JSON, or a row, has one of them. A number counts by its name."""
        if isinstance(tree, Mapping):
            return any(
                self.in_text(str(key)) or self.in_tree(value, str(key), anywhere=anywhere)
                for key, value in tree.items()
            )
        if isinstance(tree, list | tuple):
            if isinstance(tree, tuple) and len(tree) == 2:  # noqa: PLR2004 - pyarrow's entry of a map
                return self.in_tree({str(tree[0]): tree[1]}, anywhere=anywhere)
            return any(self.in_tree(each, name, anywhere=anywhere) for each in tree)
        if isinstance(tree, bytes):  # a topic's values may be compressed one by one
            with suppress(Exception):
                tree = inflated(tree) or tree
            return self.in_bytes(tree)
        of_one = self._in_string if isinstance(tree, str) else self._in_value
        return of_one(tree, name, anywhere=anywhere)

    def in_text(self, text: str) -> bool:
        """Whether a text has one of them as a word."""
        return self.in_bytes(text.encode(errors="replace"))

    def _in_string(self, text: Any, name: str, *, anywhere: bool) -> bool:
        of_it = self.names is None or name in self.names
        if self.in_text(text) or (of_it and (self._is_start(text) or self._is_number(text))):
            return True
        return text[:1] in "{[" and self.in_tree(parsed(text), name, anywhere=anywhere)

    def _in_value(self, value: object, name: str, *, anywhere: bool) -> bool:
        if self.names is None:
            return any(map(self.in_text, texts(value)))
        return (anywhere or name in self.names) and not self.exact.isdisjoint(texts(value))

    def _is_number(self, text: str) -> bool:
        """A partition's decimal has all its digits: 12.50."""
        fits = _NUMBER.fullmatch(text) is not None
        return fits and not self.exact.isdisjoint(texts(Decimal(text)))

    def _is_start(self, text: str) -> bool:
        """Of the largest value Delta changes or adds a last character."""
        return any(text[: CUT - 1] == start[: CUT - 1] for start in self.cut)


def _word(regex: bytes) -> bytes:
    return rb"(?<![A-Za-z0-9])(?:%s)(?![A-Za-z0-9])" % regex if regex else b""


def _pattern(regex: bytes, texts_: Collection[bytes]) -> re.Pattern[bytes]:
    """Of the expression, or one of the texts; of nothing without either."""
    ways = [*filter(None, (regex, _any(texts_)))]
    return re.compile(b"|".join(ways)) if ways else _NOTHING


def _any(found: Collection[bytes]) -> bytes:
    return b"|".join(map(re.escape, sorted(found, key=len, reverse=True)))


def parsed(text: str | bytes) -> Any:
    """None for what is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
