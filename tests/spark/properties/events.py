"""What hypothesis generates: events, Kafka records that carry them, and records of none."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Literal, NamedTuple

from hypothesis import strategies as st

from spark_jobs.spec import Field, Topic
from tests.harness.moments import MICROSECOND, at, us

BEGIN = datetime(2020, 2, 28, 23, 0, tzinfo=UTC)
AHEAD = timedelta(minutes=10)
TOPIC = Topic(
    name="events",
    event_time="event_time",
    max_ahead=AHEAD,
    fields=(
        Field(name="event_id", type="string"),
        Field(name="event_time", type="timestamp"),
        Field(name="key", type="string", required=False),
        Field(name="value", type="bigint", required=False),
    ),
)
KEYS = (
    "a", "b", "A", " a", "a ", "", "null", "é", "e\u0301", "ключ", "👩\u200d👩\u200d👧", "a\u0000b",
    "'\"\\\n`,", "k" * 40_000, "k" * 39_999 + "l",
)  # fmt: skip
"""Keys that something on the way might take for one another."""


class Event(NamedTuple):
    """What a good record says."""

    event_id: str
    event_time: datetime
    key: str | None
    value: int | None

    @property
    def at_us(self) -> int:
        """Event time in microseconds since the epoch."""
        return us(self.event_time)

    def __repr__(self) -> str:
        return (
            f"Event({_short(self.event_id)} at {self.event_time:%Y-%m-%d %H:%M:%S.%f}, "
            f"{_short(self.key)}, {self.value})"
        )


class Record(NamedTuple):
    """What is sent to Kafka, and its fate before the first step; `event` is None: malformed."""

    kind: Literal["good", "malformed", "premature"]
    partition: int
    event: Event | None
    value: bytes | None
    kafka_ms: int

    def __repr__(self) -> str:
        said = self.event or repr((self.value or b"")[:40])
        return f"{self.kind} p{self.partition} {said}"


def _short(text: str | None) -> str:
    return (
        repr(text)
        if text is None or len(text) < 40
        else f"{text[:3]!r}...{text[-3:]!r} of {len(text)}"
    )


def good(event: Event, partition: int, ahead: timedelta = timedelta(), zone: int = 0) -> Record:
    """A record whose clock is `ahead` of Kafka's; `zone` is in minutes east of UTC."""
    kafka_us = max(0, event.at_us - ahead // MICROSECOND)
    return Record("good", partition, event, _json(event, zone), -(-kafka_us // 1000))


def premature(event: Event, partition: int) -> Record:
    """A record whose clock is ahead by the least that is too much, to Kafka's millisecond."""
    return Record(
        "premature",
        partition,
        event,
        _json(event, 0),
        max(0, event.at_us - AHEAD // MICROSECOND - 1) // 1000,
    )


def _json(event: Event, zone: int) -> bytes:
    when = event.event_time.astimezone(timezone(timedelta(minutes=zone))).isoformat()
    fields = event._asdict() | {"event_time": when, "of no interest": [1, {"x": None}]}
    return json.dumps(fields, ensure_ascii=zone == 0).encode()


MALFORMED: tuple[bytes | None, ...] = (
    None,
    b"",
    b"{",
    b"[]",
    b"null",
    b'{"event_id": "a"}',
    b'{"event_id": "a", "event_time": "2020-03-01T00:00:00"}',
    b'{"event_id": null, "event_time": "2020-03-01T00:00:00Z"}',
    b'{"event_id": "a", "event_time": "2020-03-01T00:00:00Z", "value": "1"}',
    b'{"event_id": "a", "event_time": "2020-03-01T00:00:00Z", "value": 9223372036854775808}',
    b'{"event_id": "a", "event_time": "2020-03-01T00:00:00Z", "Key": "x"}',
    b'{"event_id": "a", "event_time": "2020-03-01T00:00:00Z"} {}',
    b'{"event_id": "\\ud800", "event_time": "2020-03-01T00:00:00Z"}',
    b'{"event_id": "\xff", "event_time": "2020-03-01T00:00:00Z"}',
)


def _times() -> st.SearchStrategy[datetime]:
    """Mostly hours in whole minutes, so that times meet each other and the bounds of windows."""
    minutes = st.one_of(
        st.integers(0, 30),
        st.integers(0, 300),
        st.integers(0, 60).map(lambda steps: steps * 10),
        st.integers(0, 3).map(lambda years: years * 525_600),
    )
    beside = st.sampled_from((0, 0, 0, 0, -1, 1, 999, 1000, 59_999_999))
    usual = st.builds(
        lambda m, hair: BEGIN + timedelta(minutes=m, microseconds=hair), minutes, beside
    )
    epoch = st.sampled_from((-1, 0, 1, 600_000_000)).map(at)
    return mostly(usual, 24, epoch)


def mostly(usual, times, *others) -> st.SearchStrategy[Any]:
    """The usual many times as often as the others; one_of counts a strategy given twice once."""
    return st.sampled_from((usual,) * times + others).flatmap(lambda chosen: chosen)


@st.composite
def events(draw: st.DrawFn) -> Event:
    """An event; its id is one of a few, so that some ids come twice with other values."""
    return Event(
        event_id=draw(st.one_of(st.integers(0, 40).map("id {}".format), st.sampled_from(KEYS))),
        event_time=draw(_times()),
        key=draw(
            st.one_of(
                st.sampled_from(("a", "b", "c")),
                st.sampled_from(KEYS),
                st.none(),
                st.text(max_size=4),
            )
        ),
        value=draw(st.one_of(st.integers(-3, 3), st.none(), st.integers(-(2**52), 2**52))),
    )
