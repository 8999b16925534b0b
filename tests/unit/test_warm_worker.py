"""A worker as a process, over its real socket, with runs that need no Spark."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from spark_jobs.errors import CheckFailed
from spark_jobs.launch.warm.fingerprint import changed
from spark_jobs.launch.warm.fits import lines, shown
from spark_jobs.launch.warm.inside.idle import ENOUGH
from spark_jobs.launch.warm.inside.reception import LOOK_SECONDS, Turn
from spark_jobs.launch.warm.inside.worker import COLLECT_EVERY
from spark_jobs.launch.warm.link import (
    Accepted,
    Busy,
    Changed,
    Drain,
    Ended,
    Ending,
    Go,
    Gone,
    Link,
    Stop,
    connected,
    listening,
)
from spark_jobs.launch.warm.place import Address, idling, log_path, starting
from spark_jobs.settings.installation import REPO
from tests.harness.patience import patient
from tests.harness.process import lives
from tests.harness.turns import alike

pytestmark = alike("what a worker outlives")

PATIENCE_SECONDS = patient(60)
AWAITED = 3600.0
"""Seconds that a worker waits behind a run of a pipeline whose next scheduled one is awaited."""
MORE_THAN_A_TICK = 0.05
"""Of the clock by which a file system gives its files a time, in seconds."""
BORN = {"code": "1", "variable A": "1"}
WORKER = """
import logging, os, socket, sys, time
from pathlib import Path
from spark_jobs.runs.watch.limits import stop_on_signals
from spark_jobs.launch.warm.inside import idle, reception, worker
from spark_jobs.launch.warm.inside.own_drain import LeftBehind
from spark_jobs.launch.warm.inside.worker import Worker
from spark_jobs.launch.warm.inside.life import Limits

idle.CLEAN_SECONDS = worker.CLEAN_SECONDS = worker.STOP_SECONDS = 0.5
idle.MOST_SECONDS = 4.0
idle.RESTED_SECONDS = reception.LOOK_SECONDS = 0.05
reception.PATIENCE_SECONDS = 1.0

def mark(word): Path(sys.argv[1]).with_suffix("." + word).touch()
def words_of(word): return Path(sys.argv[1]).with_suffix("." + word).exists()

class NoSpark:
    def new_session(self):
        if words_of("refuse"): raise RuntimeError("no session")
    def clean(self):
        mark("cleaned")
        if words_of("clean-raises"): raise RuntimeError("the JVM is gone")
        while words_of("clean-hangs"): time.sleep(0.01)
    def stop(self):
        mark("stopped")
        while words_of("stop-hangs"): time.sleep(0.01)
    def kill(self): mark("killed")
    def collect(self):
        mark("collected")
        if words_of("collect-raises"): raise RuntimeError("the JVM is gone")
        while words_of("collect-hangs"): time.sleep(0.01)
    def memory_mb(self): return 1000 if words_of("large") else 10

class Own:
    def next(self, turn):
        mark("idle")
        if words_of("idle-raises"): raise RuntimeError("no records")
        if words_of("idle-leaves"): raise LeftBehind("a limit is lower")
        while words_of("idle-hangs"): time.sleep(0.01)
        while words_of("idle-waits") and not turn.wanted: time.sleep(0.01)
        return not turn.wanted
    def remove(self): mark("idle-removed")

def run(words):
    if words[0] == "say":
        print("out", words[1:], flush=True)
        print("err", file=sys.stderr, flush=True)
        os.write(1, b"native\\n")
        Path(sys.argv[1]).with_suffix(".log").open("a").write("of the JVM\\n")
    elif words[0] == "environment":
        words = os.environ.get("ONE"), os.environ.get("A"), os.getcwd()
        os.write(1, os.fsencode(" ".join(map(str, words)) + "\\n"))
    elif words[0] == "leave":
        os.environ["ONE"] = "left"
        os.chdir("/")
        sys.path.append("/left")
        logging.basicConfig()
        import loose
        loose.SEEN.append(words[1])
        found = os.umask(0), socket.getdefaulttimeout(), logging.root.manager.disable
        socket.setdefaulttimeout(1.5)
        logging.disable()
        print(loose.SEEN, "/left" in sys.path[:-1], len(logging.root.handlers), *found, flush=True)
    elif words[0] == "wait":
        Path(words[1]).touch()
        with stop_on_signals() as stop:
            while not stop.asked:
                time.sleep(0.01)
        print("stopped", flush=True)
        return 42
    elif words[0] == "leave-child":
        import subprocess
        print(subprocess.Popen(["sleep", "15"]).pid, flush=True)
    elif words[0] == "thread":
        import threading
        threading.Thread(target=lambda: time.sleep(60)).start()
    elif words[0] == "raise":
        raise RuntimeError("not foreseen")
    return int(words[1]) if words[0] == "status" else 0

