"""A free port on loopback."""

import random
import socket

OURS = range(20_000, 32_768)
"""Below what Linux (32768), macOS and the IANA (49152) give to outgoing connections: a server that
takes ten seconds to listen does not find that some client was handed its port meanwhile.
"""
TRIES = 100
_given: set[int] = set()


class NoFreePort(OSError):
    """Nothing can listen on 127.0.0.1."""


def free_port(wanted: int) -> int:
    """`wanted` if nothing listens there, else any free port of OURS that this process was not given
    before; 0 wants none in particular. A server listens seconds later: the next call must not find
    its port still free.

    Raises NoFreePort.
    """
    # By chance, which no seed decides: two that look at the same moment must not find the same.
    anew = [port for port in random.SystemRandom().sample(OURS, TRIES) if port not in _given]
    for port in (*([wanted] if wanted else []), *anew, 0):
        with socket.socket() as listener:
            # As servers do: connections of the last one that are still closing do not keep its
            # port.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            found = int(listener.getsockname()[1])
            _given.add(found)
            return found
    message = "no free port on 127.0.0.1; close some programs and start again"
    raise NoFreePort(message)
