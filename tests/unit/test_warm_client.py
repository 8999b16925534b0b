"""Where no worker can do a drain, it starts cold and says why: no exception, and no JVM before that."""

import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.errors import SettingInvalid, SparkFailed
from spark_jobs.launch.warm import client as clients, fits, place
from spark_jobs.launch.warm.client import Warm, begun
from spark_jobs.launch.warm.fits import foretold
from spark_jobs.launch.warm.link import (
    Accepted,
    Busy,
    Drain,
    End,
    Ended,
    Ending,
    Go,
    Gone,
    Link,
    Shown,
    listening,
)
from spark_jobs.launch.warm.place import MOST_PATH_BYTES, socket_path, starting
from spark_jobs.launch.warm.start import BORN
from spark_jobs.settings.installation import REPO, Settings
from tests.harness.refused import fails

FILES = (1, 2)
WORDS = ["drain", "departure_delays"]


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder whose path leaves room for a socket's, as that of a test's own may not."""
    with tempfile.TemporaryDirectory(prefix="w") as folder:
        yield Path(folder)


@pytest.fixture
def settings(tmp_path, short, monkeypatch) -> Settings:
    """An installation whose workers have a folder of their own, and none of them starts."""
    monkeypatch.setattr(tempfile, "tempdir", str(short))
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "delta-spark_0.jar").touch()

    def none_starts(*_: object) -> None:
        raise AssertionError("a JVM was started")

    monkeypatch.setattr(clients, "start", none_starts)
    monkeypatch.setattr(place, "MOST_WORKERS", 1)
    return Settings(str(tmp_path / "root"), "k:1", tmp_path / "jars", "local[2]", "2g", warm="on")


def cold(settings: Settings, caplog: pytest.LogCaptureFixture) -> str:
    """Why a drain starts cold."""
    caplog.set_level(logging.INFO)
    assert begun(settings, "departure_delays", WORDS, dict(os.environ), 1, FILES) is None
    (line,) = [line for line in caplog.messages if "starts cold" in line]
    return line


def test_while_another_run_starts_the_worker(settings, caplog):
    with starting(socket_path(settings.root), memory=False) as alone:
        assert alone
        assert "another run is starting a worker" in cold(settings, caplog)


@pytest.mark.parametrize("warm", ["on", "auto"])
def test_while_another_roots_worker_starts_only_one_that_asks_for_memory_is_not_started(
    settings, caplog, started, warm
):
    with starting(socket_path(f"{settings.root}-2"), memory=True) as alone:
        assert alone
        said = cold(settings._replace(warm=warm), caplog)
    assert ("another run is starting a worker" in said) == (warm == "auto")
    assert len(started) == (warm == "on")


@pytest.mark.parametrize("error", [SparkFailed("no", "."), OSError("no"), ValueError("no")])
def test_whatever_fails_before_the_worker_accepts(settings, caplog, monkeypatch, error):
    def fails(*_: object):
        raise error

    monkeypatch.setattr(clients, "start", fails)
    said = cold(settings, caplog)
    assert "no worker can be started: " in said
    assert str(error) in said


def test_where_the_sockets_path_is_too_long_for_a_socket(settings, caplog, monkeypatch, tmp_path):
    deep = tmp_path / ("x" * MOST_PATH_BYTES)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    assert "set TMPDIR to a shorter folder" in cold(settings, caplog)


def test_the_longest_path_that_fits_is_one_of_a_socket(short):
    path = short / ("x" * (MOST_PATH_BYTES - len(str(short)) - 1))
    listening(path).close()
    with pytest.raises(OSError, match="too long"):
        listening(Path(f"{path}x"))


def test_where_others_may_enter_the_folder(settings, caplog):
    socket_path(settings.root).parent.chmod(0o755)
    assert "is not this user's alone" in cold(settings, caplog)


@pytest.mark.parametrize("link", [True, False])
def test_a_link_or_a_folder_that_others_may_enter_has_no_socket(settings, tmp_path, link):
    folder = socket_path(settings.root).parent
    if link:
        folder.rmdir()
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        folder.symlink_to(tmp_path / "elsewhere")
    else:
        folder.chmod(0o710)
    with fails(SettingInvalid, "folder_shared"):
        socket_path(settings.root)


class Peer:
    """A worker that answers its first client so, and what it hears then."""

    def __init__(self, path: Path, answer: object) -> None:
        self._listener = listening(path)
        self.link: Link | None = None
        self.asked: object = None
        self.then: object = None
        self._answer = answer
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        self.link = Link(self._listener.accept()[0])
        self.asked = self.link.receive(10)
        self.link.send(self._answer)  # type: ignore[arg-type]
        try:
            self.then = self.link.receive(10)
        except Gone as gone:
            self.then = gone
        self._listener.close()


def test_a_worker_that_ends_behind_a_drain_is_not_waited_for(settings, caplog):
    peer = Peer(socket_path(settings.root), Ending("it is old", "drain other"))
    said = cold(settings, caplog)
    peer.thread.join()
    assert "ends behind drain other: it is old" in said
    assert isinstance(peer.then, Gone)
    peer.link.close()


@pytest.mark.parametrize("at_work", ["", "drain other"])
def test_a_worker_of_another_version_is_asked_to_end_and_another_one_started(
    settings, caplog, started, at_work
):
    """It does not know a field of the question, and says nothing: it would wait for hours."""
    path, heard = socket_path(settings.root), list[type]()
    asked = [Drain, End] * (2 if at_work else 1)
    listener = listening(path)

    def serve() -> None:
        with listener:
            while len(heard) < len(asked):
                link = Link(listener.accept()[0])
                heard.append(type(link.receive(10)))
                if heard[-1] is End:
                    if not at_work:
                        path.unlink()
                    link.send(Shown(7, "", 1, 10, at_work, "asked"))
                link.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    said = cold(settings, caplog)
    thread.join(10)
    assert heard == asked
    assert "of another version" in caplog.text
    assert [each[0] for each in started] == ([] if at_work else [path])
    assert ("does not answer" in said) == bool(at_work)


@pytest.fixture
def two(settings, monkeypatch, started) -> Settings:
    """Of an installation that may have two workers, and has one, which is busy."""
    monkeypatch.setattr(place, "MOST_WORKERS", 2)
    peer = Peer(socket_path(settings.root), Busy("drain other"))
    yield settings
    peer.thread.join()
    peer.link.close()


@pytest.mark.parametrize("warm", ["on", "auto"])
def test_beside_a_busy_worker_another_is_started_where_memory_is_free(
    two, caplog, monkeypatch, started, warm
):
    monkeypatch.setattr(fits, "free_mb", lambda: 2 * 3072)
    said = cold(two._replace(warm=warm), caplog)
    assert "the worker is busy: drain other; no worker came up" in said
    assert [each[0] for each in started] == [socket_path(two.root, 2)]
    assert str(socket_path(two.root, 2)) in started[0][1][-1], "it listens there"


@pytest.mark.parametrize("warm", ["on", "auto"])
def test_beside_a_busy_worker_a_run_is_cold_where_memory_is_short(
    two, caplog, monkeypatch, started, warm
):
    monkeypatch.setattr(fits, "free_mb", lambda: 2 * 3072 - 1)
    said = cold(two._replace(warm=warm), caplog)
    assert "the worker is busy: drain other; 6,143 MB of memory are free" in said
    assert started == []


def test_a_free_worker_is_found_before_another_is_started(two, monkeypatch, started):
    """Though a smaller number is free: its worker has ended."""
    monkeypatch.setattr(place, "MOST_WORKERS", 3)
    free = Peer(socket_path(two.root, 3), Accepted(os.getpid()))
    run = begun(two, "departure_delays", WORDS, os.environ, 1, FILES)
    assert isinstance(run, Warm)
    assert started == []
    free.thread.join()
    free.link.send(Ended(0))
    assert run.over()
    free.link.close()


def test_a_first_worker_is_started_by_on_whatever_memory_is_free_and_by_auto_where_there_is_room(
    settings, caplog, monkeypatch, started
):
    monkeypatch.setattr(fits, "free_mb", lambda: 6143)
    assert "6,143 MB of memory are free" in cold(settings._replace(warm="auto"), caplog)
    assert started == []
    caplog.clear()
    cold(settings, caplog)
    assert [each[0] for each in started] == [socket_path(settings.root)]


@pytest.mark.parametrize(
    ("given", "variables", "why"),
    [
        ({"warm": "off"}, {}, "SLUICE_WARM is off"),
        ({"master": "yarn"}, {}, "yarn"),
        ({"root": "s3://bucket/x"}, {}, "object store"),
        ({}, {"AIRFLOW_IS_K8S_EXECUTOR_POD": "True"}, "AIRFLOW_IS_K8S_EXECUTOR_POD"),
        ({}, {"AIRFLOW_IS_EXECUTOR_CONTAINER": "true"}, "AIRFLOW_IS_EXECUTOR_CONTAINER"),
    ],
)
def test_where_no_worker_can_be_a_run_is_cold_without_a_word_and_the_plan_says_why(
    settings, caplog, monkeypatch, given, variables, why
):
    caplog.set_level(logging.INFO)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    here = settings._replace(**{"warm": "auto", **given})
    assert begun(here, "departure_delays", WORDS, dict(os.environ), 1, FILES) is None
    assert "starts cold" not in caplog.text
    assert why in foretold(here, 1)


def test_a_run_that_is_all_of_its_container_is_cold_by_auto(settings, monkeypatch):
    monkeypatch.setattr(fits.os, "getppid", lambda: 1)
    assert "its container or service" in foretold(settings._replace(warm="auto"), 1)
    assert "starts a worker" in foretold(settings, 1)


def test_the_plan_tells_of_the_worker_that_waits_and_of_the_one_that_would_start(
    settings, monkeypatch
):
    monkeypatch.setattr(fits, "free_mb", lambda: 6144)
    auto = settings._replace(warm="auto")
    assert "a run now starts a worker" in foretold(auto, 1)
    waits = "worker 7 waits for one, with 10 MB; idle drains of its own: 2, 6.5 processor seconds"
    for run, said in (("", waits), ("drain other", "every worker is busy")):
        peer = Peer(socket_path(settings.root), Shown(7, "", 1, 10, run, "", 2, 6.5))
        assert said in foretold(auto, 1)
        peer.thread.join()
        peer.link.close()
        socket_path(settings.root).unlink()
    monkeypatch.setattr(fits, "free_mb", lambda: 6143)
    assert "6,143 MB of memory are free" in foretold(auto, 1)


def test_a_client_says_that_it_waits_and_sees_the_end_before_it_looks(settings):
    peer = Peer(socket_path(settings.root), Accepted(os.getpid()))
    variables = {**os.environ, "ODD": os.fsdecode(b"caf\xe9")}
    run = begun(settings, "departure_delays", WORDS, variables, 1, FILES)
    assert isinstance(run, Warm)
    peer.thread.join()
    assert isinstance(peer.asked, Drain)
    assert peer.asked.variables["ODD"] == os.fsdecode(b"caf\xe9")
    assert peer.then == Go()
    assert peer.link is not None
    assert not run.ended
    peer.link.send(Ended(0))
    assert run.ended
    run.kill()  # this process is the worker's: it would end here
    assert run.over()
    assert run.ended
    peer.link.close()


def test_a_worker_that_is_dead_has_not_ended_its_run(settings):
    peer = Peer(socket_path(settings.root), Accepted(os.getpid()))
    run = begun(settings, "departure_delays", WORDS, os.environ, 1, FILES)
    assert run is not None
    peer.thread.join()
    peer.link.close()
    assert not run.ended
    assert run.over()


STILL = """
import os, sys, time
from pathlib import Path
from spark_jobs.launch.warm.link import listening
above = os.getpid()
while sys.argv[2:] == ["its JVM is busy"] and os.fork():
    while True: pass
