"""Replaying: which quarantined records are good by today's spec, and who knows of them."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from spark_jobs.checkpoint.notes.excised import Excised
from spark_jobs.checkpoint.notes.failing import FailingRecords
from spark_jobs.errors import RecordsUnreachable
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.repair.find import coverage as covering, replaying
from spark_jobs.repair.find.coverage import Coverage, coverage
from spark_jobs.repair.find.plan import needs
from spark_jobs.repair.find.quarantine import Replayable, used_within, waiting
from spark_jobs.repair.find.replaying import Replaying
from spark_jobs.repair.swap import described
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Field, Pipeline, Ranges, Transform
from spark_jobs.spec.analysis.ranged import ranged
from spark_jobs.values.spans import Span
from tests.harness.ran import python
from tests.harness.refused import fails
from tests.unit.checkpoints import Alone
from tests.unit.repaired import DAY, FINAL, SPEC, Root, hours, late, row, ten_hours
from tests.unit.specs import FIELDS, aggregate, deduplicate, group_state, pipeline, topic

AHEAD = timedelta(hours=1)
DECODED = "Object missing required field `shop`"
OPTIONAL = tuple(
    each.model_copy(update={"required": False}) if each.name == "shop" else each for each in FIELDS
)
"""The correction: a sale may be without its shop."""
CORRECTED = SPEC.model_copy(
    update={"topic": topic(fields=OPTIONAL), "ranges": Ranges(every="hour")}
)


@pytest.fixture
def root(tmp_path) -> Root:
    """Ten hours in ten batches of one record each; what follows the sixth hour is open."""
    made = ten_hours(tmp_path)
    ends = {"first_event_time": DAY, "last_event_time": DAY + timedelta(hours=9.5)}
    whole = {"pipeline": SPEC.name, "generation": "g1", "batch_id": 9, "partition": 0}
    whole |= {"first_offset": 0, "last_offset": 9, "records": 10}
    ops_tables.append(made.paths.root, "slices", [whole | ends])
    return made


def quarantined(offset: int, hour: float, **changes: Any) -> dict[str, Any]:
    """A record without its shop."""
    at = DAY + timedelta(hours=hour)
    value = {"id": str(offset), "at": at.isoformat(), "amount": 1}
    usual = {
        "pipeline": SPEC.name,
        "generation": "g1",
        "batch_id": 9,
        "run_id": "r",
        "topic": "sales",
        "partition": 0,
        "offset": offset,
        "kafka_timestamp": at,
        "planned_at": at + timedelta(days=1),
        "key": b"k",
        "value": json.dumps(value).encode(),
        "kind": "malformed",
        "reason": DECODED,
    }
    return usual | changes


def premature(offset: int, ahead: timedelta, **changes: Any) -> dict[str, Any]:
    """A whole record of the third hour, whose event time is that far ahead of Kafka's."""
    whole = {"id": str(offset), "at": (DAY + timedelta(hours=3)).isoformat(), "shop": "a"}
    given = {"kind": "premature", "reason": "event time is ahead", "value": json.dumps(whole)}
    given |= {"value": given["value"].encode(), "kafka_timestamp": DAY + timedelta(hours=3) - ahead}
    return quarantined(offset, 3, **given | changes)


def put(root: Root, *rows: dict[str, Any]) -> None:
    ops_tables.append(root.paths.root, "quarantine", [*rows])


def sifted(root: Root, spec: Pipeline = CORRECTED, reason: str = "") -> dict[int, str]:
    """Offset of each good one, or its number among the bad ones below 0 -> why it is none."""
    found = [*waiting(spec, root.paths, ("g1",), 9, reason)]
    good = {each.offset: "" for each in found if isinstance(each, Replayable)}
    bad = [each for each in found if isinstance(each, str)]
    return good | {-n: why for n, why in enumerate(sorted(bad), 1)}


def planned(root: Root, bound: Span | None = None, reason: str = "") -> Replaying:
    found = Replaying(ranged(CORRECTED), DAY + timedelta(hours=FINAL), bound)
    for each in waiting(CORRECTED, root.paths, ("g1",), 9, reason):
        found.add(each)
    return found


