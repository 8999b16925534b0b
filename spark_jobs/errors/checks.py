"""Checks, cases, and what people decide about rows and records."""

from __future__ import annotations

from spark_jobs.errors.base import Quoted, SluiceError, reason

FAILED = "{pipeline}: {count} critical check(s) failed: {failed}."
STAGED = (
    "{pipeline}: {count} critical check(s) of the computed rows failed: {failed}. The table is as "
    "it was."
)
NEWLY_BAD = (
    "Drains took records that are bad by today's spec. A backfill computes the rows without them, "
    "and keeps them in ops.quarantine for a replay: `sluice backfill {pipeline} --from {start} "
    "--to {end}`."
)


class CheckFailed(SluiceError):
    """A critical check failed, of rows or of a run's numbers. Nothing was published."""

    code, exit_status = "CHECK_FAILED", 50
    usual_remedy = (
        "See the failing values with `sluice show checks`; correct the data or the check."
    )

    @reason(
        f"{FAILED} The rows are in table version {{table_version}}, and not published.",
        "See the failing values: sluice show checks {pipeline}. Then correct the rows "
        "in the table and run again. Or publish them as they are: sluice accept {pipeline} "
        "--check NAME --reason TEXT",
    )
    def rows_failed(
        self, pipeline: object, count: object, failed: object, table_version: object
    ) -> None: ...

    @reason(
        f"{FAILED} Too little of what was read was accepted, and nothing is published.",
        "See the reasons: sluice show quarantine {pipeline}, sluice show late {pipeline}. Then "
        "correct the producer or the spec, and run again. Or go on without these records: sluice "
        "accept {pipeline} --check NAME --reason TEXT",
    )
    def records_rejected(self, pipeline: object, count: object, failed: object) -> None: ...

    @reason(
        f"{FAILED} The counts of what was read, kept and written do not agree, and nothing is "
        "published.",
        "See which batch is off: sluice show batches {pipeline}. Look for damage: sluice doctor "
        "{pipeline}. If it finds none, Sluice or Spark has a bug: report it. To publish all the "
        "same: sluice accept {pipeline} --check NAME --reason TEXT",
    )
    def account_failed(self, pipeline: object, count: object, failed: object) -> None: ...

    @reason(
        f"{FAILED} They are about the run, not about single rows. Nothing is published.",
        "See what each is about: sluice show checks {pipeline}. Then mend that, or its bound in "
        "the spec, and run again. Or publish all the same: sluice accept {pipeline} --check NAME "
        "--reason TEXT",
    )
    def state_failed(self, pipeline: object, count: object, failed: object) -> None: ...

    @reason(STAGED, NEWLY_BAD)
    def newly_bad(
        self, pipeline: object, count: object, failed: object, start: object, end: object
    ) -> None: ...

    @reason(
        STAGED,
        "See the failing values above. Correct the data, or the check.",
    )
    def staged_failed(self, pipeline: object, count: object, failed: object) -> None: ...

    @reason(
        STAGED,
        "The lines above say what each is about. No check of the spec is wrong: what differs is "
        "the table, or the records that are left.",
    )
    def change_failed(self, pipeline: object, count: object, failed: object) -> None: ...


class CheckBroken(SluiceError):
    """A check could not be evaluated. The check is wrong; it says nothing about the data."""

    code, exit_status = "CHECK_BROKEN", 51
    usual_remedy = "Correct the check in the spec."

    @reason(
        "{check} with {kwargs} is not an expectation: {error}.",
        "Correct the check in the pipeline's spec.",
    )
    def no_expectation(self, check: object, kwargs: object, error: Quoted) -> None: ...

    @reason(
        "{pipeline}: {name}.",
        "Correct the check in the spec: its column, its arguments or their types.",
    )
    def not_evaluated(self, pipeline: object, name: Quoted) -> None: ...

    @reason(
        "{pipeline}: {checks}.",
        "Correct the check in the pipeline's spec.",
    )
    def state_checks_broken(self, pipeline: object, checks: Quoted) -> None: ...


