"""What a demo ends with: its tables, and the verdict of the ledger."""

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from local import demo, ledger, summary
from local.deliveries import deliver
from local.flights import FlightEvent
from spark_jobs.errors import CheckFailed
from spark_jobs.messages.change import Change
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.report import CheckResult, Problem, Report, StateUse

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SENT = {
    1: {"good": 1190, "duplicate": 7, "malformed": 2, "premature": 1},
    2: {"good": 80, "duplicate": 0, "malformed": 0, "premature": 0},
}


def check(outcome: str = "passed", **changes: Any) -> CheckResult:
    usual = {
        "suite": "output",
        "type": "expect_column_values_to_be_unique",
        "column": "event_id",
        "severity": "critical",
    }
    return CheckResult.model_validate(usual | {"outcome": outcome} | changes)


def report(
    delivery: int = 1,
    checks: tuple[CheckResult, ...] = (),
    problem: Problem | None = None,
    **changes: int,
) -> Report:
    """What a drain that took a delivery of SENT as it should have reports, but for the changes."""
    kinds = SENT[delivery]
    counts = {
        "read": sum(kinds.values()),
        "malformed": kinds["malformed"],
        "premature": kinds["premature"],
    }
    return Report(
        pipeline="sales",
        run_id=f"delivery-{delivery}",
        status="failed" if problem else "succeeded",
        problem=problem,
        started_at=NOON,
        ended_at=NOON + timedelta(seconds=12.5),
        state=StateUse(rows=4321),
        checks=checks,
        account=Account(
            **counts
            | {"covered": counts["read"], "duplicates": kinds["duplicate"], "rows_out": 1180}
            | changes
        ),
    )


def shown(show: Any, *words: Any) -> list[list[str]]:
    """The cells of each line of what is shown."""
    out = io.StringIO()
    show(Console(file=out, width=200), *words)
    return [line.split() for line in out.getvalue().splitlines() if line.strip()]


def test_each_run_is_a_line_with_where_its_records_went():
    lines = shown(summary.show_runs, {("sales", 2): report(2), ("sales", 1): report(late=3)})
    assert lines[1] == ["pipeline", "delivery", *summary.COUNTS, "state_rows", "seconds"]
    assert lines[3] == ["sales", "1", "1,200", "1,180", "7", "3", "2", "1", "0", "4,321", "12.5"]
    assert lines[4][:3] == ["sales", "2", "80"]


@pytest.mark.parametrize(
    ("changes", "red"),
    [
        ({}, False),
        ({"unaccounted": 1}, True),
        ({"problem": Problem.of(CheckFailed("3 rows."))}, True),
    ],
)
def test_a_run_with_a_problem_or_with_something_unaccounted_is_red(changes, red):
    out = io.StringIO()
    summary.show_runs(
        Console(file=out, width=200, force_terminal=True), {("sales", 1): report(**changes)}
    )
    assert ("\x1b[31m" in out.getvalue()) == red


def test_checks_are_those_after_the_last_delivery_and_what_did_not_pass_before():
    first = report(
        1,
        (
            check(type="expect_was_good"),
            check("failed", type="expect_was_bad", unexpected=3, sample='["a"]'),
        ),
    )
    lines = shown(
        summary.show_checks,
        {("sales", 1): first, ("sales", 2): report(2, (check(), check("broken")))},
    )
    unique = "column_values_to_be_unique"
    assert [(line[1], line[3], line[6]) for line in lines[3:]] == [
        ("1", "was_bad", "failed"),
        ("2", unique, "passed"),
        ("2", unique, "broken"),
    ]
    assert lines[3][7:] == ["3", "failing,", "for", "example", '["a"]']


def test_a_table_is_shown_by_rows_and_where_it_is_too_wide_by_columns(tmp_path):
    deltalake.write_deltalake(
        str(tmp_path / "sales"),
        pa.table(
            {
                "shop": ["[a]", None],
                "at": [NOON, NOON],
                "mean": [1.25, 2.0],
                "note": ["x" * 150, "y"],
            }
        ),
    )
    lines = shown(summary.show_rows, [tmp_path / "sales"])
    assert lines[1] == ["shop", "at", "mean", "note"]
    assert lines[3][:4] == ["[a]", "2026-03-01", "12:00", "1.2"]
    out = io.StringIO()
    summary.show_rows(Console(file=out, width=60), [tmp_path / "sales"])
    first = [line.split()[0] for line in out.getvalue().splitlines() if line.strip()]
    columns = ["column", "shop", "at", "mean", "note"]
    assert [name for name in first if name in columns] == columns


def test_reports_that_agree_with_the_ledger_give_no_disagreement():
    assert summary.disagreements({("sales", 1): report(1), ("sales", 2): report(2)}, SENT) == []


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"read": 1199}, "records read 1,199, but the ledger says 1,200"),
        ({"malformed": 3}, "malformed 3, but the ledger says 2"),
        ({"premature": 0}, "premature 0, but the ledger says 1"),
        ({"unaccounted": -4}, "unaccounted -4, but the ledger says 0"),
    ],
)
def test_each_count_that_the_ledger_contradicts_is_said_with_both_numbers(changes, line):
    reports = {("sales", 1): report(1, **changes), ("sales", 2): report(2)}
    assert summary.disagreements(reports, SENT) == [f"sales, delivery 1: {line}"]


