"""Link: what a client and the worker say to each other, over a local socket.

A message is JSON in ASCII, with its length before it. A name or a variable of the system may have
bytes that are no UTF-8: Python has each as half of a surrogate pair (PEP 383), which JSON may write
and msgspec does not. The peer's user is checked.
"""

from __future__ import annotations

import json
import os
import select
import socket
import struct
import time
from contextlib import suppress
from pathlib import Path

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
    idle_seconds: float = 0.0
    """How long the worker is to wait for another run behind this one, at least."""


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
    idle_drains: int = 0
    """Drains of its own that it has done while nobody wanted it."""
    idle_seconds: float = 0.0
    """Of processors, that these took."""
    warms: bool = False
    """Whether it will do more of them."""


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


LENGTH = struct.Struct(">I")
MOST_BYTES = 4 * 2**20
"""Of a message: an environment has some kilobytes."""
MOST_FILES = 2
PATIENCE_SECONDS = 10.0
"""How long the peer may take over a message that it has begun, or that it is due to send."""


class BadMessage(Exception):
    """The peer said something that no version of this program says, or not in time."""


class Gone(Exception):
    """The peer has closed the link, or died."""


class Link:
    """One end of a connection."""

    def __init__(self, connected: socket.socket) -> None:
        """Raises BadMessage if the peer is another user's process."""
        self._socket = connected
        self.files: tuple[int, ...] = ()
        """Descriptors that came with the first message."""
        self.peer = _peer(connected)
        """The process at the other end: of a client's link, the one that listens."""

    def send(self, message: Asked | Answer, files: tuple[int, ...] = ()) -> None:
        """Send the message, and open files with it. Raises Gone."""
        content = encode(message)
        self._socket.settimeout(PATIENCE_SECONDS)
        try:
            socket.send_fds(self._socket, [LENGTH.pack(len(content))], files)
            self._socket.sendall(content)
        except OSError as error:
            raise Gone(str(error)) from None

    def receive(self, seconds: float | None = None) -> Asked | Answer | None:
        """The next message; None if none has begun within `seconds`. Raises Gone or BadMessage."""
        if not select.select([self._socket], [], [], seconds)[0]:
            return None
        until = time.monotonic() + PATIENCE_SECONDS
        (length,) = LENGTH.unpack(self._exactly(LENGTH.size, until))
        if length > MOST_BYTES:
            raise BadMessage(f"a message of {length} bytes, more than {MOST_BYTES}")
        try:
            return decode(self._exactly(length, until))
        except ValueError as error:  # msgspec's errors are
            raise BadMessage(str(error)) from None

    def is_told(self) -> bool:
        """Whether the peer has said something that is not received yet. Takes nothing of it."""
        with suppress(OSError, ValueError):  # closed
            if select.select([self._socket], [], [], 0)[0]:
                return bool(self._socket.recv(1, socket.MSG_PEEK))
        return False

    def close_files(self) -> None:
        """Close the files that came."""
        for file in self.files:
            with suppress(OSError):
                os.close(file)
        self.files = ()

    def close(self) -> None:
        """Close it, and the files that came."""
        self.close_files()
        self._socket.close()

    def _exactly(self, count: int, until: float) -> bytes:
        content = b""
        while len(content) < count:
            self._socket.settimeout(max(0.001, until - time.monotonic()))
            try:
                part, files, _, _ = socket.recv_fds(
                    self._socket, count - len(content), 0 if self.files else MOST_FILES
                )
            except TimeoutError:
                raise BadMessage("a message that was begun and not ended") from None
            except OSError as error:
                raise Gone(str(error)) from None
            for file in files:  # a process that the run starts would keep the client waiting
                os.set_inheritable(file, False)
            self.files += tuple(files)
            if not part:
                raise Gone("closed")
            content += part
        return content


def connected(path: Path) -> Link | None:
    """A link to the listener at this path; None if nobody does. Raises BadMessage."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.settimeout(PATIENCE_SECONDS)
        made.connect(str(path))
        return Link(made)
    except OSError:
        made.close()
        return None
    except BadMessage:
        made.close()
        raise


def listening(path: Path) -> socket.socket:
    """A socket that listens at this path, which only this user may connect to. Raises OSError."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)
    try:
        made.bind(str(path))
    except OSError:
        made.close()
        raise
    finally:
        os.umask(mask)
    made.listen()
    return made


def _peer(connected: socket.socket) -> int | None:
    """Raises BadMessage if it is another user's. None where the kernel does not tell: there the
    folder's mode alone keeps others away.
    """
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    credentials = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    process, user, _ = struct.unpack("3i", credentials)
    if user != os.getuid():
        raise BadMessage(f"the peer is user {user}, and this is user {os.getuid()}")
    return int(process)
