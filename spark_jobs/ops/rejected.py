"""Rejected: late and quarantined records for a view, by day and reason without their bytes, or one
record with its bytes for those who may see them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from spark_jobs.errors.base import visible
from spark_jobs.ops import ops_tables
from spark_jobs.ops.json_of_tables import OTHERS, Bucket, Rejected, RejectedLine
from spark_jobs.ops.record_shown import FieldShown, HeaderShown, RawShown, RecordPage, Withheld
from spark_jobs.values.spans import EPOCH, MICROSECOND, floor_sql

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.ops.schema import Row

Table = Literal["late", "quarantine"]
REASON = {"late": '"step"', "quarantine": "concat(kind, ': ', reason)"}
"""Table -> SQL of why a record is in it."""
KIND = {"late": '"step"', "quarantine": "kind"}
"""Table -> SQL of what of that is no text of others."""
MISSED = {"late": "watermark_missed", "quarantine": "CAST(NULL AS TIMESTAMP)"}
MOST_LISTED_REASON = 300
"""Characters of a reason: the decoder's may repeat a value, of any length."""
MOST_DAYS = 1000
"""Of days and reasons together; the rest of each day is one line."""
DAY = timedelta(days=1)


_DAY = f"({floor_sql('CAST(kafka_timestamp AS BIGINT)', DAY)}) / {DAY // MICROSECOND}"
"""Days since 1970. In numbers: delta-rs makes text of times until 2262 only."""


class Only(NamedTuple):
    """Which of them; all where a text is empty."""

    run_id: str = ""
    """The run that accounted for them."""
    kind: str = ""
    """late: the step; quarantine: malformed or premature."""
    reason: str = ""
    """As it is shown. It may quote a value: not asked for who may not see those."""

    @property
    def asked(self) -> dict[str, str]:
        """Name -> text."""
        return {name: text for name, text in self._asdict().items() if text}

    def where(self, pipeline: str, table: Table) -> str:
        """The SQL condition."""
        columns = {"run_id": "run_id", "kind": KIND[table], "reason": _reason(table)}
        asked = {columns[name]: text for name, text in self.asked.items()}
        return ops_tables.equals({"pipeline": pipeline} | asked)


ALL = Only()


def rejected(
    root: UPath, pipeline: str, table: Table, limit: int, offset: int, only: Only = ALL
) -> Rejected:
    """The number of records by kind and day, and a page of records, newest first."""
    own, reason = only.where(pipeline, table), _reason(table)
    days = ops_tables.query(
        root,
        table,
        f"SELECT {_DAY} AS day, {reason} AS reason, "
        f"count(*) AS records FROM {table} WHERE {own} GROUP BY 1, 2 "
        f"ORDER BY 1 DESC NULLS LAST, 3 DESC, 2 LIMIT {MOST_DAYS}",
    ).to_pylist()
    if len(days) == MOST_DAYS:
        days += _others(root, table, own, days)
    rows = ops_tables.query(
        root,
        table,
        'SELECT topic, generation, partition, "offset", element, kafka_timestamp, kafka_millis, '
        "event_time, "
        f"{reason} AS reason, "
        f"{MISSED[table]} AS watermark_missed, batch_id AS batch, run_id FROM {table} WHERE {own} "
        'ORDER BY kafka_timestamp DESC NULLS LAST, partition, "offset" DESC, element '
        f"LIMIT {limit + 1} OFFSET {offset}",
    ).to_pylist()
    return Rejected(
        days=tuple(Bucket(**row | {"day": _date(row["day"])}) for row in days),
        records=tuple(RejectedLine(**row) for row in rows[:limit]),
        more=len(rows) > limit,
    )


def _others(root: UPath, table: Table, own: str, days: list[Row]) -> list[Row]:
    """A reason may quote a value, so that there may be any number."""
    told = Counter[int | None]()
    for row in days:
        told[row["day"]] += row["records"]
    whole = ops_tables.query(
        root,
        table,
        f"SELECT {_DAY} AS day, count(*) AS records FROM {table} WHERE {own} GROUP BY 1 "
        f"ORDER BY 1 DESC NULLS LAST LIMIT {MOST_DAYS}",
    ).to_pylist()
    rest = [(row["day"], row["records"] - told[row["day"]]) for row in whole]
    return [{"day": day, "reason": OTHERS, "records": more} for day, more in rest if more > 0]


def _reason(table: Table) -> str:
    return f"coalesce(left({REASON[table]}, {MOST_LISTED_REASON}), '')"


def _date(days: int | None) -> str:
    return "" if days is None else f"{EPOCH + days * DAY:%F}"


MOST_REASON = 2_000
MOST_TEXT = 4_000
"""Characters of a value as text."""
MOST_HEX = 1_024
"""Bytes of a value in hexadecimal."""
MOST_DECODED = 2**20
"""Bytes of a value that is decoded: a page does not parse more."""
MOST_FIELDS = 100
MOST_FIELD = 300
"""Characters of a field's value."""
HEX_LINE = 16
Taken = tuple[tuple[FieldShown, ...], str]
"""Fields, and why there are none, or how many are left out."""
Headers = Sequence[Mapping[str, Any]]
"""Of a record: structs of key and value."""
Read = Callable[[bytes, "Headers | None"], Taken]


NONE: Final[Mapping[str, str]] = MappingProxyType({})