class DecisionRefused(SluiceError):
    """`sluice accept` named a check that did not fail, or rows that no run has checked; or `sluice
    quarantine` records that cannot be put aside.
    """

    code, exit_status = "DECISION_REFUSED", 52
    usual_remedy = (
        "Run the pipeline, look at `sluice show checks`, and name the checks that failed."
    )

    @reason(
        "--reason is empty. Everybody who reads these rows sees it.",
        'Say why they may be published: --reason "the carrier ZZ is new, and right"',
    )
    def acceptance_unexplained(self) -> None: ...

    @reason(
        "All that {pipeline} has written has passed its checks. There is nothing to accept.",
        "See the results: sluice show checks {pipeline}",
    )
    def nothing_to_accept(self, pipeline: object) -> None: ...

    @reason(
        "Run {run} judged version {table_version} of {pipeline}, with problem {code}. The table "
        "is at version {now}.",
        "Let a run judge it first: sluice drain {pipeline}",
    )
    def verdict_outdated(
        self, pipeline: object, run: object, table_version: object, code: object, now: object
    ) -> None: ...

    @reason(
        "--check is {unknown}. No critical check of that name failed.",
        "Those that failed: {failed}",
    )
    def check_did_not_fail(self, unknown: object, failed: object) -> None: ...

    @reason(
        "{left} failed too. Rows are published only if every failed check is accepted.",
        "Name each: sluice accept {pipeline} {checks}",
    )
    def others_failed(self, left: object, pipeline: object, checks: object) -> None: ...

    @reason(
        "Another run of {pipeline} has ended since this command looked.",
        "See what it says: sluice show checks {pipeline}. Then give the command again.",
    )
    def overtaken(self, pipeline: object) -> None: ...

    @reason(
        "--reason is empty. It is all that ops.quarantine says of these records.",
        'Say why: --reason "the sum of shop 7 overflows"',
    )
    def quarantine_unexplained(self) -> None: ...

    @reason(
        "{pipeline} has no checkpoint. No run has read a record.",
        "Run it: sluice drain {pipeline}",
    )
    def nothing_read(self, pipeline: object) -> None: ...

    @reason(
        "--record is {record!r}, which is no place of a record.",
        "Write {partition}:OFFSET, or {partition}:FIRST-LAST.",
    )
    def no_place(self, record: object, partition: object) -> None: ...

    @reason(
        "Partition {partition} offset {offset} is in batch {batch}. The table has that batch, "
        "and no run has accounted for it.",
        "Let a run account for it first: sluice drain {pipeline}",
    )
    def batch_unaccounted(
        self, partition: object, offset: object, batch: object, pipeline: object
    ) -> None: ...

    @reason(
        "--record is {record!r}. Its last offset is before its first.",
        "Write PARTITION:FIRST-LAST.",
    )
    def last_before_first(self, record: object) -> None: ...

    @reason(
        "--record names {named:,} records. At most {most:,} more can be.",
        "Name fewer of them.",
    )
    def too_many_named(self, named: int, most: int) -> None: ...


class CaseInvalid(SluiceError):
    """A file of cases is invalid."""

    code, exit_status = "CASE_INVALID", 59
    usual_remedy = "Correct the file: docs/operators.md#cases."

    @reason("{file} is no YAML: {error}.")
    def unreadable(self, file: object, error: Quoted) -> None: ...

    @reason("{file}: {case}: {field} is {given}: {right}.")
    def field_wrong(
        self, file: object, case: object, field: object, given: Quoted, right: object
    ) -> None: ...

    @reason(
        "Pipeline {pipeline} has no cases.",
        "Write them into its folder, as one of {names}: docs/operators.md#cases.",
    )
    def file_absent(self, pipeline: object, names: object) -> None: ...

    @reason(
        "Pipeline {pipeline} reads several topics. Cases have records of one topic.",
        "Test it with Kafka.",
    )
    def several_topics(self, pipeline: object) -> None: ...

    @reason(
        "{folder} is not a pipeline of the package {package}.",
        "Name its package in SLUICE_PIPELINES.",
    )
    def foreign(self, folder: object, package: object) -> None: ...

    @reason(
        "git cannot say what has changed since {ref}: {error}.",
        "Name a commit of the pipelines' repository, or leave --changed out.",
    )
    def unknown_ref(self, ref: object, error: object) -> None: ...


class CasesFailed(SluiceError):
    """Cases ended otherwise than their files say."""

    code, exit_status = "CASES_FAILED", 58
    usual_remedy = "Correct the pipeline or the case; the lines above say what differs."

    @reason("{failed} of {all_} cases failed.")
    def some(self, failed: int, all_: int) -> None: ...
