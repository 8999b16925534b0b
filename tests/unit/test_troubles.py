"""Troubles: what is wrong with a pipeline by what is known of it, and which comes first."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, strategies as st

from spark_jobs.checkpoint.notes.begun import Begun
from spark_jobs.errors import CheckpointBroken
from spark_jobs.messages.report import Problem
from spark_jobs.ops.json_of_tables import RunLine
from spark_jobs.overview.json_of_overview import Mark, PipelineLine
from spark_jobs.overview.lines import overview
from spark_jobs.overview.reading import Due, Notes, Reading, Waits
from spark_jobs.overview.troubles import TROUBLES, troubles
from tests.harness.roots import NOON
from tests.unit.specs import pipeline

HOUR = timedelta(hours=1)
NAMES = [each.name for each in TROUBLES]


def mark(ago: timedelta, behind: timedelta = 2 * HOUR, problem: str | None = None) -> Mark:
    """Of a drain that ended so long ago, its watermark so far behind that."""
    return Mark(
        run_id=f"run {ago}", status="failed" if problem else "succeeded", problem=problem, read=9,
        started_at=NOON - ago, ended_at=NOON - ago, state_rows=9, watermark=NOON - ago - behind,
    )  # fmt: skip


WELL = tuple(mark(n * HOUR) for n in range(1, 25))


def line(mark: Mark, kind: str = "drain") -> RunLine:
    same = {name: getattr(mark, name) for name in Mark.model_fields if name != "verdict"}
    return RunLine.model_construct(pipeline="p", kind=kind, **same)


def reading(marks: tuple[Mark, ...] = WELL, **changes: Any) -> Reading:
    """Of one that is well, but for the changes."""
    given: dict[str, Any] = {"notes": Notes(pipeline(), ("g1",)), "due": Due(at=NOON + HOUR / 2)}
    last = line(marks[0]) if marks else None
    return Reading("p", NOON, marks=marks, **{"last": last} | given | changes)


def failed(*codes: str, behind: tuple[Mark, ...] = WELL) -> tuple[Mark, ...]:
    """Drains that failed, newest first, in front of these."""
    return (*(mark(HOUR * n / 60, problem=code) for n, code in enumerate(codes, 1)), *behind)


IDLE = reading(
    tuple(mark(n * HOUR, 11 * HOUR - n * HOUR).model_copy(update={"read": 0}) for n in range(1, 10))
)
BROKEN = Problem.of(CheckpointBroken.journal_unreadable(path="journal.json", pipeline="p"))
CHANGE = Begun(
    change="reset", version="v1", id="x", by="ann", at=NOON - HOUR, words="a reset", facts={}
)
SPEC = pipeline()
EACH: dict[str, tuple[Reading, str, Any]] = {
    "failed": (reading(failed("KAFKA_UNREACHABLE", "TOPIC_MISSING")), "plan", NOON - HOUR / 30),
    "unreadable": (reading(notes=Notes(problem=BROKEN)), "validate", None),
    "unpublished": (
        reading(waits=Waits(batches=2, rows=7, since=NOON - HOUR)), "publish", NOON - HOUR,
    ),
    "overdue": (reading(due=Due(at=NOON - HOUR)), "plan", NOON - HOUR),
    "stale": (
        reading(tuple(mark(n * HOUR) for n in range(9, 40))), "show runs", NOON - 11 * HOUR + 4 * HOUR + HOUR / 6,
    ),
    "quiet": (IDLE, "plan", NOON - 11 * HOUR + 4 * HOUR + HOUR / 6),
    "repair failed": (
        reading(again=line(mark(HOUR, problem="CHECK_FAILED"), "backfill")), "show repairs", NOON - HOUR,
    ),
    "late waiting": (reading(waits=Waits(late=1, late_of=(WELL[0].run_id,))), "repair", NOON - HOUR),
    "outdated": (reading(waits=Waits(outdated=(2, NOON - HOUR))), "repair", NOON - HOUR),
    "warning": (reading(warnings=("a(b)", "c")), "show checks", NOON - HOUR),
    "near budget": (
        reading(
            notes=Notes(pipeline(state={"budget_rows": 100}), ("g1",)), waits=Waits(state_rows=80)
        ), "show growth", None,
    ),
    "to approve": (reading(waits=Waits(staged=(NOON, NOON - HOUR))), "show repairs", NOON - HOUR),
    "cut off": (reading(notes=Notes(SPEC, ("g1",), change=CHANGE)), "plan", NOON - HOUR),
}  # fmt: skip
"""Trouble -> a pipeline that has it alone, the command that is its next step, since when."""


def of(given: Reading) -> list[str]:
    return [each.name for each in troubles(given)]


def test_one_that_is_well_has_no_trouble_nor_has_one_before_its_first_drain():
    assert of(reading()) == []
    assert of(reading(())) == []


@pytest.mark.parametrize("name", NAMES)
def test_each_trouble_is_told_with_its_time_and_its_next_step(name):
    given, command, since = EACH[name]
    [found] = troubles(given)
    assert (found.name, found.since) == (name, since)
    assert found.command.startswith(f"sluice {command}")
    assert found.words
    assert found.why


def test_a_failure_is_told_by_its_code_since_the_first_of_those_in_a_row():
    [found] = troubles(EACH["failed"][0])
    assert found.words.startswith("KAFKA_UNREACHABLE")
    assert "2 runs" in found.words
    all_failed = reading(failed("TOPIC_MISSING", behind=()))
    assert troubles(all_failed)[0].since == NOON - HOUR / 60


def test_a_dag_run_that_failed_without_a_drain_that_did_is_a_failure_until_a_drain_succeeds():
    behind = reading(due=Due(failed_at=NOON - HOUR / 2))
    [found] = troubles(behind)
    assert (found.name, found.place, found.since) == ("failed", "dag", NOON - HOUR / 2)
    assert of(reading(due=Due(failed_at=NOON - 2 * HOUR))) == []
    assert of(reading((), due=Due(failed_at=NOON))) == ["failed"]
    assert [each.place for each in troubles(EACH["failed"][0]._replace(due=behind.due))] == ["run"]


@pytest.mark.parametrize(
    "due",
    [
        Due(True, NOON - HOUR),
        Due(False, NOON - HOUR, NOON - HOUR),
        Due(False, None, NOON),
        Due(),
        None,
    ],
)
def test_no_run_is_overdue_of_a_dag_that_is_paused_at_work_or_without_a_next_run(due):
    assert of(reading(due=due)) == []


def test_a_run_that_does_not_end_is_overdue_when_the_next_one_was_due():
    [found] = troubles(reading(due=Due(active_since=NOON - 3 * HOUR)))
    assert (found.name, found.since, found.place) == ("overdue", NOON - 2 * HOUR, "dag")
    daily = Notes(pipeline(schedule={"cron": "0 6 * * *"}), ("g1",))
    assert of(reading(due=Due(active_since=NOON - 3 * HOUR), notes=daily)) == []


def test_what_follows_by_itself_has_time_for_it():
    soon = NOON - timedelta(minutes=9)
    assert of(reading(due=Due(at=soon))) == []
    assert of(reading(waits=Waits(rows=7, since=soon))) == []
    at_work = Due(active_since=NOON - HOUR)
    assert of(reading(waits=Waits(rows=7, since=NOON - HOUR / 2), due=at_work)) == []
    assert of(reading(notes=Notes(SPEC, ("g1",), change=CHANGE, held=True))) == []


class TestStale:
    """A watermark far behind, that does not gain on the clock."""

    def test_one_that_stands_still_while_drains_succeed_is_stale(self):
        hourly = tuple(mark(n * HOUR, 24 * HOUR - n * HOUR) for n in range(20))
        assert of(reading(hourly)) == ["stale"]
        every_minute = tuple(mark(n * HOUR / 60, 24 * HOUR - n * HOUR / 60) for n in range(30))
        assert of(reading(every_minute)) == ["stale"], "all of them are younger than is allowed"

    def test_one_that_keeps_its_distance_or_reads_history_is_not(self):
        assert of(reading(tuple(mark(n * HOUR, 26 * HOUR) for n in range(1, 25)))) == []
        history = tuple(mark(n * HOUR / 60, 5_000 * HOUR + n * 60 * HOUR) for n in range(1, 4))
        assert of(reading(history)) == []
        assert of(reading((mark(HOUR, 5_000 * HOUR),))) == [], "it has just begun"

    def test_a_drain_that_failed_says_nothing_of_what_moves(self):
        first = mark(HOUR / 3, 5_000 * HOUR)
        died = first.model_copy(update={"status": "failed", "problem": "PROCESS_DIED"})
        assert of(reading((died, first))) == ["failed"]

    def test_where_drains_find_nothing_new_it_is_quiet_and_not_grave_as_long_as_they_go_on(self):
        [found] = troubles(IDLE)
        assert (found.name, found.grave) == ("quiet", False)
        assert of(IDLE._replace(due=Due(paused=True))) == ["stale"]
        assert of(IDLE._replace(marks=IDLE.marks[8:], due=None)) == ["stale"], "none goes on"
        waits = IDLE.marks[0].model_copy(update={"read": 1})
        assert of(IDLE._replace(marks=(waits, *IDLE.marks[1:]))) == ["stale"]

    def test_one_that_is_paused_says_so(self):
        paused = EACH["stale"][0]._replace(due=Due(paused=True))
        [found] = troubles(paused)
        assert (found.name, found.place) == ("stale", "dag")

    def test_the_schedule_decides_how_far_behind_is_far(self):
        daily = pipeline(schedule={"cron": "0 6 * * *"})
        given = EACH["stale"][0]._replace(notes=Notes(daily, ("g1",)))
        assert of(given) == []

    def test_without_a_watermark_nothing_is_said_of_it(self):
        none = tuple(each.model_copy(update={"watermark": None}) for each in WELL)
        assert of(reading(none)) == []


def test_late_records_that_the_dag_itself_repairs_are_told_where_that_fails():
    notes = Notes(pipeline(ranges={"repair": "after drain"}), ("g1",))
    given = reading(waits=Waits(late=3), notes=notes)
    assert of(given) == []
    again = line(mark(HOUR, problem="RANGE_OPEN"), "repair")
    assert of(given._replace(again=again)) == ["repair failed"]


def test_late_records_wait_since_the_drain_that_rejected_them_or_the_oldest_that_is_shown():
    def since(*runs: str) -> Any:
        return reading(waits=Waits(late=1, late_of=runs)).late_since

    assert since(WELL[3].run_id, WELL[1].run_id) == WELL[3].started_at
    assert since("of a year ago", WELL[1].run_id) == WELL[-1].started_at
    assert since() is None


def test_what_an_error_quotes_is_not_told():
    quoting = Problem(code="EXPRESSION_FAILED", what="secret of a person", remedy="of Ann")
    [found] = troubles(reading(notes=Notes(problem=quoting)))
    assert "secret" not in found.words
    assert "Ann" not in found.words


def placed(name: str, *these: Reading) -> PipelineLine:
    """A line of a pipeline that has the troubles of all of these."""
    found = sorted(
        (each for of in these for each in troubles(of)), key=lambda each: NAMES.index(each.name)
    )
    return PipelineLine(
        pipeline=name, troubles=tuple(found), last=None, runs=(), late=0, quarantined=0
    )


some = st.lists(st.lists(st.sampled_from(NAMES), unique=True), max_size=12)


@given(some)
def test_a_pipeline_in_trouble_is_never_below_one_without_and_the_worst_are_above(each):
    lines = [placed(f"p{n}", *(EACH[name][0] for name in has)) for n, has in enumerate(each)]
    found = overview(lines)
    ranks = [
        NAMES.index(line.troubles[0].name) if line.troubles else len(NAMES)
        for line in found.pipelines
    ]
    assert ranks == sorted(ranks)
    assert found.troubled == sum(map(bool, each))
    assert found.grave == sum(bool({*has} & {*NAMES[:5]}) for has in each)
    assert found.counts == {
        name: n for name in NAMES if (n := sum(name in has for has in each)) > 0
    }
    assert [*found.counts] == sorted(found.counts, key=NAMES.index)


def test_of_one_trouble_the_longest_comes_first_and_of_one_time_the_name_decides():
    lines = [
        placed(name, reading(due=Due(at=NOON - HOUR * hours)))
        for name, hours in (("b", 1), ("a", 1), ("c", 9), ("d", 0))
    ]
    assert [each.pipeline for each in overview(lines).pipelines] == ["c", "a", "b", "d"]