held = listening(Path(sys.argv[1]))
print("listens", flush=True)
while sys.argv[2:] == ["busy"]: pass
while above in (os.getpid(), os.getppid()): time.sleep(0.1)
"""


@contextmanager
def listens(settings: Settings, *words: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has the socket and never accepts anybody; with a word it is busy, or the one
    above it is.
    """
    command = [sys.executable, "-c", STILL, str(socket_path(settings.root)), *words]
    with subprocess.Popen(
        command,
        cwd=REPO,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(REPO), **variables},
    ) as process:
        try:
            assert process.stdout.readline()
            yield process
        finally:
            process.kill()


@pytest.fixture
def started(settings, monkeypatch) -> list[Any]:
    """The starts of a worker, which does not come up."""
    found = list[Any]()
    monkeypatch.setattr(clients, "start", lambda *given: found.append(given))
    monkeypatch.setattr(clients, "PATIENCE_SECONDS", 2.0)
    return found


def test_a_worker_that_stands_still_is_ended_and_another_one_is_started(settings, caplog, started):
    with listens(settings, **{BORN: "{}"}) as process:
        assert "no worker came up" in cold(settings, caplog)
        assert process.wait(10) == -signal.SIGKILL
        assert len(started) == 1


@pytest.mark.parametrize(
    ("words", "born"), [(("busy",), {BORN: "{}"}), (("its JVM is busy",), {BORN: "{}"}), ((), {})]
)
def test_a_process_that_is_busy_or_no_worker_is_not_ended(settings, caplog, started, words, born):
    with listens(settings, *words, **born) as process:
        assert "the worker does not answer" in cold(settings, caplog)
        assert process.poll() is None
        assert started == []


def test_a_worker_that_another_run_has_started_is_not_replaced(settings, monkeypatch, started):
    """It comes between the look that finds none and the lock of whoever starts one."""
    peers = list[Peer]()

    @contextmanager
    def late(socket: Path, *, memory: bool) -> Iterator[bool]:
        peers.append(Peer(socket, Accepted(os.getpid())))
        with starting(socket, memory=memory) as alone:
            yield alone

    monkeypatch.setattr(clients, "starting", late)
    run = begun(settings, "departure_delays", WORDS, os.environ, 1, FILES)
    assert isinstance(run, Warm)
    assert started == []
    peers[0].thread.join()
    peers[0].link.send(Ended(0))
    assert run.over()
    peers[0].link.close()
