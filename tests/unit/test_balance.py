"""The account of a batch: a source that is off by one is noticed, or listed as unnoticeable."""

from typing import Any

import pytest

from spark_jobs.audit.balance import balance
from spark_jobs.audit.progress import OperatorProgress, Progress
from spark_jobs.audit.record_counts import OfValues, RecordCounts
from spark_jobs.messages.offset_account import Account
from spark_jobs.source.micro_batch import Batch
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Transform
from tests.unit.specs import aggregate, deduplicate, group_state, pipeline

WHERE = Transform(where="amount > 0")
CHAINS = {
    "deduplicate": (WHERE, deduplicate()),
    "deduplicate, aggregate": (WHERE, deduplicate(), aggregate()),
    "aggregate": (WHERE, aggregate()),
    "group state": (WHERE, group_state()),
}
AGREED = {
    "covered": 110, "read": 100, "malformed": 3, "premature": 2, "good": 95, "entered": 90,
    "dropped": 4, "duplicates": 6, "passed": 80, "yielded": 80, "written": 80, "found read": 100,
    "found malformed": 3, "found premature": 2, "found late": 4, "found accepted": 86,
}  # fmt: skip
"""A batch's sources where all is well; `passed` left the last step but one, `yielded` the last."""
READ_AGAIN, KEPT_ALONE, PROGRESS_LOST = "read again", "kept alone", "progress lost"
"""How the audit knows bad and late records: read again, kept while the batch ran, or not."""


def account(chain: str, how: str, mode: str = "append", **wrong: int) -> Account:
    """The account where each count of `wrong` is off by so much; `_` stands for a blank."""
    off = {name.replace("_", " "): by for name, by in wrong.items()}
    assert off.keys() <= AGREED.keys()
    n = {name: count + off.get(name, 0) for name, count in AGREED.items()}
    spec = pipeline(steps=CHAINS[chain], output_mode=mode)
    gaps = 10 if how == KEPT_ALONE else 0  # a batch with gaps is read again
    batch = Batch(7, Positions({0: 1000}), Positions({0: 1000 + n["covered"] - gaps}), 0, 0)
    bad = {name: n[f"found {name}"] for name in ("malformed", "premature", "late")}
    found = RecordCounts(read=n["found read"], accepted=n["found accepted"], **bad)
    if how == PROGRESS_LOST:
        return balance(spec, batch, None, found, n["written"])
    return balance(
        spec,
        batch,
        _progress(n, len(CHAINS[chain])),
        RecordCounts(read=n["read"], reread=False, **bad) if how == KEPT_ALONE else found,
        n["written"],
    )


def _progress(n: dict[str, int], steps: int) -> Progress:
    left = {1: n["yielded"]} if steps == 2 else {1: n["passed"], 2: n["yielded"]}
    custom = {"numDroppedDuplicateRows": n["duplicates"]}
    first = OperatorProgress("first", {"numRowsDroppedByWatermark": n["dropped"]}, custom)
    second = OperatorProgress("second", {"numRowsDroppedByWatermark": 0}, {})
    observed = {
        "fate": {name: n[name] for name in ("malformed", "premature", "good")},
        "entered": {"rows": n["entered"]},
        **{f"after_{index}": {"rows": rows} for index, rows in left.items()},
    }
    return Progress(7, 1.0, n["read"], observed, (first, second)[: steps - 1])


@pytest.mark.parametrize("how", [READ_AGAIN, KEPT_ALONE])
@pytest.mark.parametrize("chain", CHAINS)
def test_sources_that_agree_leave_nothing_unaccounted(chain, how):
    gaps = 10 if how == READ_AGAIN else 0
    assert account(chain, how) == Account(
        covered=100 + gaps, gaps=gaps, markers=gaps, read=100, malformed=3, premature=2,
        filtered=5, late=4, accepted=86, duplicates=6 if "deduplicate" in chain else 0,
        rows_out=80, unaccounted=0,
    )  # fmt: skip


