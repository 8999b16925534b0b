"""Merge: what the rows of keys are with some changes, as a pure function of Arrow tables.

A row's place is its `row_key`: of a Latest the key, of a History the key and `order_by`. A change's
position is its `order_by`, then its offset in Kafka, and its partition where two of them have that
offset; in one value its element. The highest position at a place stays. So batches and their order
make no difference, and a batch that comes again changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.spec.steps.history import CURRENT, VALID_FROM, VALID_TO
from spark_jobs.steps.keyed.fates import Fates
from spark_jobs.steps.keyed.lacked import lacked
from spark_jobs.steps.keyed.places import Flags, Numbers, Places, from_others, places, ranks
from spark_jobs.values.own_columns import DELETED, WHOLE, place_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spark_jobs.spec.steps.following import Following


def kept_anew(step: Following, columns: Iterable[str]) -> tuple[str, ...]:
    """The columns that a row of the table gets anew where it stays itself. `columns`: those of the
    changes.
    """
    names = [*columns]
    return (*place_in(names), *step.spans, *from_others(step, names))


class Merged(NamedTuple):
    """What the table must get."""

    rows: pa.Table
    """To merge by the place: the columns of the changes, `spans`, and WHOLE boolean. Where that is
    false, the table has the row, and it gets `kept_anew` alone: other columns are null.
    """
    there: Numbers
    """Of each of them the table's row at its place; -1 without one."""
    fates: Fates
    newest_only: bool
    """Whether all of a chain that it has at these places is current, or a delete."""


def merged(known: pa.Table, changes: pa.Table, step: Following) -> Merged:
    """`known` and `changes`: as `places` takes them."""
    of, made = _made(known, changes, step)
    stays = made.writes & ~made.decides
    nullable = pa.schema([field.with_nullable(True) for field in changes.schema])
    came = changes.cast(nullable).take(pa.array(of.kept[made.decides] - known.num_rows))
    whole = _with(came, made.anew.filter(pa.array(made.decides)))
    part = made.anew.filter(pa.array(stays))
    part = part.cast(pa.schema([whole.schema.field(name) for name in part.column_names]))
    flagged = [
        rows.append_column(WHOLE, pa.array([flag] * rows.num_rows, pa.bool_()))
        for rows, flag in ((whole, True), (part, False))
    ]
    there = np.concatenate([of.there[made.decides], of.there[stays]])
    newest_only = bool(step.spans)
    if newest_only:
        newest = pc.or_kleene(known[CURRENT], known[DELETED]).fill_null(False).to_numpy()
        newest_only = bool(newest[there[there >= 0]].all())
    rows = pa.concat_tables(flagged, promote_options="default")
    return Merged(rows, there, made.fates, newest_only)


def standing(known: pa.Table, changes: pa.Table, step: Following) -> pa.Table:
    """All rows of these keys: the columns of the changes, and `spans`. `known` has them all."""
    _, made = _made(known, changes, step)
    both = pa.concat_tables([known.select(changes.column_names).cast(changes.schema), changes])
    return _with(both.take(pa.array(made.stands)), made.anew)


class _Made(NamedTuple):
    """Of each place."""

    stands: Numbers
    """The row that is there now."""
    decides: Flags
    """Whether that is a change."""
    writes: Flags
    """Whether the table gets something there."""
    anew: pa.Table
    """`row_key` and `kept_anew`: what the row there has of them, whatever it brings itself."""
    fates: Fates


