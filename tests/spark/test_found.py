"""Counter-examples that hypothesis found (tests/spark/properties), as small as it made them."""

from datetime import timedelta

from spark_jobs.spec import Session, State
from tests.harness.turns import alike
from tests.spark.properties.aggregation import Aggregation
from tests.spark.properties.events import BEGIN, Event, good
from tests.spark.properties.scene import Scene
from tests.spark.properties.windows import OWN_GAP

HOUR = timedelta(hours=1)
STATE = State(shuffle_partitions=1, budget_rows=1000)


@alike("what Spark drops as late")
def test_a_record_that_spark_drops_from_a_session_in_complete_mode_is_late(kafka, tmp_path):
    """Spark drops it although complete mode keeps all state: the account had a hole."""
    form = Aggregation(Session(gap_sql=OWN_GAP), mode="complete")
    made = Scene(kafka, tmp_path, form.spec(timedelta(minutes=10), STATE), 1)
    for number, (hours, value) in enumerate(((1, 0), (2, 0), (0, 0), (1, 5))):
        made.send([good(Event(f"id {number}", BEGIN + hours * HOUR, "a", value), 0)])
        report = made.drain(None)
        assert report.status == "succeeded", report.problem
        assert report.account.unaccounted == 0
    # The watermark is 10 minutes before the second hour, and the last record's own gap, 30 minutes,
    # ends before it too.
    assert [row["offset"] for row in made.ops("late")] == [2, 3]
    assert sorted(row["window_start"] for row in made.table()) == [BEGIN + HOUR, BEGIN + 2 * HOUR]
