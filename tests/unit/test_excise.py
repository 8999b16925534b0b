"""Excisions without Spark: what a checkpoint takes over, what waits for a repair, and what a kill, a
rewind or a new place leaves of it.
"""

import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st
from typer.testing import CliRunner

from spark_jobs.checkpoint.lease import lease
from spark_jobs.checkpoint.notes.begun import under_way
from spark_jobs.checkpoint.notes.excised import FAR, Known, Places, Refused, text_of
from spark_jobs.checkpoint.notes.failing import UNREAD, FailingRecord, FailingRecords, read_failing
from spark_jobs.checkpoint.notes.noted_versions import noted_now
from spark_jobs.cli import app
from spark_jobs.cli.terminal import NOT_DONE
from spark_jobs.errors import (
    CheckpointBroken,
    DecisionRefused,
    FormatNewer,
    LeaseHeld,
    RebuildRefused,
    SpecInvalid,
    VersionNotLive,
)
from spark_jobs.excise.adopt import adopt, around, taken_over
from spark_jobs.excise.look import Reader, _drained, look
from spark_jobs.excise.note import (
    Excision,
    clock_of,
    end,
    excisions,
    file_of,
    keep,
    slots_of,
)
from spark_jobs.excise.told import effect, following
from spark_jobs.ops import ops_tables
from spark_jobs.repair.compute.account import beyond
from spark_jobs.repair.find.quarantine import Replayable, spared
from spark_jobs.repair.find.ranges_due import untried
from spark_jobs.repair.offsets.slices import less, together
from spark_jobs.source.place import Place
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Deduplicate, Field, Pipeline, State, Table
from spark_jobs.storage import failpoint
from spark_jobs.values.numbering import numbered_in
from spark_jobs.values.spans import EPOCH, FIRST, LAST, MICROSECOND, Span
from tests.harness.refused import fails, has
from tests.harness.turns import held_by
from tests.unit.checkpoints import Alone
from tests.unit.drains import NEXT, Drains
from tests.unit.marked import DAY, Marked, days, drained
from tests.unit.specs import OURS, aggregate, deployed, pipeline, topic
from tests.unit.test_join import BY_ORDER, paid
from tests.unit.test_switch import Rebuilt

pytestmark = held_by("simulation/test_simulation.py", "spark/test_excise.py")

TOPIC_ID = "topic-1"


@pytest.fixture
def root(tmp_path) -> Marked:
    """Ten days are drained, offset n of day n; those before the eighth are final."""
    return drained(tmp_path)