def _made(known: pa.Table, changes: pa.Table, step: Following) -> tuple[Places, _Made]:
    of = places(known, changes, step)
    copied = (of.kept != of.there) & of.both & of.are_copies(of.kept, of.there)
    decides = (of.kept != of.there) & ~copied
    stands = np.where(copied, of.there, of.kept)
    fields = lacked(of, changes.column_names, step)
    spans = _spans(of, stands, step)
    moved = (copied | fields.copied) & ~decides & ~fields.new
    other = fields.new | _differ(known, of.there, spans)
    anew = {name: of.rows[name].take(pa.array(stands)) for name in step.row_key}
    anew |= {name: of.rows[name].take(pa.array(of.kept)) for name in place_in(of.rows.column_names)}
    anew |= {**fields.columns, **{name: spans[name] for name in step.spans}}
    fates = _fates(of, decides, copied, step)._replace(moved=int(moved.sum()))
    if step.spans:
        fates = fates._replace(ended=int((other & ~decides & ~moved).sum()))
    else:  # an older change of the key fills what no newer one said, and a copy of one moves
        filled, again = int((fields.new & ~decides).sum()), int((moved & ~copied).sum())
        fates = fates._replace(
            updated=fates.updated + filled,
            duplicates=fates.duplicates + again,
            superseded=fates.superseded - filled - again,
        )
    writes = decides | moved | other
    return of, _Made(stands, decides, writes, pa.table(anew), fates)


def _fates(of: Places, decides: Flags, copied: Flags, step: Following) -> Fates:
    """Without what is said of rows of the table that stay."""
    gone, was_there = of.gone[of.kept], of.there >= 0
    had = was_there & ~of.gone[of.there]
    lost = np.flatnonzero(~of.old)
    lost = lost[of.kept[of.at[lost]] != lost]
    stays = of.kept[of.at[lost]]
    copies = int(of.are_copies(lost, stays).sum())
    ending = decides & gone & ~was_there & bool(step.spans)
    return Fates(
        inserted=int((decides & ~gone & ~had).sum()),
        updated=int((decides & ~gone & had).sum()),
        deleted=int((decides & gone & (had | ending)).sum()),
        absent=int((decides & gone & ~had & ~ending).sum()),
        superseded=len(lost) - copies,
        duplicates=copies + int(copied.sum()),
        ending=int(ending.sum()),
        behind=int(of.old[stays].sum()),
    )


def _spans(of: Places, stands: Numbers, step: Following) -> pa.Table:
    """`spans` of the rows that stand at the places, which are in the order of their chains."""
    if not step.spans:
        return pa.table({})
    key = of.key[stands]
    times = ranks(of.rows, (step.time,))
    _, first = np.unique(times, return_index=True)
    # A version begins at the latest time of it and all before it: no span ends before it begins.
    number = len(first) or 1
    began = np.maximum.accumulate(key * number + times[stands]) - key * number
    newest = np.append(key[1:] != key[:-1], np.ones(min(len(key), 1), dtype=np.bool_))
    time = of.rows[step.time].combine_chunks()
    return pa.table(
        {
            VALID_FROM: time.take(pa.array(first[began])),
            VALID_TO: time.take(pa.array(first[np.roll(began, -1)], mask=newest)),
            CURRENT: pa.array(newest & ~of.gone[stands]),
        }
    )


def _differ(known: pa.Table, there: Numbers, rows: pa.Table) -> Flags:
    """Whether each of the rows has another value than the table's row there, if that has one. Null
    is equal to null.
    """
    differ = np.zeros(len(there), dtype=np.bool_)
    has = there >= 0
    for name in rows.column_names:
        one = known[name].take(pa.array(there[has]))
        other = rows[name].filter(pa.array(has)).cast(one.type)
        nulls = pc.xor(pc.is_null(one), pc.is_null(other))
        values = pc.fill_null(pc.not_equal(one, other), fill_value=False)
        differ[has] |= pc.or_(nulls, values).to_numpy()
    return differ


def _with(rows: pa.Table, columns: pa.Table) -> pa.Table:
    for name in columns.column_names:
        if name in rows.column_names:
            field = rows.schema.field(name)
            column = columns[name].cast(field.type)
            rows = rows.set_column(rows.column_names.index(name), field, column)
        else:
            rows = rows.append_column(name, columns[name])
    return rows
