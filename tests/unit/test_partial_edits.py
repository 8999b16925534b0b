"""Rows of partial changes that persons have edited: copies of what set a field bring their places
alone, in any order and in any batches, and the account of each batch is the log's.
"""

import pyarrow as pa
from deltalake import DeltaTable, Schema, write_deltalake
from hypothesis import given, settings, strategies as st
from pyspark.sql.pandas.types import from_arrow_schema
from upath import UPath

from spark_jobs.audit.keyed_account import keyed
from spark_jobs.steps.keyed.fates import Fates
from spark_jobs.table.delta.log_entries import GENERATION
from spark_jobs.table.delta.table import Delta
from spark_jobs.values.own_columns import DELETED, SET_CONTENTS
from tests.harness.long_form import examples
from tests.harness.turns import alike
from tests.unit.test_fold import COLUMNS, PAYLOAD, STEP, Change, batches, merge, rows, table_at
from tests.unit.test_latest import LATEST, spec


class Kept:
    """The rows of keys, batch after batch, and what persons write into them. Of each field the
    change that set it; a copy of that one leaves the value.
    """

    def __init__(self):
        self.newest, self.set_by, self.values = {}, {}, {}

    def put(self, batch):
        for key in {change.id for change in batch}:
            of_key = sorted((c for c in batch if c.id == key), key=lambda c: c.position)
            was = self.newest.get(key)
            newest = max((c for c in (was, of_key[-1]) if c), key=lambda c: c.position)
            for at in range(3):
                setters = [c for c in of_key if c.said is None or PAYLOAD[at] in c.said]
                if setters:
                    self._set(key, at, setters[-1])
            if newest.said is None and was and was.said is not None:
                self.values.update({(key, at): None for at in range(3)})
            self.newest[key] = newest

    def _set(self, key, at, by):
        was = self.set_by.get((key, at))
        if was and was.position >= by.position:
            return
        if not (was and (was.lsn, was.said) == (by.lsn, by.said)):
            self.values[key, at] = by.said[PAYLOAD[at]] if by.said is not None else None
        self.set_by[key, at] = by

    def edit(self, key, at, value):
        """Whether there is such a row."""
        if found := key in self.newest and self.newest[key].said is not None:
            self.values[key, at] = value
        return found

    def rows(self):
        return {
            key: None if newest.said is None else [self.values.get((key, at)) for at in range(3)]
            for key, newest in self.newest.items()
        }


@alike("whatever comes in whatever order")
@given(given_batches=batches(), data=st.data())
@settings(max_examples=examples(60), deadline=None)
def test_behind_persons_edits_the_rows_are_those_of_plain_python(
    given_batches, data, tmp_path_factory
):
    path, kept, sent = table_at(tmp_path_factory.mktemp("edited") / "orders"), Kept(), []
    for number, new in enumerate(given_batches):
        copies = data.draw(st.lists(st.sampled_from(sent), max_size=3)) if sent else []
        batch = [*new, *(each._replace(offset=100 * number + n) for n, each in enumerate(copies))]
        sent += batch
        done = merge(path, batch, number)
        kept.put(batch)
        assert rows(path) == kept.rows()
        log = keyed(path, done, STEP)
        assert done.fates.all == len(batch)
        assert (log.written, log.gained) == (done.fates.written, done.fates.gained)
        assert (log.changed or 0) <= done.fates.updated + done.fates.ended
        key, at = data.draw(st.sampled_from("ab")), data.draw(st.integers(0, 2))
        if kept.edit(key, at, value := (f"mine {number}", f"mine {number}", number)[at]):
            said = {PAYLOAD[at]: f"'{value}'" if at < 2 else f"{value}"}
            DeltaTable(str(path)).update(said, predicate=f"id = '{key}'")
        assert rows(path) == kept.rows()


def test_a_copy_of_an_older_change_does_not_undo_a_persons_correction(tmp_path):
    path = table_at(tmp_path / "orders")
    older = Change("a", 1, {"note": "gift", "weight": 1}, 0)
    merge(path, [older, Change("a", 2, {"status": "paid"}, 1)], 0)
    DeltaTable(str(path)).update({"status": "'mended'", "note": "'mine'", "weight": "9"})
    done = merge(path, [older._replace(offset=5)], 1)
    assert rows(path) == {"a": ["mended", "mine", 9]}
    assert done.fates == Fates(duplicates=1, moved=1, behind=1)
    merge(path, [Change("a", 1, {"note": "of before the copy"}, 4)], 2)
    assert rows(path) == {"a": ["mended", "mine", 9]}
    merge(path, [Change("a", 1, {"note": "of behind the copy"}, 6)], 3)
    assert rows(path) == {"a": ["mended", "of behind the copy", 9]}


def test_a_copy_of_a_delete_does_not_undo_what_a_person_wrote_behind_it(tmp_path):
    path = table_at(tmp_path / "orders")
    gone = Change("a", 1, None, 0)
    merge(path, [gone, Change("a", 2, {"status": "paid"}, 1)], 0)
    DeltaTable(str(path)).update({"note": "'mine'"})
    done = merge(path, [gone._replace(offset=5)], 1)
    assert rows(path) == {"a": ["paid", "mine", None]}
    assert done.fates == Fates(duplicates=1, moved=1, behind=1)


def test_what_a_person_wrote_where_no_change_said_anything_stays(tmp_path):
    path = table_at(tmp_path / "orders")
    merge(path, [Change("a", 1, {"status": "placed"}, 0)], 0)
    DeltaTable(str(path)).update({"note": "'mine'"})
    merge(path, [Change("a", 2, {"status": "paid"}, 1)], 1)
    assert rows(path) == {"a": ["paid", "mine", None]}
    merge(path, [Change("a", 4, None, 2), Change("a", 5, {"status": "again"}, 3)], 2)
    assert rows(path) == {"a": ["again", None, None]}


def older_table_at(path, rows):
    """As an older Sluice left it, with these rows."""
    there = pa.Table.from_pylist(rows, COLUMNS).drop_columns([SET_CONTENTS])
    made = {"delta.enableChangeDataFeed": "true", GENERATION: "1"}
    table = DeltaTable.create(str(path), Schema.from_arrow(there.schema), partition_by=[DELETED],
                              configuration=made, raise_if_key_not_exists=False)  # fmt: skip
    write_deltalake(table, there, mode="append")
    return UPath(path)


def test_a_table_of_an_older_sluice_gets_its_column_and_goes_on(tmp_path):
    made = table_at(tmp_path / "made")
    older, newest = (
        Change("a", 1, {"note": "gift"}, 0),
        Change("a", 2, {"status": "paid", "weight": 2}, 1),
    )
    merge(made, [older, newest], 0)
    path = older_table_at(tmp_path / "orders", DeltaTable(str(made)).to_pyarrow_table().to_pylist())
    DeltaTable(str(path)).update({"status": "'mended'", "note": "'mine'"})
    partial = spec(LATEST.model_copy(update={"missing": "keep"}))
    Delta(path).ensure(from_arrow_schema(COLUMNS), partial, "1")
    merge(path, [newest._replace(offset=5)], 1)
    assert rows(path) == {"a": ["mended", "mine", 2]}
    merge(path, [older._replace(offset=6)], 2)  # nobody knows what set `note`
    assert rows(path) == {"a": ["mended", "gift", 2]}
    DeltaTable(str(path)).update({"note": "'mine again'"})
    merge(path, [older._replace(offset=7), newest._replace(offset=8)], 3)
    assert rows(path) == {"a": ["mended", "mine again", 2]}
