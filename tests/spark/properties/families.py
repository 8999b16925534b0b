"""The families of operators, and the forms of each that a case is drawn from."""

from datetime import timedelta

from spark_jobs.spec import Deduplicate, Session, Sliding, Tumbling
from tests.spark.properties.aggregation import Aggregation
from tests.spark.properties.bucket_form import Tallies
from tests.spark.properties.deduplication import Deduplication
from tests.spark.properties.forms import Form
from tests.spark.properties.group_form import Totals
from tests.spark.properties.windows import OWN_GAP

HOUR = Tumbling(size=timedelta(hours=1))
WINDOWS = (
    HOUR,
    Tumbling(size=timedelta(milliseconds=1)),
    Tumbling(size=timedelta(days=7)),
    Sliding(size=timedelta(hours=1), slide=timedelta(minutes=20)),
    Sliding(size=timedelta(hours=1), slide=timedelta(minutes=25)),
)


FAMILIES: dict[str, tuple[Form, ...]] = {
    "deduplicate": (
        Deduplication(Deduplicate(keys=("event_id",))),
        Deduplication(Deduplicate(keys=("*",))),
        Deduplication(Deduplicate(keys=("event_id", "event_time"), scope="event_time")),
        Deduplication(Deduplicate(keys=("event_time", "key", "event_id"), scope="event_time")),
        Deduplication(Deduplicate(keys=("event_id",), scope="for_ever")),
        Deduplication(Deduplicate(keys=("*",), scope="for_ever")),
    ),
    "aggregate, append": (*(Aggregation(window) for window in WINDOWS), Aggregation(HOUR, keys=()), Aggregation(HOUR, filtered=True)),
    "aggregate, update": (
        *(Aggregation(window, mode="update") for window in WINDOWS[::2]),
        Aggregation(HOUR, keys=(), mode="update"),
        Aggregation(None, mode="update"),
        Aggregation(None, keys=("key", "event_id"), mode="update", filtered=True),
        Aggregation(None, keys=(), mode="update"),
    ),
    "aggregate, complete": (
        *(Aggregation(window, mode="complete") for window in WINDOWS[::2]),
        Aggregation(None, mode="complete"),
        Aggregation(Session(gap=timedelta(minutes=10)), mode="complete"),
        Aggregation(None, keys=("key", "event_id"), mode="complete", filtered=True),
        Aggregation(None, keys=(), mode="complete"),
    ),
    "deduplicate, then aggregate": (
        Aggregation(HOUR, deduplicated=True),
        Aggregation(HOUR, keys=("key", "event_id"), deduplicated=True, filtered=True),
        Aggregation(WINDOWS[4], deduplicated=True),
        Aggregation(Session(gap=timedelta(minutes=10)), deduplicated=True),
        Aggregation(Session(gap_sql=OWN_GAP), deduplicated=True),
    ),
    "group state": (Totals(), Totals(deduplicated=True), Tallies()),
}  # fmt: skip