short = Path(sys.argv[1]).with_suffix(".short")
full = lambda: "memory is short" if short.exists() else ""
limits = Limits(int(sys.argv[2]), float(sys.argv[3]), 100, full)
own = idle.Idle(Own(), lambda: 0.5 if words_of("free") else 0.49, lambda: False)
born = {"code": "1", "variable A": "1"}
sys.exit(Worker(Path(sys.argv[1]), born, limits, run, own, NoSpark).work())
"""


def wait(moment: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not moment():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


class Client:
    """What a worker does for one connection."""

    def __init__(
        self,
        worker: "Process",
        *words: str,
        born: dict[str, str] | None = None,
        goes: bool = True,
        idle: float = 0.0,
        **variables: str,
    ) -> None:
        self.folder = worker.folder
        self.out, self.err = worker.folder / f"{id(self)}.out", worker.folder / f"{id(self)}.err"
        link = connected(worker.socket)
        assert link is not None
        self.link: Link = link
        wanted = Drain([*words], {"A": "1", **variables}, str(worker.folder), born or BORN, idle)
        with self.out.open("wb") as out, self.err.open("wb") as err:
            link.send(wanted, (out.fileno(), err.fileno()))
        self.answer = link.receive(PATIENCE_SECONDS)
        if goes and isinstance(self.answer, Accepted):
            link.send(Go())

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
        wait(self._listens)

    def _listens(self) -> bool:
        """The file of its socket is there a moment before."""
        link = connected(self.socket)
        if link is not None:
            link.close()
        return link is not None

    def run(self, *words: str, idle: float = 0.0, **variables: str) -> Client:
        """A run that a worker begins."""
        client = Client(self, *words, idle=idle, **variables)
        assert isinstance(client.answer, Accepted), client.answer
        return client

    def mark(self, *words: str) -> None:
        """Its parts do this from now on."""
        for word in words:
            self.socket.with_suffix(f".{word}").touch()

    def marked(self, word: str) -> bool:
        """Whether its Spark, or an idle drain, was asked for this."""
        return self.socket.with_suffix(f".{word}").exists()

    @property
    def log(self) -> str:
        return log_path(self.socket).read_text()


@pytest.fixture
def start(tmp_path) -> Iterator[Callable[..., Process]]:
    started: list[Process] = []

    def begin(**limits: float) -> Process:
        started.append(Process(tmp_path, **limits))  # type: ignore[arg-type]
        return started[-1]

    yield begin
    for each in started:
        each.process.kill()
        each.process.wait()


def test_a_run_writes_to_its_client_as_a_cold_one_does(start):
    client = start().run("say", "a")
    assert client.end() == Ended(0)
    assert client.out.read_text() == "out ['a']\nerr\nnative\n"
    assert client.err.read_text() == "of the JVM\n"


def test_each_run_has_its_own_environment_and_folder_and_finds_nothing_of_the_one_before(start):
    worker = start()
    os.umask(mask := os.umask(0o077))
    for word in ("first", "second"):
        client = worker.run("leave", word)
        assert client.end() == Ended(0)
        assert client.out.read_text() == f"['{word}'] False 1 {mask} None 0\n"
    client = worker.run("environment", AIRFLOW_CTX_TRY_NUMBER="2")
    assert client.end() == Ended(0)
    assert client.out.read_text() == f"None 1 {worker.folder}\n"
    client = worker.run("environment", ONE="1")
    assert client.end() == Ended(0)
    assert client.out.read_text() == f"1 1 {worker.folder}\n"


def test_a_second_client_is_told_at_once_that_the_worker_is_busy(start, tmp_path):
    worker = start()
    first = worker.run("wait", str(tmp_path / "waits"))
    wait((tmp_path / "waits").exists)
    second = Client(worker, "say")
    assert second.answer == Busy(f"wait {tmp_path / 'waits'}")
    second.link.close()
    found = shown(worker.socket)
    assert found.run == f"wait {tmp_path / 'waits'}"
    first.link.send(Stop())
    assert first.end() == Ended(42)
    assert first.out.read_text() == "stopped\n"


def test_a_client_that_vanishes_stops_its_run_and_ends_the_worker(start, tmp_path):
    worker = start()
    client = worker.run("wait", str(tmp_path / "waits"))
    wait((tmp_path / "waits").exists)
    client.link.close()
    assert worker.process.wait(PATIENCE_SECONDS) == 0
    assert client.out.read_text() == "stopped\n"
    assert "the client of its drain is gone" in worker.log


def test_another_fingerprint_ends_the_worker_before_the_run_and_says_what_has_changed(start):
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
def test_it_ends_behind_its_last_drain_and_a_failed_one(start, limits, words, status, why):
    worker = start(**limits)
    client = worker.run(*words)
    assert client.end() == Ended(status)
    assert worker.marked("killed") == (status != 0), "a failed one is answered without its JVM"
    assert not worker.socket.exists()
    assert worker.process.wait(PATIENCE_SECONDS) == 0
    assert why in worker.log
    assert ("not foreseen" in client.out.read_text()) == (words == ("raise",))
    assert worker.marked("cleaned") == worker.marked("stopped") == (status == 0)
    assert worker.marked("killed") == (status != 0)


def test_it_goes_on_behind_a_check_that_failed(start):
    worker = start()
    failed = str(CheckFailed.exit_status)
    assert worker.run("status", failed).end() == Ended(CheckFailed.exit_status)
    assert worker.marked("cleaned")
    assert worker.run("say").end() == Ended(0)
    assert not worker.marked("killed")


def test_it_ends_when_nobody_wants_a_drain(start):
    worker = start(idle=0.2)
    assert worker.process.wait(PATIENCE_SECONDS) == 0
    assert "SLUICE_WARM_IDLE_MINUTES" in worker.log
    assert not worker.socket.exists()


def test_it_waits_as_long_as_the_most_patient_of_its_runs_has_asked_for(start):
    worker = start(idle=1)
    assert worker.run("say", idle=600).end() == Ended(0)
    assert worker.run("say", idle=0.1).end() == Ended(0)
    with pytest.raises(subprocess.TimeoutExpired):
        worker.process.wait(3)
    assert worker.run("say").end() == Ended(0)


def test_an_idle_worker_that_awaits_a_run_does_drains_of_its_own_until_its_jvm_is_warm(start):
    """One at a time of a user's workers, where processors are free."""
    worker = start()
    worker.mark("free")
    assert worker.run("say", idle=600).end() == Ended(0)
    time.sleep(0.5)
    found = shown(worker.socket)
    assert (found.warms, worker.marked("idle")) == (False, False), "no scheduled run is awaited"
    worker.socket.with_suffix(".free").unlink()
    assert worker.run("say", idle=AWAITED).end() == Ended(0)
    time.sleep(0.5)
    with idling(worker.socket) as alone:
        worker.mark("free")
        time.sleep(0.5)
        found = shown(worker.socket)
        assert (alone, found.idle_drains, found.warms) == (True, 0, True)
        assert not worker.marked("idle")
    wait(lambda: worker.marked("idle-removed"))
    found = shown(worker.socket)
    assert (found.drains, found.idle_drains, found.run, found.warms) == (2, ENOUGH - 2, "", False)
    assert worker.log.count("the idle drain ended") == ENOUGH - 2
    assert f"idle drains of its own: {ENOUGH - 2}" in "".join(lines(found, worker.socket))
    assert worker.run("say").end() == Ended(0)
    assert shown(worker.socket).drains == 3


