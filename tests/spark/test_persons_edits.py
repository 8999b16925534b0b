"""A table that follows a key and that persons have edited by plain Spark: whether delta-rs or Spark
merges what comes behind that, it is what plain Python makes of it.
"""

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from upath import UPath

from spark_jobs.sink.keyed.driver import Load
from spark_jobs.sink.keyed.in_spark import merge_in_spark
from tests.harness.long_form import LONG
from tests.harness.persons import MENDED, NEWEST_GONE, STEPS, Edited, Spark, stories
from tests.harness.turns import alike
from tests.unit import test_persons_edits as here
from tests.unit.followed import table_of

pytestmark = alike("a table that follows a key")

TOLD = {"mended": MENDED, "newest gone": NEWEST_GONE}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("told", [*TOLD, "drawn"])
def test_whoever_merges_a_table_is_what_plain_python_makes_of_it(
    spark, step, told, tmp_path_factory
):
    def in_spark(batch, step, to):
        changes = spark.createDataFrame(table_of(batch, step)).coalesce(1)
        merge_in_spark(changes, Load(len(batch), 0), step, to)

    @settings(
        max_examples=40 if LONG else 1,
        deadline=None,
        derandomize=not LONG,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(story=stories() if told == "drawn" else st.just(TOLD[told]))
    def play(story):
        folder = UPath(tmp_path_factory.mktemp("edited"))
        Edited(folder, STEPS[step], here.put, Spark(spark)).play(story, in_spark)

    play()
