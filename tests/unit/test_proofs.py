"""Proofs: which hours of a real root are proved, and what takes a proof away: the log, not time."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from spark_jobs.checkpoint.notes.published import Published
from spark_jobs.errors import CheckFailed, SettingInvalid
from spark_jobs.messages.event import Event
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.report import Problem
from spark_jobs.ops import repairs
from spark_jobs.prove.covered import covered
from spark_jobs.prove.night import COLD, RUN_PREFIX, WEEK, Budget, Took, budget, prove, tonight
from spark_jobs.repair.find.plan import digest
from spark_jobs.settings.installation import Settings, proves
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Ranges
from spark_jobs.spec.analysis import ranged as analysis
from spark_jobs.values.spans import Span
from tests.harness import roots
from tests.harness.long_form import examples
from tests.harness.refused import fails
from tests.harness.sources import says
from tests.harness.turns import held_by
from tests.unit.repaired import (
    DAY,
    FINAL,
    POSITION,
    SPEC,
    Root,
    add_late,
    hour,
    hours,
    row,
    ten_hours,
)
from tests.unit.test_coverage import sliced

pytestmark = held_by("unit/test_hand_edits.py", "spark/test_proofs.py")

HOURLY = SPEC.model_copy(update={"ranges": Ranges(every="hour")})
NOW = datetime.now(UTC).replace(microsecond=0)
EVERY = "p" * FINAL


@pytest.fixture
def root(tmp_path, monkeypatch) -> Root:
    """Ten hours, of which the first six are final. Their rows are in several files. The root's
    table has another name for the column than a drain of the spec would give it.
    """
    monkeypatch.setattr(analysis, "position_of", lambda _: POSITION)
    return sliced(ten_hours(tmp_path))


def verified(root: Root, span: Span, problem: str | None = None, **more: Any) -> None:
    """The row that a verify of this span leaves, at the table's version."""
    told = roots.report(SPEC.name, kind="verify", problem=problem)
    known = {
        "pipeline": SPEC.name, "generation": "g1", "kind": "verify", "request": "{}",
        "repair_id": f"v{span.start:%H%M}{len(repairs.stored(root.paths.root, SPEC.name))}",
        "state": "failed" if problem else "canonical", "ranges": [span._asdict()],
        "table_version_before": root.version, "spec_digest": digest(HOURLY),
        "staged_at": NOW, "report": told.model_dump_json(),
    }  # fmt: skip
    repairs.put(root.paths.root, [known | more])


def standing(root: Root) -> str:
    """A letter for each final hour: proved, wrong, or not known."""
    found = covered(HOURLY, root.paths).intervals[:FINAL]
    return "".join("p" if each.proved_at else "w" if each.refuted_at else "-" for each in found)


def compacted(root: Root) -> None:
    assert root.table.optimize.compact()["numFilesRemoved"] > 1


def test_an_hour_is_proved_by_a_verify_of_all_of_it(root):
    assert standing(root) == "-" * FINAL
    verified(root, hours(1, 2))
    verified(root, Span(hours(4).start, hours(4).start + timedelta(minutes=30)))
    assert standing(root) == "-pp---"


def test_what_rearranges_files_or_writes_other_hours_takes_no_proof(root):
    verified(root, hours(0, 5))
    compacted(root)
    assert standing(root) == EVERY
    root.append([row(11, "a")])
    assert standing(root) == EVERY
    root.table.alter.set_table_properties({"delta.logRetentionDuration": "interval 90 days"})
    assert standing(root) == EVERY
    root.table.delete(f"windowEnd = '{hour(11).isoformat()}'")
    assert standing(root) == EVERY


@pytest.mark.parametrize("joined", [False, True], ids=["a file an hour", "one file"])
@pytest.mark.parametrize(
    "edit",
    [
        lambda root, where: root.table.update({"sales": "9"}, predicate=where),
        lambda root, where: root.table.delete(where),
        lambda root, _: root.append([row(2, "z")]),
        lambda root, _: root.append([row(2, "a")]),
        lambda root, where: root.table.update(
            {"windowEnd": f"TIMESTAMP '{hour(8).isoformat()}'"}, predicate=where
        ),
    ],
    ids=["changed", "deleted", "added", "doubled", "moved"],
)
def test_a_row_that_a_person_changed_takes_the_proof_of_its_hour_alone(root, edit, joined):
    verified(root, hours(0, 5))
    if joined:
        compacted(root)
    edit(root, f"windowEnd = '{hour(2).isoformat()}' AND shop = 'a'")
    assert standing(root) == "pp-ppp"
    if not joined:
        compacted(root)
    assert standing(root) == "pp-ppp"