def test_a_record_is_good_once_the_field_that_it_lacks_is_optional(root):
    put(root, quarantined(20, 1.5), quarantined(21, 2.5, value=b'{"id":', reason="not JSON"))
    assert [*sifted(root, SPEC)] == [-1, -2], "by the spec as it was"
    good, bad = sifted(root).items()
    assert good == (20, "")
    assert bad[1].startswith("malformed: not JSON")
    [at] = [
        each for each in waiting(CORRECTED, root.paths, ("g1",), 9) if not isinstance(each, str)
    ]
    assert at == Replayable(0, 20, DAY + timedelta(hours=1.5))


def test_one_that_is_excised_waits_for_that_reason_whatever_it_was_before(root):
    put(root, quarantined(20, 1.5), quarantined(21, 2.5))
    why = "put aside by ana, excision x1: release 2.3"
    nothing = Positions()
    one = Excised(id="x1", number=1, reason=why, since=nothing, until=nothing, places={0: "20"})
    FailingRecords(excised=(one,), excisions=1, ledger="l").put(root.paths.failing, Alone())
    assert sifted(root) == {21: "", -1: f"malformed: {why}"}
    assert sifted(root, reason="required field") == {21: ""}
    assert sifted(root, reason="Release 2.3") == {20: ""}


def test_a_tombstone_and_a_record_of_another_pipeline_generation_or_later_batch_are_none(root):
    put(
        root,
        quarantined(20, 1, value=None),
        quarantined(21, 1, pipeline="other"),
        quarantined(22, 1, generation="g0"),
        quarantined(23, 1, batch_id=10),
    )
    assert sifted(root) == {-1: "malformed: tombstone: the value is null"}
    dropping = CORRECTED.model_copy(update={"topic": topic(fields=OPTIONAL, tombstones="dropped")})
    assert sifted(root, dropping) == {-1: "a tombstone, which the topic drops: it has no row"}


def test_a_premature_record_is_good_once_max_ahead_allows_it_by_the_clock_of_its_batch(root):
    third = DAY + timedelta(hours=3)
    put(
        root,
        premature(20, AHEAD),
        premature(21, 3 * AHEAD),
        # Kafka has the producer's clock, which is ahead too. Waiting does not make it right.
        premature(22, timedelta(), planned_at=third - 3 * AHEAD),
        premature(23, AHEAD, planned_at=None),
    )
    assert [*sifted(root)] == [-1, -2, -3, -4]
    generous = CORRECTED.model_copy(update={"topic": topic(max_ahead=2 * AHEAD)})
    why = "premature: its event time is more than 2:00:00 ahead"
    assert sifted(root, generous) == {20: "", 23: "", -1: why, -2: why}


def test_a_record_on_which_an_expression_failed_is_good_once_that_one_is_corrected(root):
    put(
        root,
        quarantined(20, 1, reason="step 1 (transform), where: 1 / amount > 0: DIVIDE_BY_ZERO: x"),
        # Nobody knows of which of the two, nor whether the code was corrected.
        quarantined(21, 1, reason="step 1 (transform), where or step 2 (x), y: CAST_INVALID: x"),
        quarantined(22, 1, reason="step 3 (transform): f in logic.py: CAST_INVALID_INPUT: x"),
    )

    def of(where: str) -> list[int]:
        steps = (Transform(where=where), deduplicate(), aggregate())
        return [*sifted(root, pipeline(steps=steps, topic=topic(fields=OPTIONAL)))]

    assert of("1 / amount  >  0") == [-1, -2, -3]
    assert of("try_divide(1, amount) > 0") == [20, -1, -2]


def test_a_reason_limits_the_records_in_capitals_or_not(root):
    put(root, quarantined(20, 1), premature(21, AHEAD), quarantined(22, 1, reason="not JSON: 50%"))
    assert [*sifted(root, reason="missing REQUIRED field `shop`")] == [20]
    assert [*sifted(root, reason="premature: event")] == [-1]
    assert [*sifted(root, reason="50%")] == [22]
    assert sifted(root, reason="5_%") == {}
    told = planned(root, reason="5_%")
    assert told.why_idle("5_%") == "no record waits in quarantine with '5_%' in its kind or reason"


