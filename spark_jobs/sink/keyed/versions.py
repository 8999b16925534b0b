"""Versions: the chain of each key, as the table of a History has it. Without Spark.

A chain is a pure function of the changes of its key: in which batches and in which order they came
makes no difference. So whatever comes, the chains of the touched keys are made anew, and the table
gets what differs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.sink.keyed.fates import Fates
from spark_jobs.sink.keyed.lacked import carried, from_others
from spark_jobs.sink.keyed.setters import Flags, Numbers, joined, ranks, told_by
from spark_jobs.spec.steps.history import CURRENT, SPAN, VALID_FROM, VALID_TO
from spark_jobs.values.own_columns import CONTENTS, DELETED, OFFSET, PARTITION, PLACE, WHOLE, own

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spark_jobs.spec.steps.following import Following

BEGINS: Final = own("begins")
"""When a version would begin if none were before it."""


def placing(step: Following) -> tuple[str, ...]:
    """The columns that decide where a version is, and which stays there: no two rows of a table
    have equal ones of `step.row_key`.
    """
    return (*step.row_key, DELETED, PARTITION, OFFSET, CONTENTS)


def known_of(step: Following, columns: Iterable[str]) -> tuple[str, ...]:
    """What must be known of the table's rows, beside BEGINS. `columns`: those of the changes."""
    return (*placing(step), *from_others(step, columns), *SPAN)


def kept_anew(step: Following, columns: Iterable[str]) -> tuple[str, ...]:
    """The columns that a row of the table gets anew where it stays itself."""
    return (*PLACE, *SPAN, *from_others(step, columns))


class Chained(NamedTuple):
    """What the table must get."""

    rows: pa.Table
    """To merge by the place: the columns of the changes, SPAN, and WHOLE boolean. Where that is
    false, the table has the row, and it gets `kept_anew` alone: other columns are null.
    """
    fates: Fates
    newest_only: bool
    """Whether all of these that it has are current, or deletes."""


def chain(versions: pa.Table, changes: pa.Table, step: Following) -> Chained:
    """The chains of these versions with these changes.

    `versions` are all that the table has of the keys of the changes, with the columns `known_of`.
    `changes` have those of `placing`, the time, and any others. Only of SPAN, and of what others
    may have set, some may be null.
    """
    others = from_others(step, changes.column_names)
    placed = changes.select([*placing(step), *others]).append_column(BEGINS, changes[step.time])
    both = joined(versions, placed)
    known = np.arange(both.num_rows) < versions.num_rows
    key, order = ranks(both, step.keys), ranks(both, step.order_by)
    # A record that is there already stands behind itself, so it stays.
    way = np.lexsort((known, *(both[name].to_numpy() for name in (PARTITION, OFFSET)), order, key))
    begins = _differs_from_last(key[way], order[way])
    ends = np.roll(begins, -1)  # of several at a place, the last one stays
    kept, lost = way[ends], way[~ends]
    place = (np.cumsum(begins) - 1)[~ends]
    copy = _are_copies(both, lost, kept[place])
    moved = known[lost] & copy  # the table's own row stays, at the place of its copy
    stands = kept.copy()
    stands[place[moved]] = lost[moved]

    spans = _spans(both, stands, key[kept])
    stays = known[stands]
    before = versions.select(SPAN).take(stands[stays])
    after = spans.filter(pa.array(stays)).cast(before.schema)
    ended, at_copy = _differ(before, after), (kept != stands)[stays]
    filled: Flags = np.zeros(len(at_copy), dtype=np.bool_)
    came = changes.take(kept[~stays] - versions.num_rows)
    there = both.select([*step.row_key, *PLACE]).take(kept[stays])
    if others and len(kept):
        told = told_by(both, versions.num_rows, step)
        of_others = carried(told, kept, stands, others, step)
        came, there = of_others.put(came, ~stays), of_others.put(there, stays)
        filled = of_others.changed[stays]
    changed, at_copy = ended | at_copy | filled, at_copy & ~filled
    there = there.filter(pa.array(changed))
    rows = _joined(
        _beside(came, spans.filter(pa.array(~stays))),
        _beside(there, after.filter(pa.array(changed))),
    )
    touched = np.concatenate([stands[stays][changed], lost[known[lost]]])
    newest = pc.or_kleene(versions[CURRENT], versions[DELETED]).fill_null(False).to_numpy()
    fates = _fates(both, kept, lost, place, copy, known)
    fates = fates._replace(moved=int(at_copy.sum()), ended=int((changed & ~at_copy).sum()))
    return Chained(rows, fates, bool(newest[touched].all()))


