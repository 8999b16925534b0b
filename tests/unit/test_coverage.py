"""Coverage: the state of each hour, and the balance of late records, of a real root."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from typer.testing import CliRunner

from spark_jobs.cli import app
from spark_jobs.errors import RangeOpen, RangeUnsupported, SwapRefused
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.repair.find import coverage as covering
from spark_jobs.repair.find.coverage import Coverage, coverage
from spark_jobs.repair.find.late import count, late_fates
from spark_jobs.repair.find.ranges_due import balance
from spark_jobs.repair.manifest import approve
from spark_jobs.repair.swap import described
from spark_jobs.repair.undo import reject
from spark_jobs.source import topic_state
from spark_jobs.source.port import Leaving, SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Ranges
from spark_jobs.values.spans import Span
from tests.harness.long_form import examples
from tests.harness.refused import fails
from tests.harness.sources import says
from tests.unit.repaired import DAY, FINAL, SPEC, Root, add_late, hour, hours, row, ten_hours

HOURLY = SPEC.model_copy(update={"ranges": Ranges(every="hour")})


@pytest.fixture
def root(tmp_path) -> Root:
    """Ten hours in ten batches of one record each; what follows the sixth hour is open."""
    return sliced(ten_hours(tmp_path))


def sliced(made: Root) -> Root:
    """With the slices of its ten records."""
    own = {"pipeline": SPEC.name, "generation": "g1", "run_id": "r", "partition": 0}
    times = [DAY + timedelta(hours=n, minutes=20) for n in range(10)]
    slices = [
        own
        | {"batch_id": n, "first_offset": n, "last_offset": n, "records": 1, "late": 0}
        | {"first_event_time": at, "last_event_time": at}
        for n, at in enumerate(times)
    ]
    ops_tables.append(made.paths.root, "slices", slices)
    return made


def found(root: Root, earliest: Positions | None = None, bound: Span | None = None) -> Coverage:
    return coverage(HOURLY, root.paths, earliest, bound)


def states(covered: Coverage) -> str:
    """A letter an hour: c, o, l, s or u."""
    return "".join(each.state[0] for each in covered.intervals)


def test_hours_before_the_watermark_are_canonical_and_later_ones_are_open(root):
    covered = found(root)
    assert states(covered) == "c" * FINAL + "o" * 4
    assert [each.start for each in covered.intervals] == [
        DAY + timedelta(hours=n) for n in range(10)
    ]
    assert (covered.batch, covered.left_out) == (9, 0)


def test_an_hour_that_late_records_touch_says_how_many_until_a_repair_has_them(root):
    add_late(root, (7, 0.5), (11, 3.2), (12, 3.9), (13, 8.1))
    covered = found(root)
    assert states(covered) == "lcclcc" + "oooo"
    assert [each.late for each in covered.intervals] == [1, 0, 0, 2, 0, 0, 0, 0, 1, 0]
    assert covered.balance.model_dump() == {
        "late": 4, "merged": 0, "duplicates": 0, "filtered": 0, "waiting": 4, "off": 0,
    }  # fmt: skip
    made = root.stage(
        "r1", [(row(0, "a"), row(0, "a", 2))], approval="needed"
    )  # it merges offset 7
    staged = described(made) | {"pipeline": SPEC.name, "repair_id": "r1", "generation": "g1"}
    repairs.put(root.paths.root, [staged | {"state": "staged", "staged_at": datetime.now(UTC)}])
    assert states(found(root)) == "scclcc" + "oooo", "a late hour whose repair waits"
    approve(root.paths, "r1", "ana")
    assert states(found(root)) == "lcclcc" + "oooo", "for a swap, and for no person"
    root.swap("r1")
    covered = found(root)
    assert states(covered) == "ccclcc" + "oooo"
    assert (covered.intervals[0].repair_id, covered.intervals[0].kind) == ("r1", "repair")
    assert covered.intervals[1].repair_id is None
    assert (covered.balance.merged, covered.balance.waiting, covered.balance.off) == (1, 3, 0)
    root.undo("r1")
    covered = found(root)
    assert states(covered)[0] == "l", "its record waits again"
    assert (covered.intervals[0].repair_id, covered.intervals[0].kind) == ("r1/undo", "undo")


def test_an_hour_whose_repair_a_person_declined_waits_for_none_and_is_late_again(root):
    add_late(root, (7, 0.5))
    for repair_id, at in (("r1", 0), ("r2", 1)):
        made = root.stage(repair_id, [(row(at, "a"), row(at, "a", 2))], approval="needed")
        known = {"pipeline": SPEC.name, "repair_id": repair_id, "generation": "g1"}
        staged = {"state": "staged", "staged_at": datetime.now(UTC)}
        repairs.put(root.paths.root, [described(made) | known | staged])
    assert states(found(root)) == "sscccc" + "oooo"
    reject(root.paths, "r1", "ana")
    assert states(found(root)) == "lscccc" + "oooo", "and the other one still waits"
    assert root.states() == {"r1": "rejected", "r2": "staged"}
    approve(root.paths, "r1", "bob")  # at once with her
    with fails(SwapRefused, "answered_no", pipeline="sales_hourly"):
        root.swap("r1")
    approve(root.paths, "r2", "bob")
    root.swap("r2")
    reject(root.paths, "r2", "ana")
    assert root.states() == {"r1": "rejected", "r2": "swapped"}, "its rows are in the table"


def test_a_late_hour_whose_records_kafka_has_no_longer_is_unreachable(root):
    add_late(root, (11, 1.5), (12, 4.5))
    assert states(found(root, Positions({0: 0}))) == "clcclc" + "oooo"
    # The hour of 1.5 needs records from two hours before on: the copies that a Deduplicate drops.
    assert states(found(root, Positions({0: 1}))) == "cucclc" + "oooo"
    assert states(found(root, Positions({0: 4}))) == "cuccuc" + "oooo"


def test_rows_of_another_generation_or_pipeline_are_not_ours(root):
    add_late(root, (11, 1.5))
    theirs = ops_tables.query(root.paths.root, "late", "SELECT * FROM late").to_pylist()
    ops_tables.append(
        root.paths.root,
        "late",
        [
            *(each | {"generation": "old", "offset": 99} for each in theirs),
            *(each | {"pipeline": "other", "offset": 98} for each in theirs),
        ],
    )
    assert found(root).balance.late == 1


def test_a_bound_shows_its_hours_alone_and_a_long_history_its_newest(root, monkeypatch):
    covered = found(root, bound=hours(2, 4))
    assert [each.end for each in covered.intervals] == [hour(n) for n in (2, 3, 4)]
    assert found(root, bound=hours(40, 41)).intervals == ()
    monkeypatch.setattr(covering, "MOST", 3)
    covered = found(root)
    assert ([each.end for each in covered.intervals], covered.left_out) == (
        [hour(n) for n in (7, 8, 9)],
        7,
    )


def test_before_the_first_batch_and_without_ranges_it_says_so(tmp_path):
    with fails(RangeOpen, "nothing_accounted", pipeline="sales_hourly"):
        found(Root(tmp_path))
    complete = SPEC.model_copy(update={"output_mode": "complete"})
    with pytest.raises(RangeUnsupported):
        coverage(complete, Root(tmp_path / "other").paths)


FATES = ("merged", "duplicate", "filtered")


@given(st.lists(st.sampled_from([*FATES, "", "twice", "two fates"]), max_size=20))
@settings(max_examples=examples(15))  # each writes to two tables
def test_the_balance_closes_unless_a_table_has_a_record_twice(tmp_path_factory, kinds):
    late, settled, wrong = list[int](), list[tuple[int, str]](), 0
    for offset, kind in enumerate(kinds):
        late += [offset] * (2 if kind == "twice" else 1)
        fates = {"": [], "twice": ["merged"], "two fates": ["merged", "filtered"]}.get(kind, [kind])
        settled += [(offset, fate) for fate in fates]
        wrong += {"twice": 1, "two fates": -1}.get(kind, 0)
    root = Root(tmp_path_factory.mktemp("balance"))
    add_late(root, *((offset, 1.0) for offset in late))
    own = {"pipeline": SPEC.name, "generation": "g1", "partition": 0, "source": "late"}
    gone = (999, "merged")  # ops.late no longer has it
    merged = [own | {"offset": offset, "fate": fate} for offset, fate in [*settled, gone]]
    ops_tables.append(root.paths.root, "merged", merged)
    known = root.paths, "late", ("g1",), 9
    told = balance(count(*known), *late_fates(root.paths, ("g1",), 9))
    assert told.off == wrong
    assert (told.late, told.waiting) == (len(late), kinds.count(""))
    counted = Counter(fate for _, fate in settled)
    assert (told.merged, told.duplicates, told.filtered) == tuple(counted[each] for each in FATES)


def test_a_swap_while_it_looks_does_not_unbalance_it(root, monkeypatch):
    add_late(root, (3, 1.0))
    query = ops_tables.query
    merged = {"pipeline": SPEC.name, "generation": "g1", "partition": 0, "offset": 3}

    def then_swapped(where: Any, table: str, sql: str, *others: str) -> Any:
        found = query(where, table, sql, *others)
        if table == "late" and "THEN fate" in sql:
            row = merged | {"source": "late", "fate": "merged"}
            ops_tables.append(root.paths.root, "merged", [row])
        return found

    monkeypatch.setattr(ops_tables, "query", then_swapped)
    shown = coverage(HOURLY, root.paths).balance
    assert (shown.late, shown.waiting, shown.off) == (1, 1, 0)
    monkeypatch.undo()
    after = coverage(HOURLY, root.paths).balance
    assert (after.merged, after.waiting, after.off) == (1, 0, 0)


def told(monkeypatch: pytest.MonkeyPatch, root: Root, *words: str, leaves=None) -> list[str]:
    """What the command prints. No broker answers, unless one says what leaves."""
    if leaves:
        says(
            monkeypatch,
            SourceState("topic-1", Positions({0: 0}), Positions({0: 10})),
            leaves=leaves,
        )
    monkeypatch.setattr(topic_state, "TIMEOUT_SECONDS", 0.5)
    monkeypatch.setattr("spark_jobs.registry.find.load", lambda _: HOURLY)
    where = {"SLUICE_ROOT": root.settings.root, "SLUICE_KAFKA": "127.0.0.1:1", "COLUMNS": "120"}
    done = CliRunner().invoke(app, ["coverage", SPEC.name, *words], env=where)
    assert done.exit_code == 0, done.output
    return done.stdout.splitlines()


def test_the_command_joins_hours_of_the_same_state_and_says_what_to_do(root, monkeypatch):
    add_late(root, (11, 3.2), (12, 3.9))
    title, _, _, *lines, balanced, unknown, advice = told(monkeypatch, root)
    assert title == "sales_hourly: as of batch 9, rows before 2026-03-01 06:00 are final"
    assert [line.split("UTC") for line in lines] == [
        ["2026-03-01 00:00 ", "  2026-03-01 03:00 ", "  canonical     0         0           0"],
        ["2026-03-01 03:00 ", "  2026-03-01 04:00 ", "  late          2         0           0"],
        ["2026-03-01 04:00 ", "  2026-03-01 06:00 ", "  canonical     0         0           0"],
        ["2026-03-01 06:00 ", "  2026-03-01 10:00 ", "  open          0         0           0"],
    ]
    assert balanced == "2 late = 0 merged + 0 duplicates + 0 filtered + 2 waiting"
    assert unknown == "Kafka did not answer: which days it no longer has is not known"
    assert advice == "merge the late records: sluice repair sales_hourly"


def test_the_command_says_until_when_hours_can_be_proved(root, monkeypatch):
    def an_offset_a_day(partitions, times):
        return Leaving(tuple(Positions({0: number}) for number, _ in enumerate(times)))

    lines = told(monkeypatch, root, "--format", "json", leaves=an_offset_a_day)
    until = [json.loads(line)["provable"] for line in lines]
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    coming = [f"{midnight + timedelta(days=n):%FT%TZ}" for n in (1, 2, 3)]
    assert until[2 : FINAL + 1] == [until[0], *coming, None]
    text = told(monkeypatch, root, leaves=an_offset_a_day)
    assert any(line.startswith("6 of these can be proved") for line in text)


def test_the_command_says_why_nobody_can_tell_until_when(root, monkeypatch):
    def untold(partitions, times):
        return Leaving.not_told("Kafka compacts topic sales", partitions, times)

    lines = told(monkeypatch, root, "--format", "json", leaves=untold)
    assert [json.loads(line)["provable"] for line in lines] == ["cannot be told"] * 6 + [None] * 4
    text = told(monkeypatch, root, leaves=untold)
    assert text[-1] == "until when they can be proved cannot be told: Kafka compacts topic sales"


def test_for_programs_each_hour_is_a_line(root, monkeypatch):
    add_late(root, (11, 3.2))
    hour_by_hour = told(monkeypatch, root, "--format", "json")
    assert len(hour_by_hour) == 10
    assert json.loads(hour_by_hour[3]) == {
        "from": "2026-03-01T03:00:00Z", "to": "2026-03-01T04:00:00Z", "state": "late", "late": 1,
        "outdated": 0, "replayable": 0, "last": None, "when": None, "who": None, "proved": None,
        "refuted": None, "provable": None,
    }  # fmt: skip