def test_the_plan_tells_which_are_merged_which_wait_until_when_and_why_the_others_stay(root):
    put(
        root,
        *(quarantined(20 + n, n + 0.5) for n in range(9)),
        premature(40, AHEAD),
        *(quarantined(50 + n, 1, value=b'{"id": "' + b"x" * n) for n in range(3)),
    )
    found = planned(root, hours(1, 9))
    assert [each.offset for each in found.records] == [21, 22, 23, 24, 25]
    assert found.spans == (hours(1, 5),)
    waits, outside, stays, premature_ones = [*found.lines()][1:]
    assert waits == (
        "  waiting         3 good ones whose rows drains still write: until rows before "
        "2026-03-01 07:00:00, for the last of them 2026-03-01 09:00:00 are final"
    )
    assert outside == "  outside         1 good ones touch no row of the given range"
    assert stays.startswith("  stay            3: malformed: not JSON: ")
    assert premature_ones.startswith("  stay            1: premature: ")
    assert next(found.lines()) == (
        "  quarantine      5 of 13 records are good by today's spec, and are merged"
    )


def test_with_nothing_to_do_the_plan_says_why(root):
    nothing = planned(root)
    assert (nothing.why_idle(""), nothing.spans) == ("no record waits in quarantine", ())
    put(root, premature(20, AHEAD))
    assert "none of the 1 records in quarantine is good by today's spec" in planned(root).why_idle(
        ""
    )
    put(root, quarantined(21, 8))
    assert "drains still write the rows of all" in planned(root).why_idle("")
    assert "touches the range" in planned(root, hours(1, 2)).why_idle("")


def test_a_replay_takes_so_many_at_most_and_says_how_many_are_left(root, monkeypatch):
    monkeypatch.setattr(replaying, "MOST", 2)
    monkeypatch.setattr(replaying, "MANY", 2)
    monkeypatch.setattr(replaying, "MOST_REASONS", 1)
    bad = [quarantined(30, 1, value=None), quarantined(31, 1, value=b"")]
    put(root, *(quarantined(20 + n, 1.5) for n in range(5)), *bad)
    found = planned(root)
    assert (len(found.records), found.left, found.spans) == (2, 3, (hours(1),))
    assert "3 good ones: a replay takes 2 at most" in "".join(found.lines())
    assert found.bad.total() == 2
    assert len(found.bad) == 2, "one reason, and one line for all others"


def replayed(root: Root, *offsets: int) -> None:
    """Staged, as a replay does it, and swapped in."""
    merged = tuple(
        late(n, DAY).model_copy(
            update={"source": "quarantine", "event_time": DAY + timedelta(minutes=n)}
        )
        for n in offsets
    )
    changes = [(row(0, "a"), row(0, "a", 2))]
    made = root.stage("r1", changes, kind="replay", merged=merged)
    staged = described(made) | {"pipeline": SPEC.name, "repair_id": "r1", "generation": "g1"}
    repairs.put(root.paths.root, [staged | {"state": "staged", "staged_at": datetime.now(UTC)}])
    done = root.swap("r1")
    assert done.merged == len(offsets)


def test_a_replayed_record_waits_no_more_and_every_later_repair_uses_it_until_the_undo(root):
    put(root, *(quarantined(n, n / 60) for n in (20, 21, 22)))
    replayed(root, 20, 21)
    [stored] = repairs.stored(root.paths.root, SPEC.name, "repair_id = 'r1'")
    assert (stored["kind"], stored["replayed"], stored["late_merged"]) == ("replay", 2, 0)
    assert [*sifted(root)] == [22]

    def used(*minutes: int) -> set[int]:
        span = Span(*(DAY + timedelta(minutes=n) for n in minutes))
        return {
            offset
            for _, offset, _ in used_within(root.paths, SPEC.inputs, ("g1",), 9, needs([span]))
        }

    assert used(0, 60) == {20, 21}
    assert used(21, 60) == {21}, "by its event time"
    assert used(30, 60) == set()
    assert used_within(root.paths, SPEC.inputs, ("g1",), 9, "false") == set()
    root.undo("r1")
    assert sorted(sifted(root)) == [20, 21, 22]
    assert used(0, 60) == set()


def test_a_range_whose_replayed_record_is_no_longer_kept_is_unreachable(root):
    put(root, quarantined(20, 1))
    replayed(root, 20, 21)
    with fails(RecordsUnreachable, "replayed_gone"):
        used_within(root.paths, SPEC.inputs, ("g1",), 9, needs([hours(0)]))


def covered(root: Root, spec: Pipeline = CORRECTED) -> Coverage:
    return coverage(spec, root.paths)


