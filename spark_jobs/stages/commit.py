"""Commit: a batch's rows and its transaction id in one Delta commit.

Through Delta's own transaction instead of `write.option("txnAppId", ...)`: that option makes Delta read its log in a Spark job
before each write, to find the last id, which the sink knows already. It costs as much as the rest of a small batch.

Source: OptimisticTransaction.writeFiles and .commit, as DeltaSink.addBatchWithStatusImpl of Delta 4.4 uses them.
"""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import DataFrame


def append(rows: DataFrame, path: str, owner: str, batch_id: int, note: dict[str, Any]) -> None:
    """Append, under the transaction id (owner, batch_id), with `note` as the commit's userMetadata.

    Fails with Delta's ConcurrentTransactionException where another writer has committed under the same owner meanwhile.
    """
    spark = rows.sparkSession
    jvm: Any = spark._jvm  # noqa: SLF001 - Delta's transaction has no Python form
    delta = jvm.org.apache.spark.sql.delta
    some, nothing = jvm.scala.Option.apply, jvm.scala.Option.empty()

    transaction = delta.DeltaLog.forTable(spark._jsparkSession, path).startTransaction()  # noqa: SLF001
    transaction.readTxn().addOne(owner)
    files = transaction.writeFiles(rows._jdf)  # noqa: SLF001
    mark = delta.actions.SetTransaction(owner, batch_id, nothing)
    appending = jvm.org.apache.spark.sql.streaming.OutputMode.Append()
    what = getattr(delta, "DeltaOperations$StreamingUpdate")(appending, owner, batch_id, some(json.dumps(note)))
    transaction.commit(files.appended(mark), what)
