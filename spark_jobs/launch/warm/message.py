"""Message: what a client and the worker say to each other, as JSON in ASCII.

A name or a variable of the system may have bytes that are no UTF-8: Python has each as half of a
surrogate pair (PEP 383), which JSON may write and msgspec does not.
"""

from __future__ import annotations

import json

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
    """The worker is ready for the run, which begins when the client says Go."""

    process: int
    """The id of the worker's topmost process, the JVM."""


class Go(_Message):
    """The client has heard that it is accepted, and waits for the run."""


class Ending(_Message):
    """The worker takes no drain any more."""

    why: str
    run: str
    """The run at work; empty if none is, and another worker may be started."""


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


Asked = Drain | Go | Stop | Look | End
Answer = Accepted | Busy | Changed | Ending | Ended | Shown


def encode(message: Asked | Answer) -> bytes:
    """The message as bytes."""
    return json.dumps(msgspec.to_builtins(message), separators=(",", ":")).encode("ascii")


def decode(content: bytes) -> Asked | Answer:
    """The message in these bytes. Raises ValueError, which names the field."""
    try:
        found: Asked | Answer = msgspec.convert(json.loads(content), Asked | Answer)
    except RecursionError:
        raise ValueError("lists or objects in each other, too many") from None
    return found
