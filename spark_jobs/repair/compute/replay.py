"""Replay: the canonical result of the steps from a GroupState on.

Spark runs a GroupState as a streaming query only: in a batch query its event-time timers never
fire, and applyInPandasWithState is refused. So each GroupState has a query of its own over its
whole input (one_batch.py); the steps between and behind are batch queries
(steps/canonical/chain.py). So no row is late anywhere, and no watermark passes from one stateful
step to the next.
"""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.repair.compute.one_batch import OneBatch
from spark_jobs.spec import Pipeline
from spark_jobs.steps.canonical.chain import Counted, canonical_output, next_group_state

if TYPE_CHECKING:
    from collections.abc import Mapping

    from upath import UPath


def replay(  # noqa: PLR0913 - the parts of one computation
    spark: SparkSession,
    spec: Pipeline,
    rows: DataFrame,
    sides: Mapping[str, DataFrame],
    first: int,
    root: UPath,
    folder: UPath,
    until: datetime,
    *,
    counted: Counted | None = None,
    moved: bool = False,
) -> DataFrame:
    """The rows that leave the last step. `rows` enter the step `first`, a GroupState, in any order
    and without copies that a Deduplicate before it would drop.

    Each GroupState gets all of its rows before any timer, under watermark 0; then the watermark is
    `until`, or what the newest row leads to if that is later, and its timers fire. What a processor
    yields for times outside of the range is for the caller to leave out.

    `folder` is emptied first: what an earlier try left, which was killed or failed, is never
    continued. The rows that are returned lie in it in part.
    `sides`, `counted`, `moved`: as canonical_output has them.

    Raises SluiceError.
    """
    if folder.exists():
        folder.fs.rm(folder.path, recursive=True)
    # A JVM that has used a state store's path refuses it later, even if it is empty again
    # (STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY).
    attempt = folder / uuid.uuid4().hex[:12]
    index = first
    while index < len(spec.steps):
        query = OneBatch(spark, spec, index, sides, root, attempt / str(index))
        rows = query.output(rows, until)
        following = next_group_state(spec, index + 1)
        rows = canonical_output(rows, spec, sides, index + 1, following, counted, moved=moved)
        index = following
    return rows
