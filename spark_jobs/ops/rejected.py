"""Rejected: late and quarantined records for a view, by day and reason, without their bytes."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, NamedTuple

from spark_jobs.ops import ops_tables
from spark_jobs.ops.json_of_tables import OTHERS, Bucket, Rejected, RejectedLine
from spark_jobs.values.spans import EPOCH, MICROSECOND, floor_sql

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.ops.schema import Row

Table = Literal["late", "quarantine"]
REASON = {"late": '"step"', "quarantine": "concat(kind, ': ', reason)"}
"""Table -> SQL of why a record is in it."""
KIND = {"late": '"step"', "quarantine": "kind"}
"""Table -> SQL of what of that is no text of others."""
MISSED = {"late": "watermark_missed", "quarantine": "CAST(NULL AS TIMESTAMP)"}
MOST_REASON = 300
"""Characters of a reason: the decoder's may repeat a value, of any length."""
MOST_DAYS = 1000
"""Of days and reasons together; the rest of each day is one line."""
DAY = timedelta(days=1)


_DAY = f"({floor_sql('CAST(kafka_timestamp AS BIGINT)', DAY)}) / {DAY // MICROSECOND}"
"""Days since 1970. In numbers: delta-rs makes text of times until 2262 only."""


class Only(NamedTuple):
    """Which of them; all where a text is empty."""

    run_id: str = ""
    """The run that accounted for them."""
    kind: str = ""
    """late: the step; quarantine: malformed or premature."""
    reason: str = ""
    """As it is shown. It may quote a value: not asked for who may not see those."""

    @property
    def asked(self) -> dict[str, str]:
        """Name -> text."""
        return {name: text for name, text in self._asdict().items() if text}

    def where(self, pipeline: str, table: Table) -> str:
        """The SQL condition."""
        columns = {"run_id": "run_id", "kind": KIND[table], "reason": _reason(table)}
        asked = {columns[name]: text for name, text in self.asked.items()}
        return ops_tables.equals({"pipeline": pipeline} | asked)


ALL = Only()


def rejected(
    root: UPath, pipeline: str, table: Table, limit: int, offset: int, only: Only = ALL
) -> Rejected:
    """How many records of which kind on which day, and a page of them, newest first."""
    own, reason = only.where(pipeline, table), _reason(table)
    days = ops_tables.query(
        root,
        table,
        f"SELECT {_DAY} AS day, {reason} AS reason, "
        f"count(*) AS records FROM {table} WHERE {own} GROUP BY 1, 2 "
        f"ORDER BY 1 DESC NULLS LAST, 3 DESC, 2 LIMIT {MOST_DAYS}",
    ).to_pylist()
    if len(days) == MOST_DAYS:
        days += _others(root, table, own, days)
    rows = ops_tables.query(
        root,
        table,
        'SELECT topic, generation, partition, "offset", kafka_timestamp, kafka_millis, event_time, '
        f"{reason} AS reason, "
        f"{MISSED[table]} AS watermark_missed, batch_id AS batch, run_id FROM {table} WHERE {own} "
        f'ORDER BY kafka_timestamp DESC NULLS LAST, partition, "offset" DESC LIMIT {limit + 1} '
        f"OFFSET {offset}",
    ).to_pylist()
    return Rejected(
        days=tuple(Bucket(**row | {"day": _date(row["day"])}) for row in days),
        records=tuple(RejectedLine(**row) for row in rows[:limit]),
        more=len(rows) > limit,
    )


def _others(root: UPath, table: Table, own: str, days: list[Row]) -> list[Row]:
    """A reason may quote a value, so that there may be any number."""
    told = Counter[int | None]()
    for row in days:
        told[row["day"]] += row["records"]
    whole = ops_tables.query(
        root,
        table,
        f"SELECT {_DAY} AS day, count(*) AS records FROM {table} WHERE {own} GROUP BY 1 "
        f"ORDER BY 1 DESC NULLS LAST LIMIT {MOST_DAYS}",
    ).to_pylist()
    rest = [(row["day"], row["records"] - told[row["day"]]) for row in whole]
    return [{"day": day, "reason": OTHERS, "records": more} for day, more in rest if more > 0]


def _reason(table: Table) -> str:
    return f"coalesce(left({REASON[table]}, {MOST_REASON}), '')"


def _date(days: int | None) -> str:
    return "" if days is None else f"{EPOCH + days * DAY:%F}"
