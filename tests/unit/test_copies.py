"""Which copy a Deduplicate kept, held against a plain simulation of every way that it may have."""

import itertools
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from spark_jobs.source.place import Place
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Sliding
from spark_jobs.values.numbering import numbered_in
from spark_jobs.where.again import Reader
from spark_jobs.where.ask import Seen, alike, values
from spark_jobs.where.copies import UNREAD, Copy, Keeping, kept_of
from spark_jobs.where.fate import Became, Fate
from spark_jobs.where.kept import Accounted, Kept, Known
from spark_jobs.where.tell import Outcomes
from tests.harness.long_form import examples
from tests.harness.moments import us
from tests.unit.drains import Drains
from tests.unit.specs import aggregate, pipeline
from tests.unit.test_join import BY_ORDER, paid

DELAY = 10


def ways(copies, late_before, delay):
    """Each way: place -> the place of the kept one. Spark keeps any new copy of a batch."""
    batches = sorted({each.batch for each in copies})
    here = {batch: [each for each in copies if each.batch == batch] for batch in batches}
    for choice in itertools.product(*(here[batch] for batch in batches)):
        state, found = None, {}
        for batch, chosen in zip(batches, choice, strict=True):
            gone = state and delay is not None and state.at + delay <= late_before.get(batch, -999)
            if state is None or gone:
                state = chosen
            found |= {each.place: state.place for each in here[batch]}
        yield found


@st.composite
def cases(draw):
    batches = draw(st.integers(1, 4))
    late_before, watermark = {}, draw(st.integers(-20, 0))
    copies = []
    for batch in range(batches):
        late_before[batch] = watermark
        for _ in range(draw(st.integers(0, 3))):
            at = draw(st.integers(watermark + 1, watermark + 40))
            copies.append(Copy((draw(st.integers(0, 1)), len(copies)), batch, at))
        watermark += draw(st.integers(0, 30))
    return copies, late_before, draw(st.sampled_from([DELAY, 0, None]))


@settings(max_examples=examples(400), deadline=None)
@given(cases())
def test_what_is_told_of_a_copy_is_what_all_ways_have_in_common(case):
    copies, late_before, delay = case
    every = [*ways(copies, late_before, delay)]
    found = kept_of(copies, Keeping(delay, late_before, {}), None)
    for each in copies:
        kept_by = {way[each.place] for way in every}
        assert found[each.place] == kept_by


@settings(max_examples=examples(400), deadline=None)
@given(cases(), st.data())
def test_what_the_table_has_of_each_batch_leaves_the_ways_that_wrote_it(case, data):
    copies, late_before, delay = case
    if not copies:
        return
    true = data.draw(st.sampled_from([*ways(copies, late_before, delay)]))
    wrote = {
        batch: frozenset(
            each.place for each in copies if each.batch == batch and true[each.place] == each.place
        )
        for batch in {each.batch for each in copies}
    }
    found = kept_of(copies, Keeping(delay, late_before, wrote), None)
    for each in copies:
        assert found[each.place] == {true[each.place]}


@settings(max_examples=examples(400), deadline=None)
@given(cases(), st.data())
def test_without_the_oldest_copies_nothing_is_told_that_they_would_contradict(case, data):
    copies, late_before, delay = case
    unread = data.draw(st.sets(st.sampled_from(copies)) if copies else st.just(set()))
    read = [each for each in copies if each not in unread]
    until = max((each.at for each in unread), default=None)
    every = [*ways(copies, late_before, delay)]
    found = kept_of(read, Keeping(delay, late_before, {}), until)
    for each in read:
        kept_by = {way[each.place] for way in every}
        gone = {one.place for one in unread}
        assert {UNREAD if one in gone else one for one in kept_by} <= found[each.place]


def test_a_copy_that_may_not_have_entered_decides_nothing_for_certain():
    copies = [Copy((0, 0), 0, 5, certain=False), Copy((0, 1), 1, 5)]
    assert kept_of(copies, Keeping(DELAY, {}, {}), None)[0, 1] == {(0, 0), (0, 1)}


def test_rows_that_no_copy_can_have_written_are_a_contradiction_and_no_answer():
    found = kept_of([Copy((0, 0), 0, 5)], Keeping(DELAY, {}, {0: frozenset()}), None)
    assert found == {(0, 0): set()}


AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
HERE, THERE = Place(0, 0), Place(0, 7)
ROW = Seen(0, {"at": int(AT.timestamp() * 1_000_000)})


