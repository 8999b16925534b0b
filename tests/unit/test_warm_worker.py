"""A worker as a process, over its real socket, with runs that need no Spark."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spark_jobs.contract.settings import REPO
from spark_jobs.warm.fingerprint import changed
from spark_jobs.warm.link import Gone, Link, connected
from spark_jobs.warm.look import shown
from spark_jobs.warm.message import Accepted, Busy, Changed, Drain, Ended, Stop
from spark_jobs.warm.place import log_path, starting

PATIENCE_SECONDS = 60
BORN = {"code": "1", "variable A": "1"}
WORKER = """
import logging, os, sys, time
from pathlib import Path
from spark_jobs.stopping import stop_on_signals
from spark_jobs.warm.recycling import Limits
from spark_jobs.warm.worker import Worker

class NoSpark:
    def new_session(self): pass
    def clean(self): Path(sys.argv[1]).with_suffix(".cleaned").touch()
    def memory_mb(self): return 10

def run(words):
    if words[0] == "say":
        print("out", words[1:], flush=True)
        print("err", file=sys.stderr, flush=True)
        os.write(1, b"native\\n")
        Path(sys.argv[1]).with_suffix(".log").open("a").write("of the JVM\\n")
    elif words[0] == "environment":
        print(os.environ.get("ONE"), os.environ.get("A"), os.getcwd(), flush=True)
    elif words[0] == "leave":
        os.environ["ONE"] = "left"
        os.chdir("/")
        sys.path.append("/left")
        logging.basicConfig()
        import loose
        loose.SEEN.append(words[1])
        print(loose.SEEN, "/left" in sys.path[:-1], len(logging.root.handlers), flush=True)
    elif words[0] == "wait":
        Path(words[1]).touch()
        with stop_on_signals() as stop:
            while not stop.asked:
                time.sleep(0.01)
        print("stopped", flush=True)
        return 42
    elif words[0] == "raise":
        raise RuntimeError("not foreseen")
    return int(words[1]) if words[0] == "status" else 0

