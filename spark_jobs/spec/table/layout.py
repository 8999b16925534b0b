"""Layout: how the files of a pipeline's table lie, and its properties. No row depends on it."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import timedelta
from typing import Annotated, ClassVar, Final, Self

from pydantic import AfterValidator, Field as Described, model_validator

from spark_jobs.spec.columns import ColumnName, Columns, refuse_own, refuse_repeated
from spark_jobs.spec.model import Model, refuse

PARTS: Final = ("date", "boolean", "tinyint", "smallint", "int", "bigint")
"""Types of which a partition keeps every value, dates within the years 1 to 9999 (delta-rs reads no
others). Delta reads an empty text of one as null, so two groups would become one.
"""
AT_LEAST: Final = {
    "delta.deletedFileRetentionDuration": timedelta(days=7),
    "delta.logRetentionDuration": timedelta(days=30),
}
"""Property -> the shortest: Delta's default. Readers of the published table, rewinds and the
account go by what is kept so long.
"""
ALLOWED: Final = {
    "delta.dataSkippingNumIndexedCols": r"-1|\d{1,4}",
    "delta.targetFileSize": r"[1-9]\d{0,9} ?(?:[kmg]?b)?",
    "delta.tuneFileSizesForRewrites": "true|false",
    **dict.fromkeys(AT_LEAST, r"interval \d{1,5} days?"),
}
"""Delta's properties that a spec may set -> the form of their values."""
_SWAPS = "repairs and maintenance write by delta-rs 1.6, which cannot write such a table"
OWNED: Final = {
    "delta.enableChangeDataFeed": "Sluice sets it: checks read what a run changed there",
    "delta.checkpointInterval": "Sluice sets it, for the speed of runs",
    "delta.appendOnly": "repairs, update mode and tables that follow a key replace rows",
    "delta.enableDeletionVectors": _SWAPS,
    "delta.enableRowTracking": _SWAPS,
    "delta.columnMapping.mode": _SWAPS,
    "delta.enableTypeWidening": _SWAPS,
    "delta.checkpointPolicy": _SWAPS,
    "delta.randomizeFilePrefixes": "a rewind looks for files in their partitions' folders",
    "delta.autoOptimize.autoCompact": "it commits behind a batch; `sluice maintain` joins files",
}
"""Delta's properties that a spec may not set -> why."""


def _possible(given: dict[str, str]) -> dict[str, str]:
    for name, value in given.items():
        if name.startswith("sluice."):
            refuse("properties", name, "Sluice writes properties of that name", "Choose another")
        if name.startswith("delta.") and name not in ALLOWED:
            why = OWNED.get(name, "it was not tried with Sluice's commits and repairs")
            refuse("properties", name, why, f"Leave it out. Of Delta's, set {', '.join(ALLOWED)}")
        if not name or not value.strip() or "\n" in name + value:
            refuse("properties", {name: value}, "it is empty or has several lines", "Give one line")
        if name in ALLOWED and not re.fullmatch(ALLOWED[name], value, re.IGNORECASE):
            refuse(
                "properties",
                {name: value},
                "it is no value of this property",
                "Write for example '64mb', '32', 'true' or 'interval 30 days'",
            )
        if (least := AT_LEAST.get(name)) and timedelta(days=int(value.split()[1])) < least:
            refuse(
                "properties",
                {name: value},
                f"Sluice needs what is kept for {least.days} days",
                f"Write 'interval {least.days} days', or more",
            )
    return given


class Layout(Model):
    """How the table's files lie, and its properties."""

    kept_by: ClassVar[str] = "spark_jobs.table.delta.table:Delta"
    """What keeps the table (table/port.py), for `pkgutil.resolve_name`. A layout of another format
    names its own.
    """
    partition_by: tuple[ColumnName, ...] = ()
    """output columns (dates to 9999, integers, booleans) whose values have folders"""
    cluster_by: tuple[ColumnName, ...] = ()
    """output columns that sort appended files, and that `sluice maintain` puts into Z-order"""
    properties: Annotated[dict[str, str], AfterValidator(_possible)] = Described(
        default_factory=dict
    )
    """the table's, of Delta or your own; each run sets them, and leaves earlier ones"""

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        refuse_repeated("partition_by and cluster_by", self.partition_by + self.cluster_by)
        refuse_own("partition_by", self.partition_by + self.cluster_by)
        return self

    def refuse_personal(self, personal: Collection[str]) -> None:
        """Refuse columns that tell of persons and would part the table."""
        if told := [name for name in self.partition_by if name in personal]:
            refuse(
                "layout.partition_by",
                told,
                "it tells of persons, and names of folders would have its values",
                "Part the table by other columns",
            )

    def refuse_unfit(self, columns: Columns, types: dict[str, str]) -> None:
        """Refuse columns that the output has not, or with values that cannot part a table or be
        put in order; as far as columns and types are known.
        """
        if columns is None:
            return
        for field in ("partition_by", "cluster_by"):
            if unknown := [name for name in getattr(self, field) if name not in columns]:
                refuse(
                    f"layout.{field}",
                    unknown,
                    "the output has no such column",
                    f"Use one of {', '.join(columns)}",
                )
        if columns and {*columns} == {*self.partition_by}:
            refuse(
                "layout.partition_by",
                self.partition_by,
                "Delta wants a column in the files too",
                "Leave one out",
            )
        for name in self.partition_by:
            if types.get(name, PARTS[0]) not in PARTS:
                refuse(
                    "layout.partition_by",
                    f"{name} {types[name]}",
                    "a partition of this type may not keep every value",
                    f"Use a column of {', '.join(PARTS)}; or name this one in cluster_by",
                )
        for name in self.cluster_by:
            if "<" in (kind := types.get(name, "")):
                refuse(
                    "layout.cluster_by",
                    f"{name} {kind}",
                    "values of this type have no order",
                    "Use a column without parts",
                )
