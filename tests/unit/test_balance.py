"""The account of a batch: a source that is off by one is noticed, or listed as unnoticeable."""

from __future__ import annotations

import pytest

from spark_jobs.audit.balance import RecordCounts, balance
from spark_jobs.audit.progress import OperatorProgress, Progress
from spark_jobs.messages.report import Account
from spark_jobs.source.micro_batch import Batch
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
    "covered": 110,
    "read": 100,
    "malformed": 3,
    "premature": 2,
    "good": 95,
    "entered": 90,
    "dropped": 4,
    "duplicates": 6,
    "passed": 80,
    "yielded": 80,
    "written": 80,
    "found read": 100,
    "found malformed": 3,
    "found premature": 2,
    "found late": 4,
    "found accepted": 86,
}
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
    batch = Batch(7, {0: 1000}, {0: 1000 + n["covered"] - gaps}, 0, 0)
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
        covered=100 + gaps,
        gaps=gaps,
        markers=gaps,
        read=100,
        malformed=3,
        premature=2,
        filtered=5,
        late=4,
        accepted=86,
        duplicates=6 if "deduplicate" in chain else 0,
        rows_out=80,
        unaccounted=0,
    )


HELD = """
                 deduplicate  deduplicate, aggregate  aggregate  group state
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
"""How often a source is held against another, where Kafka was read again and where it was not."""
IMBALANCES = [
    (chain, how, source.strip(), int(times))
    for line in HELD.splitlines()[2:]
    for source, cells in [(line[:15], line[15:].split())]
    for place, times in enumerate(cells)
    for chain, how in [([*CHAINS][place // 2], (READ_AGAIN, KEPT_ALONE)[place % 2])]
    if times != "-"
]


@pytest.mark.parametrize("by", [1, -1])
@pytest.mark.parametrize(("chain", "how", "source", "times"), IMBALANCES)
def test_a_source_that_is_off_by_one_is_noticed_by_each_that_it_is_held_against(
    chain, how, source, times, by
):
    assert account(chain, how, **{source.replace(" ", "_"): by}).unaccounted == times


UNSEEN = [
    *(
        (
            chain,
            how,
            "covered",
            "a gap is what neither reading finds: a marker, or a record that both have missed",
        )
        for chain in CHAINS
        for how in (READ_AGAIN, KEPT_ALONE)
    ),
    *(
        (
            chain,
            KEPT_ALONE,
            "entered",
            "what a condition left out is held against a second reading only, and rows against "
            "state "
            "in a Deduplicate only",
        )
        for chain in ("aggregate", "group state")
    ),
    *(
        (
            "aggregate",
            how,
            "dropped",
            "an Aggregate's late rows are counted by Spark as groups: only whether there were any",
        )
        for how in (READ_AGAIN, KEPT_ALONE)
    ),
    ("aggregate", KEPT_ALONE, "found late", "for the same reason"),
    *(
        (
            chain,
            PROGRESS_LOST,
            source,
            "one source is left of each number: Kafka, read once, and Delta's history",
        )
        for chain in CHAINS
        for source in (
            "covered",
            "written",
            "found read",
            "found malformed",
            "found late",
            "found accepted",
        )
    ),
]


@pytest.mark.parametrize("by", [1, -1])
@pytest.mark.parametrize(("chain", "how", "source", "why"), UNSEEN)
def test_what_the_account_cannot_notice(chain, how, source, why, by):
    assert account(chain, how, **{source.replace(" ", "_"): by}).unaccounted in {0, None}, (
        f"it can now: no more that {why}"
    )


def test_an_aggregate_that_drops_groups_though_no_record_is_late_is_noticed_and_so_is_the_reverse():
    assert account("aggregate", KEPT_ALONE, found_late=-4).unaccounted == 4
    assert account("aggregate", KEPT_ALONE, dropped=-4).unaccounted == 4


def test_a_condition_that_made_several_records_of_one_is_noticed_without_a_second_reading():
    assert account("aggregate", KEPT_ALONE, entered=5).unaccounted == 0
    assert account("aggregate", KEPT_ALONE, entered=7).unaccounted == 2


def test_errors_that_cancel_each_other_in_a_sum_are_both_noticed():
    assert account("deduplicate", KEPT_ALONE, dropped=1, written=1).unaccounted == 2
    assert account("deduplicate", KEPT_ALONE, malformed=1, premature=-1).unaccounted == 2


def test_of_the_rows_that_a_group_state_yields_for_one_key_update_mode_writes_the_last_and_the_others_are_not_missed():
    assert account("group state", KEPT_ALONE, "update", written=-70).unaccounted == 0
    assert account("group state", KEPT_ALONE, "update", written=1).unaccounted == 1, (
        "more than were yielded"
    )
    assert account("group state", KEPT_ALONE, "update", written=-80).unaccounted == 80, (
        "none of them"
    )


def test_a_batch_that_is_read_again_only_is_told_from_its_reading():
    assert account("deduplicate", PROGRESS_LOST) == Account(
        covered=110,
        gaps=10,
        markers=10,
        read=100,
        malformed=3,
        premature=2,
        filtered=5,
        late=4,
        accepted=86,
        duplicates=None,
        rows_out=80,
    )


def test_where_progress_is_lost_a_table_with_more_rows_than_records_that_entered_is_noticed():
    assert account("deduplicate", PROGRESS_LOST, written=6).unaccounted == 0, (
        "no record was a duplicate"
    )
    assert account("deduplicate", PROGRESS_LOST, written=7).unaccounted == 1
    assert account("deduplicate", PROGRESS_LOST, written=80).unaccounted == 74, (
        "each row is there twice"
    )


def test_where_progress_is_lost_a_batch_without_a_record_that_wrote_rows_of_a_deduplicate_is_noticed():
    empty = Batch(7, {0: 5}, {0: 5}, 0, 0)
    assert balance(pipeline(steps=CHAINS["deduplicate"]), empty, None, None, 3).unaccounted == 3


@pytest.mark.parametrize(("written", "unaccounted"), [(86, 0), (87, 1), (85, 1)])
def test_where_progress_is_lost_a_pipeline_without_state_has_a_row_for_each_record_that_passed(
    written, unaccounted
):
    batch = Batch(7, {0: 0}, {0: 100}, 0, 0)
    found = RecordCounts(read=100, malformed=3, premature=2, accepted=86)
    assert balance(pipeline(steps=(WHERE,)), batch, None, found, written).unaccounted == unaccounted


def test_where_progress_is_lost_more_records_behind_a_condition_than_before_it_are_noticed():
    assert account("aggregate", PROGRESS_LOST, found_accepted=6).unaccounted == 1


def with_removed(*, gone: int, compacted: bool, written: int = 0, **fewer: int) -> Account:
    """The account of a batch whose second reading and whose table are off by so much."""
    chain = CHAINS["deduplicate"]
    batch = Batch(7, {0: 1000}, {0: 1110}, 0, 0)
    names = ("read", "malformed", "premature", "late", "accepted")
    found = {name: AGREED[f"found {name}"] - fewer.get(name, 0) for name in names}
    records = RecordCounts(**found, gone=gone, compacted=compacted)
    progress = _progress(AGREED, len(chain))
    return balance(pipeline(steps=chain), batch, progress, records, AGREED["written"] + written)


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
    assert with_removed(gone=9, compacted=True, malformed=-1).unaccounted > 0
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
    ("found", "unknown", "unaccounted"),
    [
        (RecordCounts(read=70, accepted=70, gone=30), 30, 0),
        (RecordCounts(read=70, accepted=70, gone=20), 20, 10),
        (RecordCounts(read=70, accepted=70, compacted=True), 30, 0),
        (RecordCounts(read=70, accepted=70), 0, 30),
        (RecordCounts(read=110, accepted=100, malformed=10, gone=0, compacted=True), 0, 0),
    ],
)
def test_where_progress_is_lost_rows_of_records_that_are_gone_are_explained_and_of_no_others(
    found, unknown, unaccounted
):
    spec = pipeline(steps=CHAINS["deduplicate"])
    batch = Batch(7, {0: 0}, {0: 110}, 0, 0)
    account = balance(spec, batch, None, found, 100)
    assert (account.unknown, account.unaccounted) == (unknown, unaccounted)
    assert account.covered == account.gaps + account.unknown + account.read


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
        "markers",
        "gone before Spark read",
        "records gone after Spark read them are no gaps",
        "a compacted topic has no markers that can be told",
        "never more than there are gaps",
    ],
)
def test_gaps_are_told_apart(found, told):
    chain = CHAINS["deduplicate"]
    counts = {"malformed": 3, "premature": 2, "late": 4, "accepted": 86}
    account = balance(
        pipeline(steps=chain),
        Batch(7, {0: 1000}, {0: 1110}, 0, 0),
        _progress(AGREED, len(chain)),
        found._replace(**counts),
        AGREED["written"],
    )
    assert (account.aborted, account.markers, account.removed) == told
    assert account.gaps == 10 == sum(told)


FRESH = RecordCounts(read=110, accepted=100, malformed=10)


@pytest.mark.parametrize(
    ("fresh", "written", "unaccounted"),
    [(80, 80, 0), (80, 81, 1), (80, 79, 1), (None, 79, 0), (None, 101, 1)],
)
def test_where_progress_is_lost_the_rows_of_a_deduplicate_are_its_fresh_keys(
    fresh, written, unaccounted
):
    spec = pipeline(steps=CHAINS["deduplicate"])
    batch = Batch(7, {0: 0}, {0: 110}, 0, 0)
    account = balance(spec, batch, None, FRESH._replace(fresh=fresh), written)
    assert account.unaccounted == unaccounted
    assert account.duplicates == (20 if fresh else None)


@pytest.mark.parametrize(
    ("chain", "fresh", "known"),
    [
        ("deduplicate", 80, (20, 0)),
        ("deduplicate", None, (None, 0)),
        ("deduplicate, aggregate", 80, (20, None)),
        ("deduplicate, aggregate", None, (None, None)),
        ("group state", None, (0, None)),
    ],
)
def test_what_nothing_confirms_where_progress_is_lost_is_unknown_and_not_0(chain, fresh, known):
    spec, batch = pipeline(steps=CHAINS[chain]), Batch(7, {0: 0}, {0: 110}, 0, 0)
    found = balance(spec, batch, None, FRESH._replace(fresh=fresh), 80)
    assert (found.duplicates, found.unaccounted) == known


def test_the_duplicates_of_two_deduplicates_are_not_told_by_the_state_of_the_first():
    spec = pipeline(steps=(deduplicate(), deduplicate(keys=("shop",))))
    account = balance(spec, Batch(7, {0: 0}, {0: 110}, 0, 0), None, FRESH._replace(fresh=80), 60)
    assert (account.duplicates, account.unaccounted) == (None, 0)