def noted(
    root: Marked | Drains, *days: int, name: str = "x1", topic_id: str | None = None
) -> Excision:
    """An excision of the records of these days, and of those to come on them."""
    times = [(DAY + timedelta(days=n, hours=11, minutes=35) - EPOCH) // MICROSECOND for n in days]
    made = Excision(
        id=name, topic=root.spec.topic.name, where="amount > 7",
        topic_id=root.identity.topic_id if topic_id is None else topic_id,
        start=DAY, end=DAY + timedelta(days=99), reason="wrong", who="ana",
        at=datetime.now(UTC), records=len(days), places=text_of(Place(0, n) for n in days),
        slots=slots_of(times),
    )  # fmt: skip
    keep(root.paths.root, made)
    return made


def taken(root: Marked | Drains) -> bool:
    return taken_over(root.spec, root.paths, "ana")


def adopted(root: Marked | Drains) -> list[str]:
    """What a run takes over."""
    return adopt(root.spec, root.paths, root.identity, Alone(), "run")


def refused(root: Marked | Drains) -> tuple[list[int], list[int]]:
    """The offsets that drains refuse, and those that repairs do."""
    known = read_failing(root.paths.failing)
    return tuple(sorted(each.offset for each in of) for of in (known.reasons, known.in_repairs))


PLACES = st.tuples(st.integers(0, 2), st.integers(0, 40)).map(lambda at: Place(*at))
ELEMENTS = st.tuples(st.integers(0, 2), st.integers(0, 5), st.integers(0, 9)).map(
    lambda at: Place(*at)
)


def test_an_element_of_a_huge_value_is_none_of_the_next_value():
    of = Refused({}, [Known("why", Places.told({0: "8,10:0-3"}))])
    for element in (FAR - 1, FAR, 2**20, 2**31 - 1):
        assert of.get(Place(0, 7, element)) is None
        assert of.get(Place(0, 8, element)) == "why"
        assert of.get(Place(0, 9, element)) is None


def test_of_values_that_are_taken_apart_nobody_knows_how_many_records_a_group_loses():
    values, elements = ({0: "8"}, {0: "8:0-3"})
    for text, spread, most in ((values, False, 1), (values, True, None), (elements, True, 4)):
        assert Refused({}, [Known("why", Places.told(text))]).most(spread=spread) == most
    found = [beyond(gained, most) for gained in (2, -2, -6) for most in (4, None)]
    assert found == [2, 2, 0, 0, 2, 0]


def test_who_asks_for_each_part_of_a_batch_counts_no_places(monkeypatch):
    of = Refused({}, [Known("why", Places.told({0: "8"}))])
    monkeypatch.setattr(Places, "__len__", lambda _: pytest.fail("it counts"))
    assert of
    assert not Refused({}, [Known("why", Places.told({}))])
    assert not of.at({0: [(9, 12)]})
    assert of.at({0: [(8, 9)]})


@pytest.mark.parametrize("some", [PLACES, ELEMENTS], ids=["values", "elements"])
@given(data=st.data())
def test_ranges_have_the_places_that_were_noted(data, some):
    places, spared = data.draw(st.sets(some)), data.draw(st.sets(some))
    own = Places.told(text_of(places))
    assert len(own) == len(places)
    assert [*own] == sorted(places)
    found, left = Refused({}, [Known("why", own)], dict.fromkeys(spared, 1)), places - spared
    assert {*found.places()} == {*found} == left
    every = {*places, *spared, *data.draw(st.sets(some)), *(each.value for each in places)}
    assert {each for each in every if found.get(each) == "why"} == left
    values = Refused({}, [Known("why", Places.told(text_of(each.value for each in places)))])
    assert all(values.get(each) == "why" for each in places), "of a whole value each element"
    gaps = data.draw(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), max_size=4))
    spans, at = [], 0
    for gap, length in gaps:
        spans.append((at + gap, at + gap + length))
        at += gap + length
    assert {*found.at({1: spans}).places()} == {each for each in left if each.partition == 1
        and any(first <= each.offset < stop for first, stop in spans)}  # fmt: skip
    since = Positions({0: 2, 1: 3, 2: 41})
    assert {*own.behind(since)} == {each for each in places if not since.passed(each)}
    assert own.until == Positions({p: max(each.offset for each in places if each.partition == p) + 1
                                   for p in {each.partition for each in places}})  # fmt: skip


def test_what_batches_have_is_outdated_and_what_is_to_come_is_refused(root):
    noted(root, 2, 5, 9, 12)
    assert taken(root)
    assert refused(root) == ([12], [2, 5, 9, 12])
    assert root.due == [2, 5]
    assert root.states == "ccxccxcc" + "oo"
    assert not adopted(root)
    pin = noted_now(root.checkpoint, root.spec)["excised records"]
    assert pin.version == 1


def test_where_no_row_ends_yet_nothing_is_due(root):
    """A record of 11:35 goes; copies in its place may be from 09:35 on."""
    noted(root, 5)
    taken(root)
    at = DAY + timedelta(days=5, hours=9)
    found = {each: root.outdated.ranges(at + timedelta(minutes=each)) for each in (45, 60)}
    assert [bool(of) for of in found.values()] == [False, True]
    assert root.outdated.untried(at + timedelta(minutes=45), None, ()) == 0
    assert root.outdated.untried(at + timedelta(minutes=60), None, ()) == 1


def test_a_repair_that_knows_of_it_settles_it_and_an_older_one_does_not(root):
    noted(root, 2, 5)
    before = noted_now(root.checkpoint, root.spec)
    taken(root)
    root.repaired("old", days(2), inputs=before)
    assert root.due == [2, 5]
    root.repaired("new", days(2), inputs=noted_now(root.checkpoint, root.spec))
    assert root.due == [5]
    noted(root, 2, name="x2")
    taken(root)
    assert root.due == [2, 5], "a second excision"


