"""Bucket: the keys of which one task of Spark makes rows, and what it tells beside the rows: the
fates of their changes, or a key that a person has broken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import functions as F

from spark_jobs.sink.keyed.fates import Fates
from spark_jobs.sink.keyed.standing import key_broken
from spark_jobs.values.own_columns import own

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from spark_jobs.spec.steps.following import Following
    from spark_jobs.table.delta.commit import Commit

IN_A_BUCKET: Final = 100_000
"""Changes and versions that one task makes rows of at a time."""
BUCKET: Final = own("bucket")


def told(fates: Fates, broken: Mapping[str, object] | None, there: pa.Table) -> pa.Table:
    """One row: the fates, or the broken key, with its columns' types in the table."""
    if broken is None:
        return pa.table({name: [count] for name, count in fates._asdict().items()})
    key = {name: pa.array([value], there.schema.field(name).type) for name, value in broken.items()}
    return pa.table(key | {name: pa.array([None], pa.int64()) for name in Fates._fields})


def summed(rows: DataFrame, step: Following, commit: Commit) -> Fates:
    """The fates that these rows tell. Raises TableChanged if one tells a broken key."""
    keys = F.struct(*(F.col(f"`{name}`") for name in step.keys))
    broken = F.max(F.when(F.col(Fates._fields[0]).isNull(), keys))
    (found,) = rows.agg(broken, *(F.sum(name) for name in Fates._fields)).collect()
    if found[0] is not None:
        raise key_broken(str(commit.table), found[0].asDict())
    return Fates(*(count or 0 for count in found[1:]))