HELD = """
                 deduplicate  deduplicate, aggregate  aggregate  group state
covered          - -          - -                     - -        - -
read             2 1          2 1                     2 1        2 1
malformed        2 2          2 2                     2 2        2 2
premature        2 2          2 2                     2 2        2 2
good             2 1          2 1                     2 1        2 1
entered          2 1          2 1                     1 -        1 -
dropped          1 1          1 1                     - -        1 1
duplicates       1 1          1 1                     - -        - -
passed           - -          1 1                     - -        - -
yielded          2 2          1 1                     1 1        1 1
written          1 1          1 1                     1 1        1 1
found read       2 -          2 -                     2 -        2 -
found malformed  2 1          2 1                     2 1        2 1
found premature  2 1          2 1                     2 1        2 1
found late       3 2          3 2                     1 -        2 1
found accepted   1 -          1 -                     1 -        1 -
"""
"""How often a source is held against another, where Kafka was read again and where it was not; by
none: a gap may be a record that both readings missed; Spark counts an Aggregate's late rows as groups.
"""
IMBALANCES = [
    (chain, how, source.strip(), int(times.replace("-", "0")))
    for line in HELD.splitlines()[2:]
    for source, cells in [(line[:15], line[15:].split())]
    for place, times in enumerate(cells)
    for chain, how in [([*CHAINS][place // 2], (READ_AGAIN, KEPT_ALONE)[place % 2])]
]


@pytest.mark.parametrize("by", [1, -1])
@pytest.mark.parametrize(("chain", "how", "source", "times"), IMBALANCES)
def test_a_source_that_is_off_by_one_is_noticed_by_each_other(chain, how, source, times, by):
    found = account(chain, how, **{source.replace(" ", "_"): by}).unaccounted
    assert (found or 0) == times


OFF: dict[str, tuple[str, str, str, dict[str, int], int]] = {
    "an Aggregate drops groups though no record is late": ("aggregate", KEPT_ALONE, "append", {"found_late": -4}, 4),
    "records are late though it drops none": ("aggregate", KEPT_ALONE, "append", {"dropped": -4}, 4),
    "a condition may let all records through": ("aggregate", KEPT_ALONE, "append", {"entered": 5}, 0),
    "it makes several records of one": ("aggregate", KEPT_ALONE, "append", {"entered": 7}, 2),
    "update mode writes the last row of a key that a group state yields, and no other is missed": ("group state", KEPT_ALONE, "update", {"written": -70}, 0),
    "more rows than were yielded": ("group state", KEPT_ALONE, "update", {"written": 1}, 1),
    "none of them": ("group state", KEPT_ALONE, "update", {"written": -80}, 80),
    "with lost progress, no record was a duplicate": ("deduplicate", PROGRESS_LOST, "append", {"written": 6}, 0),
    "more rows than records that entered": ("deduplicate", PROGRESS_LOST, "append", {"written": 7}, 1),
    "each row is there twice": ("deduplicate", PROGRESS_LOST, "append", {"written": 80}, 74),
    "more records behind a condition than before it": ("aggregate", PROGRESS_LOST, "append", {"found_accepted": 6}, 1),
}  # fmt: skip


@pytest.mark.parametrize(("chain", "how", "mode", "wrong", "unaccounted"), OFF.values(), ids=OFF)
def test_what_is_off_by_more_than_its_bounds_is_noticed(chain, how, mode, wrong, unaccounted):
    assert account(chain, how, mode, **wrong).unaccounted == unaccounted


def test_a_batch_that_is_read_again_only_is_told_from_its_reading():
    assert account("deduplicate", PROGRESS_LOST) == Account(
        covered=110, gaps=10, markers=10, read=100, malformed=3, premature=2, filtered=5, late=4,
        accepted=86, duplicates=None, rows_out=80,
    )  # fmt: skip


def with_removed(*, gone: int, compacted: bool, written: int = 0, **fewer: int) -> Account:
    """The account of a batch whose second reading and whose table are off by so much."""
    chain = CHAINS["deduplicate"]
    batch = Batch(7, Positions({0: 1000}), Positions({0: 1110}), 0, 0)
    names = ("read", "malformed", "premature", "late", "accepted")
    found = {name: AGREED[f"found {name}"] - fewer.get(name, 0) for name in names}
    records = RecordCounts(**found, gone=gone, compacted=compacted)
    progress = _progress(AGREED, len(chain))
    return balance(pipeline(steps=chain), batch, progress, records, AGREED["written"] + written)


def test_what_values_came_to_adds_up_and_no_more_is_gone_than_the_offsets_that_nobody_reads():
    values = OfValues(elements=5, with_elements=3, empty=2, refused=1)
    assert (values.records(9), values.values(9)) == (8, 6)
    assert RecordCounts(read=3, compacted=True).removed(seen=10, covered=8) == 5


REMOVED = pytest.mark.parametrize(("gone", "compacted"), [(9, False), (0, True)])


@REMOVED
def test_records_that_kafka_removed_between_two_readings_are_no_difference_and_bad_ones_are_unknown(
    gone, compacted
):
    account = with_removed(gone=gone, compacted=compacted, read=9, malformed=2, late=1, accepted=6)
    assert (account.unaccounted, account.unknown) == (0, 3)
    assert (account.read, account.malformed, account.gaps) == (100, 3, 10), "as Spark counted them"


def test_more_than_kafka_removed_is_a_difference_and_so_is_a_record_that_was_not_there_before():
    assert with_removed(gone=2, compacted=False, read=9).unaccounted > 0
    more = with_removed(gone=9, compacted=True, malformed=-1)
    assert (more.unaccounted > 0, more.unknown) == (True, 0)
    assert with_removed(gone=0, compacted=False, read=1).unaccounted > 0


@REMOVED
@pytest.mark.parametrize("read", [0, 9])
@pytest.mark.parametrize("written", [-5, 5])
def test_what_kafka_removed_excuses_no_row_of_the_table(gone, compacted, read, written):
    """Rows are held against what Spark counted, not against the second reading."""
    account = with_removed(
        gone=gone, compacted=compacted, read=read, accepted=read, written=written
    )
    assert account.unaccounted == 5


@REMOVED
def test_where_both_readings_found_as_many_nothing_was_removed(gone, compacted):
    account = with_removed(gone=gone, compacted=compacted, malformed=2, accepted=-2)
    assert (account.unaccounted, account.unknown) == (2, 0)


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (RecordCounts(read=100, aborted=7), (7, 3, 0)),
        (RecordCounts(read=100, aborted=7, gone=2), (7, 1, 2)),
        (RecordCounts(read=91, aborted=7, gone=9), (7, 3, 0)),
        (RecordCounts(read=100, aborted=7, compacted=True), (7, 0, 3)),
        (RecordCounts(read=100, aborted=11), (10, 0, 0)),
    ],
    ids=[
        "markers", "gone before Spark read", "records gone after Spark read them are no gaps",
        "a compacted topic has no markers that can be told", "never more than there are gaps",
    ],
)  # fmt: skip
def test_gaps_are_told_apart(found, told):
    chain = CHAINS["deduplicate"]
    counts = {"malformed": 3, "premature": 2, "late": 4, "accepted": 86}
    account = balance(
        pipeline(steps=chain), Batch(7, Positions({0: 1000}), Positions({0: 1110}), 0, 0),
        _progress(AGREED, len(chain)), found._replace(**counts), AGREED["written"],
    )  # fmt: skip
    assert (account.aborted, account.markers, account.removed) == told
    assert account.gaps == 10 == sum(told)


ONCE, HOURS = CHAINS["deduplicate"], CHAINS["deduplicate, aggregate"]
TWICE = (deduplicate(), deduplicate(keys=("shop",)))
PASSED = RecordCounts(read=100, malformed=3, premature=2, accepted=86)
GONE = RecordCounts(read=70, accepted=70)
ALL = RecordCounts(read=110, accepted=100, malformed=10)
LOST: dict[str, tuple[Any, RecordCounts | None, int, dict[str, int | None]]] = {
    "rows of a Deduplicate without a record": (ONCE, None, 3, {"unaccounted": 3}),
    "without state each record that passed has a row": ((WHERE,), PASSED, 86, {"unaccounted": 0}),
    "one more": ((WHERE,), PASSED, 87, {"unaccounted": 1}),
    "one less": ((WHERE,), PASSED, 85, {"unaccounted": 1}),
    "more records than were read, and more rows than they": ((WHERE,), PASSED._replace(accepted=97), 100, {"unaccounted": 5}),
    "rows of records that are gone": (ONCE, GONE._replace(gone=30), 100, {"unknown": 30, "unaccounted": 0}),
    "and of others": (ONCE, GONE._replace(gone=20), 100, {"unknown": 20, "unaccounted": 10}),
    "rows of records that compaction removed": (ONCE, GONE._replace(compacted=True), 100, {"unknown": 30, "unaccounted": 0}),
    "rows of none that is gone": (ONCE, GONE, 100, {"unknown": 0, "unaccounted": 30}),
    "a compacted topic with all records": (ONCE, ALL._replace(compacted=True), 100, {"unknown": 0, "unaccounted": 0}),
    "a row for each fresh key": (ONCE, ALL._replace(fresh=80), 80, {"unaccounted": 0, "duplicates": 20}),
    "a row more than fresh keys": (ONCE, ALL._replace(fresh=80), 81, {"unaccounted": 1, "duplicates": 20}),
    "a row less": (ONCE, ALL._replace(fresh=80), 79, {"unaccounted": 1, "duplicates": 20}),
    "nobody knows the fresh keys": (ONCE, ALL, 79, {"unaccounted": 0, "duplicates": None}),
    "more rows than records": (ONCE, ALL, 101, {"unaccounted": 1, "duplicates": None}),
    "nothing confirms the rows of an Aggregate": (HOURS, ALL._replace(fresh=80), 80, {"unaccounted": None, "duplicates": 20}),
    "nor its duplicates": (HOURS, ALL, 80, {"unaccounted": None, "duplicates": None}),
    "nor the rows of a group state": (CHAINS["group state"], ALL, 80, {"unaccounted": None, "duplicates": 0}),
    "the state of the first of two tells not the duplicates of both": (TWICE, ALL._replace(fresh=80), 60, {"unaccounted": 0, "duplicates": None}),
}  # fmt: skip


@pytest.mark.parametrize(("steps", "found", "written", "told"), LOST.values(), ids=LOST)
def test_where_progress_is_lost_what_is_known_is_told_the_rest_null(steps, found, written, told):
    covered = (100 if found is PASSED else 110) if found else 0
    made = balance(
        pipeline(steps=steps),
        Batch(7, Positions({0: 0}), Positions({0: covered}), 0, 0),
        None,
        found,
        written,
    )
    assert {name: getattr(made, name) for name in told} == told
    assert made.covered == made.gaps + made.unknown + made.read
