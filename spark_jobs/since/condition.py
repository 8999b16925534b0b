"""Condition: what a person calls wrong, asked of a version without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spark_jobs.errors import QuestionRefused
from spark_jobs.values.own_columns import DELETED, OF_A_KEY

if TYPE_CHECKING:
    from spark_jobs.table.port import Table

SHOWN: Final = 10
"""Rows."""
COMPARED: Final = 10_000
"""Rows of a version that those of another are held against."""


class Condition(NamedTuple):
    """SQL (DataFusion's) that is true of what is wrong: of a row, or by its aggregates of all."""

    sql: str
    key: str = "true"
    """SQL for the rows that are looked at."""

    def rows(self, table: Table, version: int) -> int:
        """Of how many rows it is true at this version; of all together, 1 or 0.

        Raises QuestionRefused if it is none for this table.
        """
        # No WHERE: a condition that DataFusion finds to be null would keep each row.
        asked = f"SELECT ({self.sql}\n) AS wrong FROM t WHERE {self._within(table)}"
        sql = f"SELECT count(*) FILTER (WHERE NOT NOT wrong) AS n FROM ({asked})"
        try:
            [row] = _answer(table, version, sql)
        except Exception as error:  # noqa: BLE001 - DataFusion's errors have no common class
            first = str(error).partition("\n")[0]
            raise QuestionRefused.condition_fails(version=version, error=first) from None
        return int(row["n"])

    def is_of_rows(self, table: Table, version: int) -> bool:
        """Whether it is true of a row, and not of all together: a WHERE takes no aggregate."""
        try:
            _answer(table, version, f"SELECT 1 FROM t WHERE ({self.sql}\n) LIMIT 0")
        except Exception:  # noqa: BLE001 - as above
            return False
        return True

    def shown(self, table: Table, version: int, without: int) -> list[dict[str, Any]]:
        """Some of the rows that it is true of, and that the version `without` has not. Of a
        condition that is_of_rows.
        """
        names = ", ".join(f'"{n}"' for n in table.arrow(version).names if n not in OF_A_KEY)
        wrong = f"SELECT {names} FROM t WHERE {self._within(table)} AND ({self.sql}\n) IS TRUE"
        known = {repr(row) for row in _answer(table, without, f"{wrong} LIMIT {COMPARED}")}
        if len(known) == COMPARED:
            return []
        found = _answer(table, version, f"{wrong} LIMIT {len(known) + SHOWN}")
        return [row for row in found if repr(row) not in known][:SHOWN]

    def _within(self, table: Table) -> str:
        """SQL for the rows that are looked at: none is a delete that is remembered."""
        seen = f'"{DELETED}" IS NOT TRUE AND ' if DELETED in table.columns() else ""
        return f"{seen}({self.key}\n) IS TRUE"


def _answer(table: Table, version: int, sql: str) -> list[dict[str, Any]]:
    """Columns that the table has had since are null."""
    has = {*table.arrow(version).names}
    lacks = [name for name in table.arrow().names if name not in has]
    if not lacks:
        rows: list[dict[str, Any]] = table.query(sql, version=version).to_pylist()
        return rows
    nulls = ", ".join(f'(SELECT "{n}" FROM now_t WHERE false LIMIT 1) AS "{n}"' for n in lacks)
    whole = f"WITH t AS (SELECT *, {nulls} FROM then_t) {sql}"
    rows = table.query(whole, "then_t", {"now_t": table}, version).to_pylist()
    return rows
