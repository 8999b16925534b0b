"""A free port on loopback."""

import socket


class NoFreePort(OSError):
    """Nothing can listen on 127.0.0.1."""


def free_port(wanted: int) -> int:
    """`wanted` if nothing listens there, else any free port; 0 wants none in particular.

    Raises NoFreePort.
    """
    for port in (wanted, 0):
        with socket.socket() as listener:
            # As servers do: connections of the last one that are still closing do not keep its
            # port.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(listener.getsockname()[1])
    message = "no free port on 127.0.0.1; close some programs and start again"
    raise NoFreePort(message)
