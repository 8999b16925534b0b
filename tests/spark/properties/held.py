"""What Spark still holds of a pipeline's last step, read from its state store."""

from __future__ import annotations

from pyspark.sql import SparkSession

SAVES = {"stateStoreSave", "sessionWindowStateStoreSaveExec"}


def counts(spark: SparkSession, checkpoint: str) -> list[int]:
    """Each open group's count(*): the first of the measures, and so the first buffer."""
    stores = spark.read.format("state-metadata").load(checkpoint).collect()
    kept = next(store.operatorId for store in stores if store.operatorName in SAVES)
    groups = spark.read.format("statestore").option("operatorId", kept).load(checkpoint)
    buffer = groups.select("value.*").columns.index("count")
    return [row.value[buffer] for row in groups.select("value").collect()]


def waiting(spark: SparkSession, checkpoint: str) -> int:
    """How many events wait in the list of that name, of all keys together."""
    stores = spark.read.format("state-metadata").load(checkpoint).collect()
    kept = next(store.operatorId for store in stores if "transformWithState" in store.operatorName)
    store = spark.read.format("statestore").option("operatorId", kept).option("stateVarName", "waiting")
    return store.load(checkpoint).count()