def repaired(kind: str, **changes: int) -> Report:
    """A repair, or a verify, of 500 rows from 1,200 records."""
    change = Change(**{"rows_before": 500, "rows_after": 500} | changes)
    return report().model_copy(update={"kind": kind, "change": change})


def test_each_repair_is_a_line_with_how_its_rows_differ():
    lines = shown(summary.show_repairs, [repaired("repair", added=6, changed=20), report()])
    assert lines[1][:2] == ["pipeline", "kind"]
    assert [line[:2] for line in lines[3:]] == [["sales", "repair"]], "a drain is none"
    assert lines[3][2:] == ["1,200", "500", "500", "6", "0", "20", "0", "0", "12.5"]


def test_a_verify_says_in_words_that_the_table_is_canonical_with_the_numbers_of_its_report():
    out = io.StringIO()
    repairs = [repaired("repair", changed=20), repaired("verify")]
    assert summary.show_proof(Console(file=out, width=400), repairs, "2013-01-01", "2013-01-31")
    assert out.getvalue() == (
        "✓ sales is canonical from 2013-01-01 to 2013-01-31: 500 rows computed again from 1,200 "
        "records; 0 differ.\n"
    )


@pytest.mark.parametrize("bad", [{"changed": 1}, {"added": 1}, {"removed": 1}, {"parts": 1}])
def test_a_verify_that_finds_another_row_says_so(bad):
    out = io.StringIO()
    assert not summary.show_proof(Console(file=out, width=400), [repaired("verify", **bad)], "", "")
    assert out.getvalue().startswith("✗ sales is not canonical: 500 rows -> 500: ")


def test_the_total_of_a_pipeline_is_the_sum_of_its_deliveries_and_of_no_other():
    reports = {("sales", 1): report(1), ("sales", 2): report(2), ("other", 1): report(1)}
    assert summary.total(reports, "sales").read == 1280


class TestDemo:
    @pytest.fixture(autouse=True)
    def home(self, tmp_path, monkeypatch) -> Path:
        """A demo whose ledger has one delivery of twelve events, and whose pipeline's table is
        there.
        """
        monkeypatch.setattr(demo, "HOME", tmp_path)
        monkeypatch.setattr(demo.registry, "names", lambda: ["sales"])
        monkeypatch.setattr(demo, "console", Console(file=io.StringIO(), width=200))
        event = FlightEvent(
            "e", "departure", NOON, NOON, "AA", 1, None, "JFK", "SFO", 0, False, 2586
        )
        records = deliver(iter([event] * 12))
        ledger.write(
            tmp_path / "ledger",
            1,
            "flights",
            records,
            [(0, offset) for offset in range(len(records))],
        )
        published = tmp_path / "root" / "published" / "sales"
        deltalake.write_deltalake(str(published), pa.table({"n": [1]}))
        return tmp_path

    @staticmethod
    def ended(**changes: int) -> Report:
        kinds = ledger.counts(demo.HOME / "ledger")[1]
        counts = {
            "read": sum(kinds.values()),
            "malformed": kinds["malformed"],
            "premature": kinds["premature"],
        } | changes
        return report().model_copy(update={"account": Account(**counts)})

    def test_that_agrees_with_its_ledger_says_so_and_ends_well(self):
        demo._show({("sales", 1): self.ended()}, [])  # noqa: SLF001 - the end of a demo, without its seven minutes
        assert "The ledger of what was published agrees" in demo.console.file.getvalue()  # type: ignore[attr-defined]

    def test_ends_with_what_its_verify_proved_and_with_1_where_it_proved_nothing(self):
        demo._show({("sales", 1): self.ended()}, [repaired("verify")])  # noqa: SLF001 - as above
        told = demo.console.file.getvalue()  # type: ignore[attr-defined]
        assert told.index("agrees") < told.index("✓ sales is canonical from 2013-01-01")
        with pytest.raises(typer.Exit) as ended:
            demo._show({("sales", 1): self.ended()}, [repaired("verify", changed=1)])  # noqa: SLF001 - as above
        assert ended.value.exit_code == 1

    def test_that_disagrees_with_its_ledger_says_in_what_and_ends_with_1(self):
        with pytest.raises(typer.Exit) as ended:
            demo._show({("sales", 1): self.ended(unaccounted=2)}, [])  # noqa: SLF001 - as above
        assert ended.value.exit_code == 1
        told = demo.console.file.getvalue()  # type: ignore[attr-defined]
        assert "✗ sales, delivery 1: unaccounted 2, but the ledger says 0" in told
        assert "agrees" not in told

    def test_its_clock_says_lines_with_the_seconds_since_it_was_made(self, monkeypatch):
        seconds = iter([100.0, 107.25])
        monkeypatch.setattr(demo.time, "monotonic", lambda: next(seconds))
        demo.Clock().say("Kafka is at [127.0.0.1]")
        assert demo.console.file.getvalue() == "   7.2 Kafka is at [127.0.0.1]\n"  # type: ignore[attr-defined]

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            (("--months", "0"), "--months"),
            (("--months", "13"), "--months"),
            (("--deliveries", "0"), "--deliveries"),
            (("--seed", "x"), "--seed"),
        ],
    )
    def test_a_wrong_argument_is_refused_before_anything_starts(self, words, says, monkeypatch):
        monkeypatch.setattr(demo, "_clean", lambda: pytest.fail("it has begun"))
        app = typer.Typer(rich_markup_mode=None)
        app.command()(demo.demo)
        done = CliRunner().invoke(app, list(words))
        assert done.exit_code == 2
        assert says in done.stderr
