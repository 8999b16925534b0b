"""Rows where: which rows, of no table yet, a condition in DataFusion's SQL is true of."""

from __future__ import annotations

import tempfile
from typing import Final

import deltalake
import pyarrow as pa

from spark_jobs.storage.root.path_forms import delta_path
from spark_jobs.table.delta.answer import answer
from spark_jobs.table.delta.door import open_table
from spark_jobs.values.own_columns import own

_NUMBER: Final = own("number")


def rows_where(rows: pa.Table, condition: str) -> list[int]:
    """The numbers of the rows, from 0, for which the condition is true. DataFusion's SQL asks Delta
    tables alone, so the rows are one for this long, in a folder of this user's.
    """
    numbered = rows.append_column(_NUMBER, pa.array(range(rows.num_rows), pa.int64()))
    with tempfile.TemporaryDirectory() as folder:
        deltalake.write_deltalake(delta_path(folder), numbered, mode="append")
        table = open_table(folder)
        found = answer(f'SELECT "{_NUMBER}" FROM t WHERE ({condition}\n)', {"t": table})
    numbers: list[int] = found[_NUMBER].to_pylist()
    return numbers
