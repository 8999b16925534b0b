"""What a repair is asked for, and what it reads."""

from __future__ import annotations

from spark_jobs.errors.base import SluiceError, reason


class RangeInvalid(SluiceError):
    """What a person asked a repair for is not a range, or not one of this kind."""

    code, exit_status = "RANGE_INVALID", 80
    usual_remedy = "Give both ends with a time zone, the end after the start and not in the future."

    approve_given = reason(
        "Request: approve is {approve!r}. By the pipeline's spec (ranges.approve) a person "
        "approves every change.",
        "Leave it out.",
    )
    too_many_records = reason(
        "{pipeline}: the range needs {offsets:,} records, and most_records is {most_records:,}.",
        "Ask for a shorter range, or allow more records: `--most-records`.",
    )
    keys_of_none = reason(
        "{pipeline}: keys are given, and its table follows no key.",
        "Give a range: --from and --to.",
    )
    keys_of_others = reason(
        "{pipeline}: the condition for keys names {odd}. The keys are {keys}.",
        "Name those alone, so that it is true of all changes of a key, or of none.",
    )
    too_many_rows = reason(
        "{pipeline}: {rows:,} rows differ, and a swap by key takes {most:,} at most.",
        "Ask for fewer keys. A rebuild computes all of them.",
    )
    keys_refused = reason("{pipeline}: the condition for keys is refused: {why}.", "Correct it.")
    rebuild_by_backfill = reason(
        "Request: kind is 'rebuild'. A rebuild computes the whole table, and a backfill of "
        "Airflow has a run for each interval.",
        "Use Trigger > Single Run.",
    )
    too_many_for_rebuild = reason(
        "{pipeline}: the rebuild needs {left:,} records, and most_records is {most_records:,}.",
        "Allow more records.",
    )
    fields_refused = reason("{subject}: {problems}", "Correct it.", unsaid=("fields",))


class RangeUnsupported(SluiceError):
    """No range of this pipeline's output can be computed by itself."""

    code, exit_status = "RANGE_UNSUPPORTED", 81
    usual_remedy = "Compute all of it again, as NEXT with a raised state version: `sluice rebuild`."

    session_wider = reason(
        "{pipeline}: {rows:,} row(s) in this range belong to sessions that reach outside it, the "
        "first within {needed}. The range would double records or lose them.",
        "Compute a range that covers them: `sluice backfill {pipeline} --from {start} --to {end}`.",
    )
    session_beyond_context = reason(
        "{pipeline}: a session goes on from {start} to {end} at least. ranges.context says that "
        "none is longer than {longest}. Some of its records may not have been read.",
        "Declare a longer ranges.context, which changes no state. Then plan it again.",
    )
    by_keys = reason(
        "{pipeline}: a {step} has no late records and no ranges. A change of any time may decide.",
        "Replay quarantined records (`sluice replay {pipeline}`). Or compute keys: `sluice verify "
        "{pipeline} --keys CONDITION`, or backfill. `true` means all of them.",
    )
    rows_there = reason(
        "{pipeline} reads a table, which has its quarantined rows still: none is to be replayed.",
        "Correct the spec; then compute their range: `sluice backfill {pipeline} --from ... --to "
        "...` reads the table as it is.",
    )
    folded = reason(
        "{pipeline}: with missing='keep' a row is of several changes. Without one of them nobody "
        "knows which fields it had set.",
        "Leave out --without-lost, and name keys whose records are there.",
    )
    excised_stay = reason(
        "Excised records stay in the rows of {pipeline}. No range of it can be computed by itself.",
        "Compute it again, as NEXT with a raised state version: `sluice rebuild` leaves the "
        "records out.",
    )
    of_an_archive = reason(
        "{pipeline}: no range of its output can be computed by itself: {why}.",
        "Name a pipeline that reads the topic.",
    )
    not_by_itself = reason(
        "{pipeline}: no range of its output can be computed by itself: {why}.",
        "Compute the whole table again: write NEXT in spec.py, with a raised state version, and "
        "run `sluice rebuild {pipeline}`. It reads Kafka, and the archive only if ranges of NEXT "
        "can be computed.",
    )


