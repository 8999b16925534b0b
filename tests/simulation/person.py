"""Person: what stands in for plain Spark. It edits a row of a table as Spark does by its defaults:
the row's file is written anew, with times as INT96, in one commit. A MERGE, which shuffles, gives
the row a file of its own.
"""

import json
import os
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from spark_jobs.errors import TableContended
from tests.simulation.log import READ, entries
from tests.simulation.model import Edit
from tests.simulation.rows import row_of


def edit(table: Path, edit: Edit) -> None:
    """Nothing without such a row. Raises TableContended if another writer was faster."""
    log = table / "_delta_log"
    version = max(int(commit.stem) for commit in log.glob("*.json"))
    said_by = {"timestamp": 0, "operation": edit.by, "operationParameters": {}}
    actions: list[dict[str, Any]] = [{"commitInfo": said_by}]
    for path, parts in entries(table, version).items():
        rows = _plain(pq.read_table(table / path, partitioning=None))
        if "true" not in parts.values() and pc.any(which := _which(rows, edit)).as_py():
            made = _edited(rows, which, edit)
            apart = [made.filter(which), made.filter(pc.invert(which))]
            files = apart if edit.by == "MERGE" else [made]
            actions.append({"remove": _gone(path, parts)})
            actions += [{"add": _put(table, path, parts, each)} for each in files if each.num_rows]
    if len(actions) == 1:
        return
    said = log / f".{uuid.uuid4()}"
    said.write_text("\n".join(map(json.dumps, actions)))
    try:
        os.link(said, log / f"{version + 1:020}.json")
    except FileExistsError:
        raise TableContended("another was faster") from None
    finally:
        said.unlink()


def _plain(rows: pa.Table) -> pa.Table:
    """Without delta-rs's views of text."""
    text = {pa.string_view(): pa.string()}
    fields = [each.with_type(text.get(each.type, each.type)) for each in rows.schema]
    return rows.cast(pa.schema(fields))


def _which(rows: pa.Table, edit: Edit) -> pa.ChunkedArray:
    key = row_of(edit.key, 0)
    times = rows["windowEnd"].cast(READ.field("windowEnd").type)
    at_time = pc.equal(times, pa.scalar(key["windowEnd"], times.type))
    return pc.fill_null(pc.and_(at_time, pc.equal(rows["shop"], key["shop"])), fill_value=False)


def _edited(rows: pa.Table, which: pa.ChunkedArray, edit: Edit) -> pa.Table:
    for name, value in (("sales", edit.sales), ("shop", edit.shop)):
        if value is not None:
            at = rows.column_names.index(name)
            new = pa.scalar(value, rows[name].type)
            rows = rows.set_column(at, rows.field(name), pc.if_else(which, new, rows[name]))
    return rows


def _gone(path: str, parts: dict[str, str]) -> dict[str, Any]:
    return {"path": path, "dataChange": True, "deletionTimestamp": 0, "partitionValues": parts}


def _put(table: Path, path: str, parts: dict[str, str], rows: pa.Table) -> dict[str, Any]:
    """A file beside that one."""
    folder, slash, _ = path.rpartition("/")
    new = f"{folder}{slash}part-00000-{uuid.uuid4()}.c000.snappy.parquet"
    pq.write_table(rows, table / new, use_deprecated_int96_timestamps=True, store_schema=False)
    size, stats = (table / new).stat().st_size, json.dumps({"numRecords": rows.num_rows})
    come = {"path": new, "partitionValues": parts, "size": size, "modificationTime": 0}
    return come | {"dataChange": True, "stats": stats}
