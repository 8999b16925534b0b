"""A proxy between a drain and the S3 server, which passes bytes on as they are, and does harm where
it is told to.

What it does is what a network and an overloaded server do: the requests that get through are the
server's to answer. It is a process of its own: delta-rs keeps Python from running while it waits
for an answer, which would have to pass through Python.

python -m tests.harness.store_proxy ENDPOINT prints its own endpoint; then for each line of standard
input, a harm as JSON or null, or nothing at all, the first lines of the requests that were harmed.
"""

import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import IO, NamedTuple

from spark_jobs.settings.installation import REPO

BUSY = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
SECONDS = 60


class Harm(NamedTuple):
    """What is done to requests whose first line (method and path) matches, and how often."""

    kind: str
    """slow: after `seconds`; busy: 503; lost: never sent; unanswered: done, and the answer lost."""
    requests: str
    times: int = 1_000_000
    seconds: float = 0.0


class _Server(ThreadingTCPServer):
    """On loopback."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, endpoint: str) -> None:
        host, _, port = endpoint.removeprefix("http://").partition(":")
        self.server_at = host, int(port)
        self.harm: Harm | None = None
        self.struck: list[str] = []
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Connection)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def struck_by(self, line: str) -> Harm | None:
        """What is to be done to this request; counted."""
        with self._lock:
            harm = self.harm
            if harm is None or not re.search(harm.requests, line) or len(self.struck) >= harm.times:
                return None
            self.struck.append(line)
            return harm

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is no error of the proxy's."""


class _Connection(StreamRequestHandler):
    """One of a client's, with one of its own to the server."""

    server: _Server

    def handle(self) -> None:
        with (
            socket.create_connection(self.server.server_at, SECONDS) as there,
            there.makefile("rb") as answers,
        ):
            while self._one(there, answers):
                pass

    def _one(self, there: socket.socket, answers: IO[bytes]) -> bool:
        head = _head(self.rfile)
        if not head:
            return False
        line = head.partition(b"\r\n")[0].decode()
        fields = _fields(head)
        if fields.get("expect", "").lower() == "100-continue":
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = _body(self.rfile, fields)
        harm = self.server.struck_by(line)
        if harm and harm.kind == "lost":
            return self._cut()
        if harm and harm.kind == "busy":
            head = (
                b"HTTP/1.1 503 Slow Down\r\nContent-Type: application/xml\r\nContent-Length: %d\r\n\r\n"
                % len(BUSY)
            )
            self.wfile.write(head + (b"" if line.startswith("HEAD") else BUSY))
            return True
        if harm and harm.kind == "slow":
            time.sleep(harm.seconds)
        there.sendall(head + body)
        answer = _answer(answers, line)
        if harm and harm.kind == "unanswered":
            return self._cut()
        self.wfile.write(answer)
        return bool(answer)

    def _cut(self) -> bool:
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        return False


def _answer(answers: IO[bytes], line: str) -> bytes:
    """The server's, whole; what it says in between (100) is left out: it is said already."""
    while (head := _head(answers)).startswith(b"HTTP/1.1 100"):
        pass
    status = head[9:12]
    has_body = head and not line.startswith("HEAD") and status not in {b"204", b"304"}
    return head + (_body(answers, _fields(head)) if has_body else b"")


def _head(stream: IO[bytes]) -> bytes:
    lines = []
    while (line := stream.readline()) not in {b"\r\n", b""}:
        lines.append(line)
    return b"".join([*lines, b"\r\n"]) if lines else b""


def _fields(head: bytes) -> dict[str, str]:
    pairs = (line.partition(":") for line in head.decode("latin-1").split("\r\n")[1:])
    return {name.strip().lower(): value.strip() for name, _, value in pairs if name}


def _body(stream: IO[bytes], fields: dict[str, str]) -> bytes:
    """As it came, chunks and all."""
    if "chunked" not in fields.get("transfer-encoding", ""):
        return stream.read(int(fields.get("content-length", "0")))
    parts = []
    while True:
        size = stream.readline()
        parts += [size, stream.read(int(size.split(b";")[0], 16) + 2)]
        if int(size.split(b";")[0], 16) == 0:
            return b"".join(parts)


class Proxy:
    """One that runs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._lock = threading.Lock()
        self.endpoint = process.stdout.readline().strip()

    def do(self, harm: Harm | None) -> None:
        """This from now on; what was struck before is forgotten."""
        self._ask(json.dumps(harm))

    @property
    def struck(self) -> list[str]:
        """The first lines of the requests that were harmed."""
        return self._ask("")

    def _ask(self, line: str) -> list[str]:
        with self._lock:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
            told: list[str] = json.loads(self._process.stdout.readline())
            return told


@contextmanager
def between(endpoint: str) -> Iterator[Proxy]:
    """A proxy before that server, until the block ends."""
    words = [sys.executable, "-m", "tests.harness.store_proxy", endpoint]
    process = subprocess.Popen(
        words, cwd=REPO, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield Proxy(process)
    finally:
        process.communicate()


def main() -> None:
    """Until standard input ends."""
    with _Server(sys.argv[1]) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdout.write(server.endpoint + "\n")
        sys.stdout.flush()
        for line in sys.stdin:
            if line.strip():
                told = json.loads(line)
                server.struck = []
                server.harm = Harm(*told) if told else None
            sys.stdout.write(json.dumps(server.struck) + "\n")
            sys.stdout.flush()
        server.shutdown()


if __name__ == "__main__":
    main()
