"""The lines that the command line and Airflow's task log have of a run."""

from datetime import UTC, datetime

from spark_jobs.messages.report import Account, StateUse
from spark_jobs.messages.summary import check_line, summary
from tests.unit.test_report import check, report


def test_a_run_in_lines():
    account = Account(
        covered=1200,
        read=1200,
        malformed=2,
        premature=1,
        filtered=4,
        late=3,
        accepted=1190,
        duplicates=7,
        rows_out=1183,
    )
    state = StateUse(rows=4321, rows_before=2, bytes=3 * 2**20)
    first, second = summary(
        report(account=account, query_seconds=3.25, table_version_before=6, state=state)
    )
    assert first == (
        "flight_events succeeded: read 1,200, accepted 1,190, out 1,183, duplicates 7, late 3, "
        "filtered 4, "
        "malformed 2, premature 1, unaccounted 0; 12.5 s, the query 3.2 s of them"
    )
    assert second == (
        "2 batches, table version 6 -> 7, state 2 -> 4,321 rows, 3.0 MiB, watermark "
        "2026-03-01T10:00:00+00:00"
    )


def test_what_is_not_known_is_not_told_as_0():
    first, *_ = summary(report(account=Account(duplicates=None, unaccounted=None)))
    assert "duplicates not known" in first
    assert "unaccounted not known" in first
    unknown = check().model_copy(update={"suite": "state", "observed": "null"})
    assert "proves nothing" in check_line(unknown)
    assert "proves nothing" not in check_line(unknown.model_copy(update={"observed": "0"}))


def test_what_a_run_leaves_for_the_next_is_said():
    lines = summary(
        report(
            bounded_by="max_batches=2",
            waiting=1500,
            open_until=datetime(2026, 3, 1, 13, tzinfo=UTC),
            state=StateUse(open=12),
            watermark=None,
        )
    )
    assert lines[1].endswith("watermark none yet")
    assert lines[2:] == (
        "12 groups are open; the last closes when the watermark reaches 2026-03-01 13:00",
        "ended by max_batches=2: 1,500 offsets wait for the next run",
    )


def test_a_check_that_passed_and_one_that_failed_on_a_line():
    passed, failed = (
        check(),
        check("failed").model_copy(
            update={
                "column": "n",
                "observed": "7",
                "unexpected": 1200,
                "sample": '["a"]',
                "about": "look at n",
            }
        ),
    )
    assert check_line(passed) == "passed (critical): expect_x"
    assert (
        check_line(failed)
        == 'failed (critical): expect_x(n), observed 7, 1,200 failing, for example ["a"]. look at n'
    )
