"""Dataflow: what happens to a record from Kafka to the sink, in order. Makes no table, and writes no file.

source -> decode -> classify -> steps before state -> stateful steps -> (the caller gives the rows to the sink)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import DataFrame

from spark_jobs.classify.capture import observe_classified, observe_entered
from spark_jobs.classify.classifier import classify, only_good
from spark_jobs.contract.spec import Pipeline
from spark_jobs.decode.decoder import decode
from spark_jobs.decode.raw_filter import CapturePolicy
from spark_jobs.steps import chain

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.steps.timers import Timers


class Dataflow(NamedTuple):
    """The places on a record's way at which somebody looks. Nothing runs until a DataFrame is written or collected."""

    spec: Pipeline
    classified: DataFrame
    """Every record: the topic's fields, kafka, malformed string and fate string, one of outcome.CLASSIFIED."""
    stateful_input: DataFrame
    """The good records that the Transforms before the first stateful step let through, with kafka."""

    def output(self, root: UPath, timers: Timers) -> DataFrame:
        """The rows for the sink: the stateful input through the first stateful step and all after it."""
        return chain.stateful_output(self.stateful_input, self.spec, root, timers)


def dataflow(records: DataFrame, spec: Pipeline, capture: CapturePolicy | None = None) -> Dataflow:
    """The way of records as source/kafka_source.py gives them: column kafka struct<partition, offset, timestamp, raw>.

    With `capture`, what passes is counted and the rejected records are observed, for the audit; without it, nothing is.
    """
    decoded = decode(records, spec.topic, capture)
    classified = classify(decoded, spec.topic)
    if capture:
        classified = observe_classified(classified, spec)
    stateful_input = chain.stateful_input(only_good(classified, spec.topic), spec)
    if capture:
        stateful_input = observe_entered(stateful_input, spec, capture)
    return Dataflow(spec, classified, stateful_input)
