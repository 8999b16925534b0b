"""At once: all records of a schema by whole columns. Only a task imports it: it loads Arrow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.decode.columns.cursor import Cursor, Found
from spark_jobs.decode.schemed.fit import UNREAD, Fit, Kind, fit
from spark_jobs.values.conversions import arrow_type
from spark_jobs.values.path import Path

if TYPE_CHECKING:
    from spark_jobs.decode.schemed.objects import Objects
    from spark_jobs.spec import Field
    from spark_jobs.spec.fields.place import Place


MOST: Final = 300
"""Columns of a schema: types that have each other in them could have millions."""

DEEPEST: Final = 30
"""Records in each other, of which each is a call."""


class OneByOne(Exception):
    """A schema needs the decoder that reads one by one."""


class Sure(NamedTuple):
    """Records by whole columns."""

    columns: list[pa.Array]
    """Of the wanted fields, of all records."""
    which: npt.NDArray[np.bool_]
    """The records that are certainly good."""


class AtOnce:
    """Reads the columns of a topic's places."""

    def __init__(
        self,
        objects: Objects,
        fits: Mapping[tuple[str, Path], Fit],
        read: Callable[[Cursor], Found],
    ) -> None:
        self._objects, self._fits, self._read = objects, fits, read

    def columns(self, values: pa.Array, start: int) -> Sure:
        """Of these values, from this byte of each on."""
        cursor = Cursor.of(values, start)
        found = self._read(cursor)
        columns: dict[str, pa.Array] = {}
        for place in self._objects.places:
            column = self._column(place, found, cursor)
            columns[place.field.name] = column
            if place.field.required and column.null_count:
                cursor.sure &= column.is_valid().to_numpy(zero_copy_only=False)
        return Sure([columns[name] for name in self._objects.wanted], cursor.sure)

    def _column(self, place: Place, found: Found, cursor: Cursor) -> pa.Array:
        """By the first base that is there, and the first path with a value."""
        chosen = pa.nulls(len(cursor.at), arrow_type(place.field.type))
        for base in reversed(place.bases):
            paths = [(*base, *path) for path in place.paths]
            arrays = [self._fitted(place.field, each, found, cursor) for each in paths]
            here = pc.coalesce(*arrays) if len(arrays) > 1 else arrays[0]
            if not base:
                chosen = here
            elif base in found:
                chosen = pc.if_else(found[base].is_valid(), here, chosen)
        return chosen

    def _fitted(self, field: Field, path: Path, found: Found, cursor: Cursor) -> pa.Array:
        make = self._fits.get((field.name, path))
        if make is None:
            return pa.nulls(len(cursor.at), arrow_type(field.type))
        column = make(found[path])
        if column.wrong:
            cursor.sure[np.fromiter(column.wrong, np.int64)] = False
        return column.array


def at_once(
    objects: Objects, kinds: Mapping[Path, Kind], read: Callable[[Cursor], Found]
) -> AtOnce | None:
    """None if a field must be read one by one. `kinds`: of all that `read` finds."""
    fits = dict[tuple[str, Path], Fit]()
    for place in objects.places:
        paths = [(*base, *path) for base in place.bases for path in place.paths]
        known = [path for path in paths if path in kinds]
        if any(base in kinds and kinds[base].name == UNREAD for base in place.bases):
            return None
        for path in known:
            made = fit(kinds[path], place.field)
            if made is None:
                return None
            fits[place.field.name, path] = made
        if place.field.required and not known:
            return None
    return AtOnce(objects, fits, read)