def test_a_client_that_comes_in_an_idle_drain_stops_it_and_is_served(start):
    """As soon as clients have warmed the worker, nothing is left of the idle drains."""
    worker = start()
    worker.mark("idle-waits", "free")
    for number in range(ENOUGH):
        assert not worker.marked("idle-removed")
        assert worker.run("say", idle=AWAITED).end() == Ended(0)
        wait(lambda: worker.log.count("idle drain 1") == min(number + 1, ENOUGH - 1))  # noqa: B023
    assert worker.log.count("stopped, as somebody wants the worker") == ENOUGH - 1
    wait(lambda: worker.marked("idle-removed"))
    worker.process.send_signal(signal.SIGTERM)
    assert worker.process.wait(PATIENCE_SECONDS) == 0
    assert worker.marked("stopped"), "Spark, too"


def test_an_idle_drain_that_fails_is_the_last_and_the_next_client_is_served(start):
    worker = start()
    worker.mark("idle-raises", "free")
    assert worker.run("say", idle=AWAITED).end() == Ended(0)
    wait(lambda: worker.marked("idle-removed"))
    assert not shown(worker.socket).warms
    assert worker.run("say").end() == Ended(0)
    assert worker.log.count("idle drain 1") == 1
    assert "no other one comes: RuntimeError: no records" in worker.log
    assert worker.process.poll() is None


