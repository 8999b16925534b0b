"""The facts that every step declares, without Spark. Its Spark code is in spark_jobs/steps."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self, TypeVar

from spark_jobs.spec.columns import Columns, Origins
from spark_jobs.spec.fields.field import Field
from spark_jobs.spec.model import Model
from spark_jobs.spec.ranges import Ranges
from spark_jobs.spec.side import SideTable
from spark_jobs.spec.sql import Expression, SqlText, sql_texts
from spark_jobs.spec.steps.expires import Expires, Variable
from spark_jobs.spec.windows import Window
from spark_jobs.values.gap import Gap
from spark_jobs.values.spans import MICROSECOND, Position, Span, Times

if TYPE_CHECKING:
    from spark_jobs.spec.topic import Topic

EvictedBy = Literal["watermark", "processor", "nothing"]


class Balance(NamedTuple):
    """How the account compares the rows that entered a step with the rows that left it."""

    counted_in: Literal["rows", "groups"]
    """The unit of Spark's metrics of the step: of its state, and of what the watermark drops."""
    drops_duplicates: bool
    """Whether rows out = rows in - the duplicates that Spark counts."""
    only_fewer: bool
    """Whether each row that enters makes at most one row, which leaves in the same batch."""
    several_per_key: bool
    """Whether several rows of one key may leave in a batch. Update mode then writes the last one.
    """
    inside: tuple[str, ...] = ()
    """The observations of its rows behind its own Deduplicates, of a step that takes inputs apart:
    their rows, and not those out, are rows in - duplicates.
    """


class Pairs(NamedTuple):
    """The records of one input in the rows of a step that takes inputs apart."""

    columns: Mapping[str, str]
    """Column of a row that leaves -> the record's column that it is."""
    waits: timedelta
    """How far the watermark is past a record's event time when it can find no other any more."""
    alone: bool
    """Whether it leaves then, if it found none."""


class Bucketed(NamedTuple):
    """A state that keeps many keys in one row of Spark's."""

    buckets: int
    """How many buckets the keys are put into."""
    keys: tuple[str, ...]
    state: tuple[Field, ...]
    """The columns of a key's state."""


Known = TypeVar("Known")