def test_a_second_excision_behind_a_rewind_leaves_the_first_ones_rows_outdated(root):
    noted(root, 2, 5)
    taken(root)
    root.rewound(3)
    known = read_failing(root.paths.failing)
    known.read_again_from(root.checkpoint.batch(3).end).put(root.paths.failing, Alone())
    noted(root, 1, name="x2")
    taken(root)
    assert {*root.due} >= {1, 2}


def kill(root: Marked, patch: pytest.MonkeyPatch, at: str, times: int) -> None:
    """As it takes over what is noted, where it passes this place so often."""
    passed = []

    def die():
        passed.append(at)
        if len(passed) == times:
            raise failpoint.Failure(at)

    patch.setitem(failpoint.ACTIVE, at, die)
    with suppress(failpoint.Failure):
        taken(root)
    failpoint.ACTIVE.clear()


PLACES_OF_A_CHANGE = [(at, times) for at in ("change.begun", "change.stepped") for times in (1, 2)]


@pytest.mark.parametrize(("at", "times"), PLACES_OF_A_CHANGE)
def test_killed_anywhere_it_is_taken_over_once_and_ends_once(root, monkeypatch, at, times):
    noted(root, 2, 5, 12)
    noted(root, 3, name="x2")
    kill(root, monkeypatch, at, times)
    assert taken(root)
    assert under_way(root.paths) is None
    assert refused(root) == ([12], [2, 3, 5, 12])
    assert len(root.told("outdated")) == 4, "one of a record that is still to come"
    assert root.due == [2, 3, 5]
    assert len(read_failing(root.paths.failing).excised) == 2
    for name in ("x1", "x2"):
        end(root.paths.root, "sales", name, "ana")
    kill(root, monkeypatch, at, times)
    assert not taken(root)
    assert under_way(root.paths) is None
    assert (refused(root), root.due) == (([], []), [])
    noted(root, 4, name="x3")
    taken(root)
    assert root.due == [4]


def test_a_rewind_reads_its_records_again_and_refuses_them(root):
    noted(root, 2, 5)
    taken(root)
    root.rewound(3)
    known = read_failing(root.paths.failing)
    known.read_again_from(root.checkpoint.batch(3).end).put(root.paths.failing, Alone())
    assert refused(root) == ([5], [2, 5])


def test_the_records_of_a_topic_made_anew_are_others(root):
    noted(root, 2, topic_id="another")
    assert not taken(root)
    assert refused(root) == ([], [])
    reader = Reader(root.spec, root.settings)
    assert [*effect(reader, excisions(root.paths.root, "sales")[0])] == [
        "sales_hourly: its checkpoint is of another topic with this name"
    ]


def test_a_torn_note_is_told_and_nothing_is_done(root):
    made = noted(root, 2)
    file_of(root.paths.root, "sales", made.id).write_text('{"id": ')
    with fails(CheckpointBroken, "file_damaged", what=has("does not parse")):
        taken(root)
    assert refused(root) == ([], [])


def test_one_that_ends_while_it_is_read_is_none(root):
    made = noted(root, 2)
    file_of(root.paths.root, "sales", "x0").symlink_to("gone")
    assert [each.id for each in excisions(root.paths.root, "sales")] == [made.id]


def test_a_checkpoint_without_a_batch_refuses_all_of_them_and_marks_nothing(root):
    made = noted(root, 2, 5)
    root.paths.failing.unlink(missing_ok=True)
    for each in ("offsets", "commits"):
        for file in (root.paths.checkpoint / each).iterdir():
            file.unlink()
    anew = root.identity.model_copy(update={"generation": "g9"})
    assert len(adopt(root.spec, root.paths, anew, Alone(), "run")) == 1
    assert refused(root) == ([2, 5], [2, 5])
    assert root.told("outdated") == []
    assert made.id in read_failing(root.paths.failing).excised[0].reason


def test_one_that_is_lifted_is_refused_no_more_and_its_number_not_used_again(root):
    made = noted(root, 2, 5)
    taken(root)
    end(root.paths.root, "sales", made.id, "ana")
    end(root.paths.root, "sales", made.id, "ana")
    assert not file_of(root.paths.root, "sales", made.id).exists()
    assert refused(root) == ([], [2, 5]), "until it looks"
    taken(root)
    assert refused(root) == ([], [])
    assert root.due == []
    noted(root, 3, name="x2")
    taken(root)
    assert noted_now(root.checkpoint, root.spec)["excised records"].version == 2
    assert root.due == [3]