@pytest.mark.parametrize(
    ("how", "why", "killed"),
    [
        ("clean-raises", "the JVM is gone", True),
        ("idle-hangs", "its idle drain does not end", True),
        ("idle-leaves", "a limit is lower", True),
        ("large", "SLUICE_WARM_MEMORY_MB", False),
    ],
)
def test_a_worker_ends_behind_an_idle_drain_that_leaves_it_unfit(start, how, why, killed):
    worker = start()
    assert worker.run("say", idle=AWAITED).end() == Ended(0)
    assert worker.process.poll() is None
    worker.mark(how, "free")
    assert worker.process.wait(PATIENCE_SECONDS) == 0
    assert why in worker.log
    assert worker.marked("killed") == killed
    assert not worker.socket.exists()


def test_it_ends_where_memory_is_short_but_never_within_a_run(start, tmp_path):
    worker = start()
    client = Client(worker, "wait", str(tmp_path / "begun"))
    wait((tmp_path / "begun").exists)
    worker.socket.with_suffix(".short").touch()
    time.sleep(2 * LOOK_SECONDS)
    assert shown(worker.socket).run.startswith("wait")
    assert shown(worker.socket).ending == ""
    worker.socket.with_suffix(".short").unlink()
    client.link.send(Stop())
    assert client.end() == Ended(42)
    assert worker.process.wait(PATIENCE_SECONDS) == 0
    again = start()
    again.socket.with_suffix(".short").touch()
    assert again.process.wait(PATIENCE_SECONDS) == 0
    assert "memory is short" in again.log
    assert not again.socket.exists()


@pytest.mark.parametrize("by_signal", [True, False])
def test_an_idle_worker_that_is_asked_to_end_does(start, by_signal):
    worker = start()
    if by_signal:
        worker.process.send_signal(signal.SIGTERM)
    else:
        found = shown(worker.socket, ends=True)
        assert "worker stop" in found.ending
    assert worker.process.wait(PATIENCE_SECONDS) == 0
    assert shown(worker.socket) is None


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "tgkill"), reason="a signal for one thread is glibc's, of Linux"
)
def test_a_signal_that_another_thread_is_given_ends_it_too(start):
    """So does one that comes just before the main thread waits: neither wakes that thread."""
    worker = start()
    pid = worker.process.pid
    threads = [int(path.name) for path in Path(f"/proc/{pid}/task").iterdir()]
    other = next(thread for thread in threads if thread != pid)
    assert ctypes.CDLL(None).tgkill(pid, other, signal.SIGTERM) == 0
    assert worker.process.wait(PATIENCE_SECONDS / 2) == 0


def test_one_at_work_that_is_asked_to_end_does_so_behind_its_drain(start, tmp_path):
    worker = start()
    client = worker.run("wait", str(tmp_path / "waits"))
    wait((tmp_path / "waits").exists)
    assert shown(worker.socket, ends=True) is not None
    found = shown(worker.socket)
    assert "worker stop" in found.ending
    second = Client(worker, "say")
    second.link.close()
    assert second.answer == Ending(found.ending, f"wait {tmp_path / 'waits'}")
    assert worker.process.poll() is None
    client.link.send(Stop())
    assert client.end() == Ended(42)
    assert worker.process.wait(PATIENCE_SECONDS) == 0


def test_whoever_says_anything_else_is_refused_and_the_next_one_is_served(start):
    worker = start()
    for content in (b"", b"{}", b'{"type":"Stop"}', b'{"type":"Drain"}', b"\x00"):
        link = connected(worker.socket)
        link._socket.sendall(len(content).to_bytes(4, "big") + content)  # noqa: SLF001 - what no client says
        with pytest.raises(Gone):
            link.receive(PATIENCE_SECONDS)
        link.close()
        assert worker.run("say").end() == Ended(0), content


def test_a_run_whose_output_nobody_reads_goes_on(start):
    worker = start()
    read, write = os.pipe()
    link = connected(worker.socket)
    link.send(Drain(["say"], {"A": "1"}, str(worker.folder), BORN), (write, write))
    os.close(write)
    os.close(read)
    assert isinstance(link.receive(PATIENCE_SECONDS), Accepted)
    link.send(Go())
    assert isinstance(link.receive(PATIENCE_SECONDS), Ended)
    link.close()


