"""What a repair is asked for, and what it reads."""

from __future__ import annotations

from datetime import datetime

from spark_jobs.errors.base import SluiceError, reason


class RangeInvalid(SluiceError):
    """What a person asked a repair for is not a range, or not one of this kind."""

    code, exit_status = "RANGE_INVALID", 80
    usual_remedy = "Give both ends with a time zone, the end after the start and not in the future."

    @reason(
        "Request: approve is {approve!r}. By the pipeline's spec (ranges.approve) a person "
        "approves every change.",
        "Leave it out.",
    )
    def approve_given(self, approve: object) -> None: ...

    @reason(
        "{pipeline}: the range needs {offsets:,} records, and most_records is {most_records:,}.",
        "Ask for a shorter range, or allow more records.",
    )
    def too_many_records(self, pipeline: object, offsets: int, most_records: int) -> None: ...

    @reason(
        "{pipeline}: keys are given, and its table follows no key.",
        "Give a range: --from and --to.",
    )
    def keys_of_none(self, pipeline: object) -> None: ...

    @reason(
        "{pipeline}: the condition for keys names {odd}. The keys are {keys}.",
        "Name those alone, so that it is true of all changes of a key, or of none.",
    )
    def keys_of_others(self, pipeline: object, odd: object, keys: object) -> None: ...

    @reason(
        "{pipeline}: {rows:,} rows differ, and a swap by key takes {most:,} at most.",
        "Ask for fewer keys. A rebuild computes all of them.",
    )
    def too_many_rows(self, pipeline: object, rows: int, most: int) -> None: ...

    @reason("{pipeline}: the condition for keys is refused: {why}.", "Correct it.")
    def keys_refused(self, pipeline: object, why: object) -> None: ...

    @reason(
        "Request: kind is 'rebuild'. A rebuild computes the whole table, and a backfill of "
        "Airflow has a run for each interval.",
        "Use Trigger > Single Run.",
    )
    def rebuild_by_backfill(self) -> None: ...

    @reason(
        "{pipeline}: the rebuild needs {left:,} records, and most_records is {most_records:,}.",
        "Allow more records.",
    )
    def too_many_for_rebuild(self, pipeline: object, left: int, most_records: int) -> None: ...

    @reason("{subject}: {problems}", "Correct it.")
    def fields_refused(self, subject: object, fields: object, problems: object) -> None: ...


class RangeUnsupported(SluiceError):
    """No range of this pipeline's output can be computed by itself."""

    code, exit_status = "RANGE_UNSUPPORTED", 81
    usual_remedy = "Compute all of it again, as NEXT with a raised state version: `sluice rebuild`."

    @reason(
        "{pipeline}: {rows:,} row(s) in this range belong to sessions that reach outside it, the "
        "first within {needed}. The range would double records or lose them.",
        "Compute a range that covers them: `sluice backfill {pipeline} --from {start} --to {end}`.",
    )
    def session_wider(
        self, pipeline: object, rows: int, needed: object, start: object, end: object
    ) -> None: ...

    @reason(
        "{pipeline}: a session goes on from {start} to {end} at least. ranges.context says that "
        "none is longer than {longest}. Some of its records may not have been read.",
        "Declare a longer ranges.context, which changes no state. Then plan it again.",
    )
    def session_beyond_context(
        self, pipeline: object, start: datetime, end: datetime, longest: object
    ) -> None: ...

    @reason(
        "{pipeline}: a {step} has no late records and no ranges. A change of any time may decide.",
        "Replay quarantined records (`sluice replay {pipeline}`). Or compute keys: `sluice verify "
        "{pipeline} --keys CONDITION`, or backfill. `true` means all of them.",
    )
    def by_keys(self, pipeline: object, step: object) -> None: ...

    @reason(
        "{pipeline}: with missing='keep' a row is of several changes. Without one of them nobody "
        "knows which fields it had set.",
        "Leave out --without-lost, and name keys whose records are there.",
    )
    def folded(self, pipeline: object) -> None: ...

    @reason(
        "{pipeline}: no range of its output can be computed by itself: {why}.",
        "Name a pipeline that reads the topic.",
    )
    def of_an_archive(self, pipeline: object, why: object) -> None: ...

    @reason(
        "{pipeline}: no range of its output can be computed by itself: {why}.",
        "Compute the whole table again: write NEXT in spec.py, with a raised state version, and "
        "run `sluice rebuild {pipeline}`. It reads Kafka, and the archive only if ranges of NEXT "
        "can be computed.",
    )
    def not_by_itself(self, pipeline: object, why: object) -> None: ...