def test_an_older_sluice_refuses_the_file_and_one_without_excisions_it_reads(root):
    noted(root, 2)
    assert FailingRecords().form == 1
    taken(root)
    text = root.paths.failing.read_text()
    assert '"format_version": 3' in text
    root.paths.failing.write_text(text.replace('"format_version": 3', '"format_version": 4'))
    with pytest.raises(FormatNewer):
        read_failing(root.paths.failing)


def test_an_older_sluice_refuses_a_note_and_the_note_of_an_older_one_is_read(root):
    made = noted(root, 2)
    file = file_of(root.paths.root, "sales", made.id)
    content = json.loads(file.read_text())
    assert content["format_version"] == 3
    for form in (1, 2):
        slots = [each | {"first": {"0": 2}} for each in content["slots"]]
        file.write_text(json.dumps(content | {"format_version": form, "slots": slots}))
        [read] = excisions(root.paths.root, "sales")
        assert (read.places, read.slots) == (made.places, made.slots)
    taken(root)
    assert root.due == [2]


def test_what_a_person_has_named_stays_beside_it(root):
    record = FailingRecord(batch=UNREAD, partition=0, offset=11, reason="put aside by ana: odd")
    FailingRecords(named=(record,)).put(root.paths.failing, Alone())
    noted(root, 2, 12)
    taken(root)
    assert refused(root) == ([11, 12], [2, 11, 12])
    assert read_failing(root.paths.failing).reasons[Place(0, 11)] == "put aside by ana: odd"


def test_a_state_for_ever_is_named_with_what_would_be_rebuilt(root):
    made = noted(root, 2, 5, 12)
    steps = (Deduplicate(keys=("id",), scope="for_ever"), aggregate())
    spec = pipeline(steps=steps, state=State(budget_rows=9))
    lines = [*effect(Reader(spec, root.settings), made)]
    assert lines[0] == "sales_hourly: 2 in its batches, 1 to come"
    assert "a Deduplicate with scope 'for_ever'" in lines[1]
    assert "`sluice rebuild`" in lines[1]
    assert any("knows their keys for ever" in line for line in lines)


@pytest.fixture
def installed(root, tmp_path, monkeypatch):
    """The root's pipeline is all that is installed."""
    deployed(tmp_path, monkeypatch, OURS)
    monkeypatch.setenv("SLUICE_ROOT", root.settings.root)
    monkeypatch.setenv("SLUICE_KAFKA", "127.0.0.1:1")
    return lambda *words: CliRunner().invoke(app, ["excise", "--topic", *words])


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("orders",), 2),
        (("sales", "--where", "amount > 7"), 2),
        (("sales", "--to", "2026-03-02"), 2),
        (("sales", "--where", "amount > 7", "--from", "2026-03-02", "--to", "2026-03-01"), 2),
        (("sales", "--where", "amount > 7", "--from", "someday"), 2),
        (("sales", "--lift", "x9"), DecisionRefused.exit_status),
        (("sales", "--lift", "x9", "--execute"), DecisionRefused.exit_status),
        (("sales",), 0),
    ],
)
def test_what_the_command_refuses_before_it_asks_anybody(installed, words, status):
    told = installed(*words)
    assert told.exit_code == status, told.output


def test_the_command_shows_what_is_noted_and_lifts_it(root, installed):
    made = noted(root, 2, 5, 12)
    told = installed("sales")
    assert told.exit_code == NOT_DONE
    assert f"excision {made.id}: 3 records of sales: wrong" in told.output
    assert "sales_hourly: 2 in its batches, 1 to come" in told.output
    taken(root)
    assert installed("sales", "--lift", made.id, "--execute").exit_code == 0
    assert refused(root) == ([], [])
    assert not adopted(root)
    assert installed("sales").output.strip() == "sales: no excision is noted"


