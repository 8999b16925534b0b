"""Starting: from which records of an archive on a rebuild wants them: `Topic.starting` of NEXT."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from spark_jobs.repair.offsets.archived import archive_paths
from spark_jobs.spans.span import EPOCH
from spark_jobs.table.delta.answer import answer
from spark_jobs.table.delta.door import is_table, open_table

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.source.micro_batch import Offsets
    from spark_jobs.spec import Topic

MILLISECOND: Final = timedelta(milliseconds=1)


def since(root: UPath, topic: Topic, topic_id: str) -> Offsets:
    """Partition -> the first offset in the archive that is not before `Topic.starting`, as Kafka
    finds it: by Kafka's timestamps; nothing of a partition that has none.
    """
    assert topic.starting is not None
    starting = (topic.starting - EPOCH) // MILLISECOND
    path = archive_paths(root, topic).table
    if not is_table(path):
        return {}
    table = open_table(path)
    millis = "CAST(kafka_timestamp AS BIGINT) / 1000"
    if "kafka_millis" in {field.name for field in table.schema().fields}:
        millis = f"coalesce(kafka_millis, {millis})"
    sql = (
        'SELECT "partition", min("offset") AS first FROM archived '
        f"WHERE topic_id = '{topic_id}' AND {millis} >= {starting} GROUP BY 1"
    )
    return {row["partition"]: row["first"] for row in answer(sql, {"archived": table}).to_pylist()}
