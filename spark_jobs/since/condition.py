"""Condition: what a person calls wrong, asked of a version without Spark."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from spark_jobs.errors import QuestionRefused, SluiceError
from spark_jobs.values.own_columns import DELETED
from spark_jobs.values.python_times import rows_of

if TYPE_CHECKING:
    from spark_jobs.table.port import Table

SHOWN: Final = 10
"""Rows."""
COMPARED: Final = 10_000
"""Rows of a version that those of another are held against."""


class Condition:
    """SQL (DataFusion's) that is true of what is wrong in a table: of a row, or by its aggregates
    of all rows together. `key` is SQL for the rows that are looked at.
    """

    def __init__(self, table: Table, sql: str, key: str = "true") -> None:
        self._sql, self._table = sql, table
        self._names = table.arrow().names
        """Of its columns now."""
        seen = f'"{DELETED}" IS NOT TRUE AND ' if DELETED in self._names else ""
        self._within = f"{seen}({key}\n) IS TRUE"
        """None of these rows is a delete that is remembered."""

    def rows(self, version: int) -> int:
        """Of how many rows it is true at this version; of all together, 1 or 0.

        Raises QuestionRefused if it is no condition of this table; TableChanged for a torn file.
        """
        # No WHERE: delta-rs 1.6 keeps each row where that comes to null. No count(*): it fails
        # over another one.
        asked = f"SELECT ({self._sql}\n) AS wrong FROM t WHERE {self._within}"
        sql = f"SELECT sum(CASE WHEN NOT NOT wrong THEN 1 ELSE 0 END) AS n FROM ({asked})"
        [row] = self._answer(version, sql)
        return int(row["n"] or 0)

    def brought(self, version: int, without: int) -> list[dict[str, Any]]:
        """Some of the rows that it is true of, and that the version `without` has not. None of a
        condition of all rows together.
        """
        names = ", ".join(f'"{name}"' for name in self._names)
        wrong = f"SELECT {names} FROM t WHERE {self._within} AND ({self._sql}\n) IS TRUE"
        with suppress(QuestionRefused):  # a WHERE takes no aggregate
            known = {repr(row) for row in self._answer(without, f"{wrong} LIMIT {COMPARED}")}
            if len(known) < COMPARED:
                found = self._answer(version, f"{wrong} LIMIT {len(known) + SHOWN}")
                return [row for row in found if repr(row) not in known][:SHOWN]
        return []

    def _answer(self, version: int, sql: str) -> list[dict[str, Any]]:
        """Columns that the table has had since are null."""
        has = {*self._table.arrow(version).names}
        name, beside = "t", {}
        if lacks := [name for name in self._names if name not in has]:
            nulls = (f'(SELECT "{n}" FROM now_t WHERE false LIMIT 1) AS "{n}"' for n in lacks)
            sql = f"WITH t AS (SELECT *, {', '.join(nulls)} FROM then_t) {sql}"
            name, beside = "then_t", {"now_t": self._table}
        try:
            return rows_of(self._table.query(sql, name, beside, version))
        except SluiceError:
            raise
        except Exception as error:  # noqa: BLE001 - DataFusion's errors have no common class
            first = str(error).partition("\n")[0]
            raise QuestionRefused.condition_fails(version=version, error=first) from None
