"""What a drain says while it runs: each batch once, and what is left. tests/spark has Spark's own progress."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, strategies as st
from upath import UPath

from spark_jobs.audit.progress import Progress
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.runs.progress_log import Watch, left
from tests.harness.lines import heard
from tests.unit.checkpoints import begin, commit_batch, plan_batch
from tests.unit.specs import pipeline

NOON_MS = 1_772_366_400_000


class Said(list[str]):
    """The lines, and the watch that says them."""

    def __init__(self, checkpoint: Checkpoint, target: dict[int, int]) -> None:
        super().__init__()
        run: Any = SimpleNamespace(checkpoint=checkpoint, spec=pipeline())
        timers: Any = SimpleNamespace(fired={})
        self._watch = Watch(run, target, timers)

    def show(self, progress: dict[int, Progress]) -> None:
        """The lines that come are appended."""
        with heard(self.append):
            self._watch.show(progress)


def progress(batch_id: int, read: int, seconds: float = 2.0, *, repeated: bool = False) -> Progress:
    return Progress(batch_id, seconds, read, {}, (), repeated)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkpoint of a topic of which retention had removed 1,000 records before the first run; two batches are committed."""
    begin(tmp_path, {0: 1000, 1: 0})
    for batch, end in enumerate(({0: 2000, 1: 1000}, {0: 2500, 1: 1500})):
        plan_batch(tmp_path, batch, end, watermark_ms=NOON_MS)
        commit_batch(tmp_path, batch)
    return tmp_path


def said(folder: Path, target: dict[int, int]) -> Said:
    return Said(Checkpoint(UPath(folder)), target)


def test_a_batch_says_what_it_read_and_what_is_left_at_the_rate_so_far(folder: Path) -> None:
    lines = said(folder, {0: 11000, 1: 10000})
    lines.show({0: progress(0, 1990)})
    lines.show({0: progress(0, 1990), 1: progress(1, 1000, 4.0)})
    assert [line.partition(": ")[2] for line in lines] == [
        "batch 0: 1,990 records in 2.0 s (995/s); 2,000 of 20,000 offsets read (10%), 18,000 left, about 18 seconds at this "
        "rate; state unchanged; watermark 2026-03-01 12:00:00 UTC",
        "batch 1: 1,000 records in 4.0 s (250/s); 3,000 of 20,000 offsets read (15%), 17,000 left, about 34 seconds at this "
        "rate; state unchanged; watermark 2026-03-01 12:00:00 UTC",
    ]


def test_the_last_batch_says_that_all_is_read(folder: Path) -> None:
    lines = said(folder, {0: 2500, 1: 1500})
    lines.show({1: progress(1, 1000)})
    assert "; all 1,000 offsets read; " in lines[0]


def test_a_batch_of_which_a_part_ran_again_has_no_counts_and_says_what_is_left_by_its_offsets(folder: Path) -> None:
    lines = said(folder, {0: 2500, 1: 1500})
    lines.show({0: progress(0, 5000, repeated=True)})
    assert "5,000" not in lines[0]
    assert "2,000 of 3,000 offsets read (66%), 1,000 left, about 1 second at this rate" in lines[0]


def test_there_is_no_time_without_a_measured_rate() -> None:
    assert left(0, 10, 3.0) == "0 of 10 offsets read (0%), 10 left"
    assert left(5, 10, 0.0) == "5 of 10 offsets read (50%), 5 left"
    assert left(0, 0, 3.0) == "no new offsets"


@given(st.integers(0, 10**12), st.integers(1, 10**9), st.floats(0, 10**4))
def test_it_never_says_100_percent_while_offsets_are_left(done: int, more: int, seconds: float) -> None:
    assert "100%" not in left(done, done + more, seconds)
