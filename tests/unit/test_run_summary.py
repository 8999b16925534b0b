"""The lines that the command line and Airflow's task log have of a run."""

import json
import re
from datetime import UTC, datetime

from hypothesis import given, strategies as st

from spark_jobs.messages.change import Change
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.report import StateUse, parse_report
from spark_jobs.messages.stages import account_line, check_line, summary
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


COUNT = st.one_of(st.just(0), st.integers(1, 9), st.integers(1, 10**9))
NO_FATES = {"covered", "gaps", "read", "accepted", "rows_out", "undated", "unkept", "unaccounted"}
"""Counts of an account that are sums, of rows, or of some that another count has too."""
GAPS = ("aborted", "markers", "removed")
REJECTED = ("malformed", "premature", "late", "filtered", "kept_aside", "outside")
FATES = ("duplicates", "superseded", "absent", "deleted", "inserted", "updated")


@st.composite
def accounts(draw) -> Account:
    """Of each fate a number, and what they come to."""
    gone = {name: draw(COUNT) for name in (*GAPS, *REJECTED, *FATES)}
    gaps, accepted = (sum(gone[name] for name in names) for names in (GAPS, FATES))
    read = accepted + sum(gone[name] for name in REJECTED)
    covered = read + gaps
    return Account(**gone, covered=covered, gaps=gaps, read=read, accepted=accepted)


def counts_of(line: str) -> dict[str, int]:
    """Of an account's line: name -> count."""
    return {
        name.replace(" ", "_"): int(count.replace(",", ""))
        for name, count in re.findall(r"([a-z ]+?) ([\d,]*\d)(?:, |$)", line)
    }


@given(accounts())
def test_the_parts_of_a_run_s_line_come_to_what_was_there_at_each_step(account):
    told = counts_of(account_line(account))
    assert told["read"] == told["accepted"] + sum(told.get(name, 0) for name in REJECTED)
    assert told["accepted"] == sum(told.get(name, 0) for name in FATES)
    assert account.covered - told["read"] == sum(told.get(name, 0) for name in GAPS)
    for name in Account.model_fields.keys() - NO_FATES:
        assert told.get(name, 0) == getattr(account, name), name
    assert told["unaccounted"] == 0


def test_a_repair_s_line_is_followed_by_what_it_would_change():
    account = Account(covered=60, read=60, kept_aside=4, outside=20, accepted=36, rows_out=8)
    of = report(kind="repair", account=account, change=Change(rows_before=7, rows_after=8, added=1))
    first, second = summary(of)
    assert counts_of(first.split("succeeded: ")[1].split(";")[0])["kept_aside"] == 4
    assert second == str(of.change)


def test_of_an_older_repair_what_was_not_counted_is_outside_and_what_it_used_is_not_late():
    stored = report(kind="repair", account=Account(read=60, filtered=4, late=5, accepted=36))
    older = stored.model_dump(mode="json")
    for name in ("outside", "kept_aside"):
        del older["account"][name]
    found = parse_report(json.dumps(older), "ops.runs").account
    assert (found.outside, found.late) == (20, 0)
    assert parse_report(stored.model_dump_json(), "ops.runs") == stored


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
