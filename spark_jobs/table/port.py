"""Port: what a pipeline asks of the table that it writes, whatever its format is.

A table has versions: numbers that only grow, one a commit. A layout names the class that keeps it
(spec/table/layout.py); tables.py finds it. Delta is one, in delta/. A writer holds the
pipeline's lease; a reader needs none. Without Spark, until rows are read or written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol

from spark_jobs.errors import CheckpointForeign, TableChanged, TableLacks
from spark_jobs.storage.root.path_forms import sql_table
from spark_jobs.table.entry import Entry, OfBatch

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import pyarrow as pa
    from pyarrow.dataset import Scanner
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType
    from upath import UPath

    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.lease_view import Held
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


RELEASED: Final = "none"
"""The generation of an archive whose topic was made anew: the next one adds its records."""


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


class Size(NamedTuple):
    """Rows of a table that follows a key, as its log says."""

    live: int
    remembered: int
    """Deletes."""
    bytes: int = 0
    """Of the files."""

    @property
    def all(self) -> int:
        return self.live + self.remembered


class Merge(NamedTuple):
    """Rows to merge by their key: the table's columns, and WHOLE boolean. true: the row comes, or
    is replaced whole; false: `anew` alone are; null: the row at this key goes.
    """

    rows: pa.Table
    key: tuple[str, ...]
    anew: tuple[str, ...]
    newest: str = ""
    """The column by which a row counts that has not ended; only these and deletes are met. Empty:
    all are.
    """


class Said(NamedTuple):
    """What a commit says of itself."""

    note: Mapping[str, Any]
    by: str
    """Its transaction."""
    number: int = 0


class Overtaken(Exception):
    """Other writers were faster, each time that it was tried."""


class Unwritten(Exception):
    """The table does not take what is written, whose text says why."""


class Opened(Protocol):
    """A version of a table without Spark, and a commit to that very version: it is refused behind
    any other.
    """

    version: int

    def number(self, by: str) -> int | None:
        """Of that transaction's newest commit."""

    def size(self) -> Size | None:
        """None if the log does not tell of each file."""

    def untried(self) -> Sequence[str]:
        """As the table's, of a merge."""

    def scan(self, columns: Iterable[str]) -> Scanner:
        """These columns of its rows, batch by batch."""

    def overwrite(self, rows: pa.Table, where: str, said: Said) -> None:
        """Replace the rows for which the condition holds by these, for which it holds too."""

    def merge(self, merge: Merge, said: Said) -> None:
        """Without a row, a commit that says this alone."""


