"""A table that follows a key and that persons have edited: what comes behind it makes of it what
plain Python does, no copy undoes a correction, and the account of each batch is the log's.
"""

import pytest
from hypothesis import example, given, settings
from upath import UPath

from spark_jobs.sink.keyed.follow import merge_here
from tests.harness.long_form import examples
from tests.harness.persons import MENDED, NEWEST_GONE, STEPS, DeltaRs, Edited, stories
from tests.harness.turns import alike
from tests.unit.followed import table_of


def put(batch, step, to):
    """As a drain does it without Spark."""
    merge_here(table_of(batch, step), step, to)


@alike("whatever comes in whatever order")
@pytest.mark.parametrize("step", STEPS)
@given(story=stories())
@example(story=MENDED)
@example(story=NEWEST_GONE)
@settings(max_examples=examples(20), deadline=None)
def test_behind_persons_edits_a_table_is_what_plain_python_makes_of_it(
    step, story, tmp_path_factory
):
    folder = UPath(tmp_path_factory.mktemp("edited"))
    Edited(folder, STEPS[step], put, DeltaRs()).play(story)
