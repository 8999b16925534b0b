"""What a repair has computed, and its exchange."""

from __future__ import annotations

from spark_jobs.errors.base import SluiceError, reason


class StagingStale(SluiceError):
    """What was computed no longer fits the table: its rows changed, or its checkpoint did."""

    code, exit_status, retry = "STAGING_STALE", 85, True
    usual_remedy = "Plan and compute it again."

    @reason(
        "{pipeline}: {counted:,} records were malformed or premature when the rows were "
        "computed, and {found:,} when they were read again to be kept: Kafka, or the archive, "
        "has removed records meanwhile.",
        "Plan it again.",
    )
    def bad_records_gone(self, pipeline: object, counted: int, found: int) -> None: ...

    @reason(
        "{pipeline}: a reset or a rewind has begun another generation since the plan.",
        "Plan it again.",
    )
    def generation_changed(self, pipeline: object) -> None: ...

    @reason(
        "{pipeline}: its spec or its code changed since the plan.",
        "Plan it again.",
    )
    def spec_changed_since_plan(self, pipeline: object) -> None: ...

    @reason(
        "repair {repair} of {pipeline} is {state} already.{told}",
        "To compute its ranges once more, plan another one: in Airflow, clear the task `plan` "
        "of the run.",
    )
    def repair_ended(
        self, repair: object, pipeline: object, state: object, told: object
    ) -> None: ...

    @reason(
        "repair {repair} was staged again since its rows were read.",
        "Try again: then the new rows go in.",
    )
    def staged_again(self, repair: object) -> None: ...

    @reason(
        "the rows of the range in {table}, as they were at version {version} when they were "
        "compared, {how}.",
        "Nothing was written. Compute the range again.",
    )
    def rows_changed(self, table: object, version: object, how: object) -> None: ...

    @reason(
        "repair {repair} was computed for another state of the table: {why}.",
        "Compute the range again.",
    )
    def table_moved_on(self, repair: object, why: object) -> None: ...

    @reason(
        "{table} has the columns {columns}, and repair {repair} was computed with {computed}.",
        "Compute it again.",
    )
    def columns_changed(
        self, table: object, columns: object, repair: object, computed: object
    ) -> None: ...

    @reason(
        "{rows} and {changes} do not belong together: {error}.",
        "Compute the range again.",
    )
    def staging_damaged(self, rows: object, changes: object, error: object) -> None: ...

    @reason(
        "{pipeline}: its spec or its code changed since repair {repair} was computed, so its "
        "rows may be others than a drain's.",
        "Compute the range again. In Airflow, clear the task `plan` of the run.",
    )
    def spec_changed_since_stage(self, pipeline: object, repair: object) -> None: ...

    @reason(
        "{pipeline}: topic {name!r} has id {found}, and the repair was planned for {planned}: "
        "it was deleted and created again, so the offsets mean other records.",
        "Plan it again: the line then says what can be done.",
    )
    def topic_remade(
        self, pipeline: object, name: object, found: object, planned: object
    ) -> None: ...


class ChangeUnexplained(SluiceError):
    """A repair would change rows that no late or replayed record explains."""

    code, exit_status = "CHANGE_UNEXPLAINED", 86
    usual_remedy = "Find what changed the rows in the log of the stage, or ask for a backfill."


class RepairOverlapped(SluiceError):
    """A later repair has changed rows of the same range."""

    code, exit_status = "REPAIR_OVERLAPPED", 87
    usual_remedy = "Undo the later one first."

    @reason(
        "repair {later} has replaced rows of {span} in table version {version}, after those of "
        "repair {repair} were compared.",
        "Compute the range again; or undo the later one first: sluice undo {pipeline} {later}",
    )
    def later_repair(
        self, later: object, span: object, version: object, repair: object, pipeline: object
    ) -> None: ...


class ApprovalMissing(SluiceError):
    """The change waits for a person's approval."""

    code, exit_status = "APPROVAL_MISSING", 88
    usual_remedy = "Approve it in Airflow, or with `--yes` on the command line."

    @reason(
        "repair {repair} of {pipeline} changes {unexplained} rows that no record explains, or "
        "is one of those that a person approves; nobody has.",
        "Approve it in Airflow, or give the same command again on the command line.",
    )
    def not_approved(self, repair: object, pipeline: object, unexplained: object) -> None: ...


class RepairUnknown(SluiceError):
    """There is no repair with this id, or what it staged is gone."""

    code, exit_status = "REPAIR_UNKNOWN", 89
    usual_remedy = "`sluice show repairs` lists them."

    @reason(
        "there is no plan at {path}.",
        "Plan it again: `sluice repair {pipeline}`.",
    )
    def plan_absent(self, path: object, pipeline: object) -> None: ...

    @reason(
        "{path} {wrong}.",
        "Compute the ranges again: sluice repair {pipeline}",
    )
    def staged_unreadable(self, path: object, wrong: object, pipeline: object) -> None: ...


class SwapRefused(SluiceError):
    """What was staged cannot be put into the table, or taken back: it was rejected or ended, or
    only Spark can write the table.
    """

    code, exit_status = "SWAP_REFUSED", 90
    usual_remedy = "Do what the line says; the table is as it was."

    @reason(
        "{place} has {unknown}, and a repair is written without Spark.",
        "Remove it: ALTER TABLE {sql} DROP FEATURE {first}",
    )
    def feature_unwritable(
        self, place: object, unknown: object, sql: object, first: object
    ) -> None: ...

    @reason(
        "{path} cannot take the rows of repair {repair}: {error}",
        "Nothing was written. Compute the range again; if the line is about a feature of the "
        "table, remove that feature.",
    )
    def rows_refused(self, path: object, repair: object, error: object) -> None: ...

    @reason(
        "a swap of repair {repair} of {pipeline} has begun, so it is too late for a No.",
        "In Airflow, clear the task `approve`: it asks nobody, and `swap` completes it. Then "
        "take the rows back: `sluice undo {pipeline} {repair}`.",
    )
    def swap_begun(self, repair: object, pipeline: object) -> None: ...

    @reason(
        "repair {repair} of {pipeline} is {state}: none of its rows is in the table.",
        "See the repairs: sluice show repairs --pipeline {pipeline}",
    )
    def nothing_swapped_in(self, repair: object, pipeline: object, state: object) -> None: ...

    @reason(
        "{what}: {answer}, and the table stays as it is.",
        "If that is right, nothing is left to do. To be asked again, {again}",
    )
    def answered_no(self, what: object, answer: object, again: object) -> None: ...

    @reason(
        "repair {repair} is of the kind {kind}, of which no row is swapped in.",
        "See what it found: sluice show repairs --pipeline {pipeline}",
    )
    def kind_never_swaps(self, repair: object, kind: object, pipeline: object) -> None: ...

    @reason(
        "{what}.",
        "{upper}{again}",
    )
    def repair_ended(self, what: object, upper: object, again: object) -> None: ...

    @reason(
        "repair {repair} of {pipeline} is of ranges, and since it was computed the spec says "
        "that none can be computed by itself: {why}.",
        "If that is right, nothing is left to do: the table stays as it is. Otherwise let the "
        "spec have again what it had, and swap it in: in Airflow, clear the task `approve`.",
    )
    def ranges_unsupported_now(self, repair: object, pipeline: object, why: object) -> None: ...
