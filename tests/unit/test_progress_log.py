"""What a drain logs of each batch, once: a line with the offsets left, and one below it for each
stateful operator.

tests/spark has Spark's own progress.
"""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, strategies as st
from upath import UPath

from spark_jobs.audit.progress import OperatorProgress, Progress
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.messages import log
from spark_jobs.runs.watch.progress_log import ProgressLog, format_remaining
from spark_jobs.source.positions import Positions
from tests.harness.lines import heard
from tests.unit.checkpoints import begin, commit_batch, plan_batch
from tests.unit.specs import pipeline
from tests.unit.test_operator_metrics import operator

NOON_MS = 1_772_366_400_000
pytestmark = pytest.mark.usefixtures("log_as_before")


class Lines(list[str]):
    """The lines, and the log that writes them."""

    def __init__(self, checkpoint: Checkpoint, target: dict[int, int]) -> None:
        super().__init__()
        run: Any = SimpleNamespace(checkpoint=checkpoint, spec=pipeline())
        timers: Any = SimpleNamespace(fired={})
        self._log = ProgressLog(run, Positions(target), timers)

    def show(self, progress: dict[int, Progress]) -> None:
        """The lines that come are appended."""
        with heard(self.append):
            self._log.show(progress)


def progress(
    batch_id: int,
    read: int,
    seconds: float = 2.0,
    *operators: OperatorProgress,
    repeated: bool = False,
) -> Progress:
    return Progress(batch_id, seconds, read, {"entered": {"rows": read}}, operators, repeated)


@pytest.fixture
def folder(tmp_path) -> Path:
    """A checkpoint of a topic of which retention had removed 1,000 records before the first run;
    two batches are committed.
    """
    begin(tmp_path, {0: 1000, 1: 0})
    for batch, end in enumerate(({0: 2000, 1: 1000}, {0: 2500, 1: 1500})):
        plan_batch(tmp_path, batch, end, watermark_ms=NOON_MS)
        commit_batch(tmp_path, batch)
    return tmp_path


def logged(folder: Path, target: dict[int, int]) -> Lines:
    return Lines(Checkpoint(UPath(folder)), target)


def test_a_batch_says_what_it_read_and_what_is_left_at_the_rate_so_far(folder):
    lines = logged(folder, {0: 11000, 1: 10000})
    lines.show({0: progress(0, 1990)})
    lines.show({0: progress(0, 1990), 1: progress(1, 1000, 4.0)})
    assert [line.partition(": ")[2] for line in lines] == [
        "batch 0: 1,990 records in 2.0 s (995/s); 2,000 of 20,000 offsets read (10%), 18,000 left, about 18 seconds at this "
        "rate; state unchanged; watermark 2026-03-01 12:00:00 UTC",
        "batch 1: 1,000 records in 4.0 s (250/s); 3,000 of 20,000 offsets read (15%), 17,000 left, about 34 seconds at this "
        "rate; state unchanged; watermark 2026-03-01 12:00:00 UTC",
    ]


def test_the_last_batch_says_that_all_is_read(folder):
    lines = logged(folder, {0: 2500, 1: 1500})
    lines.show({1: progress(1, 1000)})
    assert "; all 1,000 offsets read; " in lines[0]


def test_a_batch_of_which_a_part_ran_again_has_no_counts_and_goes_by_its_offsets(folder):
    lines = logged(folder, {0: 2500, 1: 1500})
    lines.show({0: progress(0, 5000, 2.0, operator(), repeated=True)})
    assert len(lines) == 1
    assert "a part of it may have run again" in lines[0]
    assert "5,000" not in lines[0]
    assert "2,000 of 3,000 offsets read (66%), 1,000 left, about 1 second at this rate" in lines[0]


def test_each_batch_is_logged_once_with_its_operators_below_it(folder):
    lines = logged(folder, {0: 2500, 1: 1500})
    lines.show({0: progress(0, 10, 2.0, operator())})
    lines.show({0: progress(0, 10, 2.0, operator()), 1: progress(1, 10, 2.0, operator())})
    assert lines[0].startswith("sales_hourly: batch 0: 10 records in 2.0 s (5/s)")
    assert lines[1].startswith("  step 1, deduplicate: 10 rows in")
    assert lines[2].startswith("sales_hourly: batch 1: ")
    assert len(lines) == 4


def test_each_line_has_its_batch_as_a_field(folder, capsys):
    log.setup("json")
    with log.context(pipeline="sales_hourly", run="r"):
        logged(folder, {0: 2500, 1: 1500}).show(
            {batch: progress(batch, 10, 2.0, operator()) for batch in (0, 1)}
        )
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["pipeline"], line["run"], line["batch"]) for line in lines] == [
        ("sales_hourly", "r", batch) for batch in (0, 0, 1, 1)
    ]


def test_there_is_no_time_without_a_measured_rate():
    assert format_remaining(0, 10, 3.0) == "0 of 10 offsets read (0%), 10 left"
    assert format_remaining(5, 10, 0.0) == "5 of 10 offsets read (50%), 5 left"
    assert format_remaining(0, 0, 3.0) == "no new offsets"


@given(st.integers(0, 10**12), st.integers(1, 10**9), st.floats(0, 10**4))
def test_it_never_says_100_percent_while_offsets_are_left(done, more, seconds):
    assert "100%" not in format_remaining(done, done + more, seconds)