def test_a_repair_takes_the_proof_of_the_hours_that_it_changes(root):
    compacted(root)
    verified(root, hours(0, 5))
    root.stage("r1", [(row(1, "a"), row(1, "a", 2))], spans=(hours(0, 3),))
    root.swap("r1")
    assert standing(root) == "p-pppp"
    verified(root, hours(1))
    assert standing(root) == EVERY


def test_a_rewound_hour_loses_its_proof_also_when_its_rows_are_there_again(root):
    verified(root, hours(0, 5))
    root.table.restore(5)
    assert standing(root)[:5] == "ppppp"
    root.table.restore(3)
    assert standing(root) == "ppp---"
    root.append([row(number, shop) for number in (3, 4, 5) for shop in "abc"])
    assert standing(root) == "ppp---"


def test_a_log_that_no_longer_has_the_commits_since_proves_nothing(root):
    verified(root, hours(0, 5))
    root.append([row(11, "a")])
    root.append([row(12, "a")])
    root.table.create_checkpoint()
    log = root.paths.table / "_delta_log"
    for version in range(root.version):
        (log / f"{version:020d}.json").unlink()
    assert standing(root) == "-" * FINAL


def test_another_table_at_its_place_has_no_proof(root):
    verified(root, hours(0, 5))
    root.identified("g1", table_id="another", fingerprint=root.identity.fingerprint)
    assert standing(root) == "-" * FINAL


@pytest.mark.parametrize(
    "more",
    [
        {"spec_digest": "another"},
        {"request": '{"without": 3}'},
        {"generation": "g0"},
        {"kind": "backfill"},
        {"table_version_before": None},
    ],
    ids=lambda more: next(iter(more)),
)
def test_what_proves_nothing_of_the_rows_by_todays_spec(root, more):
    verified(root, hours(0, 5), **more)
    assert standing(root) == "-" * FINAL


def test_an_hour_that_was_found_wrong_is_so_until_its_rows_change(root):
    verified(root, hours(0, 5))
    later = {"staged_at": NOW + timedelta(hours=1)}
    verified(root, hours(3), "CHANGE_UNEXPLAINED", **later)
    verified(root, hours(4), "RANGE_THINNED", **later)
    assert standing(root) == "pppwpp"
    root.table.delete(f"windowEnd = '{hour(3).isoformat()}' AND shop = 'a'")
    assert standing(root) == "ppp-pp"


def test_an_hour_for_which_late_records_wait_is_not_proved(root):
    verified(root, hours(0, 5))
    add_late(root, (7, 0.5))
    assert standing(root) == "-" + "p" * (FINAL - 1)


def published(root: Root, until: int = FINAL) -> None:
    """Consumers have been told of the rows of so many hours."""
    told = Event(
        number=1, table="", pipeline=SPEC.name, run_id="r", generation="g1", table_version=9,
        table_version_before=None, account=Account(), offsets_end={},
        watermark=DAY + timedelta(hours=until),
    )  # fmt: skip
    Published(number=1, generation="g1", table_version=9, batch=9, event=told).fix(root.paths)


def ran(root: Root, kind: str, run_id: str, ago: timedelta, seconds: float) -> None:
    at = NOW - ago
    root.ended(run_id, kind=kind, started_at=at - timedelta(seconds=seconds), ended_at=at)


def chosen(root: Root) -> str:
    """The hours of the night, in their order."""
    return "".join(str(each.start.hour) for each in night(root).days)


def night(root: Root):
    settings = root.settings._replace(proof="10%")
    return tonight(HOURLY, settings, root.paths, NOW)


HOUR = timedelta(hours=1)


@pytest.fixture
def drained(root, monkeypatch) -> Root:
    """Drains took 700 seconds in the week: 70 for proofs, and 10 a night."""
    says(monkeypatch, SourceState("topic-1", Positions({0: 0}), Positions({0: 10})))
    for number in range(7):
        ran(root, "drain", f"d{number}", number * timedelta(days=1) + HOUR, 100)
    published(root)
    return root


