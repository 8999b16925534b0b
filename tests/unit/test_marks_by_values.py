"""Marks against the values themselves: whatever changes, runs, dies, is repaired, undone or rewound,
open marks have each day of which a row has another value than the newest noted version gives it.
"""

import json
from typing import Any, NamedTuple

from hypothesis import given, settings, strategies as st

from spark_jobs.checkpoint.notes.noted_versions import noted_now
from spark_jobs.storage.pin import Changed
from tests.harness.long_form import examples
from tests.unit import beside
from tests.unit.marked import SHOPS, Marked, days, drained

ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("change"), st.sampled_from([*SHOPS]), st.integers(0, 2)),
        st.tuples(st.sampled_from(["run", "killed", "batch", "swap", "undo"])),
        st.tuples(st.just("plan"), st.integers(0, 9), st.integers(1, 4)),
        st.tuples(st.just("rewind"), st.integers(0, 2)),
    ),
    max_size=25,
)


class Repair(NamedTuple):
    """One that is planned, and perhaps in the table."""

    name: str
    first: int
    behind: int
    version: int
    """Of the table beside the stream."""
    compared_at: int
    """The newest version of the table then."""
    batch: int = -1
    """The newest batch when it came into the table."""
    swapped_at: int = -1

    def has(self, day: int) -> bool:
        return self.first <= day < self.behind

    def overlaps(self, other: "Repair") -> bool:
        return self.first < other.behind and other.first < self.behind


class Play:
    """A root, and what is true of it."""

    def __init__(self, root: Marked) -> None:
        self.root, self.values = root, [dict.fromkeys(SHOPS, 0)]
        self.batch, self.table, self.number = 9, 1, 0
        self.planned: list[Repair] = []
        self.standing: list[Repair] = []

    @property
    def noted(self) -> int:
        return noted_now(self.root.checkpoint, self.root.spec)["shops"].version

    def do(self, what: str, *more: Any) -> None:
        getattr(self, what)(*more)

    def change(self, shop: str, value: int) -> None:
        self.values.append(self.values[-1] | {shop: value})
        self.root.has("1", 0, len(self.values) - 1)

    def run(self) -> None:
        self.root.begin()

    def killed(self) -> None:
        self.root.begin(killed="marked")

    def batch_(self) -> None:
        self.batch += 1
        self.root.drain(self.batch)

    def plan(self, first: int, length: int) -> None:
        self.number += 1
        made = Repair(f"r{self.number}", first, first + length, self.noted, self.table)
        self.planned.append(made)

    def swap(self) -> None:
        if not self.planned:
            return
        made = self.planned.pop(0)
        if any(
            each.swapped_at > made.compared_at and each.overlaps(made) for each in self.standing
        ):
            return  # RepairOverlapped
        same = all(
            self.made(day, shop) == self.values[made.version][shop]
            for shop, sold in SHOPS.items()
            for day in sold
            if made.has(day)
        )
        told = {"inputs": {"shops": beside.Pin(table_id="1", version=made.version)}}
        if same:
            told |= {
                "state": "canonical",
                "table_version": None,
                "table_version_before": self.table,
            }
            made = made._replace(batch=self.batch)
        else:
            self.table += 1
            told |= {"table_version": self.table}
            made = made._replace(batch=self.batch, swapped_at=self.table)
        self.standing.append(made)
        self.root.repaired(made.name, days(made.first, made.behind), **told)

    def undo(self) -> None:
        swapped = [each for each in self.standing if each.swapped_at >= 0]
        if swapped:
            self.table += 1
            self.taken_back(max(swapped, key=lambda each: each.swapped_at))

    def taken_back(self, gone: Repair) -> None:
        """With those that found the table right since it was there."""
        at = self.standing.index(gone)
        relying = [e for e in self.standing[at + 1 :] if e.swapped_at < 0 and e.overlaps(gone)]
        for each in (gone, *relying):
            if each in self.standing:
                self.standing.remove(each)
                self.root.repaired(each.name, days(each.first, each.behind), state="undone")

    def rewind(self, back: int) -> None:
        batch = self.batch - back
        if batch < 9 or not back:
            return
        self.planned.clear()  # of another generation
        for each in [e for e in self.standing if e.batch > batch][::-1]:
            if each in self.standing:
                self.taken_back(each)
        self.root.rewound(batch)
        self.batch = batch

    def made(self, day: int, shop: str) -> int:
        """The value that the row has."""
        version = next((e.version for e in reversed(self.standing) if e.has(day)), 0)
        return self.values[version][shop]

    def hold(self) -> None:
        newest = self.values[self.noted]
        wrong = {
            (day, shop)
            for shop, sold in SHOPS.items()
            for day in sold
            if self.made(day, shop) != newest[shop]
        }
        spans = [each.span for of in self.root.outdated.open for each in of.touching]
        told = {day for day in range(10) if any(span.overlaps(days(day)) for span in spans)}
        keys = {json.loads(row["key"])["shop_id"] for row in self.root.told("outdated")}
        assert {day for day, _ in wrong} <= told
        assert {shop for _, shop in wrong} <= keys
        assert told <= {day for shop in keys for day in SHOPS[shop]}


class Valued(beside.NumberedSide):
    """Its rows have values: two versions differ by these."""

    values: list[dict[str, int]]

    def changed(self, _, since, until):
        was, now = self.values[since.version], self.values[until.version]
        for shop in (each for each in SHOPS if was[each] != now[each]):
            yield Changed(json.dumps({"shop_id": shop}), None, None)


@settings(max_examples=examples(60), deadline=None)
@given(ACTIONS)
def test_open_marks_have_each_row_whose_value_is_not_the_newest(tmp_path_factory, actions):
    play = Play(drained(tmp_path_factory.mktemp("marked")))
    Valued.values = play.values
    usual, beside.NumberedSide.changed = beside.NumberedSide.changed, Valued.changed
    beside.NumberedSide.values = play.values
    try:
        for what, *more in actions:
            play.do("batch_" if what == "batch" else what, *more)
            play.hold()
    finally:
        beside.NumberedSide.changed = usual
