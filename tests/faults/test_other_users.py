"""Another user of the machine beside a run: what they can read of its files, and who answers them."""

import contextlib
import os
import socket
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from spark_jobs.launch.processes import tree
from tests.harness.nobody import as_nobody, needs_two_users
from tests.harness.process import Running
from tests.harness.scene import Scene
from tests.harness.turns import alike

pytestmark = [
    needs_two_users,
    pytest.mark.filterwarnings("default"),  # Great Expectations warns while it loads
    alike("a fault of the machine"),
]
PATIENCE_SECONDS = 3.0
RPC_REQUEST, RPC_FAILURE = 3, 5
"""Types of message of org.apache.spark.network.protocol.Message."""
OPEN_BLOCKS = struct.pack(">b", 0) + b"".join(struct.pack(">i", 1) + b"x" for _ in "ab") + bytes(4)
"""OpenBlocks of application x and executor x: no block."""
FORGET = b"g\np0\ne\n"
"""Py4J's command to forget the function that a query calls for each batch."""


@pytest.fixture
def places() -> Iterator[Path]:
    """A temporary folder that all users may enter, with a disk for Spark in it."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, pytest.MonkeyPatch.context() as patch:
        (disk := Path(folder) / "disk").mkdir()
        for each in (Path(folder), disk):
            each.chmod(0o1777)
        patch.setattr(tempfile, "tempdir", folder)
        patch.setenv("TMPDIR", folder)
        patch.setenv("SPARK_LOCAL_DIRS", str(disk))
        yield Path(folder)


@pytest.fixture
def held(kafka, spark, places, tmp_path) -> Iterator[tuple[Scene, Running]]:
    """A drain with state in the JVM and in Python, in the middle of a batch."""
    scene = Scene(kafka, tmp_path, "aircraft_rotations", events=3000, deliveries=1, stores=1)
    scene.deliver()
    running = Running(scene, tmp_path, "seen", "table.committed=wait")
    running.hold("table.committed")
    yield scene, running
    running.let_go("table.committed")
    assert running.end() == 0, running.said
    scene.assert_exact()


def files_below(folder: Path) -> dict[str, int]:
    """Path -> mode, of each file, socket and folder."""
    paths = [path for path in folder.rglob("*") if not path.is_symlink()]
    return {str(path): path.stat().st_mode for path in paths if path.exists()}


def opened(paths: list[str]) -> list[str]:
    """Those of the files, sockets and folders that this user may open."""
    may = []
    for path in paths:
        with contextlib.suppress(OSError):
            if Path(path).is_socket():
                socket.socket(socket.AF_UNIX).connect(path)
            else:
                os.close(os.open(path, os.O_RDONLY))
            may.append(path)
    return may


def ports_of(running: Running) -> set[tuple[str, int]]:
    """Address and number of each port at which its processes listen."""
    found = set()
    for process in tree(running.process.pid):
        with contextlib.suppress(psutil.NoSuchProcess):
            found |= {c.laddr for c in process.net_connections() if c.status == "LISTEN"}
    return {(each.ip, each.port) for each in found}


def answers(ports: list[int], said: bytes) -> dict[str, str]:
    """Port -> the beginning of what it answers, of each that answers."""
    found = {}
    for port in ports:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as there:
            there.settimeout(PATIENCE_SECONDS)
            there.sendall(said)
            found[str(port)] = there.recv(4096).decode("latin-1")
    return found


def request(body: bytes) -> bytes:
    """An RpcRequest of Spark's network library."""
    head = struct.pack(">bqi", RPC_REQUEST, 1, len(body))
    return struct.pack(">q", 8 + len(head) + len(body)) + head + body + b"\n"


def test_another_user_reads_nothing_that_a_run_writes_beside_the_root(held, places):
    modes = files_below(places)
    assert any("/shuffle_" in path for path in modes), "no rows were there to be read"
    assert any("StateStoreId" in path for path in modes), "no state was there to be read"
    assert as_nobody(lambda: opened([*modes])) == [str(places / "disk")]


def test_no_port_of_a_run_does_what_another_user_asks(held):
    _, running = held
    listening = ports_of(running)
    assert {address.removeprefix("::ffff:") for address, _ in listening} == {"127.0.0.1"}
    ports = [port for _, port in listening]
    told = as_nobody(lambda: answers(ports, request(OPEN_BLOCKS)))
    spark = {port: said for port, said in told.items() if len(said) > 8 and ord(said[8]) < 16}
    assert len(spark) == 2, (told, "RPC and block manager")
    assert {ord(said[8]) for said in spark.values()} == {RPC_FAILURE}
    assert all("SaslMessage" in said for said in spark.values()), spark
    done = as_nobody(lambda: answers(ports, FORGET))
    assert not [said for said in done.values() if said.startswith("!y")], done
