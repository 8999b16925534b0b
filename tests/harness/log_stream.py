"""Log stream: what a stream over a Delta table reads, by its log alone. It is no Spark: tests/spark/test_published_table.py has one."""

import json
from pathlib import Path
from typing import Any

import deltalake
import pyarrow.parquet as pq


class Stream:
    """Reads as Delta's source does with skipChangeCommits: what is there when it begins, then each
    commit's new files, unless the commit removes rows. Not our code.
    """

    def __init__(self, table: Any) -> None:
        self.folder = Path(str(table))
        self.next = deltalake.DeltaTable(str(table)).version() + 1
        self.passed_over = 0

    def read(self, column: str) -> list[Any]:
        found: list[Any] = []
        while (path := self.folder / f"_delta_log/{self.next:020}.json").exists():
            self.next += 1
            actions = [json.loads(line) for line in path.read_text().splitlines()]
            if any(each["remove"]["dataChange"] for each in actions if "remove" in each):
                self.passed_over += 1
                continue
            for file in (each["add"] for each in actions if "add" in each):
                if file["dataChange"]:
                    found += pq.read_table(self.folder / file["path"])[column].to_pylist()
        return found