class RangeOpen(SluiceError):
    """Drains still write rows of the range: the watermark has not passed its end."""

    code, exit_status = "RANGE_OPEN", 82
    usual_remedy = "Ask for it again when the watermark has passed its end."

    nothing_accounted = reason(
        "{pipeline}: no drain has accounted for a batch yet. There is no row.",
        "Run it first: `sluice drain {pipeline}`.",
    )
    nothing_committed = reason(
        "{pipeline}: no drain has committed a batch yet. There is no row to compute again.",
        "Run it first: `sluice drain {pipeline}`.",
    )
    no_watermark = reason(
        "{pipeline}: there is no watermark yet. No row is final.",
        "Ask again when drains have read records with later event times.",
    )
    still_written = reason(
        "{pipeline}: drains still write rows of {span}. All before {until} are final, by the "
        "watermark of batch {batch}.",
        "Ask again when the watermark has passed the end. Or ask for a range that ends before.",
    )
    archive_open = reason(
        "{pipeline}: the topic's archive alone has records up to {newest}. Drains of NEXT still "
        "write rows that these touch. Rows are final before: {until}.",
        "Run it again when Kafka has had newer records. What is computed stays.",
    )


class RecordsUnreachable(SluiceError):
    """Records of the range are no longer in Kafka, and in no archive."""

    code, exit_status = "RECORDS_UNREACHABLE", 83
    usual_remedy = "Ask for another range; the line says which."

    keys_gone = reason(
        "{pipeline}: neither Kafka nor an archive has {count:,} offsets: {places}. Rows may be of "
        "these.",
        "`--without-lost`, on the command line, takes such rows as right. It compares the others.",
    )
    gone_since_switch = reason(
        "{pipeline}: Kafka has lost {offsets:,} offsets that the former checkpoint has not read. "
        "No drain would bring their rows back.",
        "To lose them: sluice rebuild {pipeline} --back --execute --without-lost.{skip}",
    )
    gone_since_table = reason(
        "{pipeline}: retention deleted {count:,} records that the live table contains. The "
        "rebuilt table would lack their rows.",
        "To lose them: sluice rebuild {pipeline} --execute --without-lost. The live table keeps "
        "them until you agree to the switch.",
    )
    gone_from_kafka = reason(
        "{pipeline}: {count:,} of the {needed:,} records to read are neither in Kafka nor in an "
        "archive: {places}.",
        "{later} To reach farther back from now on, lengthen the topic's retention, or declare "
        "Topic(archive=...).",
    )
    files_went = reason(
        "{pipeline}: {path} no longer has {names}, with records that are read again.",
        "Put the files back, as they were; or ask for a range that needs none of them.",
    )
    lost_undated = reason(
        "{pipeline}: the table has up to {count:,} records that neither Kafka nor an archive "
        "has. Their event times are unknown: {where}.",
        "Ask for a range outside these times. Or compute it without them, by --without-lost: "
        "their rows may then go.",
    )
    replayed_gone = reason(
        "{pipeline}: ops.quarantine no longer has {records:,} replayed records of the range. The "
        "first is of partition {partition} at offset {offset:,}.",
        "Ask for another range. SLUICE_REJECTED_DAYS=forever keeps such records.",
    )
    gone_since_plan = reason(
        "{pipeline}: Kafka no longer has {count:,} of the {needed:,} offsets that the plan "
        "reads: {places}.",
        "Plan it again: the plan says from when all records can be read. In Airflow, clear the "
        "task `plan` of the run.",
    )
    archive_broken = reason("{lost} Their archive cannot be read: {broken}", "{mend} {remedy}")


class AccountBehind(SluiceError):
    """A batch is committed and not accounted for yet, so nobody knows which records were late."""

    code, exit_status, retry = "ACCOUNT_BEHIND", 84, True
    usual_remedy = "Let the pipeline's next drain account for it."

    not_accounted = reason(
        "{pipeline}: batch {batch} is not accounted for yet. Nobody knows which of its records "
        "were late.",
        "Let the next drain account for it: `sluice drain {pipeline}`.",
    )
    rows_wait = reason(
        "{pipeline}: rows of {name} that its last run has noted are not drained yet. A repair "
        "would write them, and the next drain once more.",
        "Drain first: `sluice drain {pipeline}`.",
    )
