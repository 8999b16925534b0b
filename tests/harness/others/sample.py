"""Sample: records of HOURS in two partitions, with copies and late ones, as a consumer reads them."""

import json
import random
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from spark_jobs.draft.sample import Sampled

RECORDS: Final = 1_200
COPIES: Final = 0.02
LATE: Final = 0.004
HOURS: Final = 20
PARTITIONS: Final = 2


class Sent(NamedTuple):
    """A record before it has a place."""

    value: bytes | None
    key: bytes | None = None
    headers: Sequence[tuple[str, bytes]] = ()


Make = Callable[[random.Random, int, int], Sent]
"""Of chance, number and event time in milliseconds."""


def sample(make: Make, end: datetime, seed: int = 1, records: int = RECORDS) -> list[Sampled]:
    """The records of HOURS up to then, in two partitions, as a consumer reads them."""
    of = random.Random(seed)
    last = int(end.timestamp() * 1000)
    times = sorted(last - of.randrange(HOURS * 3_600_000) for _ in range(records))
    found, next_ = list[Sampled](), [0] * PARTITIONS

    def put(sent: Sent, at: int) -> None:
        partition = of.randrange(PARTITIONS)
        found.append(
            Sampled(partition, next_[partition], at, sent.key, sent.value, [*sent.headers])
        )
        next_[partition] += 1

    for number, at in enumerate(times):
        late = of.random() < LATE
        sent = make(of, number, at - (of.randrange(4, 30) * 3_600_000 if late else 0))
        arrived = at + of.randrange(5, 900)
        put(sent, arrived)
        if of.random() < COPIES:
            again = arrived + of.randrange(100, 20_000)
            put(stamped(sent, again), again)
    return sorted(found, key=lambda each: (each.partition, each.offset))


def stamped(sent: Sent, at: int) -> Sent:
    """As it is sent again: its producer says when, if it says so at all."""
    if b'"published_at"' not in (sent.value or b""):
        return sent
    return sent._replace(value=by_json(json.loads(sent.value or b"") | {"published_at": iso(at)}))


def iso(at: int, unit: str = "milliseconds") -> str:
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec=unit).replace("+00:00", "Z")


def hexed(of: random.Random, bits: int) -> str:
    return f"{of.getrandbits(bits):0{bits // 4}x}"


def uuid4(of: random.Random) -> str:
    return str(uuid.UUID(int=of.getrandbits(128), version=4))


def by_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
