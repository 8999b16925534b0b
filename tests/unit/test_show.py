"""The ops tables as a person reads them."""

import io
from pathlib import Path

import pytest
from rich.console import Console
from upath import UPath

from spark_jobs import ops
from spark_jobs.show import Table, view

OPERATOR = {"step": 1, "kind": "deduplicate", "rows_in": 1240, "rows_out": 1200, "numRowsTotal": 5000}


def text(root: Path, table: Table, pipeline: str | None = None) -> str:
    out = io.StringIO()
    Console(width=240, file=out).print(view(str(root), table, pipeline, 5))
    return out.getvalue()


@pytest.mark.parametrize("table", Table)
def test_a_root_that_nobody_wrote_to_shows_empty_tables(tmp_path: Path, table: Table) -> None:
    assert f"{table}, newest first" in text(tmp_path, table)


def test_each_operator_of_a_batch_is_a_line_counted_as_explain_counts_steps(tmp_path: Path) -> None:
    rows = [{"pipeline": "mine", "generation": "g", "batch_id": batch, "operators": operators}
            for batch, operators in ((1, [OPERATOR, OPERATOR | {"step": 2, "kind": "aggregate"}]), (2, None), (3, [OPERATOR]))]
    ops.append(UPath(tmp_path), "batches", rows)
    lines = [line for line in text(tmp_path, Table.operators, "mine").splitlines() if "mine" in line and "│" in line]
    assert len(lines) == 3
    assert all("1,240" in line and "5,000" in line for line in lines)
    assert sum("aggregate" in line and "│ 3 " in line for line in lines) == 1
