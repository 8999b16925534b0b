"""The shipped pipeline, beside one that differs in its checks."""

from spark_jobs.pipelines.departure_delays.spec import SPEC

__all__ = ["SPEC"]
