"""What every step knows of itself, without Spark. What it is in Spark: spark_jobs/steps."""

from __future__ import annotations

from abc import abstractmethod
from typing import Literal, NamedTuple

from spark_jobs.contract.columns import Columns
from spark_jobs.contract.model import Model
from spark_jobs.contract.windows import Window

EvictedBy = Literal["watermark", "processor", "nothing"]


class Balance(NamedTuple):
    """How the account holds the rows that entered a step against those that left it."""

    counted_in: Literal["rows", "groups"]
    """What Spark's metrics count of the step: in state, and as dropped behind the watermark."""
    drops_duplicates: bool
    """Whether rows in, less the duplicates that Spark counts, are rows out."""
    only_fewer: bool
    """Whether a batch's rows leave at once and not from state, at most one for each that enters."""
    several_per_key: bool
    """Whether several rows may leave for one key in a batch, of which update mode writes the last."""


class StepBase(Model):
    """The base of all steps. All of it is abstract: a step that leaves a fact out cannot be made."""

    @property
    @abstractmethod
    def evicted_by(self) -> EvictedBy:
        """What removes rows from its state."""

    @property
    @abstractmethod
    def rows_per_record(self) -> int:
        """How many rows of state one record can make, at most; 0 without state."""

    @property
    @abstractmethod
    def update_key(self) -> tuple[str, ...] | None:
        """The output's columns by which update mode merges into the table; () for one row in all; None where it cannot."""

    @property
    @abstractmethod
    def balance(self) -> Balance:
        """How the account balances it."""

    @property
    @abstractmethod
    def logic(self) -> str | None:
        """The name in the pipeline's logic.py that it runs, if any."""

    @property
    @abstractmethod
    def grouping_window(self) -> Window | None:
        """The window of the event time by which it groups, if any: it closes when the watermark passes its end."""

    @property
    @abstractmethod
    def endless(self) -> bool:
        """Whether Spark would run batches without data for ever."""

    @property
    @abstractmethod
    def needs_rocksdb(self) -> bool:
        """Whether Spark runs it on RocksDB alone."""

    @abstractmethod
    def state_key(self, columns: Columns) -> Columns:
        """The columns of its state's key, given those that enter; () without state, None where only Spark can know them."""

    @abstractmethod
    def columns_after(self, columns: Columns) -> Columns:
        """The columns that leave it, given those that enter. Refuses names that do not enter."""

    @abstractmethod
    def types_after(self, types: dict[str, str]) -> dict[str, str]:
        """The types of the columns that leave it, by name, given those that enter; of those that are known without Spark."""

    @abstractmethod
    def time_after(self, event_time: str | None) -> str | None:
        """The column that is the event time of the rows that leave it, if any."""