class RangeOpen(SluiceError):
    """Drains still write rows of the range: the watermark has not passed its end."""

    code, exit_status = "RANGE_OPEN", 82
    usual_remedy = "Ask for it again when the watermark has passed its end."

    @reason(
        "{pipeline}: no drain has accounted for a batch yet. There is no row.",
        "Run it first: `sluice drain {pipeline}`.",
    )
    def nothing_accounted(self, pipeline: object) -> None: ...

    @reason(
        "{pipeline}: no drain has committed a batch yet. There is no row to compute again.",
        "Run it first: `sluice drain {pipeline}`.",
    )
    def nothing_committed(self, pipeline: object) -> None: ...

    @reason(
        "{pipeline}: there is no watermark yet. No row is final.",
        "Ask again when drains have read records with later event times.",
    )
    def no_watermark(self, pipeline: object) -> None: ...

    @reason(
        "{pipeline}: drains still write rows of {span}. All before {until} are final, by the "
        "watermark of batch {batch}.",
        "Ask again when the watermark has passed the end. Or ask for a range that ends before.",
    )
    def still_written(
        self, pipeline: object, span: object, until: datetime, batch: object
    ) -> None: ...

    @reason(
        "{pipeline}: the topic's archive alone has records up to {newest}. Drains of NEXT still "
        "write rows that these touch. Rows are final before: {until}.",
        "Run it again when Kafka has had newer records. What is computed stays.",
    )
    def archive_open(self, pipeline: object, newest: datetime, until: object) -> None: ...


class RangeThinned(SluiceError):
    """Kafka has compacted records away that drains read for the range: nobody can prove its rows,
    nor compute them again.
    """

    code, exit_status = "RANGE_THINNED", 91
    usual_remedy = (
        "Ask for a later range. To keep all records from now on, declare Topic(archive=...), or "
        "take `compact` from the topic's cleanup.policy."
    )

    @reason(
        "{pipeline}: compaction has removed {gone} of the records that drains read for these "
        "ranges. Nobody can prove them. The table is as it was.",
    )
    def proof_compacted(self, pipeline: object, gone: object) -> None: ...


class RecordsUnreachable(SluiceError):
    """Records of the range are no longer in Kafka, and in no archive."""

    code, exit_status = "RECORDS_UNREACHABLE", 83
    usual_remedy = "Ask for another range; the line says which."

    @reason(
        "{pipeline}: neither Kafka nor an archive has {count:,} offsets: {places}. Rows may be of "
        "these.",
        "`--without-lost`, on the command line, takes such rows as right. It compares the others.",
    )
    def keys_gone(self, pipeline: object, count: int, places: object) -> None: ...

    @reason(
        "{pipeline}: Kafka has lost {offsets:,} offsets that the former checkpoint has not read. "
        "No drain would bring their rows back.",
        "To lose them: sluice rebuild {pipeline} --back --execute --without-lost.{skip}",
    )
    def gone_since_switch(self, pipeline: object, offsets: int, skip: object) -> None: ...

    @reason(
        "{pipeline}: retention deleted {count:,} records that the live table contains. The "
        "rebuilt table would lack their rows.",
        "To lose them: sluice rebuild {pipeline} --execute --without-lost. The live table keeps "
        "them until you agree to the switch.",
    )
    def gone_since_table(self, pipeline: object, count: int) -> None: ...

    @reason(
        "{pipeline}: {count:,} of the {needed:,} records to read are neither in Kafka nor in an "
        "archive: {places}.",
        "{later} To reach farther back from now on, lengthen the topic's retention, or declare "
        "Topic(archive=...).",
    )
    def gone_from_kafka(
        self, pipeline: object, count: int, needed: int, places: object, later: object
    ) -> None: ...

    @reason(
        "{pipeline}: the table has up to {count:,} records that neither Kafka nor an archive "
        "has. Their event times are unknown: {where}.",
        "Ask for a range outside these times. Or compute it without them, by --without-lost: "
        "their rows may then go.",
    )
    def lost_undated(self, pipeline: object, count: int, where: object) -> None: ...

    @reason(
        "{pipeline}: ops.quarantine no longer has {records:,} replayed records of the range. The "
        "first is of partition {partition} at offset {offset:,}.",
        "Ask for another range. SLUICE_REJECTED_DAYS=forever keeps such records.",
    )
    def replayed_gone(
        self, pipeline: object, records: int, partition: object, offset: int
    ) -> None: ...

    @reason(
        "{pipeline}: Kafka no longer has {count:,} of the {needed:,} offsets that the plan "
        "reads: {places}.",
        "Plan it again: the plan says from when all records can be read. In Airflow, clear the "
        "task `plan` of the run.",
    )
    def gone_since_plan(
        self, pipeline: object, count: int, needed: int, places: object
    ) -> None: ...

    @reason("{lost} Their archive cannot be read: {broken}", "{mend} {remedy}")
    def archive_broken(
        self, lost: object, broken: object, mend: object, remedy: object
    ) -> None: ...


class AccountBehind(SluiceError):
    """A batch is committed and not accounted for yet, so nobody knows which records were late."""

    code, exit_status, retry = "ACCOUNT_BEHIND", 84, True
    usual_remedy = "Let the pipeline's next drain account for it."

    @reason(
        "{pipeline}: batch {batch} is not accounted for yet. Nobody knows which of its records "
        "were late.",
        "Let the next drain account for it: `sluice drain {pipeline}`.",
    )
    def not_accounted(self, pipeline: object, batch: object) -> None: ...
