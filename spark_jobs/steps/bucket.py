"""Bucket: many keys of a GroupState as columns, and what the pipeline's code makes of them.

The code sees the rows of a batch and the state of their keys, and nothing of other keys: what it
gives back takes the place of that state. So a key's state changes just as in the forms that run
key by key. Nothing here needs Spark, or a spec: each Python worker loads it anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.values.own_columns import own

_AT, _SECOND = own("at"), own("second")
# As Arrow names what it aggregates.
LAST, COUNT, IN_SECOND = f"{_AT}_max", f"{_AT}_count", f"{_SECOND}_any"


def split(first: pa.Table, second: pa.Table, keys: tuple[str, ...]) -> tuple[pa.Table, pa.Table]:
    """The rows of the first whose key the second has too, and the others. `first` has each key
    once.
    """
    all_keys = places(first, second, keys)
    in_first = pc.is_valid(all_keys[LAST])
    shared = all_keys.filter(pc.and_(in_first, all_keys[IN_SECOND]))
    alone = all_keys.filter(pc.invert(all_keys[IN_SECOND]))
    return first.take(shared[LAST]), first.take(alone[LAST])


def places(first: pa.Table, second: pa.Table, keys: tuple[str, ...]) -> pa.Table:
    """A row for each key of either, as Spark groups: null is a key too.

    LAST: the place of its last row in the first, null if it has none; COUNT: how many it has there;
    IN_SECOND: whether the second has it.
    """
    names = list(keys)
    at = pa.concat_arrays(
        [pa.array(np.arange(first.num_rows)), pa.nulls(second.num_rows, pa.int64())]
    )
    in_second = np.arange(first.num_rows + second.num_rows) >= first.num_rows
    both = pa.concat_tables([first.select(names), second.select(names)])
    both = both.append_column(_AT, at).append_column(_SECOND, pa.array(in_second))
    return both.group_by(names, use_threads=False).aggregate(
        [(_AT, "max"), (_AT, "count"), (_SECOND, "any")]
    )


BucketFunction = Callable[[pa.Table, pa.Table], tuple[pa.Table, pa.Table]]
"""A pipeline's function for buckets: rows, state -> output, new state."""


class WrongResult(ValueError):
    """What the pipeline's code returned cannot be used. runs/failures/code_errors.py knows it by
    name."""


class OtherTypes(ValueError):
    """The stored state is not of the columns and types that today's rows and spec give. The code is
    not to blame: it has not run. runs/failures/code_errors.py knows it by name.
    """


class BucketChange(NamedTuple):
    """What a batch makes of a bucket."""

    output: pa.Table
    """The rows to write: the declared output columns."""
    state: pa.Table
    """All keys of the bucket, a row each: key columns, then the declared state columns."""
    written: int
    """Keys whose state the code gave."""
    removed: int
    """Keys that had a state, and for which the code gave none."""


class Bucket(NamedTuple):
    """The step's code and columns."""

    function: BucketFunction
    keys: tuple[str, ...]
    state: pa.Schema
    """The declared columns, without the keys."""
    output: pa.Schema
    """The declared columns."""

    def after(self, rows: pa.Table, held: pa.Table | None) -> BucketChange:
        """The change by some rows. `held` is the bucket's state before it; None if it has none.

        Raises OtherTypes, WrongResult, and whatever the pipeline's code raises.
        """
        rows = _plain(rows)
        schema = self.stored(rows.schema)
        held = schema.empty_table() if held is None else held
        if held.schema != schema:
            raise OtherTypes(
                f"the stored state has the columns {_told(held.schema)}; by the types of today's "
                f"rows it would have {_told(schema)}"
            )
        before, others = split(held, rows, self.keys)
        output, state = _pair(self.function(rows, before))
        output = _fitted(output, self.output, "output")
        state = _fitted(state, schema, "state")
        self._refuse_other_keys(state, rows)
        gone, _ = split(before, state, self.keys)
        return BucketChange(
            output,
            pa.concat_tables([others, state]).combine_chunks(),
            state.num_rows,
            before.num_rows - gone.num_rows,
        )

    def stored(self, rows: pa.Schema) -> pa.Schema:
        """The columns of the state that is stored, given those of the rows: keys first."""
        keys = [pa.field(name, rows.field(name).type) for name in self.keys]
        return pa.schema([*keys, *self.state])

    def _refuse_other_keys(self, state: pa.Table, rows: pa.Table) -> None:
        known = places(state, rows, self.keys)
        for wrong, why in (
            (pc.greater(known[COUNT], 1), "the state has this key twice"),
            (pc.invert(known[IN_SECOND]), "the state has a key of which it got no row"),
        ):
            found = known.filter(wrong).select(list(self.keys))
            if found.num_rows:
                key = found.slice(0, 1).to_pylist()[0]
                told = ", ".join(f"{name}={value!r}" for name, value in key.items())
                raise WrongResult(f"{why}: {told[:200]}")


def _plain(table: pa.Table) -> pa.Table:
    """Without Spark's "not null" and other facts that are no part of a type."""
    return table.cast(pa.schema([(field.name, field.type) for field in table.schema]))


def _pair(returned: Any) -> tuple[pa.Table, pa.Table]:
    # Any: the pipeline's code returned it.
    match returned:
        case (pa.Table() as output, pa.Table() as state):
            return output, state
        case tuple():
            kinds = ", ".join(type(each).__name__ for each in returned)
        case _:
            kinds = type(returned).__name__
    raise WrongResult(f"it is {kinds}; give two pyarrow Tables, (output, state)")


def _fitted(table: pa.Table, schema: pa.Schema, what: str) -> pa.Table:
    """The table with these columns in this order and these types. Raises WrongResult."""
    if sorted(table.column_names) != sorted(schema.names):
        raise WrongResult(
            f"the {what} has the columns {', '.join(table.column_names) or 'none'}; declared are "
            f"{', '.join(schema.names)}"
        )
    columns = [_column(table.column(field.name), field, what) for field in schema]
    return pa.table(columns, schema=schema)


def _column(column: pa.ChunkedArray, field: pa.Field, what: str) -> pa.ChunkedArray:
    wrong = f"the {what}'s column {field.name} is {column.type}, and declared as {field.type}"
    if not _may_become(column.type, field.type):
        raise WrongResult(wrong)
    try:
        return column.cast(field.type)
    except pa.ArrowInvalid as error:  # a value that would change
        raise WrongResult(f"{wrong}: {error}") from None


def _may_become(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether values of that type may stand for the declared one, if none of them changes by it."""
    types = pa.types
    if types.is_dictionary(found):
        found = found.value_type
    return bool(
        found == wanted
        or types.is_null(found)
        or (types.is_integer(wanted) and types.is_integer(found))
        or (types.is_floating(wanted) and (types.is_integer(found) or types.is_floating(found)))
        or (types.is_timestamp(wanted) and types.is_timestamp(found))
        or (types.is_string(wanted) and types.is_large_string(found))
    )


def _told(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)