class Declared(NamedTuple):
    """What is known of a topic's records."""

    read: Read | None = None
    """What takes a value apart; without it, it may be JSON."""
    headers: Mapping[str, str] = NONE
    """Name -> type."""


def record(
    root: UPath,
    pipeline: str,
    table: Table,
    place: tuple[str, int, int, int | None],
    declared: Declared,
    withheld: Withheld | None,
) -> RecordPage | None:
    """The record at this place: generation, partition, offset, element; None without one.

    If the bytes are `withheld`, nothing of them is read.
    """
    generation, partition, offset, element = place
    of_value = ops_tables.equals(
        {"pipeline": pipeline, "generation": generation, "partition": partition, '"offset"': offset}
    )
    own = f"{of_value} AND element IS NOT DISTINCT FROM {'NULL' if element is None else element}"
    raw = "" if withheld else ", key, value, headers"
    rows = ops_tables.query(
        root,
        table,
        'SELECT topic, generation, partition, "offset", element, kafka_timestamp, kafka_millis, '
        "event_time, "
        f"coalesce(left({REASON[table]}, {MOST_REASON}), '') AS reason, {MISSED[table]} AS "
        f"watermark_missed, batch_id AS batch, run_id{raw} FROM {table} WHERE {own} LIMIT 1",
    ).to_pylist()
    if not rows:
        return None
    line = RejectedLine(**rows[0])
    if raw and element is not None:  # the first record of a value has its bytes
        sql = f"SELECT key, value, headers FROM {table} WHERE {of_value} AND value IS NOT NULL"
        whole = ops_tables.query(root, table, f"{sql} LIMIT 1").to_pylist()
        rows = [row | (whole[0] if whole else {}) for row in rows]
    late_by = None
    if line.watermark_missed is not None and line.event_time is not None:
        late_by = (line.watermark_missed - line.event_time).total_seconds()
    undeclared = partial(of_json, declared=NONE)
    return RecordPage(
        line=line,
        late_by_seconds=late_by,
        withheld=withheld,
        key=None if withheld else raw_shown(rows[0]["key"], undeclared),
        value=None
        if withheld
        else raw_shown(rows[0]["value"], declared.read or undeclared, rows[0]["headers"]),
        headers=None if withheld else headers_shown(rows[0]["headers"], declared.headers),
    )


def headers_shown(
    headers: Headers | None, declared: Mapping[str, str]
) -> tuple[HeaderShown, ...] | None:
    """Headers as text; None for null."""
    if headers is None:
        return None
    return tuple(
        HeaderShown(
            name=visible(each["key"], MOST_FIELD),
            declared=declared.get(each["key"]),
            size=None if each["value"] is None else len(each["value"]),
            value=None
            if each["value"] is None
            else visible(
                each["value"][: 4 * MOST_FIELD].decode("utf-8", "backslashreplace"), MOST_FIELD
            ),
        )
        for each in headers[:MOST_FIELDS]
    )


def raw_shown(raw: bytes | None, read: Read, headers: Headers | None = None) -> RawShown | None:
    """Bytes as text, in hexadecimal, and decoded as far as they can be; None for null."""
    if raw is None:
        return None
    # A character has four bytes at most: more need not be decoded.
    text = raw[: 4 * MOST_TEXT].decode("utf-8", "backslashreplace")
    large = len(raw) > MOST_DECODED
    fields, why = ((), f"it has more than {MOST_DECODED:,} bytes") if large else read(raw, headers)
    return RawShown(
        size=len(raw),
        text=visible(text[:MOST_TEXT]),
        text_whole=len(raw) <= 4 * MOST_TEXT and len(text) <= MOST_TEXT,
        hexadecimal=tuple(hex_lines(raw[:MOST_HEX])),
        hexadecimal_whole=len(raw) <= MOST_HEX,
        fields=fields,
        not_decoded=why,
    )


def hex_lines(raw: bytes) -> list[str]:
    """Sixteen bytes a line: their offset, their hexadecimal digits, and ASCII where it is visible.

    >>> hex_lines(b"ab\\x1b")
    ['00000000  61 62 1b                                         |ab.|']
    """
    lines = []
    for at in range(0, len(raw), HEX_LINE):
        part = raw[at : at + HEX_LINE]
        seen = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)  # noqa: PLR2004 - ASCII
        lines.append(f"{at:08x}  {part.hex(' '):<{3 * HEX_LINE}} |{seen}|")
    return lines


def of_json(raw: bytes, _: Headers | None, declared: Mapping[str, str]) -> Taken:
    """The fields of a JSON object, the declared ones first; and why there are none. `declared`:
    name -> type.
    """
    try:
        found = json.loads(raw)
        if not isinstance(found, dict):
            return (), "it is JSON, and not an object"
        # Here: what was nested just not too deeply to be read may be so to be written.
        texts = {name: _json(value) for name, value in found.items()}
    except (ValueError, RecursionError) as error:
        return (), f"it is not JSON: {visible(str(error), MOST_FIELD)}"
    names = list(dict.fromkeys([*declared, *found]))
    return tuple(
        FieldShown(
            name=visible(name, MOST_FIELD),
            declared=declared.get(name),
            value=visible(texts[name], MOST_FIELD) if name in texts else None,
        )
        for name in names[:MOST_FIELDS]
    ), (f"{len(names) - MOST_FIELDS:,} more fields" if len(names) > MOST_FIELDS else "")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
