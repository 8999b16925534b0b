"""The report: the JSON file in which a run tells Airflow what it did.

A run without a report has failed.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from pydantic import Field as Described, ValidationError

from spark_jobs.errors import ReportMissing, SluiceError, Value, by_code
from spark_jobs.messages.change import Change
from spark_jobs.messages.kind import STAGED_KINDS, Kind
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.part import HeldBack, NewKey, Part, UpTo
from spark_jobs.spec.checks.check import Severity
from spark_jobs.storage.root.files import refuse_newer, write_whole
from spark_jobs.storage.root.store import is_remote

if TYPE_CHECKING:
    from upath import UPath

VERSION: Final = 1


class StateUse(Part):
    """The state stores when the run ended, summed over the steps."""

    rows: int = Described(default=0, description="rows in all state stores")
    open: int = Described(
        default=0, description="rows of the last stateful step; for an Aggregate, open groups"
    )
    bytes: int = Described(default=0, description="bytes of memory and of RocksDB's files")
    rows_before: int = Described(default=0, description="rows when the run began")


class CheckResult(Part):
    """The result of one expectation."""

    suite: Literal["output", "state", "change"] = Described(
        description="output: over the rows written; state: over the state metrics; change: over "
        "what a repair would change"
    )
    type: str = Described(description="Great Expectations' name of the expectation")
    column: str | None = Described(
        default=None, description="the column or the state metric; null where the check names none"
    )
    severity: Severity = Described(description="critical, warning or info")
    outcome: Literal["passed", "failed", "broken"] = Described(
        description="broken: it could not be evaluated"
    )
    about: str = Described(default="", description="why the check matters, from the spec")
    observed: str = Described(default="", description="what Great Expectations observed, as JSON")
    unexpected: int = Described(default=0, description="failing rows")
    sample: str = Described(default="", description="at most 20 failing values, as JSON")

    @property
    def name(self) -> str:
        """The expectation, with the column in parentheses if the check names one."""
        return f"{self.type}({self.column})" if self.column else self.type


class Problem(Part):
    """The error that ended a run."""

    code: str = Described(description="the error's code")
    reason: str = Described(default="", description="why, as one word")
    parameters: dict[str, Value] = Described(
        default_factory=dict, description="what the texts are made from, by name"
    )
    what: str = Described(description="what went wrong, and where")
    remedy: str = Described(default="", description="what to do about it")

    @classmethod
    def of(cls, error: SluiceError) -> Problem:
        return cls(
            code=error.code,
            reason=error.reason,
            parameters=error.parameters,
            what=error.what,
            remedy=error.remedy,
        )

    def error(self) -> SluiceError:
        """The error as an instance of its class, by which Airflow decides about a retry. Its texts
        are those that were written: a newer Sluice may have a reason that this one does not know.
        """
        return by_code(self.code)(self.what, self.remedy, self.reason, self.parameters)


class Report(Part):
    """What a run did. Times are UTC; offsets are partition -> next offset to read."""

    report_version: Literal[1] = Described(
        default=VERSION, description="the version of the report's form"
    )
    pipeline: str = Described(description="the pipeline")
    run_id: str = Described(
        description="the run; in Airflow the DAG run's id and the number of the try"
    )
    kind: Kind = Described(default="drain", description="what kind of run")
    status: Literal["succeeded", "failed"] = Described(
        description="succeeded or failed; a failed run has a problem"
    )
    problem: Problem | None = Described(
        default=None, description="the error that ended the run; null where none did"
    )
    started_at: datetime = Described(description="when the run began")
    ended_at: datetime = Described(description="when the run ended")
    query_seconds: float = Described(
        default=0, description="seconds from the query's start to its end"
    )
    processor_seconds: float | None = Described(
        default=None,
        description="processor seconds of driver, JVM and Python's workers, with a cold start; "
        "null if not counted",
    )
    generation: str = Described(
        default="",
        description="the checkpoint's generation; empty where the run ended before it was known",
    )
    batches: tuple[int, ...] = Described(
        default=(), description="batch ids that this run accounted for"
    )
    recovered: tuple[int, ...] = Described(
        default=(),
        description="batch ids of these that an earlier run had committed but not accounted for",
    )
    offsets_start: dict[str, int] = Described(
        default_factory=dict,
        description="partition -> the first offset of the batches accounted for",
    )
    offsets_end: dict[str, int] = Described(
        default_factory=dict, description="partition -> the next offset to read"
    )
    lost: dict[str, tuple[int, int]] = Described(
        default_factory=dict,
        description="partition -> first and last offset of unread records that retention removed "
        "and the run skipped",
    )
    inputs: dict[str, int] = Described(
        default_factory=dict, description="table beside -> its version"
    )
    held_back: dict[str, HeldBack] = Described(
        default_factory=dict,
        description="partition -> what waited behind an open transaction when the run began",
    )
    up_to: UpTo | None = Described(
        default=None, description="the end up to which rows are whole (publish_at); null amid one"
    )
    new_keys: tuple[NewKey, ...] = Described(
        default=(),
        description="keys of the records that no field names, and of which no run has told before",
    )
    bounded_by: str = Described(
        default="",
        description="the limit that ended the run: max_batches or max_minutes; empty where none "
        "did",
    )
    waiting: int = Described(
        default=0, description="offsets that a run with such a limit left for the next run"
    )
    watermark: datetime | None = Described(
        default=None, description="Spark's watermark in the last committed batch"
    )
    open_until: datetime | None = Described(
        default=None, description="the watermark at which the last open window closes"
    )
    account: Account = Described(
        default=Account(), description="what happened to each offset, summed over the batches"
    )
    state: StateUse = Described(
        default=StateUse(), description="the state stores when the run ended"
    )
    table_version_before: int | None = Described(
        default=None,
        description="the last table version that passed the checks; this run checked the rows "
        "written since then",
    )
    table_version: int | None = Described(
        default=None, description="the table's version at the end of the run"
    )
    checks: tuple[CheckResult, ...] = Described(
        default=(), description="every check that was evaluated"
    )
    seconds: dict[str, float] = Described(
        default_factory=dict, description="phase -> seconds; recover and query include audit"
    )
    repair_id: str = Described(default="", description="the repair, if the run staged one")
    change: Change | None = Described(
        default=None, description="what that repair would change in the table"
    )

    @property
    def left_open(self) -> str:
        """One sentence about the windows that are open after the run; empty where none is."""
        if self.open_until is None:
            return ""
        return (
            f"{self.state.open:,} groups are open; the last closes when the watermark reaches "
            f"{self.open_until:%F %H:%M}"
        )

    @classmethod
    def of_failure(
        cls, kind: Kind, pipeline: str, run_id: str, problem: SluiceError, started_at: datetime
    ) -> Report:
        """Of a run that has ended now, with nothing else known."""
        return cls(
            kind=kind,
            pipeline=pipeline,
            run_id=run_id,
            status="failed",
            problem=Problem.of(problem),
            started_at=started_at,
            ended_at=datetime.now(UTC),
        )

    def failing(self, severity: Severity) -> tuple[CheckResult, ...]:
        """The checks of one severity that failed."""
        return tuple(
            check
            for check in self.checks
            if check.outcome == "failed" and check.severity == severity
        )

    def write(self, path: Path | UPath) -> None:
        """Write the report atomically."""
        if not is_remote(str(path)):  # an object store has no folders, and Sluice creates no bucket
            path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, self.model_dump_json(indent=2))


def read_report(path: Path | UPath) -> Report:
    """The report at `path`.

    Raises ReportMissing where there is none, or it does not parse; FormatNewer where its version
    is newer.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise ReportMissing.no_report(path=path) from None
    return parse_report(content, str(path))


def parse_report(content: bytes | str, where: str) -> Report:
    """The report of a file, or of a row of ops.runs: `where` names it in errors.

    Raises ReportMissing where it does not parse; FormatNewer where its version is newer.
    """
    try:
        return _with_outside(Report.model_validate_json(content))
    except ValidationError as error:
        refuse_newer(_version(content), VERSION, where)
        raise ReportMissing.not_a_report(
            where=where, version=VERSION, error=error.errors()[0]["msg"]
        ) from None


def _with_outside(report: Report) -> Report:
    """An older Sluice did not count them: they were what was left. And it told how many late
    records a repair had used, which no repair rejects.
    """
    account = report.account
    if report.kind not in STAGED_KINDS or "outside" in account.model_fields_set:
        return report
    gone = account.malformed + account.premature + account.filtered
    found = {"late": 0, "outside": max(0, account.read - gone - account.accepted)}
    return report.model_copy(update={"account": account.model_copy(update=found)})


def _version(report: bytes | str) -> object:
    try:
        content = json.loads(report)
    except ValueError:
        return None
    return content.get("report_version") if isinstance(content, dict) else None
