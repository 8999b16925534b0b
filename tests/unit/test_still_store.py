"""A store that takes requests and does not answer them: the interpreter goes on meanwhile."""

import ast
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from spark_jobs.checkpoint.object_lease import TTL_SECONDS
from spark_jobs.settings.installation import REPO
from spark_jobs.storage.root.store import opened
from spark_jobs.table.delta import door
from spark_jobs.table.delta.log_entries import entries

TABLE = "s3://bucket/root/ops/runs"
LONGEST_SILENCE = 3.0
"""Seconds, on a machine that does much else. A request that keeps the lock takes 20 at least."""
HOLD_THE_LOCK = {"is_deltatable", "history", "load_cdf", "restore", "set_table_properties"}
"""Functions of delta-rs 1.6.6 that were seen to keep it while a proxy before a real store waited.
The others of its functions that Sluice calls do not.
"""
NAMED = re.compile(r"deltalake|table\.delta")
"""A file without these calls the port's functions of the same names (table/port.py)."""
DOOR = "spark_jobs/table/delta/door.py"


@pytest.fixture
def still(monkeypatch):
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "none")
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield


@pytest.mark.usefixtures("still")
@pytest.mark.parametrize(
    "ask", [door.is_table, door.open_table, lambda table: next(entries(opened(table)), None)]
)
def test_while_the_store_is_asked_other_threads_go_on(ask):
    def asked():
        with suppress(Exception):
            ask(TABLE)

    thread = threading.Thread(target=asked, daemon=True)
    longest, last = 0.0, time.monotonic()
    thread.start()
    until = last + 2 * LONGEST_SILENCE
    while last < until and thread.is_alive():
        time.sleep(0.02)
        longest, last = max(longest, time.monotonic() - last), time.monotonic()
    assert thread.is_alive(), "the store has answered"
    assert longest < LONGEST_SILENCE


def test_what_keeps_the_lock_gives_up_before_a_lease_expires():
    wanted = door.BRIEFLY
    longest = sum(int(wanted[name].removesuffix("s")) for name in ("retry_timeout", "timeout"))
    assert longest < TTL_SECONDS / 2


@pytest.mark.parametrize("folder", ["spark_jobs", "plugins"])
def test_delta_rs_opens_a_table_and_keeps_the_lock_in_one_module_alone(folder):
    found = {
        (str(path.relative_to(REPO)), name)
        for path in (REPO / folder).rglob("*.py")
        if NAMED.search(path.read_text())
        for name in _of_delta_rs(path)
    }
    assert {path for path, _ in found} <= {DOOR}


def _of_delta_rs(path: Path) -> Iterator[str]:
    """The calls of what opens a table or keeps the lock, and of the reader that does."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        on = ast.unparse(node.func)
        if (
            name in HOLD_THE_LOCK - {"restore"}
            or name == "DeltaTable"
            or (name == "restore" and not on.startswith("door."))
            or (name == "read_all" and ".execute(" in on)
        ):
            yield name


def test_a_folder_is_a_table_once_its_log_has_a_commit_or_a_checkpoint(tmp_path):
    log = tmp_path / "_delta_log"
    assert not door.is_table(tmp_path)
    assert not tmp_path.joinpath("_delta_log").exists(), "to ask makes nothing"
    log.mkdir()
    for name in ("_last_checkpoint", "00000000000000000001.crc", "_staged_commits"):
        (log / name).touch()
    assert not door.is_table(tmp_path)
    for name in ("00000000000000000001.json", "00000000000000000010.checkpoint.parquet"):
        (log / name).touch()
        assert door.is_table(tmp_path)
        assert door.is_table(f"file://{tmp_path}")
        (log / name).unlink()