class Asked(Exception):
    """Spark is asked."""


def test_copies_that_an_archive_alone_has_still_are_asked_of_spark(tmp_path):
    root = Drains(tmp_path)
    known = Known.read(root.paths, root.spec)
    topic = SourceState("topic-1", Positions({0: 5}), Positions({0: 10}))

    def ask(question):
        raise Asked

    reader = Reader(root.spec, root.settings, known, ask, topic, "", {0: ((0, 5),)})
    batch = Accounted(9, "r", Positions({0: 9}), Positions({0: 10}), None, None, None, {})
    with pytest.raises(Asked):
        reader.seen({Place(0, 9): batch}, {0: ((3, 9),)})


def fate_of(spec, kept, *repairs, place=HERE):
    reader = Reader(spec, None, None, None, None, "", {})
    outcomes = Outcomes(reader, Kept(None, {}, {}, [*repairs]), {})
    return outcomes.entered(Fate(place, Became.ACCEPTED), ROW, kept)


def repaired(state, horizon=100):
    hours = {"start": AT - timedelta(hours=1), "end": AT + timedelta(hours=2)}
    return {
        "kind": "repair", "repair_id": "r1", "state": state,
        "horizon": Positions({0: horizon}).json, "ranges": [hours],
    }  # fmt: skip


def test_a_record_that_a_joins_own_deduplicate_may_have_dropped_is_not_told_as_accepted():
    payment = Place(numbered_in(1, 0), 0)
    assert fate_of(paid(before=BY_ORDER), None, place=payment).became == "accepted or duplicate"
    assert fate_of(paid(before=BY_ORDER), None).became == "accepted", "an order"
    assert fate_of(paid(), None, place=payment).became == "accepted"


@pytest.mark.parametrize(
    ("repairs", "open_"),
    [((), 0), ((repaired("canonical"),), 0), ((repaired("undone"),), 0), ((repaired("swapped"),), 1),
     ((repaired("swapped", horizon=0),), 0)],
    ids=["none", "found as they were", "undone", "changed", "of records before it"],
)  # fmt: skip
def test_a_copy_may_be_in_the_rows_once_a_repair_has_changed_them(repairs, open_):
    """An excision takes out the copy that was kept, and a repair keeps the other one."""
    found = fate_of(pipeline(), {THERE}, *repairs)
    assert (found.became, found.copies) == ("duplicate", (THERE,))
    assert sum("in place of" in each for each in found.untold) == open_


@pytest.mark.parametrize(("minutes", "in_some"), [(30, True), (-30, False)], ids=["one", "none"])
def test_a_record_that_is_late_for_some_windows_is_told_to_be_in_the_others(minutes, in_some):
    """Windows of two hours each hour, and a watermark at 13:00: 12:30 is in one until 14:00."""
    spec = pipeline(steps=(aggregate(window=Sliding(size="2 hours", slide="1 hour")),))
    at, missed = AT + timedelta(minutes=minutes), AT + timedelta(hours=1)
    row = {"batch_id": 1, "run_id": "r", "at": us(at), "watermark_missed": missed, "kind": "late"}
    row |= {"reason": "the step sums drops it"}
    fate = Kept(None, {HERE: [row]}, {}, []).fate(spec, HERE, None)
    assert (fate.became, fate.event_time, fate.late_by) == ("late", at, missed - at)
    assert ("those that ended later" in fate.why) == in_some


def rows_of(*keys):
    return pa.table(
        {
            "id": [key[0] for key in keys],
            "n": pa.array([key[1] for key in keys], pa.int32()),
            "rate": pa.array([key[2] for key in keys], pa.float64()),
            "at": pa.array([key[3] for key in keys], pa.timestamp("ms", "UTC")),
        }
    )


KEYS = st.tuples(
    st.sampled_from(["a", "b", "", None]), st.sampled_from([1, 2, None]),
    st.sampled_from([0.0, -0.0, 1.5, None]), st.sampled_from([AT, AT + timedelta(hours=1), None]),
)  # fmt: skip


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(KEYS, min_size=1), st.lists(KEYS, min_size=1))
def test_alike_are_the_rows_whose_key_columns_are_equal_one_by_one(here, wanted):
    names = ("id", "n", "rate", "at")
    found = [*alike(rows_of(*here), names, values(rows_of(*wanted)))]
    assert found == [number for number, key in enumerate(here) if key in wanted]
