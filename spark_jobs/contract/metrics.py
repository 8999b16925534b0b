"""The names of what a stateful operator reports of a batch. They are the columns of ops.batches' operators."""

REPORTED = (
    "numRowsTotal", "numRowsUpdated", "numRowsRemoved", "numRowsDroppedByWatermark", "memoryUsedBytes", "allUpdatesTimeMs",
    "allRemovalsTimeMs", "commitTimeMs", "numShufflePartitions", "numStateStoreInstances",
)
"""Of Spark's StateOperatorProgress, by its own names."""
CUSTOM = (
    "numDroppedDuplicateRows", "numRegisteredTimers", "numDeletedTimers", "numValuesRemovedDueToTTLExpiry",
    "rocksdbGetCount", "rocksdbPutCount", "rocksdbGetLatency", "rocksdbPutLatency", "rocksdbLoadLatencyMs",
    "rocksdbCommitFlushLatency", "rocksdbCommitCheckpointLatency", "rocksdbCommitFileSyncLatencyMs", "rocksdbFilesCopied",
    "rocksdbBytesCopied", "rocksdbSstFileSize", "rocksdbTotalBytesRead", "rocksdbTotalBytesWritten",
    "rocksdbPinnedBlocksMemoryUsage", "rocksdbNumInternalColFamiliesKeys",
)
"""Of its customMetrics; null where an operator or its store has no such metric. RocksDB's latencies are milliseconds."""
COUNTS = ("rows_in", "rows_out", "timers_fired", *REPORTED, *CUSTOM)
"""Of one operator in one batch. The first three are Sluice's own: rows that entered and left it, timers that fired."""
