"""GroupState in buckets. What it must give is what an Aggregate by the same key gives."""

import sys
from dataclasses import dataclass
from datetime import timedelta

from spark_jobs.spec import Field, GroupState, Pipeline, State
from spark_jobs.spec.output_mode import OutputMode
from tests.spark.properties import tallies
from tests.spark.properties.aggregation import Aggregation
from tests.spark.properties.forms import pipeline
from tests.spark.properties.windows import Window

SUMS = tuple(Field(name=name, type="bigint", required=False) for name in tallies.COLUMNS[1:])
STEP = GroupState(
    form="buckets",
    buckets=3,
    processor="tallies",
    keys=("key",),
    state=SUMS,
    output=(Field(name="key", type="string", required=False), *SUMS),
    time_mode="none",
)


@dataclass(frozen=True)
class Tallies(Aggregation):
    """`tallies`, in update mode."""

    window: Window | None = None
    mode: OutputMode = "update"

    def __str__(self) -> str:
        return "tallies in buckets"

    def spec(self, delay: timedelta, state: State) -> Pipeline:  # noqa: ARG002 - as other forms
        # See group_form.py: neither logic.py nor RocksDB can be had by the usual way.
        sys.modules["spark_jobs.pipelines.tallies.logic"] = tallies
        rocksdb = state.model_copy(update={"provider": "rocksdb"})
        return pipeline("tallies", (STEP,), output_mode=self.mode, state=rocksdb)
