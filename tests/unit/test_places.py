"""An exchange by key, beside drains: a swap gives what plain Python makes of all changes, its undo
what it makes of all but the replayed ones; or it is refused, where drains have left changes out.
"""

from datetime import timedelta
from typing import Any, NamedTuple

import pyarrow as pa
from hypothesis import event, given, settings, strategies as st

from spark_jobs.repair.exchange.put_keys import Sides, merging
from spark_jobs.spec import History, Latest
from spark_jobs.spec.steps.history import SPAN
from spark_jobs.values.own_columns import CONTENTS, DELETED, DELETED_AT, OFFSET, PARTITION, WHOLE
from tests.harness.long_form import examples
from tests.unit.followed import CHAINS, CHANGES as COLUMNS, START, Record as Change

LATEST = Latest(keys=("id", "shop"), order_by=("lsn",))
HISTORY = History(keys=("id", "shop"), order_by=("lsn",), valid_from="made")
Row = dict[str, Any]
Rows = dict[tuple[Any, ...], Row]


def row(change: Change, offset: int) -> Row:
    gone = change.status is None
    at = START + timedelta(minutes=change.minute)
    first = {"id": change.id, "shop": change.shop, "lsn": change.lsn, "made": at}
    place = {PARTITION: offset % 2, OFFSET: offset // 2, CONTENTS: hash(change.status) % 99}
    return (
        first | {"status": change.status, DELETED_AT: at if gone else None, DELETED: gone} | place
    )


def position(found: Row) -> tuple[int, int, int]:
    return found["lsn"], found[OFFSET], found[PARTITION]


def place(step, found: Row) -> tuple[Any, ...]:
    return tuple(found[name] for name in step.row_key)


def table_of(step, changes: list[Row]) -> Rows:
    """Of each place the highest position; of a History with spans, one version at a time."""
    found: Rows = {}
    for change in sorted(changes, key=position):
        found[place(step, change)] = change
    if isinstance(step, Latest):
        return found
    last: dict[Any, Row] = {}
    spanned: Rows = {}
    for at in sorted(found):
        version, key = found[at], at[:2]
        begins = version["made"]
        if key in last:
            begins = max(begins, last[key]["valid_from"])
            last[key] |= {"valid_to": begins, "current": False}
        spans = {"valid_from": begins, "valid_to": None, "current": not version[DELETED]}
        last[key] = spanned[at] = version | spans
    return spanned


class Table(NamedTuple):
    """A table, and how often drains have left a change out because of it."""

    step: Latest | History
    rows: Rows
    behind: list[int]

    def drain(self, changes: list[Row]) -> None:
        kept = [{name: each[name] for name in COLUMNS.names} for each in self.rows.values()]
        now = table_of(self.step, [*kept, *changes])
        old = {position(each) for each in kept}
        for at in {place(self.step, each) for each in changes}:
            self.behind[0] += position(now[at]) in old
        self.rows.clear()
        self.rows.update(now)

    def stage(self, changes: list[Row]) -> Sides:
        """The rows that differ, of before and after."""
        kept = [{name: each[name] for name in COLUMNS.names} for each in self.rows.values()]
        after = table_of(self.step, [*kept, *changes])
        differ = {at for at in after if after[at] != self.rows.get(at)}
        going = [self.rows[at] for at in differ if at in self.rows]
        return Sides(self.arrow(going), self.arrow([after[at] for at in differ]))

    def exchange(self, sides: Sides, left_out: int) -> bool:
        """Whether it was not refused."""
        made = merging(self.arrow([*self.rows.values()]), sides, self.step)
        if made.odd or (made.lowers and left_out):
            return False
        for each in made.rows.to_pylist():
            whole = each.pop(WHOLE)
            at = place(self.step, each)
            if whole is None:
                del self.rows[at]
            elif whole:
                self.rows[at] = each
            else:
                self.rows[at] |= {name: each[name] for name in SPAN}
        return True

    def arrow(self, rows: list[Row]) -> pa.Table:
        return pa.Table.from_pylist(rows, CHAINS if isinstance(self.step, History) else COLUMNS)


CHANGES = st.lists(
    st.builds(
        Change,
        st.sampled_from("ab"),
        st.integers(1, 2),
        st.integers(1, 5),
        st.integers(0, 4),
        st.sampled_from(["paid", "sent", None]),
    ),
    max_size=6,
)


@given(
    step=st.sampled_from([LATEST, HISTORY]),
    parts=st.tuples(*[CHANGES] * 5),
    shuffled=st.permutations(range(30)),
)
@settings(max_examples=examples(80), deadline=None)
def test_swap_and_undo_are_exact_whatever_drains_do_meanwhile(step, parts, shuffled):
    offsets = iter(shuffled)
    before, replayed, staged, swapped, last = (
        [row(each, next(offsets)) for each in part] for part in parts
    )
    table = Table(step, {}, [0])
    table.drain(before)
    sides = table.stage(replayed)
    known = {*map(position, table.rows.values())}
    table.drain(staged)
    drained = [*before, *staged]
    if not table.exchange(sides, 0):
        between = [table.rows.get(place(step, each)) for each in sides.coming.to_pylist()]
        assert any(each and position(each) not in known for each in between)
        assert table.rows == table_of(step, drained)
        event("staged again")
        return
    assert table.rows == table_of(step, [*drained, *replayed])
    table.behind[0] = 0
    table.drain(swapped)
    drained += swapped
    undone = table.exchange(Sides(sides.coming, sides.going), table.behind[0])
    event(f"undone: {undone}")
    wanted = drained if undone else [*drained, *replayed]
    assert table.rows == table_of(step, wanted)
    table.drain(last)
    assert table.rows == table_of(step, [*wanted, *last])


def test_a_row_that_somebody_edited_or_doubled_is_told():
    table = Table(LATEST, {}, [0])
    table.drain([row(Change("a", 1, 1, 0, "paid"), 0)])
    sides = table.stage([row(Change("a", 1, 2, 0, "sent"), 2)])
    [there] = table.rows.values()
    edited = table.arrow([there | {"status": "lost"}])
    assert merging(edited, sides, LATEST).odd == 1
    assert merging(table.arrow([there, there]), sides, LATEST).twice == 1
    assert merging(table.arrow([]), sides, LATEST).odd == 1


def test_beside_a_newer_row_it_is_staged_again_where_not_the_highest_position_alone_decides():
    table = Table(LATEST, {}, [0])
    table.drain([row(Change("a", 1, 1, 0, "paid"), 0)])
    sides = table.stage([row(Change("a", 1, 2, 0, "sent"), 2)])
    kept = LATEST.model_copy(update={"missing": "keep"})
    made = merging(table.arrow([*table.rows.values()]), sides, kept)
    assert (made.odd, made.lowers, made.rows.num_rows) == (0, True, 1), "a drain may lack it"
    table.drain([row(Change("a", 1, 9, 0, "back"), 4)])
    now = table.arrow([*table.rows.values()])
    assert [merging(now, sides, step).odd for step in (LATEST, kept)] == [0, 1]
