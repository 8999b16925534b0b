"""Beside the value: fields of Kafka's key and headers, as far as no field of the value has the
same.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from spark_jobs.draft.csv_topic import kind_of_cells, of_cells
from spark_jobs.draft.fields import Drafted, drafted
from spark_jobs.draft.leaf import leaves
from spark_jobs.draft.written_time import FEW
from spark_jobs.spec import Field, Format, Json
from spark_jobs.spec.formats.format import TEXT

if TYPE_CHECKING:
    from spark_jobs.draft.sample import Sampled

KEY: Final = "kafka_key"
UNNAMED: Final = "the value has not what Kafka's key says: give it a name"


def beside(
    records: Sequence[Sampled],
    fields: Sequence[Drafted],
    clock_ms: float,
    notes: dict[str, str],
    shown: dict[str, str],
) -> tuple[list[Drafted], Format]:
    """The fields, with a value for each record, and the format of the key. `fields` are those of
    the value. What is the same in all records, or in the value too, is said in `shown` alone.
    """
    taken = [each.field.name for each in fields]
    of_key, format_ = _of_key(records, fields, clock_ms, notes, shown)
    taken += [each.field.name for each in of_key]
    columns = dict[str, list[Any]]()
    for place, each in enumerate(records):
        for name, content in each.headers:
            columns.setdefault(name, [None] * len(records))[place] = _text(content)
    constant = [name for name, column in columns.items() if len({*column}) == 1]
    if constant:
        shown["headers"] = f"{', '.join(constant)}: the same in every record, and not read"
    varied = [
        of_cells(name, [cell or "" for cell in column])
        for name, column in columns.items()
        if name not in constant and column.count(None) < (1 - FEW) * len(column)
    ]
    made = drafted(varied, clock_ms, "header", taken, kind_of_cells, notes=notes)
    return [*of_key, *made], format_


def _of_key(
    records: Sequence[Sampled],
    fields: Sequence[Drafted],
    clock_ms: float,
    notes: dict[str, str],
    shown: dict[str, str],
) -> tuple[list[Drafted], Format]:
    keys = [each.key for each in records]
    if sum(key is not None for key in keys) < (1 - FEW) * len(keys):
        return [], TEXT
    texts = [_text(key) for key in keys]
    if None in texts:
        shown[KEY] = "it is no text, and not read"
        return [], TEXT
    objects = [_object(text) for text in texts]
    taken = [each.field.name for each in fields]
    if objects.count(None) <= FEW * len(objects):
        found = leaves([each or {} for each in objects])
        new = [each for each in found if not _same(each.column, fields)]
        if not new:
            shown[KEY] = "its fields are in the value too"
            return [], TEXT
        return drafted(new, clock_ms, "key", taken, notes=notes), Json()
    if same := _same(texts, fields):
        shown[KEY] = f"it is {same} of the value"
        return [], TEXT
    leaf = of_cells(KEY, [text or "" for text in texts])
    is_ = kind_of_cells(leaf, clock_ms)
    field = Field(name=KEY, type=is_.type, part="key", format=is_.format)
    return [Drafted(field, leaf, "; ".join(filter(None, (UNNAMED, is_.note))))], TEXT


def _same(column: Sequence[Any], fields: Sequence[Drafted]) -> str:
    """The field of the value that has the same in almost every record."""
    told = [*map(str, column)]
    for each in fields:
        pairs = zip(told, map(str, each.leaf.column), strict=True)
        if sum(one != other for one, other in pairs) <= FEW * len(told):
            return each.field.name
    return ""


def _text(content: bytes | None) -> str | None:
    try:
        return None if content is None else content.decode()
    except UnicodeDecodeError:
        return None


def _object(text: str | None) -> dict[str, Any] | None:
    try:
        found = json.loads(text or "")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
