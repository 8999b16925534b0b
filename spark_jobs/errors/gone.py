"""Gone: what a source has no longer as the checkpoint knows it."""

from __future__ import annotations

from spark_jobs.errors.base import SluiceError, reason


class TopicRemade(SluiceError):
    """The topic is not the one that the checkpoint has read: it was deleted and created again."""

    code, exit_status = "TOPIC_REMADE", 22
    usual_remedy = "Read the new topic into a new table: `sluice reset`."

    remade_since_checkpoint = reason(
        "The checkpoint was made from a topic {topic!r} with id {made}. Today's id is {found}: the "
        "topic was deleted and created again. The stored offsets mean other records.",
        "To read the new topic from its beginning, {reset}.",
    )
    remade_since_switch = reason(
        "Topic {topic!r} was deleted and created again since the switch. The former checkpoint "
        "of {pipeline} read the old topic, and cannot go on.",
        "Stay with the live version. Or rebuild the former logic from Kafka, as NEXT.",
    )
    remade_since_table = reason(
        "Topic {topic!r} was deleted and created again since the live table was made. A rebuild "
        "would lose the old topic's rows.",
        "Start again from the new topic: sluice reset {pipeline}",
    )


class RecordsGone(SluiceError):
    """Retention removed records that this checkpoint has not read."""

    code, exit_status = "RECORDS_GONE", 23
    usual_remedy = (
        "Lengthen the retention; or continue without the records: "
        '`on_lost_records="skip"` in the spec.'
    )

    unread_removed = reason(
        "Retention removed records that were never read: {loss}.",
        "Lengthen the topic's retention. To skip the records, set on_lost_records='skip'; or "
        "{reset}.",
    )
    files_went = reason(
        "Files are no longer in {path} whose {count:,} records no batch has read: {names}.",
        "Put them back. To go on without their records, set on_lost_records='skip'.",
    )


class OffsetsWentBack(SluiceError):
    """A partition ends before offsets that the checkpoint has read: the brokers lost records."""

    code, exit_status = "OFFSETS_WENT_BACK", 25
    usual_remedy = "Restore the topic, or a root that is not newer; else `sluice reset`."

    topic_went_back = reason(
        "Topic {topic!r} ends before the checkpoint's offsets: {where}. The brokers lost "
        "records, or somebody restored an older topic. New records at these offsets would be "
        "skipped.",
        "Restore the whole topic, or a root that is not newer than it. To read the topic from "
        "its beginning, {reset}.",
    )
