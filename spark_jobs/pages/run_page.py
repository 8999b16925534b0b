"""Run page: all that is stored of one run, with the commands that follow from it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from spark_jobs.errors import FormatNewer, ReportMissing
from spark_jobs.messages.report import Report, StateUse, parse_report
from spark_jobs.ops import ops_tables
from spark_jobs.ops.accounts import failing_rules
from spark_jobs.ops.history import LINE, batches_of, run_line, sum_of
from spark_jobs.ops.json_of_tables import RunPage, TopicLine
from spark_jobs.ops.next_steps import next_steps
from spark_jobs.ops.or_why import was_told
from spark_jobs.ops.terms import NEWEST, moment
from spark_jobs.ops.views import OF_A_TOPIC
from spark_jobs.pages.check_history import check_lines
from spark_jobs.spec.analysis.ranged import unranged
from spark_jobs.values.spans import MICROSECOND

if TYPE_CHECKING:
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
