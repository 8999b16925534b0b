"""A real Hive metastore on loopback: the server of pyspark's own jars, over Derby in memory."""

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from local.ports import free_port

SECONDS = 120
JARS = Path(pyspark.__file__).parent / "jars"


@contextmanager
def metastore(folder: Path) -> Iterator[int]:
    """Its port. It ends with the block, and all that it has with it."""
    port = free_port(0)
    properties = {
        "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:metastore;create=true",
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.schema.verification": "false",
        "hive.async.log.enabled": "false",  # it needs a jar that is not there
        "hive.metastore.warehouse.dir": str(folder / "warehouse"),
    }
    given = [word for pair in properties.items() for word in ("--hiveconf", "=".join(pair))]
    with (folder / "metastore.log").open("w") as log:
        server = subprocess.Popen(
            [
                *("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
                "--add-opens=java.base/java.net=ALL-UNNAMED",
                f"-Dderby.stream.error.file={folder / 'derby.log'}",
                *("-cp", f"{JARS}/*"),
                "org.apache.hadoop.hive.metastore.HiveMetaStore",
                *("-p", str(port)),
                *given,
            ],
            cwd=folder,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait(server, port, log.name)
            yield port
        finally:
            server.kill()
            server.wait()


def _wait(server: subprocess.Popen[bytes], port: int, log: str) -> None:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise AssertionError(f"no metastore: see {log}")
