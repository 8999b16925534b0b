"""Archive care: the step of `sluice maintain` that removes records which a topic's archive need not
keep any longer.

Of each partition it removes the oldest offsets, up to the first record that is to be kept: so what
an archive has of a partition stays one range. It notes what goes before it removes anything: a kill
in between leaves an archive that has more than it says.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.admin.intent import Step
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.notes.removed import note_removed
from spark_jobs.table.tables import table_of
from spark_jobs.values.spans.span_sql import microseconds

if TYPE_CHECKING:
    from spark_jobs.storage.lease_view import Held
    from spark_jobs.storage.root.paths import Paths
    from spark_jobs.table.port import Table


class _Old(NamedTuple):
    """The first records of a partition."""

    topic_id: str
    partition: int
    stop: int
    """The first offset that stays."""
    records: int


def kept_steps(paths: Paths, before: datetime) -> Iterator[Step]:
    """A step, if the archive has records with a Kafka timestamp before this time
    ahead of all others of their partition. One whose timestamp is no time stays: how old it is
    nobody knows.
    """
    if (table := table_of(paths)).exists() and (old := _old(table, before)):
        records = sum(each.records for each in old)
        what = f"remove {records:,} records of {paths.table} from before {before:%F %H:%M}"
        yield Step(what, partial(_remove, paths, old))


def _old(table: Table, before: datetime) -> list[_Old]:
    # In numbers: delta-rs compares times in nanoseconds, and stops at one of the year 10000.
    recent = f"CAST(kafka_timestamp AS BIGINT) >= {microseconds(before)}"
    kept = f'CASE WHEN kafka_timestamp IS NULL OR {recent} THEN "offset" END'
    sql = (
        f'WITH ends AS (SELECT topic_id, "partition", coalesce(min({kept}), max("offset") + 1) '
        'AS stop FROM t GROUP BY topic_id, "partition") '
        'SELECT t.topic_id, t."partition", ends.stop, count(*) AS records FROM t JOIN ends '
        'ON t.topic_id = ends.topic_id AND t."partition" = ends."partition" '
        'AND t."offset" < ends.stop GROUP BY 1, 2, 3 ORDER BY 1, 2'
    )
    return [_Old(**row) for row in table.query(sql).to_pylist()]


def _remove(paths: Paths, old: list[_Old], held: Held) -> None:
    known = read_identity(paths)
    note_removed(
        paths,
        {
            each.partition: [(0, each.stop)]
            for each in old
            if known is not None and each.topic_id == known.topic_id
        },
        held,
    )
    where = " OR ".join(
        f"(topic_id = '{each.topic_id}' AND \"partition\" = {each.partition} "
        f'AND "offset" < {each.stop})'
        for each in old
    )
    table_of(paths).remove(where, held)
