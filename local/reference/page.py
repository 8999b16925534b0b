"""The page: its sections in order, each a table from the code that it describes."""

from __future__ import annotations

from pydantic import BaseModel

from local.reference import options
from local.reference.markdown import code, table
from local.reference.models import model_section
from local.reference.runs import asset_event, kinds, metrics, ops, report
from spark_jobs.errors import SluiceError, catalogue
from spark_jobs.messages import log
from spark_jobs.settings.installation import REPO
from spark_jobs.settings.variables import VARIABLES
from spark_jobs.spec import (
    Aggregate,
    Archive,
    Check,
    Deduplicate,
    Dimension,
    Field,
    Files,
    Format,
    GroupState,
    History,
    Join,
    Latest,
    Layout,
    Local,
    Lookup,
    MoreTopics,
    Pipeline,
    Ranges,
    Rule,
    Schedule,
    Session,
    Sliding,
    State,
    Topic,
    Transform,
    Tumbling,
    WhenData,
)
from spark_jobs.spec.formats.brought import FORMATS
from spark_jobs.spec.publish_at import PublishAt
from spark_jobs.spec.steps.step import Step
from spark_jobs.transactions import Transactions

PAGE = REPO / "docs" / "reference.md"
SPEC = (
    Pipeline,
    Topic,
    Files,
    Field,
    Rule,
    Local,
    Format,
    *FORMATS,
    Step,
    Deduplicate,
    Aggregate,
    Tumbling,
    Sliding,
    Session,
    GroupState,
    Latest,
    History,
    Lookup,
    Dimension,
    Join,
    Transform,
    State,
    Archive,
    MoreTopics,
    PublishAt,
    Transactions,
    Schedule,
    WhenData,
    Ranges,
    Layout,
    Check,
)
BESIDE = {
    "SLUICE_PROJECT": "the project's folder; else the nearest at or above the working folder, or "
    "Airflow's folder of DAGs, with sluice.toml",
    "SLUICE_ENV": "its environment, the table of sluice.toml; else `dev`",
    "SLUICE_TRACEBACK=1": "print the stack trace of an unexpected error",
    'SLUICE_FAILPOINTS="table.committed=exit"': "make a drain fail at a named place: "
    "[reliability.md](reliability.md)",
    "SLUICE_FAILPOINTS_WAITING=/tmp/x": "where one that waits leaves a file",
}


def page() -> str:
    """The whole text."""
    return "\n".join(
        section()
        for section in (
            _head,
            _errors,
            _spec,
            metrics,
            _settings,
            options.kafka,
            options.reader,
            options.spark,
            _log,
            kinds,
            ops,
            report,
            asset_event,
        )
    )


def _head() -> str:
    return """\
# Reference
`make reference` writes this page from the code. Times are UTC.

[Errors](#errors) · [spec](#the-spec) · [state metrics](#state-metrics) · [settings](#settings) ·
[Kafka properties](#kafka-properties) · [reader options](#reader-options) · [Spark options](#spark-options) · [log](#the-log) ·
[kinds of run](#kinds-of-run) · [ops tables](#ops-tables) · [report](#the-report) · [asset event](#the-asset-event)
"""


def _section(model: type[BaseModel]) -> str:
    return model_section(model, defaults=True, beyond=Topic if model is Files else None)


def _spec() -> str:
    return f"""\
## The spec
A pipeline's `spec.py` makes one `Pipeline`. A duration is a `timedelta` or text such as `'2 hours'`. The default is behind `=`;
without one it is null, empty, or the defaults of the part. `!`: required; `?`: may be null; `…`: a tuple.

{"".join(map(_section, SPEC)).rstrip()}
"""


def _settings() -> str:
    rows = ((code(name), _setting(default), about) for name, (about, default) in VARIABLES.items())
    return f"""\
## Settings
Environment variables of whatever starts a run: the command line, or Airflow's workers. A project's `sluice.toml` says them too:
`kafka = "..."` is `SLUICE_KAFKA`, unless that is set.

{table(("variable", "default", "meaning"), rows)}
An object store has the AWS variables, and the stack its own: [deploy.md](deploy.md#an-object-store). For projects, diagnosis and tests:

{table(("variable", "meaning"), ((code(name), about) for name, about in BESIDE.items()))}"""


def _setting(default: str | None) -> str:
    if default is None:
        return "required"
    return code(default.replace(f"{REPO}/", "")) or ""


def _log() -> str:
    return f"""\
## The log
With `SLUICE_LOG=json` each line of a run is an object with these fields:

{table(("field", "meaning"), ((code(name), about) for name, about in log.FIELDS.items()))}"""


def _errors() -> str:
    rows = (
        (
            code(error.code),
            str(error.exit_status),
            "yes" if error.retry else "",
            " ".join((error.__doc__ or "").partition("\n\n")[0].split()),
            error.usual_remedy,
        )
        for error in (*catalogue(), SluiceError)
    )
    return f"""\
## Errors
A run that fails ends with one line that begins with a code. The line says more than this table: follow it first.
[operations.md](operations.md#when-a-run-fails) has what needs more words.

{table(("code", "status", "Airflow retries", "meaning", "what to do"), rows)}"""
