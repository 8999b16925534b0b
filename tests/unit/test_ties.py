"""Changes of a key with one order_by and different contents, where a Latest refuses them: the first
stays, however the batches are cut.
"""

import pyarrow as pa
from hypothesis import given, settings, strategies as st

from spark_jobs.fingerprint.fields import fingerprint
from spark_jobs.runs.failures.data_error import TIES, fails_still
from spark_jobs.sink.commit import Commit
from spark_jobs.sink.keyed.commit import merge_here
from spark_jobs.sink.keyed.fates import ALL, COPIES
from spark_jobs.sink.keyed.newest import COUNTED
from spark_jobs.sink.keyed.ties import HELD, OTHERS, Tied
from spark_jobs.sink.writer import written
from spark_jobs.values.own_columns import CONTENTS, DELETED
from tests.unit.test_latest import COLUMNS, LATEST, OWNER, STEP, Change, rows, spec, table_at

REFUSING = STEP.model_copy(update={"ties": "refuse"})


def reduced(batch):
    """As the reduction in Spark gives it."""
    found = []
    for key in sorted({change.id for change in batch}):
        of_key = [change for change in batch if change.id == key]
        top = max((change.lsn, change.seq) for change in of_key)
        level = [change for change in of_key if (change.lsn, change.seq) == top]
        copies = [change for change in level if change.is_copy_of(level[0])]
        counts = {ALL: len(of_key), COPIES: len(copies), OTHERS: len(level) - len(copies)}
        found.append(copies[-1].row() | counts)
    schema = pa.schema([*COLUMNS, *((name, pa.int64()) for name in COUNTED)])
    return pa.Table.from_pylist(found, schema)


def merge(path, batch, number):
    """As a drain does it: what is tied is put aside, and the batch runs again without it."""
    note = {"sluice": OWNER, "batch": number, "run": "run"}
    aside = []
    while True:
        try:
            merge_here(reduced(batch), REFUSING, Commit(str(path), OWNER, number, note, path))
            return written(path, [OWNER], number)[number].fates, aside
        except Tied as found:
            stays = found.stays.to_pylist()
            lost = [change for change in batch if any(refuses(row, change) for row in stays)]
            assert lost
            aside += lost
            batch = [change for change in batch if change not in lost]


def refuses(stays, change):
    of = change.row()
    level = all(stays[name] == of[name] for name in ("id", "lsn", "seq"))
    return level and any(stays[HELD + name] != of[name] for name in (DELETED, CONTENTS))


@st.composite
def cut(draw):
    """The changes of a topic, whose keys have a partition each, in batches."""
    one = st.tuples(st.sampled_from("ab"), st.integers(1, 2), st.just("x"),
                    st.one_of(st.none(), st.sampled_from(["placed", "paid"])))  # fmt: skip
    found = draw(st.lists(one, min_size=1, max_size=14))
    changes = [Change(*change, offset) for offset, change in enumerate(found)]
    ends = sorted(draw(st.sets(st.integers(1, len(changes)), max_size=4)) | {len(changes)})
    return [changes[a:b] for a, b in zip([0, *ends], ends, strict=False)]


@given(batches=cut())
@settings(max_examples=40, deadline=None)
def test_the_first_of_equal_positions_stays_however_the_batches_are_cut(batches, tmp_path_factory):
    path = table_at(tmp_path_factory.mktemp("ties") / "orders")
    wanted = dict[str, Change]()
    for number, batch in enumerate(batches):
        fates, aside = merge(path, batch, number)
        assert fates.all + len(aside) == len(batch)
        for change in batch:
            there = wanted.get(change.id)
            newer = there is None or (change.lsn, change.seq) > (there.lsn, there.seq)
            if newer or change.is_copy_of(there):
                wanted[change.id] = change
        assert not {change.offset for change in aside} & {each.offset for each in wanted.values()}
    found = {key: (row["lsn"], row["seq"], row["status"]) for key, row in rows(path).items()}
    assert found == {key: each[1:4] for key, each in wanted.items()}


def test_of_two_in_a_batch_and_in_the_table_those_that_differ_from_the_first_are_named(tmp_path):
    path = table_at(tmp_path / "orders")
    placed, paid, copy = (
        Change("a", 1, "x", status, at) for at, status in enumerate(["placed", "paid", "placed"])
    )
    assert merge(path, [placed, paid, copy], 0)[1] == [paid]
    gone = Change("a", 1, "x", None, 3)
    fates, aside = merge(path, [gone, copy._replace(offset=4)], 1)
    assert (aside, fates.duplicates, fates.deleted) == ([gone], 1, 0)
    newer = Change("a", 2, "x", "shipped", 6)
    fates, aside = merge(path, [paid._replace(offset=5), newer], 2)
    assert (aside, fates.superseded, fates.updated) == ([], 1, 1)  # it decides nothing


def test_a_tied_change_is_not_replayed_while_the_step_refuses_it():
    reason = f"step 1 (latest): {TIES}: another change of the key has its lsn, and other contents"
    assert fails_still(reason, spec(LATEST.model_copy(update={"ties": "refuse"})))
    assert not fails_still(reason, spec(LATEST))


def test_what_is_tied_may_be_declared_anew_over_a_checkpoint():
    refusing = spec(LATEST.model_copy(update={"ties": "refuse"}))
    assert fingerprint(refusing, "4.2.0") == fingerprint(spec(LATEST), "4.2.0")
