"""Job: what an application of Spark is to do, as JSON. spark-submit, or a worker, gets it as the
application's one argument; spark_jobs/main.py does it.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from spark_jobs.messages.kind import AskedKind, Kind


class _Job(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    def words(self) -> list[str]:
        """The arguments of the application."""
        return [self.model_dump_json()]


class _OfPipeline(_Job):
    pipeline: str
    """A folder of the package SLUICE_PIPELINES."""


class _Printing(_Job):
    """What only prints."""

    done_by: ClassVar[str]
    """The function (job, spec, settings) -> lines that does it, for `pkgutil.resolve_name`."""
    of_live: ClassVar[bool] = True
    """Whether its spec is the one that drains, and not the one in spec.py as SPEC."""


class Drain(_OfPipeline):
    """Drain it. Leaves a report."""

    kind: ClassVar[Kind] = "drain"
    """Of a run that fails before it knows more."""
    do: Literal["drain"] = "drain"
    report: str
    """Path of the JSON report."""
    run_id: str
    """The run's id in the ops tables."""
    told: bool = False
    """Who started it tells its problem, and the run does not tell it too."""


class Stage(_OfPipeline):
    """Compute the rows of a planned repair. Leaves a report."""

    kind: AskedKind
    """The plan's: of a run that ends before it has read it."""
    do: Literal["stage"] = "stage"
    repair_id: str
    report: str
    run_id: str
    told: bool = False


class Explain(_OfPipeline, _Printing):
    """Print the physical plan and its use of state. Reads no records."""

    done_by: ClassVar[str] = "spark_jobs.runs.explain:explained"
    do: Literal["explain"] = "explain"


class Validate(_OfPipeline, _Printing):
    """Plan the query with Spark. Reads no records, needs no Kafka."""

    done_by: ClassVar[str] = "spark_jobs.runs.explain:validated"
    of_live: ClassVar[bool] = False
    do: Literal["validate"] = "validate"


class Repartition(_OfPipeline, _Printing):
    """Move the state to another number of stores. Reads no records."""

    done_by: ClassVar[str] = "spark_jobs.runs.repartition:repartitioned"
    do: Literal["repartition"] = "repartition"
    partitions: int
    """Stores for each step."""


class StateQuery(NamedTuple):
    """The options of `sluice state`. Steps are counted from 1, as in `sluice explain`."""

    keys: tuple[str, ...] = ()
    """COLUMN=VALUE for columns of the step's key, each column once."""
    step: int | None = None
    """One step; None for every stateful step that has these key columns."""
    batch: int | None = None
    """The state after this batch; None for the last committed one."""
    changes: bool = False
    """Show the changes of batches instead of the state."""
    batches: int = 10
    """The number of batches to show changes of: `batch` and those before it."""
    limit: int = 20
    """The number of rows to show: of each variable, or of each batch's changes."""
    keep: bool = False
    """Keep the answer for the views (messages/state_answer.py)."""
    measured: bool = False
    """Tell the sizes of keys, and when rows expire: each reads the state once more."""


class ShowState(_OfPipeline, _Printing):
    """Print the state of its stateful steps."""

    done_by: ClassVar[str] = "spark_jobs.runs.told.state_view:viewed"
    do: Literal["state"] = "state"
    query: StateQuery


class Prove(_Printing):
    """Run the cases of pipelines, and print what came of them. Reads no records of Kafka."""

    done_by: ClassVar[str] = "spark_jobs.proof.run:prove"
    of_live: ClassVar[bool] = False
    do: Literal["prove"] = "prove"
    pipelines: tuple[str, ...]
    """One at least; all take the same options of Spark."""
    only: tuple[tuple[str, str], ...] = ()
    """Pipeline and name of each case to run; none for all."""
    results: str = ""
    """Path of a file to which each outcome is added, as a line of JSON."""

    @property
    def pipeline(self) -> str:
        """The one whose options of Spark the application has."""
        return self.pipelines[0]


class Preview(_OfPipeline, _Printing):
    """Run it over a sample. Leaves an answer beside the sample (proof/answer.py)."""

    done_by: ClassVar[str] = "spark_jobs.proof.preview:preview"
    of_live: ClassVar[bool] = False
    do: Literal["preview"] = "preview"
    folder: str
    """It has the sample (draft/sample.py), and takes all that the run writes."""


class Where(_OfPipeline, _Printing):
    """Tell what the steps before state make of records, or for which a condition holds."""

    done_by: ClassVar[str] = "spark_jobs.where.by_spark:tell"
    do: Literal["where"] = "where"
    folder: str
    """It has the question, and takes the answer (where/ask.py)."""


class Serve(_Job):
    """Be a worker for warm drains (spark_jobs/launch/warm)."""

    do: Literal["serve"] = "serve"
    socket: str
    """Path of the socket to listen at."""


Run = Drain | Stage
"""What leaves a report."""
Printing = Explain | Validate | Repartition | ShowState | Prove | Preview | Where
"""What only prints."""
Job = Annotated[Run | Printing | Serve, Field(discriminator="do")]
_JOB: TypeAdapter[Run | Printing | Serve] = TypeAdapter(Job)


def read(words: list[str]) -> Run | Printing | Serve:
    """The job that these arguments are. Raises ValueError."""
    [job] = words
    return _JOB.validate_json(job)