def test_coverage_knows_which_hours_a_replay_would_complete_and_its_balance_closes(root):
    put(root, quarantined(20, 0.3), quarantined(21, 2.5), quarantined(22, 8), quarantined(23, 2.6))
    put(root, quarantined(24, 1, value=None))

    def states(found: Coverage) -> str:
        return "".join(each.state[0] for each in found.intervals)

    found = covered(root)
    assert states(found) == "rcrccc" + "oooo"
    assert [each.replayable for each in found.intervals] == [1, 0, 2, 0, 0, 0, 0, 0, 1, 0]
    told = "5 quarantined = 0 merged + 0 duplicates + 0 filtered + 3 replayable + 1 waiting + 1 bad"
    assert str(found.quarantine) == told
    assert covered(root, SPEC).quarantine.bad == 5, "by the spec as it was"
    replayed(root, 20)
    found = covered(root)
    assert states(found)[:3] == "ccr", "its hour is complete"
    assert (found.intervals[0].kind, found.balance.late) == ("replay", 0)
    assert (found.quarantine.merged, found.quarantine.replayable, found.quarantine.off) == (1, 2, 0)
    ops_tables.remove(root.paths.root, "quarantine", '"offset" = 20')  # as `sluice maintain` does
    found = covered(root)
    assert (found.quarantine.quarantined, found.quarantine.merged, found.quarantine.off) == (
        4,
        0,
        0,
    )
    page = covering.coverage(CORRECTED, root.paths, most_read=1).quarantine
    assert "3 that were not looked at" in str(page)
    assert page.off == 0


def test_a_record_whose_bytes_were_not_kept_stays_bad_and_says_so(root):
    """Its null value is no tombstone's, and by no spec it becomes good."""
    put(root, quarantined(20, 1.5, value=b"", left_out=7, reason="x (its 7 bytes are not kept)"))
    assert sifted(root) == {-1: "malformed: x (its 7 bytes are not kept)"}


def test_a_replay_is_planned_and_its_records_are_decoded_without_spark():
    script = (
        "import sys, spark_jobs.repair.planner\n"
        "from spark_jobs.topics.flights import FLIGHTS\n"
        "from tests.unit.decoding import Decoding\n"
        "print(Decoding(FLIGHTS).columns([b'{}'])[1], 'pyspark' in sys.modules)\n"
    )
    done = python(script)
    assert done.stdout.startswith("['Object missing required field")
    assert done.stdout.endswith("False\n")


def test_a_record_without_a_time_of_our_days_stays_and_hides_no_other(root):
    """Go's zero time is of the year 1; no range can have it."""
    zero = json.dumps({"id": "1", "at": "0001-01-01T00:00:00Z", "amount": 1}).encode()
    put(root, quarantined(20, 1.5), quarantined(21, 1, value=zero))
    good, bad = sifted(root).items()
    assert (good, bad[1].startswith("its event time is not of the years")) == ((20, ""), True)
    found = covered(root)
    assert (found.quarantine.replayable, found.quarantine.bad) == (1, 1)
    ends = {"first_event_time": datetime(1, 1, 1, tzinfo=UTC), "last_event_time": DAY}
    early = {"pipeline": SPEC.name, "generation": "g1", "batch_id": 0, "partition": 1}
    early |= {"first_offset": 0, "last_offset": 9, "records": 10}
    ops_tables.append(root.paths.root, "slices", [early | ends])
    assert [each for each in covered(root).intervals if each.start >= DAY] == [*found.intervals]


def test_a_record_that_the_code_could_not_hold_stays(root):
    """Planned without Spark: a replay that brought it would find it malformed again."""
    fields = (*OPTIONAL, Field(name="until", type="timestamp", required=False))
    spec = CORRECTED.model_copy(
        update={"topic": topic(fields=fields), "steps": (group_state(form="pandas"),)}
    )
    at = (DAY + timedelta(hours=1)).isoformat()
    far = json.dumps({"id": "1", "at": at, "amount": 1, "until": "9999-12-31T00:00:00Z"}).encode()
    put(root, quarantined(20, 1.5), quarantined(21, 1, value=far))
    good, bad = sifted(root, spec).items()
    assert (good, bad[1].startswith("malformed: until is 9999-12-31 00:00:00: ")) == (
        (20, ""),
        True,
    )
