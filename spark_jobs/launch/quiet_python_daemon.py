"""The Python daemon of a run: the process from which Spark forks Python workers. It says nothing of
a worker whose output nobody wants any more.

Where a task has enough rows, is cancelled, or the application ends, the JVM closes the socket, and
what the worker still writes fails. Since 4.2 Spark's daemon prints a stack trace then, below a
command that ended well. A JVM that does miss the worker raises by itself.

Source: worker and manager of pyspark.daemon; SPARK-54344; spark.python.daemon.module.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pyspark import daemon

if TYPE_CHECKING:
    import socket

_worker = daemon.worker


def worker(sock: socket.socket, authenticated: bool) -> int:
    """Spark's own, which ends its process where the JVM has closed the socket."""
    try:
        return _worker(sock, authenticated)
    except (BrokenPipeError, ConnectionResetError):
        os._exit(1)  # as manager does behind the stack trace: by a fork, so nothing is cleaned up


def serve() -> None:
    """Fork workers until Spark closes the standard input."""
    daemon.worker = worker
    daemon.manager()


if __name__ == "__main__":
    serve()
