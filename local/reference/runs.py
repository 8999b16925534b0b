"""What a run leaves, each a section of the page: ops tables, report, state metrics, asset event."""

from __future__ import annotations

from pathlib import Path

from local.reference.markdown import code, table
from local.reference.models import model_section
from spark_jobs.contract import event
from spark_jobs.contract.change import Change
from spark_jobs.contract.checks import STATE_METRICS
from spark_jobs.contract.held_back import HeldBack
from spark_jobs.contract.report import Account, CheckResult, Problem, Report, StateUse
from spark_jobs.contract.spec import Pipeline, State
from spark_jobs.contract.state_checks import state_checks_of
from spark_jobs.contract.steps import Deduplicate
from spark_jobs.contract.topic import Field, Topic
from spark_jobs.ops.schema import COLUMNS, OPERATOR, RANGE, Column

REPORT = (Report, Account, StateUse, HeldBack, CheckResult, Problem, Change)


def ops() -> str:
    """One table a table, and the struct in ops.batches."""
    whole = {f"ops.{name}": columns for name, columns in COLUMNS.items()} | {
        "operators, in ops.batches": OPERATOR,
        "ranges and differing, in ops.repairs": RANGE,
    }
    return f"""\
## Ops tables
Delta tables under `$SLUICE_ROOT/ops`; `sluice show` reads them. Types are Arrow's. A column is a count of records where its
meaning says no other unit.

{"".join(f"### {name}{chr(10)}{_columns(columns)}{chr(10)}" for name, columns in whole.items()).rstrip()}
"""


def _columns(columns: tuple[Column, ...]) -> str:
    return table(
        ("column", "type", "meaning"),
        ((code(name), _arrow(str(kind)), about) for name, kind, about in columns),
    )


def _arrow(kind: str) -> str:
    return "list of structs, below" if kind.startswith("list") else code(kind)


def report() -> str:
    """The report and its parts."""
    return f"""\
## The report
The JSON file that a run leaves. Airflow's task `drain` hands it to the next tasks by XCom.

{"".join(model_section(model, defaults=False) for model in REPORT).rstrip()}
"""


def metrics() -> str:
    """What state checks judge, with the default checks."""
    at = Field(name="at", type="timestamp")
    example = Pipeline(
        name="example",
        about="An example.",
        topic=Topic(name="example", event_time="at", fields=(at,)),
        watermark_delay="2 hours",
        steps=(Deduplicate(keys=("at",)),),
        state=State(budget_rows=1_000_000),
    )
    usual = {
        check.columns[0]: f"{check.severity}: at most {check.kwargs['max_value']:,}"
        for check in state_checks_of(example)
    }
    rows = ((code(name), about, usual.get(name, "")) for name, about in STATE_METRICS.items())
    return f"""\
## State metrics
What state checks judge, one row a run. The defaults are those of a pipeline with one Deduplicate. The bound of `state_growth`
follows from the steps: it is the number of state rows that one record can make. Those of `state_rows` and `state_bytes` are the
spec's `state.budget_rows` (without one there is no check) and `state.budget_bytes`.

{table(("metric", "meaning", "default check"), rows)}"""


def asset_event() -> str:
    """The event's fields, and a consumer."""
    example = (Path(__file__).parent / "consumer.py").read_text()
    by_day = (Path(__file__).parent / "day_consumer.py").read_text()
    return f"""\
## The asset event
The task `publish` emits an event of the asset `x-sluice://tables/<pipeline>`, whose name is the pipeline's, once all critical
checks have passed. Its `extra`:

{table(("field", "meaning"), ((code(name), about) for name, about in event.FIELDS.items()))}
A consumer in the same Airflow needs nothing of Sluice. A run that is started by hand has no event.

<!-- skip: next "needs an Airflow: tests/airflow/test_consumer.py runs it" -->
```python
{example}```
`x-sluice://tables/<pipeline>/days`, whose name is the pipeline's with `-days`, has an event for each day that is new in the table or was
changed by a repair. A run for each of them:

<!-- skip: next "needs an Airflow: tests/airflow/test_consumer.py runs it" -->
```python
{by_day}```
"""