limits = Limits(int(sys.argv[2]), float(sys.argv[3]), 100)
sys.exit(Worker(Path(sys.argv[1]), {"code": "1", "variable A": "1"}, limits, run, NoSpark).work())
"""


def wait(moment: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not moment():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


class Client:
    """What a worker does for one connection."""

    def __init__(
        self, worker: "Process", *words: str, born: dict[str, str] | None = None, **variables: str
    ) -> None:
        self.folder = worker.folder
        self.out, self.err = worker.folder / f"{id(self)}.out", worker.folder / f"{id(self)}.err"
        link = connected(worker.socket)
        assert link is not None
        self.link: Link = link
        wanted = Drain([*words], {"A": "1", **variables}, str(worker.folder), born or BORN)
        with self.out.open("wb") as out, self.err.open("wb") as err:
            link.send(wanted, (out.fileno(), err.fileno()))
        self.answer = link.receive(PATIENCE_SECONDS)

    def end(self) -> object:
        """How the run ended."""
        ended = self.link.receive(PATIENCE_SECONDS)
        self.link.close()
        return ended


class Process:
    """A worker."""

    def __init__(self, folder: Path, drains: int = 100, idle: float = 600) -> None:
        self.folder, self.socket = folder, folder / "w.sock"
        (folder / "loose.py").write_text("SEEN = []")
        log_path(self.socket).touch()
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(self.socket), str(drains), str(idle)],
            env={**os.environ, "A": "1", "PYTHONPATH": f"{REPO}:{folder}"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait(self.socket.exists)

    def run(self, *words: str, **variables: str) -> Client:
        """A run that a worker begins."""
        client = Client(self, *words, **variables)
        assert isinstance(client.answer, Accepted), client.answer
        return client

    @property
    def log(self) -> str:
        return log_path(self.socket).read_text()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    started: list[Process] = []

    def begin(**limits: float) -> Process:
        started.append(Process(tmp_path, **limits))  # type: ignore[arg-type]
        return started[-1]

    yield begin
    for each in started:
        each.process.kill()
        each.process.wait()


def test_a_run_writes_to_its_client_as_a_cold_one_does(start: Callable[..., Process]) -> None:
    client = start().run("say", "a")
    assert client.end() == Ended(0)
    assert client.out.read_text() == "out ['a']\nerr\nnative\n"
    assert client.err.read_text() == "of the JVM\n"


def test_each_run_has_its_own_environment_and_folder_and_finds_nothing_of_the_one_before(
    start: Callable[..., Process],
) -> None:
    worker = start()
    for word in ("first", "second"):
        client = worker.run("leave", word)
        assert client.end() == Ended(0)
        assert client.out.read_text() == f"['{word}'] False 1\n"
    client = worker.run("environment", AIRFLOW_CTX_TRY_NUMBER="2")
    assert client.end() == Ended(0)
    assert client.out.read_text() == f"None 1 {worker.folder}\n"
    client = worker.run("environment", ONE="1")
    assert client.end() == Ended(0)
    assert client.out.read_text() == f"1 1 {worker.folder}\n"


def test_a_second_client_is_told_at_once_that_the_worker_is_busy(
    start: Callable[..., Process], tmp_path: Path
) -> None:
    worker = start()
    first = worker.run("wait", str(tmp_path / "waits"))
    wait((tmp_path / "waits").exists)
    second = Client(worker, "say")
    assert second.answer == Busy(f"wait {tmp_path / 'waits'}")
    second.link.close()
    found = shown(worker.socket)
    assert found is not None
    assert found.run == f"wait {tmp_path / 'waits'}"
    first.link.send(Stop())
    assert first.end() == Ended(42)
    assert first.out.read_text() == "stopped\n"


def test_a_client_that_vanishes_stops_its_run_and_ends_the_worker(
    start: Callable[..., Process], tmp_path: Path
) -> None:
    worker = start()
    client = worker.run("wait", str(tmp_path / "waits"))
    wait((tmp_path / "waits").exists)
    client.link.close()
    assert worker.process.wait(PATIENCE_SECONDS) == 0
    assert client.out.read_text() == "stopped\n"
    assert "the client of its drain is gone" in worker.log


def test_another_fingerprint_ends_the_worker_before_the_run_and_says_what_has_changed(
    start: Callable[..., Process],
) -> None:
    worker = start()
    now = {"code": "2", "variable A": "1"}
    client = Client(worker, "say", born=now)
    client.link.close()
    assert client.answer == Changed(changed(BORN, now)) == Changed(["code"])
    assert not worker.socket.exists()
    assert worker.process.wait(PATIENCE_SECONDS) == 0
    assert "drain 1" not in worker.log


@pytest.mark.parametrize(
    ("limits", "words", "status", "why"),
    [
        ({"drains": 1}, ("say",), 0, "SLUICE_WARM_DRAINS"),
        ({}, ("status", "7"), 7, "exit status 7"),
        ({}, ("raise",), 1, "exit status 1"),
    ],
)
def test_it_ends_behind_its_last_drain_and_behind_one_that_failed(
    start: Callable[..., Process],
    limits: dict[str, float],
    words: tuple[str, ...],
    status: int,
    why: str,
) -> None:
    worker = start(**limits)
    client = worker.run(*words)
    assert client.end() == Ended(status)
    assert not worker.socket.exists()
    assert worker.process.wait(PATIENCE_SECONDS) == 0
    assert why in worker.log
    assert ("not foreseen" in client.out.read_text()) == (words == ("raise",))
    assert worker.socket.with_suffix(".cleaned").exists()


def test_it_ends_when_nobody_wants_a_drain(start: Callable[..., Process]) -> None:
    worker = start(idle=0.2)
    assert worker.process.wait(PATIENCE_SECONDS) == 0
    assert "SLUICE_WARM_IDLE_MINUTES" in worker.log
    assert not worker.socket.exists()


@pytest.mark.parametrize("by_signal", [True, False])
def test_an_idle_worker_that_is_asked_to_end_does(
    start: Callable[..., Process], by_signal: bool
) -> None:
    worker = start()
    if by_signal:
        worker.process.send_signal(signal.SIGTERM)
    else:
        found = shown(worker.socket, ends=True)
        assert found is not None
        assert "worker stop" in found.ending
    assert worker.process.wait(PATIENCE_SECONDS) == 0
    assert shown(worker.socket) is None


def test_one_at_work_that_is_asked_to_end_does_so_behind_its_drain(
    start: Callable[..., Process], tmp_path: Path
) -> None:
    worker = start()
    client = worker.run("wait", str(tmp_path / "waits"))
    wait((tmp_path / "waits").exists)
    assert shown(worker.socket, ends=True) is not None
    wait(lambda: not worker.socket.exists())
    assert worker.process.poll() is None
    client.link.send(Stop())
    assert client.end() == Ended(42)
    assert worker.process.wait(PATIENCE_SECONDS) == 0


@pytest.mark.parametrize("content", [b"", b"{}", b'{"type":"Stop"}', b'{"type":"Drain"}', b"\x00"])
def test_whoever_says_anything_else_is_refused_and_the_next_one_is_served(
    start: Callable[..., Process], content: bytes
) -> None:
    worker = start()
    link = connected(worker.socket)
    assert link is not None
    link._socket.sendall(len(content).to_bytes(4, "big") + content)  # noqa: SLF001 - what no client says
    with pytest.raises(Gone):
        link.receive(PATIENCE_SECONDS)
    link.close()
    assert worker.run("say").end() == Ended(0)


def test_a_run_whose_output_nobody_reads_goes_on(start: Callable[..., Process]) -> None:
    worker = start()
    read, write = os.pipe()
    link = connected(worker.socket)
    assert link is not None
    link.send(Drain(["say"], {"A": "1"}, str(worker.folder), BORN), (write, write))
    os.close(write)
    os.close(read)
    assert isinstance(link.receive(PATIENCE_SECONDS), Accepted)
    assert isinstance(link.receive(PATIENCE_SECONDS), Ended)
    link.close()


def test_two_clients_do_not_start_two_workers(tmp_path: Path) -> None:
    with starting(tmp_path / "w.sock") as first, starting(tmp_path / "w.sock") as second:
        assert (first, second) == (True, False)
    with starting(tmp_path / "w.sock") as third:
        assert third