@pytest.mark.parametrize("torn", [False, True])
def test_it_ends_where_it_is_noted_though_another_root_of_the_topic_has_none(
    root, installed, tmp_path, monkeypatch, torn
):
    """Nor does it matter that nobody can read what a pipeline there has taken over."""
    made = noted(root, 2, 12)
    taken(root)
    text = "from tests.unit.specs import pipeline\n\nSPEC = pipeline(name='{}', root='{}')\n"
    deployed(tmp_path, monkeypatch, OURS, a_first=text.format("a_first", "eu"))
    monkeypatch.setenv("SLUICE_ROOT__EU", str(tmp_path / "eu"))
    failing = Drains.of(str(tmp_path / "eu"), pipeline(name="a_first")).paths.failing
    if torn:
        failing.parent.mkdir(parents=True)
        failing.write_text("{")
    told = installed("sales", "--lift", "x9", "--execute")
    unknown = DecisionRefused.exit_status
    assert told.exit_code == (CheckpointBroken.exit_status if torn else unknown), told.output
    assert ("x9" in told.output) == (not torn), "it may have been there"
    assert refused(root) == ([12], [2, 12])
    told = installed("sales", "--lift", made.id, "--execute")
    assert told.exit_code == (CheckpointBroken.exit_status if torn else 0), told.output
    assert refused(root) == ([], [])


def test_what_a_person_has_declined_no_drain_starts_again(root):
    noted(root, 2, 5)
    taken(root)
    assert untried(root.spec, root.paths) == 2
    pins = noted_now(root.checkpoint, root.spec)
    declined = {"kind": "excise", "state": "rejected", "horizon": '{"0": 10}'}
    root.repaired("asked", days(2), days(5), inputs=pins, **declined)
    assert untried(root.spec, root.paths) == 0
    assert root.due == [2, 5], "it still waits for one who asks for it"


def asked_parts(root: Marked, *readers: Pipeline, doubt: tuple[int, ...] = ()) -> list[int]:
    """The offsets at which the records of the fifth day are looked for; of those in `doubt` nothing
    says that they may have its times.
    """
    left = {0: ((0, 12),)}
    own = (root.spec.topic.name, root.identity.topic_id)
    for each in readers:
        others, such = _drained(Reader(each, root.settings), own, days(5))
        assert not less(such, less(such, others))
        unsure = {0: [(n, n + 1) for n in doubt]}
        assert together((others, such, unsure)) == {0: ((0, 10),)}, "all that it has drained"
        assert less(unsure, such) == less(unsure, {})
        left = less(left, others)
    return [n for first, stop in left.get(0, ()) for n in range(first, stop)]


def test_where_a_reader_has_quarantined_records_others_may_have_taken_them(root):
    assert asked_parts(root, root.spec) == [5, 10, 11]
    own = {"pipeline": root.spec.name, "generation": "g1", "batch_id": 7, "run_id": "r"}
    root.put("quarantine", own | {"kind": "malformed", "partition": 0, "offset": 7})
    assert asked_parts(root, root.spec) == [5, 7, 10, 11], "no slice has its event time"


def test_where_rejected_records_have_expired_a_whole_batch_is_asked(root):
    """One of day 7 was malformed, and ops.quarantine has it no more; batch 8 has no account left."""
    kept = (each for each in root.told("batches") if each["batch_id"] != 8)
    rows = [each | {"malformed": int(each["batch_id"] == 7)} for each in kept]
    ops_tables.replace(root.paths.root, "batches", rows, "true")
    assert asked_parts(root, root.spec, doubt=(7,)) == [5, 7, 10, 11], "here they are kept for ever"
    root.settings = root.settings._replace(rejected_days="30")
    assert asked_parts(root, root.spec, doubt=(7, 8)) == [5, 7, 8, 10, 11]


def test_a_batch_that_had_none_but_late_records_before_the_days_is_not_asked(root):
    """The late ones of three batches have expired; of one there was a premature record too."""
    marks = {3: DAY + timedelta(days=2), 6: DAY + timedelta(days=4), 8: DAY + timedelta(days=5)}
    rows = [each | {"late": int(n in marks), "late_before": marks.get(n)}
            for each in root.told("batches") for n in [each["batch_id"]]]  # fmt: skip
    ops_tables.replace(root.paths.root, "batches", rows, "true")
    assert asked_parts(root, root.spec, doubt=(8,)) == [5, 8, 10, 11]
    rows = [each | {"premature": int(each["batch_id"] == 3)} for each in rows]
    ops_tables.replace(root.paths.root, "batches", rows, "true")
    assert asked_parts(root, root.spec, doubt=(3, 8)) == [3, 5, 8, 10, 11]


