"""Check history: each check of a run with what it observed in earlier runs, and its bound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from spark_jobs.messages.report import CheckResult
from spark_jobs.ops import ops_tables
from spark_jobs.ops.json_of_tables import CheckLine, RunLine
from spark_jobs.spec.analysis.state_checks import state_checks_of

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.ops.schema import Row
    from spark_jobs.spec import Pipeline

LAST = 20
"""Earlier runs."""
Name = tuple[str, str, str | None, str]
"""Suite, type, column and severity. Two checks may share the first three; else one check is the
same in another run, whatever its severity was.
"""
NO_BOUNDS: Final = (None, None)


def check_lines(
    root: UPath, line: RunLine, results: Iterable[CheckResult], spec: Pipeline | None
) -> Iterator[CheckLine]:
    """Each check with what it observed in runs before this one. A `spec` that does not load has no
    bounds to show.
    """
    rows = ops_tables.query(
        root,
        "checks",
        'SELECT suite, type, "column", severity, observed, unexpected, run_id FROM (SELECT *, '
        'row_number() OVER (PARTITION BY suite, type, "column", severity '
        "ORDER BY checked_at DESC) AS place "
        f"FROM checks WHERE {ops_tables.equals({'pipeline': line.pipeline})} "
        f"AND checked_at < TIMESTAMP '{line.started_at.isoformat()}') WHERE place <= {LAST} "
        "ORDER BY checked_at DESC",
    ).to_pylist()
    bounds = _bounds(spec) if spec else {}
    results = [*results]
    names = [(each.suite, each.type, each.column) for each in results]
    for result in results:
        name = (result.suite, result.type, result.column, result.severity)
        # A row that has none is of either.
        alike = [row for row in rows if _name(row)[:3] == name[:3]]
        if names.count(name[:3]) > 1:
            alike = [row for row in alike if row["severity"] in {None, result.severity}]
        before = alike[:LAST]
        yield CheckLine(
            result=result,
            history=tuple(row["observed"] or "" for row in before),
            runs=tuple(row["run_id"] or "" for row in before),
            unexpected=tuple(row["unexpected"] or 0 for row in before),
            least=bounds.get(name, NO_BOUNDS)[0],
            bound=bounds.get(name, NO_BOUNDS)[1],
        )


def _name(row: Row) -> Name:
    return row["suite"], row["type"], row["column"], row["severity"]


def _bounds(spec: Pipeline) -> dict[Name, tuple[float | None, float | None]]:
    return {
        ("state", check.type, column, check.severity): (
            _number(check.kwargs.get("min_value")),
            _number(check.kwargs.get("max_value")),
        )
        for check in state_checks_of(spec)
        for column in check.columns[:1]
    }


def _number(bound: object) -> float | None:
    return float(bound) if isinstance(bound, int | float) else None