def test_a_night_begins_with_days_that_nobody_has_looked_at_and_goes_on_with_the_oldest_proof(
    drained,
):
    ran(drained, "verify", f"{RUN_PREFIX}1", WEEK - HOUR, 5)
    assert chosen(drained) == "012345", "as many as the budget allows, and published ones alone"
    for number, days in enumerate((4, 2, 1, 0)):
        verified(drained, hours(number), staged_at=NOW - timedelta(days=days))
    assert chosen(drained) == "450123"
    drained.append([row(2, "z")])
    assert chosen(drained) == "245013", "a hand has been in it"


def test_a_day_that_consumers_do_not_know_of_waits(drained):
    ran(drained, "verify", f"{RUN_PREFIX}1", WEEK - HOUR, 5)
    drained.paths.events.joinpath(f"{1:012}.json").unlink()
    assert night(drained).days == ()
    published(drained, 3)
    assert chosen(drained) == "012"


def test_days_whose_records_nobody_has_are_no_part_of_a_night(drained, monkeypatch):
    ran(drained, "verify", f"{RUN_PREFIX}1", WEEK - HOUR, 5)
    says(monkeypatch, SourceState("topic-1", Positions({0: 3}), Positions({0: 10})))
    found = night(drained)
    assert len(found.gone) > 2
    assert {each.start for each in found.days}.isdisjoint(each.start for each in found.gone)


@pytest.mark.parametrize(
    ("proofs", "allowed"),
    [
        ([], 70),
        ([(timedelta(days=1), 4)], 10),
        ([(timedelta(days=3), 4)], 30),
        ([(timedelta(days=1), 66)], 4),
        ([(timedelta(days=1), 90)], 0),
        ([(HOUR * 12, 4), (timedelta(days=2), 4)], 5),
        ([(timedelta(days=9), 4)], 70),
    ],
    ids=["none yet", "a night", "three nights", "a week's is nearly spent", "it is", "half", "old"],
)
def test_a_budget_is_a_share_of_the_weeks_drains_spread_over_its_nights(drained, proofs, allowed):
    for number, (ago, seconds) in enumerate(proofs):
        ran(drained, "verify", f"{RUN_PREFIX}{number}", ago, seconds)
    ran(drained, "verify", "verify-cli", HOUR, 1000)
    ran(drained, "backfill", "b", HOUR, 1000)
    ran(drained, "drain", "before", timedelta(days=8), 1000)
    found = budget(drained.paths, 0.1, NOW)
    assert (found.drains, round(found.tonight, 6)) == (700, allowed)


def test_what_counts_are_the_processor_seconds_of_a_run_where_somebody_counted_them(drained):
    for number in range(7):
        at = NOW - number * timedelta(days=1) - HOUR
        drained.ended(f"two{number}", processor_seconds=200, started_at=at, ended_at=at)
    assert budget(drained.paths, 0.1, NOW).drains == 2100
    ran(drained, "verify", f"{RUN_PREFIX}1", WEEK - HOUR, 10)
    assert worked(drained, 1, processors=90) == [0, 1], "of 200: a third may take 90 too"


def test_a_first_load_that_took_an_hour_does_not_keep_the_proofs_from_beginning(drained):
    ran(drained, "drain", "first", HOUR, 3600)
    found = budget(drained.paths, 0.1, NOW)
    assert (found.cost, found.tonight) == (100, 430)
    ran(drained, "verify", f"{RUN_PREFIX}1", WEEK + 2 * HOUR, 7)
    assert budget(drained.paths, 0.1, NOW).cost == 7, "measured, however long ago"
    ran(drained, "verify", f"{RUN_PREFIX}2", WEEK - HOUR, 5)
    assert budget(drained.paths, 0.1, NOW).cost == 5


def test_a_first_proof_is_expected_to_start_spark_where_drains_found_it_warm():
    assert Budget.of(1, NOW, [Took(NOW, 4), Took(NOW, 5)], []).cost == COLD


