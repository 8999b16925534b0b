"""INT96: files as plain Spark writes them, with times of years far from ours, without a JVM."""

from datetime import UTC, datetime
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq

from spark_jobs.table.delta import rewrite
from spark_jobs.table.delta.delta_log import Log

TIMES = [
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(1500, 2, 28, 23, 59, 59, 999999, tzinfo=UTC),
    datetime(2024, 2, 29, 12, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
]
DAY = 86_400_000_000
PARTS = ["a b", "c"]


def _int96(at: datetime) -> bytes:
    """Parquet's: nanoseconds of the day, and the Julian day."""
    micros = (at - datetime(1970, 1, 1, tzinfo=UTC)) // (TIMES[0].resolution)
    days, rest = divmod(micros, DAY)
    return (rest * 1000).to_bytes(8, "little") + (days + 2_440_588).to_bytes(4, "little")


def as_spark(place: Path, rows: pa.Table, name: str = "at") -> None:
    """Write a file as Spark does. pyarrow makes its INT96 from nanoseconds, which years far from
    ours are not: so it writes marks, and their bytes are exchanged for the true ones.
    """
    marks = [datetime(2001, 1, 1 + n, tzinfo=UTC) for n in range(len(TIMES))]
    mark = dict(zip(TIMES, marks, strict=True))
    column = pa.array([mark[at] for at in rows[name].to_pylist()], pa.timestamp("us", "UTC"))
    pq.write_table(
        rows.set_column(rows.schema.get_field_index(name), name, column),
        place,
        use_deprecated_int96_timestamps=True,
        compression="none",
        write_statistics=False,
        store_schema=False,
    )
    content = place.read_bytes()
    for at, instead in mark.items():
        content = content.replace(_int96(instead), _int96(at))
    place.write_bytes(content)


def persons_table(path: Path) -> None:
    """A table of two parts with a file by delta-rs and a person's for each."""
    for part in PARTS:
        rows = pa.table(
            {
                "part": [part] * 4,
                "n": [1, 2, 3, 4],
                "at": pa.array(TIMES, pa.timestamp("us", "UTC")),
            }
        )
        deltalake.write_deltalake(path, rows, mode="append", partition_by=["part"])
    log = Log.of(path)
    said = {"timestamp": 1, "operation": "UPDATE", "engineInfo": "Apache-Spark/4.2.0"}
    actions = [{"commitInfo": said}]
    for n, file in enumerate(log.replay(log.newest).added.values()):
        folder, _, _ = file["path"].rpartition("/")
        made = f"{folder}/part-0000{n}-00000000-0000-4000-8000-00000000000{n}.c000.snappy.parquet"
        place = path / rewrite.unquote(made)
        rows = pa.table({"n": [5, 6, 7, 8], "at": pa.array(TIMES, pa.timestamp("us", "UTC"))})
        as_spark(place, rows)
        add = {**file, "path": made, "size": place.stat().st_size}
        actions.append({"add": {name: add[name] for name in add if name != "stats"}})
    assert log.put(log.newest + 1, actions)
