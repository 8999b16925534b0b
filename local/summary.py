"""What a demo ends with: where every record went, held against the ledger; the checks;
some rows.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from deltalake import DeltaTable
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from spark_jobs.messages.kind import KINDS, Writes
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.report import CheckResult, Report
from spark_jobs.messages.stages import told
from spark_jobs.table.delta.answer import answer

COUNTS = ("read", "rows_out", "duplicates", "late", "malformed", "premature", "unaccounted")
COLOURS = {"passed": "green", "failed": "red", "broken": "red"}

Reports = Mapping[tuple[str, int], Report]
"""Pipeline and delivery -> the report of the drain that took it."""


def show_runs(console: Console, reports: Reports) -> None:
    """One line for each pipeline and delivery."""
    table = _table("Where the records went", "pipeline", "delivery")
    for name in (*COUNTS, "state_rows", "seconds"):
        table.add_column(name, justify="right")
    for (pipeline, delivery), report in sorted(reports.items()):
        counts = (told(getattr(report.account, name)) for name in COUNTS)
        seconds = (report.ended_at - report.started_at).total_seconds()
        table.add_row(
            pipeline,
            str(delivery),
            *counts,
            f"{report.state.rows:,}",
            f"{seconds:.1f}",
            style="red" if report.problem or report.account.unaccounted else "",
        )
    console.print(table)


def show_checks(console: Console, reports: Reports) -> None:
    """The checks of each pipeline, as they were after its last delivery, and worse ones of an
    earlier delivery.
    """
    table = _table(
        "What was checked",
        "pipeline",
        "delivery",
        "suite",
        "check",
        "column",
        "severity",
        "outcome",
        "observed",
    )
    last = {pipeline: max(n for name, n in reports if name == pipeline) for pipeline, _ in reports}
    for (pipeline, delivery), report in sorted(reports.items()):
        for check in report.checks:
            if delivery == last[pipeline] or check.outcome != "passed":
                table.add_row(pipeline, str(delivery), *_check(check))
    console.print(table)


def show_repairs(console: Console, repairs: Iterable[Report]) -> None:
    """What was computed again, and how it differed from the table."""
    table = _table("What was computed again", "pipeline", "kind")
    names = ("rows_before", "rows_after", "added", "removed", "changed", "unexplained", "merged")
    for name in ("read", *names, "seconds"):
        table.add_column(name, justify="right")
    for report in repairs:
        if report.change is None:
            continue
        counts = (report.account.read, *(getattr(report.change, name) for name in names))
        seconds = (report.ended_at - report.started_at).total_seconds()
        table.add_row(
            report.pipeline, report.kind, *(f"{count:,}" for count in counts), f"{seconds:.1f}"
        )
    console.print(table)


def show_rows(console: Console, tables: Iterable[Path], rows: int = 3) -> None:
    """Some rows of each table, read without a JVM."""
    for path in tables:
        found = answer(f"SELECT * FROM t LIMIT {rows}", {"t": DeltaTable(path)})
        title = f"{found.num_rows} rows of {path.name}"
        columns = [
            [_cell(value) for value in found.column(name).to_pylist()]
            for name in found.column_names
        ]
        table = _table(title, *found.column_names)
        for row in zip(*columns, strict=True):
            table.add_row(*map(Text, row))
        if (
            table.__rich_measure__(console, console.options.update(max_width=1000)).maximum
            > console.width
        ):
            # Too wide: a line a column, as psql's \\x does.
            table = _table(title, "column", *map(str, range(1, found.num_rows + 1)))
            for name, values in zip(found.column_names, columns, strict=True):
                table.add_row(name, *map(Text, values))
        console.print(table)


def show_verdict(console: Console, reports: Reports, sent: Mapping[int, Mapping[str, int]]) -> bool:
    """Whether the reports agree with the ledger, in a line, or in what they do not."""
    wrong = disagreements(reports, sent)
    for line in wrong:
        console.print(f"[red]✗[/] {escape(line)}")
    if wrong:
        return False
    pipelines = {pipeline for pipeline, _ in reports}
    records = sum(sum(kinds.values()) for kinds in sent.values())
    console.print(
        f"[green]✓[/] The ledger of what was published agrees: {records:,} records read by each "
        f"of {len(pipelines)} "
        f"pipelines, {sum(kinds['malformed'] for kinds in sent.values()):,} malformed, "
        f"{sum(kinds['premature'] for kinds in sent.values()):,} premature, 0 unaccounted."
    )
    return True


def show_proof(console: Console, repairs: Iterable[Report], first: str, end: str) -> bool:
    """Whether each verify among them, of [first, end), found its table as all its records give it,
    in a line; true without one. The numbers are those of `show_repairs`.
    """
    whole = True
    for report in repairs:
        if KINDS[report.kind].writes is not Writes.NOTHING:
            continue
        change = report.change
        if report.problem or change is None or change.differs + change.parts:
            console.print(f"[red]✗[/] {report.pipeline} is not canonical: {change or 'no rows'}")
            whole = False
            continue
        console.print(
            f"[green]✓[/] {report.pipeline} is canonical from {first} to {end}: "
            f"{change.rows_after:,} rows computed again from {report.account.read:,} records; "
            f"{change.differs:,} differ."
        )
    return whole


def disagreements(reports: Reports, sent: Mapping[int, Mapping[str, int]]) -> list[str]:
    """In what the reports differ from the ledger, whose counts by delivery and kind are `sent`.

    Empty is good.
    """
    found = []
    for (pipeline, delivery), report in sorted(reports.items()):
        kinds = sent[delivery]
        account = report.account
        for what, wanted, got in (
            ("records read", sum(kinds.values()), account.read),
            ("malformed", kinds["malformed"], account.malformed),
            ("premature", kinds["premature"], account.premature),
            ("unaccounted", 0, account.unaccounted),
        ):
            if wanted != got:
                found.append(
                    f"{pipeline}, delivery {delivery}: {what} {told(got)}, but the ledger says "
                    f"{wanted:,}"
                )
    return found


def total(reports: Reports, pipeline: str) -> Account:
    """The sum of a pipeline's accounts."""
    return sum(
        (report.account for (name, _), report in reports.items() if name == pipeline), Account()
    )


def _check(check: CheckResult) -> tuple[str, ...]:
    name = check.type.removeprefix("expect_")
    outcome = f"[{COLOURS[check.outcome]}]{check.outcome}[/]"
    failing = (
        f"{check.unexpected:,} failing, for example {check.sample[:40]}" if check.unexpected else ""
    )
    return (
        check.suite,
        name,
        check.column or "",
        check.severity,
        outcome,
        escape(failing or check.observed),
    )


def _table(title: str, *columns: str) -> Table:
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for column in columns:
        table.add_column(column)
    return table


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.1f}"
    if value is None:
        return ""
    return f"{value:%Y-%m-%d %H:%M}" if hasattr(value, "minute") else str(value)
