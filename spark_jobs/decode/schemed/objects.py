"""Objects: values in Python, as Avro and Protobuf give them, to the columns of a topic's fields.

A value is converted only if nothing of it is lost, and never guessed: whole numbers are whole
numbers, a time has the unit that its schema or its field says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from spark_jobs.decode.columns.column import Column, Wrong, each_value
from spark_jobs.decode.columns.text_column import DAYS, judged, text_column
from spark_jobs.decode.columns.times import NANOSECONDS, from_epoch
from spark_jobs.decode.schemed.converted import KINDS, converted, day_of, json_of
from spark_jobs.spec import Local
from spark_jobs.values.conversions import arrow_array
from spark_jobs.values.path import Member

if TYPE_CHECKING:
    from spark_jobs.decode.formats import Decoded
    from spark_jobs.spec import Field
    from spark_jobs.spec.fields.place import Place
    from spark_jobs.values.path import Path

Values = Sequence[Any]
"""Any: of whatever type a schema has."""
OF_TEXT: Final = ("timestamp", "timestamp_ntz", "date")
"""Kinds that are read from text without a format: RFC 3339 is the one form."""


class Wire(NamedTuple):
    """How a column of numbers on the wire is a time or a date."""

    kind: str
    """timestamp, timestamp_ntz or date."""
    unit: str
    """ms, us, ns; or days."""


class Read(NamedTuple):
    """Records as a schema reads them."""

    tops: Mapping[str, Values]
    """Field at the top -> its values. One that the schema lacks is not in it."""
    wire: Mapping[str, Wire]
    """Of those that are numbers, and mean times."""
    wrong: dict[int, str]
    """Number of the record -> why it is malformed."""


class Objects:
    """Makes the columns of the places."""

    alone: ClassVar[bool] = False
    """Whether a value that cannot be held is Unreadable, and its record is no wrong one yet."""

    def __init__(self, places: Sequence[Place], wanted: Sequence[str]) -> None:
        self.places = places
        self.wanted = tuple(wanted)
        self.tops = tuple(
            dict.fromkeys(
                str((*base, *path)[0])
                for place in places
                for base in place.bases
                for path in place.paths
            )
        )
        """The fields at the top that a schema must read."""
        bare = {
            str(place.paths[0][0])
            for place in places
            if place.bases == ((),) and len(place.paths) == 1 and len(place.paths[0]) == 1
        }
        deep = {
            str((*base, *path)[0])
            for place in places
            for base in place.bases
            for path in place.paths
            if len((*base, *path)) > 1 or len(place.paths) > 1 or len(place.bases) > 1
        }
        self.raw = frozenset(bare - deep)
        """Those that may be numbers on the wire."""

    def columns(self, read: Read, count: int) -> Decoded:
        """The wanted columns, and why which record is malformed."""
        reasons = [read.wrong.get(index) for index in range(count)]
        columns = (
            of_values(
                _values(place, read.tops, count),
                place.field,
                read.wire.get(str(place.paths[0][0])) if place.bases == ((),) else None,
            )
            for place in self.places
        )
        return judged(self.places, columns, self.wanted, reasons)


def _values(place: Place, tops: Mapping[str, Values], count: int) -> Values:
    """The place's value in each record, None if it has none: of the first of its bases that is
    there, and of the first of its paths with a value.
    """
    chosen: Values = [None] * count
    for base in reversed(place.bases):
        here = _at(tops, (*base, *place.paths[0]), count)
        for path in place.paths[1:]:
            others = _at(tops, (*base, *path), count)
            here = [b if a is None else a for a, b in zip(here, others, strict=True)]
        if base:
            there = _at(tops, base, count)
            here = [b if a is None else c for a, b, c in zip(there, chosen, here, strict=True)]
        chosen = here
    return chosen


def _at(tops: Mapping[str, Values], path: Path, count: int) -> Values:
    """What each record has at the path."""
    values = tops.get(str(path[0])) or [None] * count
    for step in path[1:]:
        if isinstance(step, int):
            values = [
                each[step] if isinstance(each, list) and step < len(each) else None
                for each in values
            ]
        elif isinstance(step, Member):
            values = [step.among(each) if isinstance(each, list) else None for each in values]
        else:
            values = [each.get(step) if isinstance(each, dict) else None for each in values]
    return values


def of_values(values: Values, field: Field, wire: Wire | None = None) -> Column:
    """The column of a field, of values in Python; or with `wire` of numbers."""
    if wire:
        return _of_wire(values, field, wire)
    types = set(map(type, values)) - {type(None)}
    if field.format == "json":
        return each_value(json_of, "string", values)
    if field.format is None and (str not in types or field.kind not in OF_TEXT):
        return _plain(values, field, types)
    return _formatted(values, field, types)


def _formatted(values: Values, field: Field, types: set[type]) -> Column:
    """By the field's format, or a time that may be text. A union gives several types."""
    if types == {str}:
        return text_column(values, field)
    if field.format in NANOSECONDS and types <= {int}:
        return from_epoch(values, str(field.format), field.type)
    return each_value(partial(of_one, field=field), field.type, values)


def of_one(value: Any, field: Field) -> Any:
    """A value among others of another type. Raises Wrong."""
    if type(value) is str and (isinstance(field.format, str | Local) or field.kind in OF_TEXT):
        column = text_column([value], field)
    elif type(value) is int and field.format in NANOSECONDS:
        column = from_epoch([value], str(field.format), field.type)
    else:
        return day_of(value) if field.format == "days" else converted(field.tree, value)
    if column.wrong:
        raise Wrong(column.wrong[0])
    return column.array[0].as_py()


def _plain(values: Values, field: Field, types: set[type]) -> Column:
    """Without a format: as it is, where Arrow takes it without a change."""
    if types <= {*KINDS.get(field.kind, ())} and field.kind not in {"timestamp", "timestamp_ntz"}:
        import pyarrow as pa  # noqa: PLC0415 - a process that only plans needs neither
        import pyarrow.compute as pc  # noqa: PLC0415 - as above

        try:
            if field.kind != "float":
                return Column(arrow_array(values, field.type), {})
            wide = arrow_array(values, "double")
            array = wide.cast(pa.float32())
            if pc.all(pc.or_(pc.equal(array, wide), pc.is_nan(wide))).as_py() is not False:
                return Column(array, {})
        except (pa.ArrowInvalid, OverflowError, TypeError):
            pass  # one of them does not fit: which?
    return each_value(partial(converted, field.tree), field.type, values)


def _of_wire(values: Values, field: Field, wire: Wire) -> Column:
    if field.kind != wire.kind or field.format is not None:
        why = f"is a {wire.kind}, not {field.type}" + (" of a format" if field.format else "")
        wrong = {index: why for index, value in enumerate(values) if value is not None}
        return Column(arrow_array([None] * len(values), field.type), wrong)
    if wire.unit != "days":
        return from_epoch(values, wire.unit, field.type)
    first, last = DAYS
    why = "is a number that is no date of the years 1 to 9999"
    wrong = {
        index: why
        for index, value in enumerate(values)
        if value is not None and not first <= value <= last
    }
    import pyarrow as pa  # noqa: PLC0415 - as above

    kept = [None if index in wrong else value for index, value in enumerate(values)]
    return Column(pa.array(kept, pa.int32()).view(pa.date32()), wrong)