class Table(Protocol):
    """A table that can append, and no more: a base for one. What it does not answer otherwise is
    refused by name.
    """

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
        """Make it, without a row, for this generation; at once, or not at all. The holder of
        the lease may have made it meanwhile.
        """

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
        newer: Collection[str] = (),  # noqa: ARG002 - for one that adds columns
        held: Held | None = None,  # noqa: ARG002 - as above
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
            name, wanted = field["name"], field["type"]
            if types.get(name) != wanted and not (name in newer and name not in types):
                actual = (
                    f"the table has it as {types[name]}"
                    if name in types
                    else f"the table has only {', '.join(types)}"
                )
                raise TableChanged.column_unfit(
                    place=self.path,
                    name=name,
                    wanted=wanted,
                    actual=actual,
                    sql=sql_table(self.path),
                )

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

    def sum_of(self, version: int, column: str) -> int | None:  # noqa: ARG002 - a base's answer
        """The sum of a column over the rows that the version wrote; None if nobody can tell."""
        return None

    def added(self, version: int) -> pa.Table | None:  # noqa: ARG002 - a base's answer
        """The rows that the version added, if it did nothing else; None if nobody can tell. In
        memory.
        """
        return None

    def refuse_layout(self, spec: Pipeline, columns: StructType | None = None) -> None:  # noqa: ARG002 - as above
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

    def care(self, spec: Pipeline, needed: Callable[[], Needed]) -> list[Step]:  # noqa: ARG002 - as above
        """What is due: it joins small files, and removes those that nobody needs. Raises
        MaintenanceRefused.
        """
        raise self.lacks("care", "sluice maintain")

    def takes_removals(self) -> bool:
        """Whether rows can be removed from it without Spark."""
        return False

    def remove(
        self,
        where: str,
        held: Held,  # noqa: ARG002 - as above
        said: Mapping[str, Any] | None = None,  # noqa: ARG002 - as above
    ) -> None:
        """Remove the rows for which this SQL (DataFusion's) holds, in a commit that says this.
        Raises LeaseLost, TableContended or MaintenanceRefused.
        """
        raise self.lacks("replace", f"removing rows WHERE {where}")

    def open(self) -> Opened:
        """Its newest version."""
        raise self.lacks("replace", "a commit without Spark")

    def at_newest(self, work: Callable[[Opened], None]) -> None:  # noqa: ARG002 - as above
        """Do the work on its newest version, and anew where another writer was faster. Raises
        Overtaken, Unwritten, TableChanged for a file that is not as the table says, and what the
        work raises.
        """
        raise self.lacks("replace", "a commit without Spark")

    def touched(self, since: int, position: Position, spans: Sequence[Span]) -> bool:  # noqa: ARG002 - as above
        """Whether a later version may have changed a row in these spans, as far as the log alone
        tells: it reads no row. True if the log no longer tells.
        """
        return True

    def live_rows(self, version: int) -> Size | None:  # noqa: ARG002 - as above
        """None if the log does not tell."""
        return None

    def feed(self, version: int) -> pa.RecordBatchReader | None:  # noqa: ARG002 - as above
        """The rows that the version has changed, before and behind it, with `_change_type`. None
        where they cannot be read exactly.
        """
        return None

    def remove_by_spark(self, spark: SparkSession, where: str, said: Mapping[str, Any]) -> bool:  # noqa: ARG002 - as above
        """As `remove`, of a table that only Spark can write, by Spark's SQL. Whether any row went:
        without one there is no commit.
        """
        raise self.lacks("replace", f"removing rows WHERE {where}")

    def untried(self, *, merged: bool = False) -> Sequence[str]:  # noqa: ARG002 - as above
        """Features that it has, and with which replacing rows was not tried; `merged`: by a merge,
        which reads files by itself.
        """
        return ()

    def refuse_unrestorable(self, for_what: str) -> None:
        """Raise TableLacks or MaintenanceRefused if it cannot have the rows of an earlier version
        again, nor be given to another generation.
        """
        self.require("restore", for_what)

    def restores(self, version: int) -> bool:
        """Whether it can have the rows of this version again."""
        return "restore" in self.can and self.is_whole(version)

    def restore(self, version: int, change: str, held: Held) -> None:  # noqa: ARG002 - as above
        """Have the rows of the version again, in one commit that names the change; nothing, if it
        has that commit. If it is at that version, a commit that changes nothing: a batch that comes
        late is refused behind it.

        Raises LookupError if the version is not whole; TableContended, MaintenanceRefused.
        """
        self.require("restore", "a rewind")

    def belong(self, generation: str, held: Held, change: str = "") -> None:  # noqa: ARG002 - as above
        """Give it to this generation, in a commit that names the change. Raises as `restore`."""
        self.require("restore", "a rewind")

    def fence(self, held: Held) -> None:
        """Make what others would still commit to the version before fail. On a disk nobody comes
        late.
        """

    def query(
        self,
        sql: str,  # noqa: ARG002 - as above
        name: str = "t",  # noqa: ARG002 - as above
        beside: Mapping[str, Table] = MappingProxyType({}),  # noqa: ARG002 - as above
        version: int | None = None,  # noqa: ARG002 - as above
    ) -> pa.Table:
        """The answer to SQL (DataFusion's) over the rows of the version, the newest without one, by
        this name, and over the newest rows of other tables by theirs: read without Spark, in
        memory. Raises TableChanged for a file that is not as the table says.
        """
        raise self.lacks("query", "a question that is asked without Spark")

    def opened(self, name: str = "t") -> Callable[[str], pa.RecordBatchReader]:  # noqa: ARG002 - as above
        """Its newest rows now -> the answer over them by this name, part by part, in the order in
        which files have them. It may be asked while another table is written.
        """
        raise self.lacks("query", "a question that is asked without Spark")

    def arrow(self, version: int | None = None) -> pa.Schema:  # noqa: ARG002 - as above
        """The columns of the version, the newest without one, as Arrow has them."""
        raise self.lacks("query", "a question that is asked without Spark")

    def require(self, ability: Ability, for_what: str) -> None:
        """Raise TableLacks without this ability. `for_what` needs it."""
        if ability not in self.can:
            raise self.lacks(ability, for_what)

    def lacks(self, ability: Ability, for_what: str) -> TableLacks:
        """The refusal by name."""
        return TableLacks.ability(
            table=self.path, kind=type(self).__name__, cannot=MEANS[ability], what=for_what
        )
