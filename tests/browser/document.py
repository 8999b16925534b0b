"""Great Expectations' documents of the last run of each pipeline: made by Great Expectations, over
a few rows in pandas.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from spark_jobs.checks import expectations
from spark_jobs.contract.checks import Check
from spark_jobs.contract.settings import Settings
from spark_jobs.contract.spec import Pipeline
from spark_jobs.contract.state_metrics import StateMetrics
from spark_jobs.documents.kept import KeptResults

HOSTILE: Final = (
    "<script>window.ran = 1</script>",
    "<img src=x onerror='window.ran = 1'>",
    "</td></table></main><svg onload='window.ran = 1'><style>body{display:none}</style>",
    "\u202eevil",
)
"""Failing values."""
ROWS: Final = {
    "carrier": ["UA", "AA", "B6", "DL", "EV", "UA"],
    "origin": ["EWR", "JFK", "JFK", "LGA", "EWR", "EWR"],
    "flights": [214, 31, 0, 18, 22, 231],
    "cancellations": [3, 0, 0, 1, 0, 7],
    "max_delay_minutes": [61, 12, None, 44, 18, 93],
}
"""Of departure_delays: three hours have an odd number of flights."""


def store(root: str, spec: Pipeline, run_id: str, *, hostile: bool) -> None:
    """Of the pipeline's own checks, or of one that hostile values fail."""
    made = Settings(root, "none:1", Path(), "local[1]", "1g")
    settings = made._replace(documents="on", record_bytes="shown")
    kept = KeptResults(settings, spec.name, run_id)
    run: Any = SimpleNamespace(spec=spec)
    metrics = StateMetrics(**dict.fromkeys(StateMetrics.model_fields, 0))
    own = Check(
        type="expect_column_values_to_be_in_set", kwargs={"column": "origin", "value_set": ["EWR"]}
    )
    checks, rows = ((own,), {"origin": [*HOSTILE]}) if hostile else (spec.output_checks, ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Great Expectations warns while it loads
        import pandas as pd  # noqa: PLC0415 - with Great Expectations, which takes seconds

        expectations._validate("output", checks, pd.DataFrame(rows), kept.add)  # noqa: SLF001 - rows without Spark
        expectations.check_state(run, metrics, kept.add)
        kept.store()