def test_two_clients_do_not_start_two_workers(tmp_path):
    """Not even of two roots where both would count on the same free memory."""
    with (
        starting(tmp_path / "w.sock", memory=True) as first,
        starting(tmp_path / "w.sock", memory=True) as again,
        starting(tmp_path / "w.sock", memory=False) as anyway,
        starting(tmp_path / "w-2.sock", memory=True) as other,
        starting(tmp_path / "w-3.sock", memory=False) as free,
    ):
        assert (first, again, anyway, other, free) == (True, False, False, False, True)
    with starting(tmp_path / "w.sock", memory=True) as later:
        assert later


def test_a_worker_is_in_a_folder_that_stays_whoever_has_started_it(start):
    worker = start()
    assert worker.run("say").end() == Ended(0)
    assert psutil.Process(worker.process.pid).cwd() == str(worker.socket.parent)


def test_a_drain_whose_folder_is_gone_fails_and_says_so(start, tmp_path):
    worker = start()
    gone = tmp_path / "gone"
    gone.mkdir()
    worker.folder = gone
    client = Client(worker, "say")
    assert client.end() == Ended(0)
    for path in (client.out, client.err):
        path.unlink()
    link = connected(worker.socket)
    assert link is not None
    gone.rmdir()
    with (tmp_path / "err").open("wb") as err:
        link.send(Drain(["say"], {"A": "1"}, str(gone), BORN), (err.fileno(), err.fileno()))
    assert isinstance(link.receive(PATIENCE_SECONDS), Accepted)
    link.send(Go())
    assert link.receive(PATIENCE_SECONDS) == Ended(1)
    link.close()
    assert "FileNotFoundError" in (tmp_path / "err").read_text()
    assert worker.marked("killed")


@pytest.mark.parametrize(
    ("how", "why"), [("clean-hangs", "not done within"), ("clean-raises", "the JVM is gone")]
)
def test_a_worker_that_cannot_clean_up_in_time_answers_and_ends_at_once(start, how, why):
    worker = start()
    worker.socket.with_suffix(f".{how}").touch()
    assert worker.run("say").end() == Ended(0)
    assert worker.marked("killed")
    assert worker.process.wait(PATIENCE_SECONDS) == 0
    assert "cannot clean up" in worker.log
    assert why in worker.log


def test_behind_every_tenth_drain_it_collects_its_garbage_and_drains_on(start):
    worker = start()
    for _ in range(COLLECT_EVERY):
        assert not worker.marked("collected")
        assert worker.run("say").end() == Ended(0)
    wait(lambda: worker.marked("collected"))
    assert worker.run("say").end() == Ended(0)
    assert worker.process.poll() is None


def test_one_that_cannot_collect_its_garbage_ends_at_once_behind_an_answered_drain(start):
    worker = start()
    worker.socket.with_suffix(".collect-raises").touch()
    for _ in range(COLLECT_EVERY):
        assert worker.run("say").end() == Ended(0)
    assert worker.process.wait(PATIENCE_SECONDS) == 0
    assert worker.marked("killed")
    assert "cannot collect its garbage: RuntimeError: the JVM is gone" in worker.log


def test_a_drain_that_comes_while_garbage_is_collected_is_not_begun_where_that_does_not_end(start):
    worker = start()
    worker.socket.with_suffix(".collect-hangs").touch()
    for _ in range(COLLECT_EVERY):
        assert worker.run("say").end() == Ended(0)
    wait(lambda: worker.marked("collected"))
    link = connected(worker.socket)
    assert link is not None
    with Path(os.devnull).open("wb") as nothing:
        link.send(Drain(["say"], {"A": "1"}, str(worker.folder), BORN), (nothing.fileno(),) * 2)
    with pytest.raises(Gone):  # so a client looks for another worker
        link.receive(PATIENCE_SECONDS)
    link.close()
    assert worker.process.wait(PATIENCE_SECONDS) == 0
    assert f"drain {COLLECT_EVERY + 1}" not in worker.log
    assert not worker.socket.exists()


