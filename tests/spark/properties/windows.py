"""Windows of the event time: their names, and which hold an event."""

from datetime import timedelta

from spark_jobs.spec import Session, Sliding, Tumbling
from spark_jobs.spec.duration import interval
from tests.harness.moments import MICROSECOND
from tests.spark.properties.events import Event

Window = Tumbling | Sliding | Session
OWN_GAP = "CASE WHEN value > 0 THEN '30 minutes' ELSE '10 minutes' END"


def name(window: Window | None) -> str:
    """As a test's name says it."""
    match window:
        case None:
            return "no window"
        case Session():
            return f"sessions of {interval(window.gap) if window.gap else 'gaps of their own'}"
        case Sliding():
            return f"{interval(window.size)} each {interval(window.slide)}"
        case Tumbling():
            return interval(window.size)


def around(event: Event, window: Tumbling | Sliding) -> list[tuple[int, int]]:
    """Start and end of the windows that hold the event, aligned to the epoch, in microseconds."""
    size = window.size // MICROSECOND
    slide = window.slide // MICROSECOND if isinstance(window, Sliding) else size
    last = event.at_us // slide * slide
    return [(start, start + size) for start in range(last, event.at_us - size, -slide)]


def gap_us(event: Event, window: Session) -> int:
    """How long a session goes on after the event, in microseconds."""
    own = timedelta(minutes=30 if event.value is not None and event.value > 0 else 10)
    return (window.gap or own) // MICROSECOND