def _are_copies(both: pa.Table, one: Numbers, other: Numbers) -> Flags:
    """Whether the rows of each pair, which are at one place, have equal contents."""
    deletes, contents = both[DELETED].to_numpy(), both[CONTENTS].to_numpy()
    found: Flags = (contents[one] == contents[other]) & (deletes[one] == deletes[other])
    return found


def _fates(
    both: pa.Table, kept: Numbers, lost: Numbers, place: Numbers, copy: Flags, known: Flags
) -> Fates:
    """`place`: of each lost row, the index in `kept` of the one that is there; `copy`: whether it
    is a copy of that.
    """
    deletes, stays, was_there = both[DELETED].to_numpy(), kept[place], known[lost]
    of_new = ~known[kept]
    of_new[place[was_there]] = False
    over = was_there & ~copy
    ending = int((of_new & deletes[kept]).sum())
    was, is_ = deletes[lost], deletes[stays]
    return Fates(
        inserted=int((of_new & ~deletes[kept]).sum()) + int((over & was & ~is_).sum()),
        updated=int((over & ~was & ~is_).sum()),
        deleted=ending + int((over & ~was & is_).sum()),
        absent=int((over & was & is_).sum()),
        superseded=int((~was_there & ~copy).sum()),
        duplicates=int(copy.sum()),
        ending=ending,
        behind=int((~was_there & known[stays]).sum()),
    )


def _spans(both: pa.Table, kept: Numbers, key: Numbers) -> pa.Table:
    """SPAN of the rows `kept`, which stand in the order of their chains."""
    times = ranks(both, (BEGINS,))
    _, first = np.unique(times, return_index=True)
    # A version begins at the latest time of it and all before it: no span ends before it begins.
    step = len(first) or 1
    began = np.maximum.accumulate(key * step + times[kept]) - key * step
    newest = np.roll(_differs_from_last(key), -1)
    of = both[BEGINS].combine_chunks()
    stops = pa.array(first[np.roll(began, -1)], mask=newest)
    lives = ~both[DELETED].to_numpy()[kept]
    return pa.table(
        {
            VALID_FROM: of.take(pa.array(first[began])),
            VALID_TO: of.take(stops),
            CURRENT: pa.array(newest & lives),
        }
    )


def _differs_from_last(*columns: Numbers) -> Flags:
    """Whether each row differs from the one before it; the first one does."""
    differs = np.ones(len(columns[0]), dtype=np.bool_)
    differs[1:] = False
    for column in columns:
        differs[1:] |= column[1:] != column[:-1]
    return differs


def _differ(before: pa.Table, after: pa.Table) -> Flags:
    """Whether the rows of two tables differ. Null is equal to null."""
    differ = np.zeros(before.num_rows, dtype=np.bool_)
    for column in before.column_names:
        one, other = before[column], after[column]
        nulls = pc.xor(pc.is_null(one), pc.is_null(other))
        differ |= pc.or_(nulls, pc.fill_null(pc.not_equal(one, other), fill_value=False)).to_numpy()
    return differ


def _beside(rows: pa.Table, spans: pa.Table) -> pa.Table:
    for name in SPAN:
        rows = rows.append_column(name, spans[name])
    return rows


def _joined(whole: pa.Table, span_only: pa.Table) -> pa.Table:
    """Both, with WHOLE. Any column may be null."""
    schema = pa.schema([field.with_nullable(True) for field in whole.schema])
    span_only = span_only.cast(pa.schema([schema.field(name) for name in span_only.column_names]))
    flagged = [
        rows.append_column(WHOLE, pa.array([flag] * rows.num_rows, pa.bool_()))
        for rows, flag in ((whole.cast(schema), True), (span_only, False))
    ]
    return pa.concat_tables(flagged, promote_options="default")