def test_a_proof_that_failed_at_once_is_no_price(drained):
    """A broker that was away took a second. Each night would begin with any number of days."""
    at = NOW - WEEK + HOUR
    away = {"problem": "KAFKA_UNREACHABLE", "kind": "verify", "started_at": at, "ended_at": at}
    drained.ended(f"{RUN_PREFIX}1", processor_seconds=0.0, **away)
    assert budget(drained.paths, 0.1, NOW).cost == 100, "as half of the drains"
    ran(drained, "verify", f"{RUN_PREFIX}2", WEEK - 2 * HOUR, 7)
    assert budget(drained.paths, 0.1, NOW).cost == 7


PRICES = st.floats(0.1, 50)


@settings(max_examples=examples(300), deadline=None)
@given(st.floats(1, 300), st.lists(st.tuples(st.integers(1, 3), st.lists(PRICES)), max_size=20))
def test_a_night_goes_beyond_its_budget_by_what_its_last_proof_took_more_than_any_known(
    drains, nights
):
    """And a week's nights together: what one takes too much, the next ones have not."""
    now, proofs = NOW, list[Took]()
    for days, prices in nights:
        now += timedelta(days=days)
        of = Budget.of(0.5, now, [Took(now, drains)], proofs)
        tonight, known = list[float](), of.cost
        for price in prices:
            if not of.allows(tonight):
                break
            known = max(of.cost, *tonight, 0)
            tonight.append(price)
        more = max(tonight[-1] - known, 0) if tonight else 0
        assert sum(tonight) <= of.tonight + more + 1e-9
        proofs += [Took(now, each) for each in tonight]
        of_week = sum(each.seconds for each in proofs if each.at > now - WEEK)
        assert not tonight or of_week <= drains / 2 + more + 1e-9


def worked(
    root: Root, takes: float, wrong: tuple[int, ...] = (), processors: float | None = None
) -> list[int]:
    """The hours that a night verifies, where each takes so many seconds."""
    done = list[int]()

    def verify(plan, run_id):
        [span] = plan.spans
        assert (plan.kind, run_id.startswith(RUN_PREFIX)) == ("verify", True)
        done.append(span.start.hour)
        problem = Problem(code="CHANGE_UNEXPLAINED", what="") if span.start.hour in wrong else None
        verified(root, span, problem.code if problem else None, staged_at=plan_time(done))
        ends = {"started_at": NOW - timedelta(seconds=takes), "ended_at": NOW}
        ends |= {"processor_seconds": processors}
        return roots.report(SPEC.name, run_id, problem, kind="verify", **ends)

    found = night(root)
    prove(HOURLY, root.settings, found, "test", verify, lambda _: None)
    return done


def plan_time(done: list[int]) -> datetime:
    return NOW + timedelta(seconds=len(done))


def test_a_night_ends_where_its_budget_does_though_each_day_takes_longer_than_thought(drained):
    ran(drained, "verify", f"{RUN_PREFIX}1", WEEK - HOUR, 10)
    assert len(night(drained).days) == 6
    assert worked(drained, 30) == [0, 1], "a third would go beyond the 60 seconds"
    assert chosen(drained)[:2] == "23"


def test_a_wrong_day_fails_this_night_and_the_next_until_its_rows_change(drained):
    ran(drained, "verify", f"{RUN_PREFIX}1", WEEK - HOUR, 10)
    with fails(CheckFailed, "days_refuted", count=1, start="2026-03-01T01:00:00Z"):
        worked(drained, 5, wrong=(1,))
    with fails(CheckFailed, "days_refuted", count=1):
        prove(HOURLY, drained.settings, night(drained)._replace(days=()), "t", None, lambda _: 0)
    drained.table.delete(f"windowEnd = '{hour(1).isoformat()}'")
    prove(HOURLY, drained.settings, night(drained)._replace(days=()), "t", None, lambda _: 0)


@pytest.mark.parametrize(
    ("given", "share"), [("5 %", 0.05), ("0.5%", 0.005), ("100 %", 1), ("off", 0)]
)
def test_the_share_is_a_setting(given, share, monkeypatch):
    monkeypatch.setenv("SLUICE_PROOF", given)
    assert Settings.of_the_build().proof_share == share
    assert proves() is (given != "off")


@pytest.mark.parametrize("given", ["5", "101 %", "-1 %", "five", "5 % "])
def test_a_share_that_is_none_is_refused_and_breaks_no_dag_file(given, monkeypatch):
    monkeypatch.setenv("SLUICE_PROOF", given)
    assert proves() is False
    with fails(SettingInvalid, "share_invalid", value=given):
        Settings.of_the_build()
