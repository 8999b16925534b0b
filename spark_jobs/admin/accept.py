"""Accept: a person decides that rows may be published although a critical check failed.

The decision is a row in ops.checks.
"""

from __future__ import annotations

from datetime import UTC, datetime

from spark_jobs.admin.intent import Intent, after_what_was_begun
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.notes.cursor import Cursor, read_cursor
from spark_jobs.checkpoint.notes.published import publisher
from spark_jobs.errors import DecisionRefused
from spark_jobs.journal.change import Change, Facts, Scene
from spark_jobs.journal.runner import carry_out, leased
from spark_jobs.messages.report import CheckResult, Report, parse_report
from spark_jobs.messages.stages import check_line
from spark_jobs.messages.withheld import check_for_tasks
from spark_jobs.ops import ops_tables
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import Pipeline
from spark_jobs.storage.object_store import require_writable
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table import history
from spark_jobs.table.tables import table_of

ACCEPTED = "accepted"
"""The outcome in ops.checks of a failed check that a person accepted; `about` has the reason,
`run_id` who it was.
"""


IN_OPS_RUNS = "the report of the last run in ops.runs"


class Accept(Facts):
    """What it needs to say that a person has accepted failed checks."""

    generation: str
    table_version: int
    checks: tuple[CheckResult, ...]
    reason: str
    by: str
    at: datetime
    cursor: Cursor
    """As it is behind it."""


def accept(
    spec: Pipeline, settings: Settings, names: tuple[str, ...], reason: str, by: str
) -> Intent:
    """Let what the last run checked pass, though the critical checks in `names` failed.

    Publish tells consumers, with the decision.

    `names`: each failed critical check, as `sluice show checks` has it: its type, or its
    type(column). Raises DecisionRefused if no run has failed by its checks last, if the table has
    changed since, or if the names are not those that failed.
    """
    paths = Paths(settings.root, spec)
    who = f"sluice accept by {by}"
    if first := after_what_was_begun(paths, who, lambda: accept(spec, settings, names, reason, by)):
        return first
    cursor = read_cursor(paths.cursor)
    report = _last_verdict(paths, spec.name, cursor)
    accepted = _named(report, names, spec.name)
    if not reason.strip():
        raise DecisionRefused.acceptance_unexplained()

    def execute() -> tuple[str, ...]:
        require_writable(paths)
        with leased(paths, who) as held:
            if read_cursor(paths.cursor) != cursor:
                raise DecisionRefused.overtaken(pipeline=spec.name)
            passed = {
                "judged": cursor.audited,
                "judged_table_version": report.table_version,
                "judged_generation": report.generation or "",
                "open_records": None,
            }
            facts = Accept(
                generation=report.generation or "",
                table_version=report.table_version or 0,
                checks=accepted,
                reason=reason,
                by=by,
                at=datetime.now(UTC),
                cursor=cursor.model_copy(update=passed),
            )
            carry_out(ACCEPT, facts, paths, held, who)
        told = publisher(paths)
        return (f"table version {report.table_version} counts as passed. {told}",)

    return Intent(
        (
            f"{spec.name}: accept table version {report.table_version}, which run {report.run_id} "
            "judged",
            *(check_line(check_for_tasks(check)) for check in accepted),
            f"reason: {reason}",
        ),
        execute,
    )


def _last_verdict(paths: Paths, pipeline: str, cursor: Cursor) -> Report:
    known = read_identity(paths)
    rows = ops_tables.query(
        paths.root,
        "runs",
        # One that was refused, or failed in its query, has no version.
        f"SELECT report FROM runs WHERE pipeline = '{pipeline}' AND table_version IS NOT NULL "
        "ORDER BY ended_at DESC",
    ).to_pylist()
    reports = (parse_report(row["report"], IN_OPS_RUNS) for row in rows)
    ours = known.generations if known else ()
    report = next((each for each in reports if each.generation in ours), None)
    if known is None or report is None or cursor.judged == cursor.audited:
        raise DecisionRefused.nothing_to_accept(pipeline=pipeline)
    code = report.problem.code if report.problem else "none"
    now, judged = table_of(paths).version(), report.table_version
    if (
        code != "CHECK_FAILED"
        or report.generation != known.generation
        or judged is None
        or judged > now
        or (judged < now and history.rows_changed(table_of(paths), judged, now))
    ):
        raise DecisionRefused.verdict_outdated(
            pipeline=pipeline,
            run=report.run_id,
            table_version=report.table_version,
            code=code,
            now=now,
        )
    return report


def _named(report: Report, names: tuple[str, ...], pipeline: str) -> tuple[CheckResult, ...]:
    """All failed critical checks must be named, and nothing else. Raises DecisionRefused."""
    failed = report.failing("critical")
    unknown = [name for name in names if not any(name in {c.name, c.type} for c in failed)]
    if unknown:
        raise DecisionRefused.check_did_not_fail(
            unknown=", ".join(unknown), failed=", ".join(check.name for check in failed)
        )
    left = [check.name for check in failed if not {check.name, check.type} & set(names)]
    if left:
        raise DecisionRefused.others_failed(
            left=", ".join(left),
            pipeline=pipeline,
            checks=" ".join(f"--check '{check.name}'" for check in failed),
        )
    return failed


def record(facts: Accept, scene: Scene) -> None:
    """Write the decision to ops.checks, in place of what an earlier try wrote."""
    key: dict[str, str | int] = {
        "pipeline": scene.paths.pipeline,
        "generation": facts.generation,
        "run_id": f"accepted by {facts.by}",
        "table_version": facts.table_version,
    }
    said = {"outcome": ACCEPTED, "about": facts.reason, "checked_at": facts.at}
    rows = [{**key, **check.model_dump(), **said} for check in facts.checks]
    ours = ops_tables.equals({**key, "outcome": ACCEPTED})
    ops_tables.replace(scene.paths.root, "checks", rows, ours, scene.held)


def move_cursor(facts: Accept, scene: Scene) -> None:
    """Let the rows count as passed."""
    path = scene.paths.cursor
    facts.cursor.over(path).put(path, scene.held)


ACCEPT = Change(
    "accept",
    Accept,
    lambda facts: f"the acceptance of table version {facts.table_version}",
    (record, move_cursor),
)
