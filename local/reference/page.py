"""The page: its sections in order, each a table from the code that it describes."""

from __future__ import annotations

from local.reference.markdown import code, table
from local.reference.models import model_section
from local.reference.runs import asset_event, metrics, ops, report
from spark_jobs import log
from spark_jobs.contract.archive import Archive
from spark_jobs.contract.checks import Check
from spark_jobs.contract.errors import SluiceError, catalogue
from spark_jobs.contract.format import FORMATS, Format
from spark_jobs.contract.ranges import Ranges
from spark_jobs.contract.reader_options import ALLOWED
from spark_jobs.contract.settings import REPO, VARIABLES
from spark_jobs.contract.spec import Pipeline, Schedule, State
from spark_jobs.contract.steps import Aggregate, Deduplicate, GroupState, Transform
from spark_jobs.contract.topic import Field, Topic
from spark_jobs.contract.windows import Session, Sliding, Tumbling

PAGE = REPO / "docs" / "reference.md"
SPEC = (
    Pipeline,
    Topic,
    Field,
    Format,
    *FORMATS,
    Deduplicate,
    Aggregate,
    Tumbling,
    Sliding,
    Session,
    GroupState,
    Transform,
    State,
    Archive,
    Schedule,
    Ranges,
    Check,
)
DIAGNOSIS = {
    "SLUICE_TRACEBACK=1": "print the stack trace of an unexpected error",
    'SLUICE_FAILPOINTS="table.committed=exit"': "make a drain fail at a named place: "
    "[reliability.md](reliability.md)",
}


def page() -> str:
    """The whole text."""
    return "\n".join(
        section()
        for section in (_head, _spec, _settings, _log, ops, report, metrics, asset_event, _errors)
    )


def _head() -> str:
    return """\
# Reference
`make reference` writes this page from the code. Times are UTC.

[Spec](#the-spec) · [settings](#settings) · [log](#the-log) · [ops tables](#ops-tables) · [report](#the-report) ·
[state metrics](#state-metrics) · [asset event](#the-asset-event) · [errors](#errors)
"""


def _spec() -> str:
    return f"""\
## The spec
A pipeline's `spec.py` makes one `Pipeline`. A duration is a `timedelta` or text such as `'2 hours'`.

{"".join(model_section(model, defaults=True) for model in SPEC)}\
### Reader options
The options of Spark's Kafka reader that `reader_options` takes. Each is a whole number greater than 0.

{table(("option", "what for, and its default"), ((code(name), about) for name, about in ALLOWED.items()))}"""


def _settings() -> str:
    rows = ((code(name), about, _setting(default)) for name, (about, default) in VARIABLES.items())
    return f"""\
## Settings
Environment variables of whatever starts a run: the command line, or Airflow's workers.

{table(("variable", "meaning", "default"), rows)}
The keys and the address of an object store are the AWS variables: [object-store.md](object-store.md). The stack in containers
has variables of its own: [deploy.md](deploy.md). Two more are for diagnosis and tests:

{table(("variable", "meaning"), ((code(name), about) for name, about in DIAGNOSIS.items()))}"""


def _setting(default: str | None) -> str:
    if default is None:
        return "none: it must be set"
    return code(default.replace(f"{REPO}/", "")) or "empty"


def _log() -> str:
    return f"""\
## The log
A run writes to standard output, which is also in Airflow's task log. With `SLUICE_LOG=json` each line is a JSON object:

{table(("field", "meaning"), ((code(name), about) for name, about in log.FIELDS.items()))}"""


def _errors() -> str:
    rows = (
        (
            code(error.code),
            str(error.exit_status),
            "yes" if error.retry else "no",
            " ".join((error.__doc__ or "").partition("\n\n")[0].split()),
            error.usual_remedy,
        )
        for error in (*catalogue(), SluiceError)
    )
    return f"""\
## Errors
A run ends with exit status 0, or with one line that begins with a code. [operations.md](operations.md) has the causes of each.
`sluice reset` keeps the old table and checkpoint aside and reads Kafka anew: the new table lacks what retention has removed.

{table(("code", "exit status", "Airflow retries", "meaning", "what to do"), rows)}"""
