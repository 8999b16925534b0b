"""What is logged of each batch, once: a line, and one below it for each stateful operator."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from spark_jobs import log
from spark_jobs.audit.progress import Progress
from spark_jobs.contract.micro_batch import Batch
from spark_jobs.runs.progress_log import Watch
from tests.unit.specs import pipeline
from tests.unit.test_operator_metrics import operator

HOUR_MS = 3_600_000
pytestmark = pytest.mark.usefixtures("log_as_before")


def watch() -> Watch:
    """Of a run that reads 20 offsets in two batches."""
    checkpoint = SimpleNamespace(
        committed=list, batch=lambda number: Batch(number, {0: number * 10}, {0: number * 10 + 10}, HOUR_MS, 0))
    run: Any = SimpleNamespace(spec=pipeline(), checkpoint=checkpoint)
    timers: Any = SimpleNamespace(fired={})
    return Watch(run, {0: 20}, timers)


def progress(batch: int, **changes: Any) -> Progress:
    return Progress(batch, 2.0, 10, {"entered": {"rows": 10}}, (operator(numRowsTotal=7),))._replace(**changes)


def test_each_batch_is_told_once_with_its_operators_below_it(capsys: pytest.CaptureFixture[str]) -> None:
    log.setup()
    watched = watch()
    watched.show({0: progress(0)})
    watched.show({0: progress(0), 1: progress(1)})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("sales_hourly: batch 0: 10 records in 2.0 s (5/s)")
    assert lines[1].startswith("  step 1, deduplicate: 10 rows in")
    assert lines[2].startswith("sales_hourly: batch 1: ")
    assert len(lines) == 4


def test_each_line_has_its_batch_as_a_field(capsys: pytest.CaptureFixture[str]) -> None:
    log.setup("json")
    with log.context(pipeline="sales_hourly", run="r"):
        watch().show({0: progress(0), 1: progress(1)})
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["pipeline"], line["run"], line["batch"]) for line in lines] == [
        ("sales_hourly", "r", batch) for batch in (0, 0, 1, 1)]


def test_of_a_batch_that_may_have_run_twice_no_count_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    log.setup()
    watch().show({0: progress(0, repeated=True)})
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("sales_hourly: batch 0: 2.0 s; ")
    assert "a part of it may have run again" in line
