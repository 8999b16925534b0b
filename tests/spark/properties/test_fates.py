"""What `where` tells of each record, against plain Python over the records that were sent: after
cuts, crashes, repairs and undos.
"""

import itertools
import os
import shutil
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from hypothesis import assume, given

from spark_jobs.spec import Deduplicate, State
from tests.harness.moments import MICROSECOND, us
from tests.harness.replay import batch_of, watermarks
from tests.harness.roots import ROOT
from tests.harness.turns import alike
from tests.spark.properties.aggregation import Aggregation
from tests.spark.properties.case import Case
from tests.spark.properties.deduplication import Deduplication
from tests.spark.properties.events import good
from tests.spark.properties.families import HOUR
from tests.spark.properties.forms import keys_of
from tests.spark.properties.repair_acts import Sequence, searching, sequences
from tests.spark.properties.repairing import Repairing
from tests.spark.properties.scene import Scene
from tests.spark.properties.written import written
from tests.spark.told import fates

FAMILY = "fates"
LONG = "SLUICE_CASES" in os.environ and os.environ.get("SLUICE_FAMILY", FAMILY) == FAMILY
CASES = int(os.environ.get("SLUICE_CASES", "0"))
SEED = 3
FORMS = (
    Deduplication(Deduplicate(keys=("event_id",))),
    Aggregation(HOUR, keys=("key", "event_id"), deduplicated=True, filtered=True),
    Aggregation(HOUR),
    Deduplication(Deduplicate(keys=("event_id", "event_time"), scope="event_time")),
)

pytestmark = alike("the fate of a record")


def truth(case: Case, ends, form):
    """Place -> what it became, in each way that Spark may have kept one of a batch's copies: the
    kept record of its key, or its outcome.
    """
    placed = dict(zip(case.places, case.records, strict=True))
    good = {place: one.event for place, one in placed.items() if one.kind == "good"}
    entered = {place: event for place, event in good.items() if form.enters(event)}
    marks = watermarks(
        ends, {place: us(event.event_time) for place, event in entered.items()}, case.delay
    )
    found = {}
    by_key = defaultdict(list)
    for place, record in placed.items():
        batch = batch_of(ends, place)
        if batch == len(ends):
            found[place] = "not read"
        elif record.kind != "good":
            found[place] = record.kind
        elif place not in entered:
            found[place] = "filtered"
        elif form.late(entered[place], marks[batch].judged_by_us):
            found[place] = "late"
        else:
            found[place] = "accepted"
            if form.deduplicate:
                event = entered[place]
                key = tuple(getattr(event, name) for name in keys_of(form.deduplicate))
                by_key[key].append((batch, place, us(event.event_time)))
    kept = {}
    delay_us = (
        case.delay // MICROSECOND
        if form.deduplicate and form.deduplicate.scope == "watermark"
        else 0
    )
    for copies in by_key.values():
        for way in _ways(copies, marks, delay_us):
            for place, of in way.items():
                kept.setdefault(place, set()).add(of)
    return found, kept, len(by_key)


def _ways(copies, marks, delay_us):
    here = defaultdict(list)
    for batch, place, at_us in copies:
        here[batch].append((place, at_us))
    for choice in itertools.product(*(here[batch] for batch in sorted(here))):
        state, way = None, {}
        for batch, chosen in zip(sorted(here), choice, strict=True):
            if state is None or state[1] + delay_us <= marks[batch].judged_by_us:
                state = chosen
            way |= {place: state[0] for place, _ in here[batch]}
        yield way


