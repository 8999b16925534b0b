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

import pytest

from spark_jobs.errors import SettingInvalid, SparkFailed
from spark_jobs.settings.installation import REPO, Settings
from spark_jobs.warm import client as clients
from spark_jobs.warm.client import Warm, begun
from spark_jobs.warm.link import Gone, Link, listening
from spark_jobs.warm.message import Accepted, Drain, Ended, Ending, Go
from spark_jobs.warm.place import MOST_PATH_BYTES, socket_path, starting
from spark_jobs.warm.start import BORN
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
    return Settings(str(tmp_path / "root"), "k:1", tmp_path / "jars", "local[2]", "2g", warm="on")


def cold(settings: Settings, caplog: pytest.LogCaptureFixture) -> str:
    """Why a drain starts cold."""
    caplog.set_level(logging.INFO)
    assert begun(settings, "departure_delays", WORDS, dict(os.environ), 1, FILES) is None
    (line,) = [line for line in caplog.messages if "starts cold" in line]
    return line


def test_while_another_run_starts_the_worker(settings, caplog):
    with starting(socket_path(settings.root)) as alone:
        assert alone
        assert "another run is starting the worker" in cold(settings, caplog)


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
import sys, time
from pathlib import Path
from spark_jobs.warm.link import listening
held = listening(Path(sys.argv[1]))
print("listens", flush=True)
while True:
    sys.argv[2:] or time.sleep(60)
"""


@contextmanager
def listens(settings: Settings, *words: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has the socket and never accepts anybody; with a word it is busy."""
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
def started(settings, monkeypatch) -> list[object]:
    """The starts of a worker, which does not come up."""
    found = list[object]()
    monkeypatch.setattr(clients, "start", lambda *given: found.append(given))
    monkeypatch.setattr(clients, "PATIENCE_SECONDS", 2.0)
    return found


def test_a_worker_that_stands_still_is_ended_and_another_one_is_started(settings, caplog, started):
    with listens(settings, **{BORN: "{}"}) as process:
        assert "no worker came up" in cold(settings, caplog)
        assert process.wait(10) == -signal.SIGKILL
        assert len(started) == 1


@pytest.mark.parametrize(("words", "born"), [(("busy",), {BORN: "{}"}), ((), {})])
def test_a_process_that_is_busy_or_no_worker_is_not_ended(settings, caplog, started, words, born):
    with listens(settings, *words, **born) as process:
        assert "the worker does not answer" in cold(settings, caplog)
        assert process.poll() is None
        assert started == []


def test_a_worker_that_another_run_has_started_is_not_replaced(settings, monkeypatch, started):
    """It comes between the look that finds none and the lock of whoever starts one."""
    peers = list[Peer]()

    @contextmanager
    def late(socket: Path) -> Iterator[bool]:
        peers.append(Peer(socket, Accepted(os.getpid())))
        with starting(socket) as alone:
            yield alone

    monkeypatch.setattr(clients, "starting", late)
    run = begun(settings, "departure_delays", WORDS, os.environ, 1, FILES)
    assert isinstance(run, Warm)
    assert started == []
    peers[0].thread.join()
    peers[0].link.send(Ended(0))
    assert run.over()
    peers[0].link.close()