def test_a_client_reads_to_the_end_though_the_run_has_left_a_process(start):
    worker = start()
    link = connected(worker.socket)
    assert link is not None
    read, write = os.pipe()
    link.send(Drain(["leave-child"], {"A": "1"}, str(worker.folder), BORN), (write, write))
    os.close(write)
    assert isinstance(link.receive(PATIENCE_SECONDS), Accepted)
    link.send(Go())
    with os.fdopen(read) as said:
        child = int(said.read())
    assert lives(child), "the client has read until that process ended"
    os.kill(child, signal.SIGKILL)
    assert link.receive(PATIENCE_SECONDS) == Ended(0)
    link.close()
    assert worker.run("say").end() == Ended(0)


def test_a_worker_that_cannot_make_a_session_accepts_nothing_and_ends(start):
    worker = start()
    worker.socket.with_suffix(".refuse").touch()
    client = Client(worker, "say")
    assert isinstance(client.answer, Ending)
    client.link.close()
    assert "no session" in client.answer.why
    assert client.answer.run == ""
    assert not worker.socket.exists()
    assert worker.process.wait(PATIENCE_SECONDS) == 0
    assert worker.marked("killed")


@pytest.mark.parametrize("closes", [True, False])
def test_no_drain_begins_whose_client_does_not_say_that_it_waits(start, closes):
    worker = start()
    silent = Client(worker, "say", goes=False)
    assert isinstance(silent.answer, Accepted)
    if closes:
        silent.link.close()
    wait(lambda: "dropped" in worker.log)
    assert silent.out.read_text() == ""
    silent.link.close()
    assert worker.run("say").end() == Ended(0)
    assert "drain 2" not in worker.log


def test_a_worker_does_not_remove_the_socket_of_another_one(start):
    worker = start()
    time.sleep(MORE_THAN_A_TICK)
    worker.socket.unlink()
    with listening(worker.socket):
        worker.process.send_signal(signal.SIGTERM)
        assert worker.process.wait(PATIENCE_SECONDS) == 0
        assert worker.socket.exists()


def test_a_socket_with_the_inode_of_its_own_and_another_time_is_another_one(tmp_path):
    """A file system may give the inode of a removed one to the next."""
    address = Address(tmp_path / "w.sock")
    with address.listen():
        time.sleep(MORE_THAN_A_TICK)
        (tmp_path / "w.sock").chmod(0o700)
        address.remove()
        assert (tmp_path / "w.sock").exists()


def test_one_that_was_retired_and_not_woken_ends_without_waiting_for_a_drain(tmp_path):
    turn = Turn(Address(tmp_path / "w.sock"))
    turn.retire("somebody asked it to, and is gone")
    began = time.monotonic()
    assert turn.next(PATIENCE_SECONDS) is None
    assert time.monotonic() - began < PATIENCE_SECONDS / 2


def test_a_drain_is_done_though_the_log_was_removed(start):
    worker = start()
    log_path(worker.socket).unlink()
    assert worker.run("say").end() == Ended(0)


def test_neither_a_thread_of_a_run_nor_spark_holds_up_the_end(start):
    worker = start(drains=1)
    worker.socket.with_suffix(".stop-hangs").touch()
    assert worker.run("thread").end() == Ended(0)
    assert worker.process.wait(PATIENCE_SECONDS / 2) == 0
    assert "Spark does not stop" in worker.log
    assert worker.marked("killed")


def test_a_drain_finds_variables_that_are_no_utf_8(start):
    client = start().run("environment", ONE=os.fsdecode(b"caf\xe9"))
    assert client.end() == Ended(0)
    assert client.out.read_bytes().startswith(b"caf\xe9 1 ")


def test_all_above_a_process_is_killed_and_all_beside_it_and_the_process_lives(tmp_path):
    below = (
        "import os, sys; from pathlib import Path;"
        "from spark_jobs.launch.processes import kill_others, tree;"
        "kill_others(os.getppid(), 60);"
        "Path(sys.argv[1], 'lives').touch()"
    )
    above = (
        "import subprocess, sys, time; from pathlib import Path;"
        "beside = subprocess.Popen(['sleep', '60']);"
        "Path(sys.argv[1], 'beside').write_text(str(beside.pid));"
        "subprocess.Popen([sys.executable, '-c', sys.argv[2], sys.argv[1]]);"
        "time.sleep(60)"
    )
    top = subprocess.Popen(
        [sys.executable, "-c", above, str(tmp_path), below],
        env={**os.environ, "PYTHONPATH": str(REPO)},
    )
    assert top.wait(PATIENCE_SECONDS) == -signal.SIGKILL
    wait((tmp_path / "lives").exists)
    assert not lives(int((tmp_path / "beside").read_text()))
