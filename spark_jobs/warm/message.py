"""Message: what a client and the worker say to each other, as JSON."""

from __future__ import annotations

import msgspec


class _Message(msgspec.Struct, tag=True, forbid_unknown_fields=True):
    """Its class is in the field `type`."""


class Drain(_Message):
    """A client wants this run; its standard output and error come with the message."""

    words: list[str]
    """Arguments of main.py."""
    variables: dict[str, str]
    """The whole environment of the run."""
    folder: str
    """The folder in which the client works."""
    fingerprint: dict[str, str]
    """As it is now (fingerprint.py)."""


class Stop(_Message):
    """The client asks its run to stop as SIGTERM would."""


class Look(_Message):
    """Somebody wants to see the worker."""


class End(_Message):
    """Somebody wants the worker to end: at once if it is idle, else behind its drain."""


class Accepted(_Message):
    """The run begins."""

    process: int
    """The id of the worker's topmost process, the JVM."""


class Busy(_Message):
    """Another run is at work."""

    run: str


class Changed(_Message):
    """The worker ends: these parts of the fingerprint are not what they were when it started."""

    parts: list[str]


class Ended(_Message):
    """The run has ended."""

    status: int
    """The exit status that a process of its own would have."""


class Shown(_Message):
    """What the worker is and does."""

    process: int
    started_at: str
    drains: int
    memory_mb: int
    run: str
    """The run at work; empty if none is."""
    ending: str
    """Why the worker will end; empty if it will not."""


Asked = Drain | Stop | Look | End
Answer = Accepted | Busy | Changed | Ended | Shown
_ANY: msgspec.json.Decoder[Asked | Answer] = msgspec.json.Decoder(Asked | Answer)


def encode(message: Asked | Answer) -> bytes:
    """The message as bytes."""
    return msgspec.json.encode(message)


def decode(content: bytes) -> Asked | Answer:
    """The message in these bytes. Raises ValueError, which names the field."""
    return _ANY.decode(content)
