"""Lacked: the fields that a row's own change may lack. Without Spark.

A field has the value of the newest change that sets it, of those up to the row's place. What stood
in the table stays, unless a change of this batch is the setter, and no copy of what was: so a
person's correction stays too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from spark_jobs.steps.keyed.places import from_others
from spark_jobs.steps.keyed.ranks import Flags, Numbers, found_in
from spark_jobs.steps.keyed.setters import Setters, setters
from spark_jobs.values.own_columns import SET, SET_CONTENTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spark_jobs.spec.steps.following import Following
    from spark_jobs.steps.keyed.places import Places


class Lacked(NamedTuple):
    """Of each place."""

    columns: Mapping[str, pa.Array]
    """`from_others`: what the row there has of them."""
    new: Flags
    """Whether a change sets a field, and is no copy of what set it in the table."""
    copied: Flags
    """Whether a change there sets a field, and is a copy of that."""


def lacked(of: Places, columns: Iterable[str], step: Following) -> Lacked:
    """`columns`: those of the changes."""
    every = from_others(step, columns)
    fields = [name for name in every if name not in {SET, SET_CONTENTS}]
    new, copied = (np.zeros(len(of.kept), dtype=np.bool_) for _ in range(2))
    found, sets = dict[str, pa.Array](), list[Numbers]()
    if not every:
        return Lacked(found, new, copied)
    told = setters(of, fields, step)
    lives = ~of.gone[of.kept]
    for number, name in enumerate(fields):
        setter = _newest(of, told, told.of(number, of.gone))
        row = np.where(setter < 0, -1, told.row[setter])
        source = _source(of, told, told.of(number, of.gone), setter)
        here = (row >= 0) & (of.at[row] == np.arange(len(row)))
        comes = lives & (source >= 0) & ~of.old[source]
        new |= comes
        copied |= lives & here & ~of.old[row] & of.old[source]
        chosen = np.where(of.both & ~comes, of.there, source)
        chosen = np.where(lives, chosen, -1)
        taken = pa.array(np.maximum(chosen, 0), mask=chosen < 0)
        found[name] = of.rows[name].take(taken).combine_chunks()
        sets.append(np.where(here, setter, -1))
    for name, values in ((SET, told.positions), (SET_CONTENTS, told.contents)):
        if name in every:
            found[name] = _by_field(fields, sets, values, of.rows.schema.field(name).type)
    return Lacked(found, new, copied)


def _newest(of: Places, told: Setters, among: Numbers) -> Numbers:
    """Of each place the newest of these setters up to it; -1 without one."""
    positions = int(told.at.max(initial=0)) + 1
    row = told.row[among]
    at = of.key[row] * positions + told.at[among]
    way = np.lexsort((of.old[row], at))  # of two at one position it is the table's
    wanted = of.key[of.kept] * positions + told.at[of.kept]
    last = np.append(among[way], -1)[np.searchsorted(at[way], wanted, side="right") - 1]
    found: Numbers = np.where((last >= 0) & (of.key[told.row[last]] == of.key[of.kept]), last, -1)
    return found


def _source(of: Places, told: Setters, among: Numbers, setter: Numbers) -> Numbers:
    """Of each of these setters the row with its value; of a copy the table's."""
    tables = among[of.old[told.row[among]] & (told.change[among] >= 0)]
    copy = found_in(told.change[tables], np.where(setter < 0, -1, told.change[setter]))
    own = np.where(setter < 0, -1, told.row[setter])
    found: Numbers = np.where(copy < 0, own, np.append(told.row[tables], -1)[copy])
    return found


def _by_field(
    fields: list[str], sets: list[Numbers], values: pa.Array, kind: pa.MapType
) -> pa.MapArray:
    """Of each place a map: field -> the value of its setter there, if that is known."""
    setter = np.stack(sets, axis=1)
    known = values.is_valid().to_numpy(zero_copy_only=False)
    has = (setter >= 0) & known[setter]
    offsets = np.append(0, np.cumsum(has.sum(axis=1)))
    names = pa.array(fields, kind.key_type).take(pa.array(np.nonzero(has)[1]))
    items = values.take(pa.array(setter[has])).cast(kind.item_type)
    return pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), names, items).cast(kind)