def test_a_reader_with_another_event_time_has_rows_of_any_time(root):
    made = noted(root, 2)
    clock = clock_of(root.spec.topic)
    made = made.model_copy(update={"clock": clock})
    slots = [Span(each.start, each.end) for each in made.slots]
    assert made.within(root.spec, made.topic_id)[1] == slots
    fields = (Field(name="paid", type="timestamp"), *root.spec.topic.fields)
    other = pipeline(
        topic=root.spec.topic.model_copy(update={"fields": fields, "event_time": "paid"})
    )
    assert made.within(other, made.topic_id)[1] == [Span(FIRST, LAST)]
    more = (*root.spec.topic.fields, Field(name="tax", type="bigint"))
    other = pipeline(topic=root.spec.topic.model_copy(update={"fields": more, "rules": ()}))
    assert made.within(other, made.topic_id)[1] == slots
    keep(root.paths.root, made.model_copy(update={"clock": clock + "other"}))
    assert taken(root)
    assert root.due == [*range(8)]


def test_a_replay_spares_a_record_from_the_excisions_that_it_knew_alone(root):
    noted(root, 2, 5)
    taken(root)
    own = {"pipeline": root.spec.name, "generation": "g1", "topic_id": root.identity.topic_id}
    merged = own | {"partition": 0, "source": "quarantine", "fate": "merged"}
    root.repaired("before", days(2), kind="replay", inputs={})
    root.repaired("behind", days(5), kind="replay", inputs=noted_now(root.checkpoint, root.spec))
    root.put("merged", merged | {"offset": 2, "repair_id": "before"})
    root.put("merged", merged | {"offset": 5, "repair_id": "behind"})
    places = (Place(0, 2), Place(0, 5))

    def left(*replays: Replayable) -> list[int]:
        known = read_failing(root.paths.failing)
        spares = spared(root.paths, ("g1",), places, replays, known)
        return sorted(each.offset for each in known.in_repairs.sparing(spares))

    assert left() == [2]
    noted(root, 5, name="x2")
    taken(root)
    assert left() == [2, 5], "excised anew"
    assert left(Replayable(0, 5, DAY)) == [2], "what a replay brings"


def taking_apart(root: Marked, each: str) -> Reader:
    apart = root.spec.topic.model_copy(update={"each": each})
    return Reader(root.spec.model_copy(update={"topic": apart}), root.settings)


def test_an_element_of_values_that_pipelines_take_apart_in_two_ways_is_no_record_of_both(root):
    readers = [taking_apart(root, each) for each in ("items[]", "rows[]")]
    with fails(DecisionRefused, "elements_excised", topic="sales"):
        look(readers, noted(root), 1_000, print, ask=None)


def test_elements_are_taken_out_where_values_are_taken_apart_alike(root):
    made = noted(root, 2, 5)
    places = text_of(Place(0, n, 3) for n in (2, 5, 12))
    made = made.model_copy(update={"each": "items[]", "places": places})
    made.write(note := file_of(root.paths.root, "sales", made.id))
    assert '"format_version": 3' in note.read_text()
    assert not taken(root), "a whole value is none of them"
    keeps = "it does not take values apart by items[], and keeps them"
    never = root.spec.model_copy(update={"name": "never"})
    for each in (root.spec, never):
        told = [*effect(Reader(each, root.settings), made)]
        assert told == [f"{each.name}: {keeps}"]
    apart = taking_apart(root, "items[]")
    assert next(effect(apart, made)) == "sales_hourly: 2 in its batches, 1 to come"
    assert taken_over(apart.spec, root.paths, "ana")
    known = read_failing(root.paths.failing)
    assert known.form == 3, "an older Sluice would not read it"
    assert {*known.in_repairs} == {Place(0, 2, 3), Place(0, 5, 3), Place(0, 12, 3)}
    assert {*known.reasons} == {Place(0, 12, 3)}
    assert known.reasons.get(Place(0, 12, 2)) is None
    assert root.due == [2, 5]


