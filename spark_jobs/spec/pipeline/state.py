"""State: how Spark stores state."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field as Described

from spark_jobs.spec.model import Model

MOST_PARTITIONS: Final = 10_000
"""State stores that a stateful step may have."""


class State(Model):
    """How Spark stores state. The first batch fixes provider, format and partitions in the
    checkpoint.
    """

    version: int = Described(default=1, ge=1)
    """the v1 in the checkpoint's path; NEXT, the spec that `sluice rebuild` computes, has another
    one than SPEC
    """
    shuffle_partitions: int = Described(default=2, ge=1, le=MOST_PARTITIONS)
    """state stores for each stateful step: about as many as cores, since each costs time in every
    batch; the first batch fixes it, and `sluice repartition` changes it
    """
    provider: Literal["rocksdb", "hdfs"] = "rocksdb"
    """rocksdb keeps state off the JVM's heap; hdfs is faster while all state fits into the heap"""
    budget_rows: int | None = Described(default=None, ge=1)
    """most rows of state before a critical check fails; required if nothing evicts state"""
    budget_bytes: int = Described(default=2**30, ge=1)
    """bytes of memory and disk that the state may use before a check warns"""

    @property
    def format(self) -> int:
        """The version of Spark's state checkpoint format.

        Version 2 gives each checkpoint an id, so that a batch that ran twice cannot leave a mixture
        of two states. Only RocksDB has version 2.
        """
        return 2 if self.provider == "rocksdb" else 1

    @property
    def takes_trials(self) -> bool:
        """Whether a batch may be tried, and then be run with other records.

        Not without those ids: Spark's maintenance may write a snapshot of what the try did. The
        batch then overwrites its changes only, and the next process reads the snapshot.
        """
        return self.provider == "rocksdb"