def hold(scene: Scene, form, case: Case) -> Counter[str]:
    """Each fate is the true one, and they sum up to the accounts."""
    ends = scene.ends()
    told = fates(scene.spec, scene.settings, case.places)
    wanted, kept, _ = truth(case, ends, form)
    assert told.keys() == wanted.keys()
    sums = defaultdict(Counter)
    for place, fate in told.items():
        became = str(fate.became)
        plain = "accepted" if became in ("duplicate", "accepted or duplicate") else became
        assert plain == wanted[place], fate
        if place in kept:
            ways = kept[place]
            may = {"accepted": ways == {place}, "duplicate": place not in ways}
            assert may.get(became, len(ways) > 1 and place in ways) or (
                became != "accepted or duplicate" and _by_columns(case, fate, ways)
            ), (fate, ways)
            if became == "duplicate":
                assert {each[:2] for each in fate.copies} <= ways, (fate, ways)
        if fate.batch is not None:
            sums[fate.batch][plain] += 1
    for row in scene.ops("batches"):
        for name in ("malformed", "premature", "filtered", "late", "accepted"):
            assert sums[row["batch_id"]][name] == row[name], (row["batch_id"], name)
        if form.deduplicate and row["duplicates"] is not None:
            of_batch = [each for each in told.values() if each.batch == row["batch_id"]]
            either = {
                frozenset({each.place, *each.copies})
                for each in of_batch
                if each.became == "accepted or duplicate"
            }
            lost = sum(each.became == "duplicate" for each in of_batch) + sum(
                len(each) - 1 for each in either
            )
            assert lost == row["duplicates"], row["batch_id"]
    return Counter(str(fate.became) for fate in told.values())


def _by_columns(case: Case, fate, ways) -> bool:
    """Whether the copies of one batch differ, so that the table's row tells which was kept."""
    placed = dict(zip(case.places, case.records, strict=True))
    return len({placed[each].event for each in ways}) > 1


def with_copies(sequence: Sequence) -> Sequence:
    """In each run copies of three of its records, alike and beside it, alike and later, and unlike
    in a value.
    """
    case, records, drains = sequence.case, [], []
    before = 0
    for drain in case.batchings[0]:
        part = [*case.records[before : drain.upto]]
        fresh = [each for each in part if each.kind == "good" and "fresh" in each.event.event_id]
        beside, later, unlike = fresh[:3]
        part.insert(part.index(beside), beside)
        part.append(later)
        part.insert(
            part.index(unlike) + 1,
            good(unlike.event._replace(value=99), 0)._replace(kafka_ms=unlike.kafka_ms),
        )
        records += part
        drains.append(drain._replace(upto=len(records)))
        before = drain.upto
    return sequence._replace(case=case._replace(records=tuple(records), batchings=(tuple(drains),)))


def _name(form) -> str:
    return str(form)


def _try(kafka: str, folder: Path, form, sequence: Sequence) -> Counter[str]:
    case = sequence.case
    scene = Scene(kafka, folder, form.spec(case.delay, case.state), case.partitions)
    repairing = Repairing(scene, form, sequence)
    repairing.run()
    done = hold(scene, form, case)
    shutil.rmtree(folder)
    return done


@pytest.mark.skipif(LONG, reason="the search is of every form")
@pytest.mark.parametrize("form", FORMS[:2], ids=_name)
def test_each_fate_is_the_true_one_after_cuts_crashes_repairs_and_an_undo(kafka, tmp_path, form):
    done = _try(kafka, tmp_path / ROOT, form, with_copies(written(SEED)))
    some = {"accepted", "accepted or duplicate", "late", "malformed", "premature"}
    assert some | {
        "filtered"
        if form.spec(MICROSECOND * 1000, State(budget_rows=1)).before_state
        else "duplicate"
    } <= {*done}, done


@pytest.mark.skipif(not LONG, reason="the long form: make properties FAMILY=fates")
@pytest.mark.parametrize("form", FORMS, ids=_name)
def test_no_record_is_found_whose_fate_is_told_wrongly(kafka, tmp_path_factory, form, pytestconfig):
    searched = int(pytestconfig.getoption("--hypothesis-seed") or 0)

    @searching(_name(form), searched, -(-CASES // len(FORMS)))
    @given(sequences(form))
    def found(sequence: Sequence):
        assume(sequence.case.after_the_epoch)
        _try(kafka, tmp_path_factory.mktemp("fates") / ROOT, form, sequence)

    found()
