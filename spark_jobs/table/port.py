"""Port: what a pipeline asks of the table that it writes, whatever its format is.

A table has versions: numbers that only grow, one a commit. A layout names the class that keeps it,
and tables.py finds that. A writer holds the pipeline's lease; a reader needs none. Without Spark,
until rows are read or written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol

from spark_jobs.errors import CheckpointForeign, TableChanged, TableLacks
from spark_jobs.storage.root.path_forms import sql_table
from spark_jobs.table.entry import Changes, Entry, OfBatch

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType
    from upath import UPath

    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.lease_view import Held
    from spark_jobs.table.entry import Commit
    from spark_jobs.table.open_version import Opened, OpenedBySpark
    from spark_jobs.values.spans import Position, Span

Ability = Literal[
    "add columns", "layout", "merge", "publish", "care", "query", "replace", "restore"
]
"""What a table may be able to do, beside appending rows."""
MEANS: Final[Mapping[Ability, str]] = {
    "add columns": "take columns that it was not made with",
    "layout": "part and sort its files, or have properties",
    "merge": "replace rows by their key",
    "publish": "show judged rows alone, in a second log of the same files",
    "care": "join small files, and remove those that no reader needs",
    "query": "answer SQL without Spark",
    "replace": "replace rows in one commit",
    "restore": "have the rows of an earlier version again",
}
RETENTION: Final = timedelta(days=7)
"""How long files stay that no version needs which may be read."""
Step = tuple[str, Callable[[], object]]
"""What is to be done, in a line, and what does it."""


class Needed(NamedTuple):
    """What care must leave."""

    versions: tuple[int, ...]
    """Versions whose files all stay."""
    since: datetime | None
    """Files that were written later stay too; None if the retention alone says which."""


class Table(Protocol):
    """A base: a table that can append. What it does not answer otherwise is refused by name."""

    can: frozenset[Ability] = frozenset()
    """What it can do beside."""
    path: UPath
    """The folder that is its own."""

    def version(self) -> int:
        """The newest version; -1 before it is made."""

    def identifier(self) -> str:
        """An id that no other table has: one that was dropped and made again has another."""

    def generation(self) -> str | None:
        """The generation of the checkpoint that writes it; None before it is made."""

    def columns(self) -> dict[str, Any]:
        """Column -> its type, as the JSON of Spark's schemas has it."""

    def history(self) -> Iterator[Entry]:
        """Its commits, newest first, as far as they are known, read as they are asked for."""

    def make(self, columns: StructType, spec: Pipeline, generation: str) -> None:
        """Make it, whole or not, without a row. The lease's holder may have made it meanwhile."""

    def exists(self) -> bool:
        """Whether it has been made."""
        return self.version() >= 0

    def holds_rows(self) -> bool:
        """Whether it has a row."""
        return any(entry.rows for entry in self.history())

    def newest_batch(self, owner: str) -> int:
        """The newest batch of this owner that it has; -1 without one. A drain whose commit was
        killed asks this to know whether it was made.
        """
        notes = (entry.note for entry in self.history())
        return max((note["batch"] for note in notes if note.get("sluice") == owner), default=-1)

    def ensure(
        self,
        columns: StructType,
        spec: Pipeline,
        generation: str,
        newer: Collection[str] = (),
        held: Held | None = None,
    ) -> int:
        """Make the table for this generation if it is not there, else verify it. `newer` are fields
        that the spec has since the newest batch: their columns are added. `held` is the lease that
        protects it. Its version.

        Raises CheckpointForeign if another generation wrote it: a new checkpoint on the same table
        would write every row twice. Raises TableChanged, as `refuse_changed`.
        """
        if not self.exists():
            self.make(columns, spec, generation)
        self.refuse_foreign(generation, spec.name)
        self.refuse_changed(columns)
        return self.version()

    def refuse_foreign(self, generation: str, pipeline: str) -> None:
        """Raise CheckpointForeign if another generation wrote it."""
        if (found := self.generation()) != generation:
            raise CheckpointForeign.written_by_other_generation(
                path=self.path, found=found, pipeline=pipeline, generation=generation
            )

    def refuse_changed(self, columns: StructType, newer: Collection[str] = ()) -> None:
        """Raise TableChanged unless the table has each of these columns with its type. It may lack
        the `newer` ones: a run adds them. Further columns of the table stay null.
        """
        types = self.columns()
        for field in columns.jsonValue()["fields"]:
            name, wanted, has = field["name"], field["type"], types.get(field["name"])
            if has == wanted or (has is None and name in newer):
                continue
            actual = f"it as {has}" if has else f"only {', '.join(types)}"
            raise TableChanged.column_unfit(
                place=self.path, name=name, wanted=wanted, actual=f"the table has {actual}",
                sql=sql_table(self.path),
            )  # fmt: skip

    def commit(self, rows: DataFrame, spec: Pipeline, of: OfBatch, held: Held) -> None:
        """Write a batch's rows in one commit that has its note, and is wholly there or not at all,
        wherever the process is killed. A stateful query's rows can be computed once only. Raises
        LeaseLost right before the commit if the lease is lost; TableContended.
        """

    def read(self, spark: SparkSession, version: int) -> DataFrame:
        """All rows of the version, with the table's columns."""

    def written(self, spark: SparkSession, spec: Pipeline, since: int, version: int) -> DataFrame:
        """The rows that versions after `since`, up to `version`, have written and that are in
        `version`, as consumers see them; of a key the last one. All rows of `version` where nobody
        knows which these are. The caller unpersists what it has cached.
        """

    def within(
        self, spark: SparkSession, version: int, position: Position, spans: Sequence[Span]
    ) -> DataFrame:
        """The rows of the version whose position is in one of the spans."""
        return self.read(spark, version).where(position.sql(spans))

    def sum_of(self, version: int, column: str) -> int | None:
        """The sum of a column over the rows that the version wrote; None if nobody can tell."""
        return None

    def added(self, version: int) -> pa.Table | None:
        """In memory the rows that it added, if it did nothing else; None if nobody knows."""
        return None

    def refuse_layout(self, spec: Pipeline, columns: StructType | None = None) -> None:
        """Raise TableChanged if it lies otherwise than the spec declares, and cannot be changed;
        SpecInvalid if the layout does not fit the columns that the query writes.
        """
        layout = spec.layout
        if layout.partition_by or layout.cluster_by or layout.properties:
            self.require("layout", "the spec's layout")

    def is_whole(self, version: int) -> bool:
        """Whether the rows of the version can still be read."""
        return -1 < version <= self.version()

    def whole(self, versions: Collection[int]) -> frozenset[int]:
        """The versions, among these, whose rows can still be read."""
        return frozenset(filter(self.is_whole, versions))

    def has_version(self, version: int) -> bool:
        """Whether it still knows the version."""
        return -1 < version <= self.version()

    def faults(self) -> tuple[str, ...]:
        """What is wrong with files that `care` writes again, a line each."""
        return ()

    def care(self, spec: Pipeline, needed: Callable[[], Needed]) -> list[Step]:
        """What is due to join small files and remove unneeded ones. Raises MaintenanceRefused."""
        raise self.lacks("care", "sluice maintain")

    def takes_removals(self) -> bool:
        """Whether rows can be removed from it without Spark."""
        return False

    def remove(self, where: str, held: Held, said: Mapping[str, Any] | None = None) -> None:
        """Remove the rows for which this SQL (DataFusion's) holds, in a commit that says this.
        Raises LeaseLost, TableContended or MaintenanceRefused.
        """
        raise self.lacks("replace", f"removing rows WHERE {where}")

    def open(self, version: int | None = None) -> Opened:
        """The version, the newest without one. Raises Unread if it has that one no longer."""
        raise self.lacks("query", "a question that is asked without Spark")

    def at_newest(self, work: Callable[[Opened], None]) -> None:
        """Do the work on its newest version, and anew where another writer was faster. Raises
        Overtaken, Unwritten, TableChanged for a file that is not as the table says, and what the
        work raises.
        """
        raise self.lacks("replace", "a commit without Spark")

    def at_newest_by_spark(
        self, spark: SparkSession, commit: Commit, work: Callable[[OpenedBySpark], None]
    ) -> None:
        """As `at_newest`, in Spark; nothing if it has the batch: an answer was lost."""
        raise self.lacks("merge", f"batch {commit.batch_id}")

    def changes(self, since: int) -> Changes | None:
        """What commits may have changed, as the log alone tells: it reads no row. Behind that
        version, or a later one where it is no longer whole. None if nobody knows, or has that one.
        """
        return None

    def feed(self, version: int) -> pa.RecordBatchReader | None:
        """What the version changed, with `_change_type`; None where it cannot be read exactly."""
        return None

    def remove_by_spark(self, spark: SparkSession, where: str, said: Mapping[str, Any]) -> bool:
        """As `remove`, by Spark and its SQL. Whether any row went: else there is no commit."""
        raise self.lacks("replace", f"removing rows WHERE {where}")

    def untried(self, *, merged: bool = False) -> Sequence[str]:
        """Its features with which replacing rows was not tried; `merged`: by a merge."""
        return ()

    def refuse_unrestorable(self, for_what: str) -> None:
        """Raise TableLacks or MaintenanceRefused if it cannot have the rows of an earlier version
        again, nor be given to another generation.
        """
        self.require("restore", for_what)

    def restores(self, version: int) -> bool:
        """Whether it can have the rows of this version again."""
        return "restore" in self.can and self.is_whole(version)

    def restore(self, version: int, change: str, held: Held) -> None:
        """Have the rows of the version again, in one commit that names the change; nothing, if it
        has that commit. If it is at that version, a commit that changes nothing: a batch that comes
        late is refused behind it.

        Raises LookupError if the version is not whole; TableContended, MaintenanceRefused.
        """
        self.require("restore", "a rewind")

    def belong(self, generation: str, held: Held, change: str = "") -> None:
        """Give it to this generation, in a commit that names the change. Raises as `restore`."""
        self.require("restore", "a rewind")

    def fence(self, held: Held) -> None:
        """Make what others would commit to the version before fail. On a disk nobody is late."""

    def query(
        self,
        sql: str,
        name: str = "t",
        beside: Mapping[str, Table] = MappingProxyType({}),
        version: int | None = None,
    ) -> pa.Table:
        """The answer to SQL (DataFusion's) over the rows of the version, the newest without one, by
        this name, and over the newest rows of other tables by theirs: read without Spark, in
        memory. Raises TableChanged for a file that is not as the table says.
        """
        raise self.lacks("query", "a question that is asked without Spark")

    def arrow(self, version: int | None = None) -> pa.Schema:
        """The columns of the version, the newest without one, as Arrow has them."""
        return self.open(version).columns()

    def require(self, ability: Ability, for_what: str) -> None:
        """Raise TableLacks without this ability. `for_what` needs it."""
        if ability not in self.can:
            raise self.lacks(ability, for_what)

    def lacks(self, ability: Ability, for_what: str) -> TableLacks:
        """The refusal by name."""
        return TableLacks.ability(
            table=self.path, kind=type(self).__name__, cannot=MEANS[ability], what=for_what
        )
