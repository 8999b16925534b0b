"""Headers: what records' headers of one name have, as Arrow arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

from spark_jobs.decode.columns.column import each_read
from spark_jobs.decode.columns.text_column import text_column, text_of
from spark_jobs.values.path import as_text

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from spark_jobs.spec import Field
    from spark_jobs.spec.fields.place import Named


class Headers:
    """The headers of some records."""

    def __init__(self, headers: pa.Array) -> None:
        self._headers = headers
        self._has: dict[str, npt.NDArray[np.int64]] = {}

    def last(self, name: str) -> pa.Array:
        """binary: of each record the value of the last header of this name; null without one."""
        import numpy as np  # noqa: PLC0415 - a process that only plans needs neither
        import pyarrow as pa  # noqa: PLC0415 - as above

        found = np.full(len(self._headers), -1)
        here = self._at(name)
        found[self._records[here]] = here  # of several the last one stays
        return self._values.take(pa.array(found, mask=found < 0))

    def all(self, name: str) -> pa.Array:
        """list of binary: the values of all of them in their order; null without one."""
        import numpy as np  # noqa: PLC0415 - as above
        import pyarrow as pa  # noqa: PLC0415 - as above

        here = self._at(name)
        counts = np.bincount(self._records[here], minlength=len(self._headers))
        ends = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
        values = self._values.take(pa.array(here))
        return pa.ListArray.from_arrays(ends, values, mask=pa.array(counts == 0))

    @cached_property
    def _flat(self) -> pa.Array:
        return self._headers.flatten()

    @cached_property
    def _values(self) -> pa.Array:
        return self._flat.field("value")

    @cached_property
    def _records(self) -> npt.NDArray[np.int64]:
        """The number of the record that each header is of."""
        import pyarrow.compute as pc  # noqa: PLC0415 - as above

        found: npt.NDArray[np.int64] = pc.list_parent_indices(self._headers).to_numpy()
        return found

    def _at(self, name: str) -> npt.NDArray[np.int64]:
        """Which of all headers have this name."""
        import numpy as np  # noqa: PLC0415 - as above
        import pyarrow.compute as pc  # noqa: PLC0415 - as above

        if name not in self._has:
            same = pc.equal(self._flat.field("key"), name)
            self._has[name] = np.flatnonzero(same.to_numpy(zero_copy_only=False))
        return self._has[name]


NOT_KEPT: Final = "its headers are not known: no field was a header when it was kept"
NO_TEXT: Final = "is no UTF-8"


class HeaderFields:
    """The fields that headers have."""

    def __init__(self, named: Sequence[Named], *, base64: bool = False) -> None:
        """`base64`: so bytes are written, as in the attributes of a CloudEvent, which are texts."""
        self._named, self._base64 = [*named], base64

    def of_records(self, headers: pa.Array) -> tuple[dict[str, pa.Array], dict[int, str]]:
        """As columns(), of records whose headers may be null: then nobody knows them."""
        columns, reasons = self.columns(Headers(headers))
        if headers.null_count:
            unknown = headers.is_null().to_pylist()
            reasons |= {index: NOT_KEPT for index in reasons if unknown[index]}
        return columns, reasons

    def columns(self, headers: Headers) -> tuple[dict[str, pa.Array], dict[int, str]]:
        """Field -> its column; and the number of a malformed record -> why it is."""
        columns: dict[str, pa.Array] = {}
        reasons: dict[int, str] = {}
        for field, names in self._named:
            column, wrong = _column(headers, field, names, raw=not self._base64)
            columns[field.name] = column
            if field.required and column.null_count:
                lacks = column.is_null().to_pylist()
                missing = {n: "is missing or null" for n, lack in enumerate(lacks) if lack}
                wrong = missing | wrong
            told = {n: f"header `{as_text((names[0],))}` {why}" for n, why in wrong.items()}
            reasons = told | reasons
        return columns, reasons


def _column(
    headers: Headers, field: Field, names: Sequence[str], *, raw: bool
) -> tuple[pa.Array, dict[int, str]]:
    import pyarrow.compute as pc  # noqa: PLC0415 - a process that only plans needs none

    several = field.kind == "array"
    found = [headers.all(name) if several else headers.last(name) for name in names]
    given = pc.coalesce(*found) if len(found) > 1 else found[0]
    if raw and field.type in ("binary", "array<binary>"):
        return given, {}
    if several:
        return _texts(given)
    texts, wrong = each_read(text_of, given.to_pylist(), NO_TEXT)
    column = text_column(texts, field)
    return column.array, column.wrong | wrong


def _texts(raw: pa.Array) -> tuple[pa.Array, dict[int, str]]:
    import pyarrow as pa  # noqa: PLC0415 - as above

    lists, wrong = each_read(
        lambda values: [None if value is None else text_of(value) for value in values],
        raw.to_pylist(),
        NO_TEXT,
    )
    return pa.array(lists, pa.list_(pa.string())), wrong