def test_a_table_that_follows_one_is_named_through_others(root):
    def after(name: str, of: str) -> Pipeline:
        table = Table(of=of, event_time="at", fields=root.spec.topic.fields)
        return root.spec.model_copy(update={"name": name, "topic": table})

    others = [after("weeks", "days"), root.spec, after("days", root.spec.name), after("x", "y")]
    assert following({root.spec.name}, others) == ["days", "weeks"]
    assert following({"nobody"}, others) == []


ROWS = """
from spark_jobs.spec import Table
from tests.unit.specs import FIELDS, pipeline

SPEC = pipeline(name="rows_hourly", topic=Table(name="rows", path="/rows", fields=FIELDS,
                event_time="at"))
"""


def test_what_is_no_topic_of_kafka_is_refused_by_its_name(root, installed, tmp_path, monkeypatch):
    deployed(tmp_path, monkeypatch, OURS, rows_hourly=ROWS)
    told = CliRunner().invoke(app, ["excise", "--topic", "rows"])
    assert told.exit_code == 2
    assert "no topic of Kafka" in told.output


EU = """
from tests.unit.specs import pipeline, topic

SPEC = pipeline(name="eu_hourly", topic=topic(name="sales", cluster="eu"))
"""


def test_neither_a_table_nor_a_topic_of_another_cluster_with_its_name_hides_it(
    root, installed, tmp_path, monkeypatch
):
    noted(root, 2, 5)
    table = ROWS.replace('"rows', '"sales').replace("sales_hourly", "a_table")
    deployed(tmp_path, monkeypatch, OURS, a_table=table, eu_hourly=EU)
    monkeypatch.setenv("SLUICE_KAFKA__EU", "127.0.0.1:1")
    told = installed("sales")
    assert told.exit_code == NOT_DONE, told.output
    assert "sales_hourly: 2 in its batches" in told.output
    assert not {"a_table", "eu_hourly"} & {*told.output.replace(":", "").split()}
    assert installed("eu/sales").output.strip() == "eu/sales: no excision is noted"


def test_a_pipeline_that_was_never_drained_leaves_it_to_its_first_run(root):
    noted(root, 2)
    never = Drains.of(root.settings.root, root.spec.model_copy(update={"name": "never"}))
    assert not taken_over(never.spec, never.paths, "ana")
    assert not never.paths.above.exists()


def test_a_broken_pipeline_keeps_no_other_from_it(root, installed, tmp_path, monkeypatch):
    """Neither one whose spec does not load, nor one whose checkpoint is damaged."""
    made = noted(root, 2, 12)
    other = OURS + 'SPEC = SPEC.model_copy(update={"name": "sales_too"})\n'
    deployed(tmp_path, monkeypatch, OURS, sales_too=other, odd="SPEC = pipeline(\n")
    damaged = Drains.of(root.settings.root, root.spec.model_copy(update={"name": "sales_too"}))
    damaged.paths.identity.parent.mkdir(parents=True)
    damaged.paths.identity.write_text("{")
    told = installed("sales", "--execute")
    assert told.exit_code == SpecInvalid.exit_status
    assert "sales_hourly: 1 in its batches, 1 to come" in told.output
    assert "sales_too: CHECKPOINT_BROKEN" in told.output
    assert refused(root) == ([12], [2, 12])
    assert installed("sales", "--lift", made.id, "--execute").exit_code == SpecInvalid.exit_status
    assert refused(root) == ([], [])


def test_a_pipeline_that_nothing_drains_now_keeps_no_other_from_it(tmp_path, monkeypatch):
    """Its NEXT is gone out of spec.py, first in a rebuild, then behind the switch to it."""
    both = Rebuilt(tmp_path)
    made = noted(both.live, 7)
    monkeypatch.setenv("SLUICE_ROOT", both.root)
    monkeypatch.setenv("SLUICE_KAFKA", "127.0.0.1:1")
    spec = "from tests.unit.drains import SPEC\n"
    other = spec + 'SPEC = SPEC.model_copy(update={"name": "sales_too"})\n'
    deployed(tmp_path, monkeypatch, spec, sales_too=other)
    words = ("excise", "--topic", "sales", "--execute")
    told = CliRunner().invoke(app, words)
    assert told.exit_code == RebuildRefused.exit_status, told.output
    assert refused(both.live) == ([7], [7])
    assert refused(both.side) == ([], [])
    taken(both.side)
    both.switch()
    told = CliRunner().invoke(app, words)
    assert told.exit_code == VersionNotLive.exit_status, told.output
    assert f"excision {made.id}" in told.output
    assert "sales_too: no run yet; its first one leaves them out" in told.output


