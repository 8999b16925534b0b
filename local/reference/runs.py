"""What a run leaves, each a section of the page: ops tables, report, state metrics, asset event."""

from __future__ import annotations

import inspect
from pathlib import Path

from pydantic import BaseModel

from local.reference.markdown import code, table
from local.reference.models import model_section
from spark_jobs.messages import event
from spark_jobs.messages.change import Change
from spark_jobs.messages.kind import KINDS
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.part import HeldBack, NewKey, UpTo
from spark_jobs.messages.report import CheckResult, Problem, Report, StateUse
from spark_jobs.ops.schema import COLUMNS, OPERATOR, RANGE, Column
from spark_jobs.spec import Check, Deduplicate, Field, Pipeline, State, Topic
from spark_jobs.spec.analysis.state_checks import (
    ARCHIVE_LAG,
    GROUPS,
    REMEMBERED,
    TRUNCATES,
    state_checks_of,
)
from spark_jobs.spec.checks.check import STATE_METRICS

REPORT = (Report, StateUse, HeldBack, UpTo, NewKey, Problem, Change)


TYPES = {"timestamp[us, tz=UTC]": "time"}
"""Arrow types that have a shorter name here."""


def ops() -> str:
    """What several tables have, then one table a table, and the structs."""
    shared = _shared()
    whole = {f"ops.{name}": columns for name, columns in COLUMNS.items()} | {
        "operators, in ops.batches": OPERATOR,
        "ranges and differing, in ops.repairs": RANGE,
    }
    return f"""\
## Ops tables
Delta tables under `$SLUICE_ROOT/ops`; `sluice show` reads them. Types are Arrow's; `time` is `timestamp[us, tz=UTC]`. A column
counts records where its meaning names no other unit.

### In several tables
{_columns(tuple(shared))}
{"".join(_section(name, columns, shared) for name, columns in whole.items()).rstrip()}
"""


def _shared() -> dict[Column, None]:
    """Columns that more than one table has, with one meaning."""
    every = [column for columns in COLUMNS.values() for column in columns]
    return {column: None for column in every if every.count(column) > 1}


def _section(name: str, columns: tuple[Column, ...], shared: dict[Column, None]) -> str:
    also = [code(column.name) for column in columns if column in shared]
    own = tuple(column for column in columns if column not in shared)
    return f"### {name}\n" + (f"Also {', '.join(also)}.\n\n" if also else "") + f"{_columns(own)}\n"


def _columns(columns: tuple[Column, ...]) -> str:
    return table(
        ("column", "type", "meaning"),
        ((code(name), _arrow(str(kind)), about) for name, kind, about in columns),
    )


def _arrow(kind: str) -> str:
    return "list of structs, below" if kind.startswith("list") else TYPES.get(kind, kind)


def kinds() -> str:
    """What each kind of run reads and writes."""
    rows = (
        (
            code(name),
            facts.reads.value,
            facts.writes.value,
            "yes" if facts.moves_state else "",
            facts.alone.value,
        )
        for name, facts in KINDS.items()
    )
    head = ("kind", "reads", "writes", "moves state", "one at a time has")
    return f"""\
## Kinds of run
`kind` in reports, ops tables and log lines.

{table(head, rows)}"""


def report() -> str:
    """The report and its parts."""
    return f"""\
## The report
The JSON file that a run leaves. Airflow's task `drain` hands it to the next tasks by XCom.

{"".join(model_section(model, defaults=False) for model in REPORT)}\
### Account
{_first(Account)} Each field is a column of [ops.batches](#opsbatches).

### CheckResult
{_first(CheckResult)} Each field is a column of [ops.checks](#opschecks).
"""


def _first(model: type[BaseModel]) -> str:
    return (inspect.getdoc(model) or "").partition("\n\n")[0].replace("\n", " ")


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
    usual = {check.columns[0]: check for check in state_checks_of(example)} | {
        check.columns[0]: check for check in (GROUPS, ARCHIVE_LAG, REMEMBERED, TRUNCATES)
    }
    rows = (
        (code(name), meaning, *_usual(usual.get(name))) for name, meaning in STATE_METRICS.items()
    )
    return f"""\
## State metrics
What state checks judge, one row a run ([operators.md](operators.md#state-checks)).

{table(("metric", "meaning", "default check", "if it fails"), rows)}"""


BUDGETS = {"state_rows": "`state.budget_rows`", "state_bytes": "`state.budget_bytes`"}
"""Metrics whose bound is the spec's."""


def _usual(check: Check | None) -> tuple[str, str]:
    if check is None:
        return "", ""
    [metric] = check.columns
    bound = (
        "what a record can leave" if metric == "state_growth" else f"{check.kwargs['max_value']:,}"
    )
    return f"{check.severity}: at most {BUDGETS.get(metric, bound)}", check.about


def asset_event() -> str:
    """The event's fields, and a consumer."""
    example = (Path(__file__).parent / "consumer.py").read_text()
    by_day = (Path(__file__).parent / "day_consumer.py").read_text()
    return f"""\
## The asset event
The task `publish` emits it, of the asset `x-sluice://tables/<pipeline>` ([consumers.md](consumers.md#the-asset-event)). Its `extra`:

{table(("field", "meaning"), ((code(name), about) for name, about in event.FIELDS.items()))}
A consumer in the same Airflow needs nothing of Sluice:

<!-- skip: next "needs an Airflow: tests/airflow/test_consumer.py runs it" -->
```python
{example}```
A run for each day that is new or was repaired:

<!-- skip: next "needs an Airflow: tests/airflow/test_consumer.py runs it" -->
```python
{by_day}```
"""
