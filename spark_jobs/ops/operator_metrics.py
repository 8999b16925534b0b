"""The metrics of one stateful operator in one batch, name -> meaning and unit: the fields of
ops.batches' operators.
"""

from __future__ import annotations

OWN = {
    "rows_in": "rows that entered the step",
    "rows_out": "rows that left the step",
    "timers_fired": "timers that fired; null where the step has none",
}
"""Counted by Sluice."""
REPORTED = {
    "numRowsTotal": "rows in the state stores after the batch: keys, groups, or rows of all state "
    "variables; of a GroupState in buckets its keys",
    "numRowsUpdated": "rows that the batch wrote into the state",
    "numRowsRemoved": "rows that the batch removed from the state",
    "numRowsDroppedByWatermark": "late rows that Spark dropped; an Aggregate counts groups of them",
    "memoryUsedBytes": "bytes of memory that the state stores use",
    "allUpdatesTimeMs": "task milliseconds for updates",
    "allRemovalsTimeMs": "task milliseconds for removals",
    "commitTimeMs": "task milliseconds for commits of the state",
    "numShufflePartitions": "partitions of the state",
    "numStateStoreInstances": "state stores that were opened",
}
"""Fields of Spark's StateOperatorProgress, under Spark's names."""
CUSTOM = {
    "numDroppedDuplicateRows": "duplicates that a Deduplicate dropped",
    "numRegisteredTimers": "timers that the processor registered",
    "numDeletedTimers": "timers deleted by the processor, or by Spark after they fired",
    "numValuesRemovedDueToTTLExpiry": "values removed because their TTL had passed",
    "rocksdbGetCount": "reads of a key",
    "rocksdbPutCount": "writes of a key",
    "rocksdbGetLatency": "milliseconds for reads of a key",
    "rocksdbPutLatency": "milliseconds for writes of a key",
    "rocksdbLoadLatencyMs": "milliseconds for loading a version of the state",
    "rocksdbCommitFlushLatency": "commit milliseconds for writing memory to files",
    "rocksdbCommitCheckpointLatency": "commit milliseconds for RocksDB's local snapshot",
    "rocksdbCommitFileSyncLatencyMs": "commit milliseconds for copying files into the checkpoint",
    "rocksdbFilesCopied": "files copied into the checkpoint",
    "rocksdbBytesCopied": "bytes copied into the checkpoint",
    "rocksdbSstFileSize": "bytes of all SST files of the state",
    "rocksdbTotalBytesRead": "bytes read by reads of a key",
    "rocksdbTotalBytesWritten": "bytes written by writes of a key",
    "rocksdbPinnedBlocksMemoryUsage": "bytes of blocks that its cache cannot evict",
    "rocksdbNumInternalColFamiliesKeys": "rows that Spark keeps for itself: of timers, "
    "TTLs and lists' lengths",
}
"""Entries of its customMetrics; null where the operator or its state store has no such metric."""
COUNTS = {**OWN, **REPORTED, **CUSTOM}
"""All metrics."""