def test_a_dry_run_that_finds_nothing_new_takes_nothing_over(root, installed, monkeypatch):
    noted(root, 2, 12)
    monkeypatch.setattr("spark_jobs.excise.told.look", lambda *_: None)
    told = installed("sales", "--where", "amount > 7", "--from", "2026-03-01")
    assert told.exit_code == 0, told.output
    assert refused(root) == ([], [])


def test_what_is_rebuilt_takes_an_excision_over_too_and_its_end(tmp_path):
    both = Rebuilt(tmp_path)
    made = noted(both.live, 2, 7)
    assert taken(both.live)
    with fails(RebuildRefused, "excisions_lacking", excisions="x1"):
        both.switch()
    assert taken(both.side)
    assert refused(both.side) == ([7], [2, 7])
    both.switch()
    following = Drains.of(both.root, NEXT)
    assert refused(following) == ([7], [2, 7])
    end(following.paths.root, "sales", made.id, "ana")
    taken(following)
    assert refused(following) == ([], [])


def test_the_command_lets_next_take_it_over_and_its_end(tmp_path, monkeypatch):
    both = Rebuilt(tmp_path)
    made = noted(both.live, 7)
    deployed(tmp_path, monkeypatch, "from tests.unit.drains import NEXT, SPEC\n")
    monkeypatch.setenv("SLUICE_ROOT", both.root)
    monkeypatch.setenv("SLUICE_KAFKA", "127.0.0.1:1")
    words = ("excise", "--topic", "sales")
    told = CliRunner().invoke(app, words)
    assert "NEXT of sales_hourly: 0 in its batches, 1 to come" in told.output
    assert CliRunner().invoke(app, (*words, "--execute")).exit_code == 0
    assert refused(both.live) == refused(both.side) == ([7], [7])
    told = CliRunner().invoke(app, (*words, "--lift", made.id, "--execute"))
    assert told.exit_code == 0, told.output
    assert refused(both.live) == refused(both.side) == ([], [])
    both.switch()
    told = CliRunner().invoke(app, (*words, "--execute"))
    assert told.exit_code == 0, told.output
    assert refused(Drains.of(both.root, NEXT)) == ([], [])


def test_a_pipeline_at_work_lets_it_end_with_its_next_run_and_the_others_at_once(tmp_path):
    both = Rebuilt(tmp_path)
    made = noted(both.live, 7)
    taken(both.live)
    taken(both.side)
    end(both.live.paths.root, "sales", made.id, "ana")
    with lease(both.live.paths.lease, "a drain"), pytest.raises(LeaseHeld):
        taken(both.live)
    taken(both.side)
    assert (refused(both.live), refused(both.side)) == (([7], [7]), ([], []))
    adopted(both.live)
    assert refused(both.live) == ([], [])


def test_of_several_topics_those_of_the_one_are_taken_out(root):
    made = noted(root, 2, 5)
    spec = pipeline(topic=None, topics=(topic(name="returns"), root.spec.topic))
    own, partition = root.identity.topic_id, numbered_in(1, 0)
    assert made.within(spec, f"topic-9, {own}")[0] == {partition: "2,5"}
    assert made.within(spec, f"{own}, topic-9")[0] == {}
    assert made.within(spec, "topic-9")[0] == {}, "it knows the first topic alone"


def test_a_copy_that_a_join_dropped_may_come_in_the_place_of_a_record_that_goes():
    at = Span(DAY, DAY + MICROSECOND)
    [alone] = around(paid(), [at])
    [joined] = around(paid(before=BY_ORDER), [at])
    assert alone == at
    assert joined == at.widened(timedelta(hours=1), timedelta(hours=1))
    assert [*around(paid(before=BY_ORDER), [])] == []
