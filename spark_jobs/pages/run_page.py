"""Run page: all that is stored of one run, with the commands that follow from it."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.noted_versions import noted_for
from spark_jobs.errors import FormatNewer, ReportMissing, RootRefused, RootUnreachable, SluiceError
from spark_jobs.messages.report import CheckResult, Report, StateUse, parse_report
from spark_jobs.ops import ops_tables
from spark_jobs.ops.accounts import failing_rules
from spark_jobs.ops.history import LINE, batches_of, run_line, sum_of
from spark_jobs.ops.json_of_tables import (
    BatchLine,
    BesideLine,
    CheckLine,
    RunLine,
    RunPage,
    TopicLine,
)
from spark_jobs.ops.next_steps import next_steps
from spark_jobs.ops.or_why import was_told
from spark_jobs.ops.terms import NEWEST, moment
from spark_jobs.ops.views import OF_A_TOPIC
from spark_jobs.spec.analysis.ranged import unranged
from spark_jobs.spec.analysis.state_checks import state_checks_of
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.spans import MICROSECOND

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upath import UPath

    from spark_jobs.ops.schema import Row
    from spark_jobs.spec import Pipeline


def run_page(
    root: UPath, pipeline: str, run_id: str, spec: Pipeline | None = None
) -> RunPage | None:
    """All that is stored of a run, by its last row; None without one. What is stored is shown also
    where the `spec` does not load.
    """
    of_it = ops_tables.equals({"pipeline": pipeline, "run_id": run_id})
    found = ops_tables.query(
        root,
        "runs",
        f"SELECT {LINE}, report FROM runs WHERE {of_it} ORDER BY ended_at DESC LIMIT 1",
    ).to_pylist()
    if not found:
        return None
    report, lacking = _report(found[0])
    line = run_line(found[0])
    results = report.checks if report else ()
    of_run = tuple(batches_of(root, pipeline, run_id))
    cut_off = bool(of_run) and not (report and report.batches)
    account = report.account if report and not cut_off else sum_of(of_run)
    steps = next_steps(line, results, ranged=spec is None or unranged(spec) is None)
    return RunPage(
        line=line,
        lacking=lacking,
        what=report.problem if report else None,
        account=account,
        cut_off=cut_off,
        bounded_by=report.bounded_by if report else "",
        waiting=report.waiting if report else 0,
        change=report.change if report else None,
        published=was_told(root, pipeline, of_run),
        state=report.state if report else StateUse(),
        seconds=report.seconds if report else {},
        offsets_start=report.offsets_start if report else {},
        offsets_end=report.offsets_end if report else {},
        held_back=report.held_back if report else {},
        batches=of_run,
        topics=_topics([each.topics for each in of_run]),
        rules=failing_rules(each.rules for each in of_run),
        checks=tuple(check_lines(root, line, results, spec)),
        next_command=steps[0].command,
        next_steps=steps,
    )


def _topics(accounts: Iterable[str | None]) -> tuple[TopicLine, ...]:
    counts, newest = dict[str, Counter[str]](), dict[str, int]()
    for account in filter(None, accounts):
        for name, each in json.loads(account).items():
            at = each.pop(NEWEST, None)
            counts.setdefault(name, Counter()).update(each)
            if at is not None:
                newest[name] = max(at, newest.get(name, at))
    first = max(newest.values(), default=0)
    return tuple(
        TopicLine(
            topic=name,
            newest=moment(newest.get(name)),
            behind=(first - newest[name]) * MICROSECOND if name in newest else None,
            **{each: of[each] for each in OF_A_TOPIC if each in TopicLine.model_fields},
        )
        for name, of in counts.items()
    )


def _report(row: Row) -> tuple[Report | None, str | None]:
    """None, and why, if another Sluice wrote it in a form that this one does not read."""
    try:
        return parse_report(row["report"] or "", f"ops.runs, {row['run_id']}"), None
    except (ReportMissing, FormatNewer) as error:
        return None, str(error)


LAST = 20
"""Earlier runs."""
CheckName = tuple[str, str, str | None, str]
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


def _name(row: Row) -> CheckName:
    return row["suite"], row["type"], row["column"], row["severity"]


def _bounds(spec: Pipeline) -> dict[CheckName, tuple[float | None, float | None]]:
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


def versions_of(
    spec: Pipeline | None, root: str, batches: Sequence[BatchLine]
) -> tuple[BesideLine, ...]:
    """As `versions_read`; nothing without a spec, or of a checkpoint that cannot be read."""
    try:
        return versions_read(spec, root, batches) if spec else ()
    except (RootRefused, RootUnreachable):
        raise
    except SluiceError:
        return ()


def versions_read(
    spec: Pipeline, root: str, batches: Sequence[BatchLine]
) -> tuple[BesideLine, ...]:
    """A line for each table and version, in the order of the batches."""
    if not spec.sides or not batches:
        return ()
    paths = Paths(root, spec)
    identity, checkpoint = read_identity(paths), Checkpoint(paths.checkpoint)
    generations = identity.generations if identity else ()
    found: dict[tuple[str, int | None], list[BatchLine]] = defaultdict(list)
    for batch in batches:
        pins = noted_for(batch.batch, checkpoint) if batch.generation in generations else {}
        for name in (side.name for side in spec.sides):
            found[name, pins[name].version if name in pins else None].append(batch)
    return tuple(
        BesideLine(
            table=name,
            version=version,
            batches=tuple(each.batch for each in of),
            unmatched=_sum([(each.unmatched or {}).get(name) for each in of]),
        )
        for (name, version), of in found.items()
    )


def _sum(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