class Step(Model):
    """One of the steps below, or a class of your own.

    A fact has the answer of a step without state. What is abstract has no such answer: a class
    without it cannot be constructed.
    """

    kind: str
    """Its name."""
    stateful: bool
    """Whether Spark keeps state."""
    operator: ClassVar[str]
    """The class that runs it in Spark (steps/operator.py), as module:name. It is imported where
    Spark runs.
    """
    canonical: ClassVar[str | None] = None
    """The function that gives its rows where all records are there at once, likewise
    (steps/canonical/chain.py). None of a step that is no batch query.
    """

    @property
    @abstractmethod
    def described(self) -> str:
        """What it does, as a sentence in Markdown without a stop."""

    @property
    def evicted_by(self) -> EvictedBy:
        """What removes rows from the state."""
        return "nothing"

    @property
    def rows_per_record(self) -> int:
        """The most rows of state that one record can create; 0 without state."""
        return 0

    @property
    def update_key(self) -> tuple[str, ...] | None:
        """The output columns by which update mode merges into the table; () for a single row; None:
        no update mode.
        """
        return None

    @property
    @abstractmethod
    def balance(self) -> Balance:
        """How the account balances the step."""

    @property
    def aggregates(self) -> dict[str, Expression]:
        """Output column -> the SQL aggregate that computes it; nothing of a step without such."""
        return {}

    @property
    def counted_by(self) -> str | None:
        """The output column that counts each record that entered in one row, if there is one."""
        return None

    @property
    def grouping_keys(self) -> tuple[str, ...] | None:
        """The input's columns by which it groups rows, beside grouping_window; None if each row
        that leaves is made of one that entered.
        """
        return None

    @property
    def condition(self) -> str | None:
        """SQL over the input, if the step is no more than this condition of its rows."""
        return None

    @property
    def remembers(self) -> bool:
        """Whether a row that leaves may depend on rows of earlier batches: by state in Spark, or by
        the table.
        """
        return False

    @property
    def keeps_rows(self) -> bool:
        """Whether each row that leaves is one that entered, with all its columns as they were."""
        return False

    @property
    def by_code(self) -> bool:
        """Whether the pipeline's code keeps its state: how far back a row looks, and until when
        rows of a time come, only ranges.context and ranges.settle say.
        """
        return False

    @property
    def row_key(self) -> tuple[str, ...] | None:
        """The columns that identify an output row; None if a row is what all its columns say."""
        return None

    @property
    def takes(self) -> tuple[str, ...]:
        """The names of the inputs that it takes apart: each has fields of its own, and its operator
        gets a frame for each. () of a step that takes the rows of all inputs as one.

        Where this step asks for columns of its input, those are the columns of all inputs.
        """
        return ()

    @property
    def doubts(self) -> tuple[str, ...]:
        """What `sluice validate` warns of, a line each."""
        return ()

    def taking(self, inputs: Sequence[Topic]) -> Self:
        """The step with the pipeline's inputs: one that takes some apart knows them then."""
        return self

    @property
    def operators(self) -> int:
        """How many stateful operators of Spark's run it."""
        return int(self.stateful)

    @property
    def stores_rows(self) -> bool:
        """Whether its state has all columns of the rows that enter: a new one changes it."""
        return False

    def counting(self, delay: timedelta | None) -> str | None:
        """The class that says how many of the rows that entered have left, and how many its state
        has, as module:name (audit/counting.py); None if its own rows do not tell. `delay` is the
        watermark's.
        """
        return None

    @property
    def logic(self) -> str | None:
        """The name in the pipeline's logic.py that the step runs, if any."""
        return None

    @property
    def follows(self) -> bool:
        """Whether it makes its table follow a key: then it is a Following, and the last step."""
        return False

    @property
    def sides(self) -> tuple[SideTable, ...]:
        """The tables beside the stream that it reads. It is given their rows by their names, of the
        version that is noted for the batch, or in the plan of a repair.
        """
        return ()

    def found_by(self, side: str) -> Mapping[str, str]:
        """Key column of that table beside the stream -> the input's column by whose value it finds
        rows of the key. With it each row that enters leaves, whatever it finds. Empty where that is
        not so: then any row may depend on any row of the table.
        """
        return {}

    @property
    def counts_unmatched(self) -> tuple[str, ...]:
        """The tables beside the stream for which it marks each record that finds no row there
        (steps/beside/matched.py).
        """
        return ()

    @property
    def rejects(self) -> bool:
        """Whether it puts records into quarantine: its operator is a RejectingOperator then
        (steps/operator.py), and it stands before all steps that are not such.
        """
        return False

    @property
    def called_with(self) -> tuple[str, ...] | None:
        """The parameters, by position, of the function that it runs; None if it runs a class."""
        return ("rows",)

    @property
    def distinct_by(self) -> tuple[str, ...] | None:
        """The input's columns whose combinations it lets through once each; None if it does not,
        or if they are all of the columns.
        """
        return None

    @property
    def decided_by(self) -> tuple[str, ...] | None:
        """The input's columns that say which of its rows leave, whatever is in all others; None if
        others may say it too.
        """
        return self.distinct_by

    @property
    def grouping_window(self) -> Window | None:
        """The window of the event time by which it groups, if any: it closes when the watermark
        passes its end.
        """
        return None

    @property
    def late_after(self) -> timedelta | None:
        """A record whose event time is at least so far behind the watermark is late for certain, if
        this is the first stateful step; None if there is no such time.
        """
        return None

    def first_timely(self, watermark: datetime) -> datetime | None:
        """Behind this watermark each record before that event time is late, and no other one, if
        this is the first stateful step; None if there is no such time.
        """
        return None if self.late_after is None else watermark - self.late_after + MICROSECOND

    def drops_within(self, topic: str) -> bool:
        """Whether it drops copies among the records of this input, before it takes them."""
        return False

    def copies_for(self, delay: timedelta | None) -> timedelta | None:
        """Where it drops duplicates: how long behind the event time of a row that it kept others of
        its key are copies; None for ever. `delay` is the watermark's.
        """
        return None

    @property
    def dropping(self) -> tuple[Step, ...]:
        """The steps that drop duplicates: this one, or those inside it."""
        return (self,) if self.balance.drops_duplicates else ()

    @property
    def endless(self) -> bool:
        """Whether Spark plans no-data batches for ever, so that an availableNow run would
        not end.
        """
        return False

    @property
    def needs_rocksdb(self) -> bool:
        """Whether the step runs only with the RocksDB state store."""
        return False

    @property
    def needs_watermark(self) -> bool:
        """Whether Spark runs the step only over rows with a watermark on a column."""
        return False

    @property
    def bucketed(self) -> Bucketed | None:
        """How its state keeps many keys in a row of Spark's; None if a key has rows of its own."""
        return None

    def pairs(self, of_input: str) -> Pairs | None:
        """Where records of an input are in its rows; None of a step that takes none apart."""
        return None

    @property
    def unfollowed(self) -> tuple[str, str] | None:
        """Why no stateful step can follow it, even if it declares an event time, and what to do;
        None if one can.
        """
        return None

    @property
    def placed(self) -> tuple[str, ...]:
        """The input's columns that place a row: without one of them a record is malformed."""
        return ()

    @property
    def sql_texts(self) -> tuple[SqlText, ...]:
        """All Spark SQL in the step's fields."""
        return sql_texts(self)

    def with_expressions(self, was: Mapping[str, Any]) -> Self:
        """It with the SQL that a stored fingerprint has: field -> its value there, as JSON."""
        return self

    def unheld(self, kind: str) -> tuple[tuple[Gap, ...], str]:
        """Times that it cannot hold in a column of this Spark SQL type, and the words for it."""
        return (), ""

    def expires(
        self, variable: Variable, columns: Sequence[str], time: str | None, mode: str
    ) -> Expires:
        """When the rows of a variable of its state expire. `columns` are the variable's, `time` the
        input's event-time column, `mode` the output mode.
        """
        return Expires()

    def state_key(self, columns: Columns) -> Columns:
        """The columns of the state's key, given the input's; () without state, None where only
        Spark can resolve them.
        """
        return ()

    @abstractmethod
    def columns_after(self, columns: Columns) -> Columns:
        """The columns of the output, given the input's.

        Refuses columns that the input does not have.
        """

    @abstractmethod
    def types_after(self, types: dict[str, str]) -> dict[str, str]:
        """Output column -> Spark SQL type, given the same of the input.

        Only the types that are known without Spark.
        """

    @abstractmethod
    def origins_after(self, origins: Origins, event_time: str | None) -> Origins:
        """Output column -> the topic's columns that it is computed from, given the same of the
        input and its event-time column.

        Only what is known without Spark, and without reading the pipeline's code.
        """

    def carried(
        self,
        known: Mapping[str, Known],
        measured: Callable[[str], Known],  # of the measure's SQL
        yielded: Callable[[Field], Known],
    ) -> dict[str, Known]:
        """Output column -> what is known of it, given the same of the input; nothing of a column
        that neither carries on an input column nor is declared.
        """
        return dict(known)

    @abstractmethod
    def time_after(self, event_time: str | None) -> str | None:
        """The output's event-time column, given the input's; None where the output has none."""

    def refuse_time(self, time: str | None, output_mode: str) -> None:
        """Refuse keys that do not go with the input's event-time column, by which Spark evicts what
        has it among them.
        """

    def refuse_types(self, types: Mapping[str, str]) -> None:
        """Refuse columns of the input by their Spark SQL types, as far as these are known."""

    def refuse_beside(
        self,
        before: Sequence[Step],
        after: Sequence[Step],
        mode: str,
        *,
        several: bool,
        undeleted: bool,
    ) -> None:
        """Refuse what does not go with it: other steps, the output mode, `several` topics, a topic
        whose only deletes are tombstones, and dropped (`undeleted`).
        """

    def refuse_mode(self, mode: str, *, first: bool) -> None:
        """Refuse an output mode that cannot write its rows. `first`: whether no step with state is
        before it.
        """

    def unranged(self, ranges: Ranges) -> str | None:
        """Why a range of its output cannot be computed by itself; None if it can."""
        return None

    def needed(self, positions: Span, delay: timedelta, ranges: Ranges, of_input: str) -> Span:
        """The positions of the rows on which the output rows at these positions depend; `of_input`:
        the name of the input that has them, for a step that takes inputs apart.

        `delay` is the watermark's.
        """
        return positions

    def touched(self, positions: Times, ranges: Ranges, of_input: str) -> Times:
        """The positions of the output rows that may change with a row of this input at these
        positions.
        """
        return positions

    def settled_after(self, ranges: Ranges) -> timedelta | None:
        """How far the watermark must be past a position until no drain writes a row there any more;
        None where it must be past it, and no more.
        """
        return None

    def position_after(self, position: Position | None, ranges: Ranges) -> Position | None:
        """The position of the output's rows, given the input's; None where only
        `ranges.by` can say it.
        """
        return position
