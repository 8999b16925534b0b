"""A StatsD server that keeps what it is sent."""

import socket
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager


class Statsd:
    """Its socket keeps lines until they are asked for: some thousands of them."""

    def __init__(self, receiver: socket.socket) -> None:
        self._receiver = receiver

    @property
    def port(self) -> int:
        return int(self._receiver.getsockname()[1])

    def lines(self) -> dict[str, list[str]]:
        """Name -> each value with its type, of all that has come since the last time."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"end", ("127.0.0.1", self.port))
        found = defaultdict[str, list[str]](list)
        while (line := self._receiver.recv(65_536).decode()) != "end":
            name, _, value = line.partition(":")
            found[name].append(value)
        return dict(found)


@contextmanager
def statsd() -> Iterator[Statsd]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(10)
        yield Statsd(receiver)
