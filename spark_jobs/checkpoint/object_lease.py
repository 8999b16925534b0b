"""The lease where there are no file locks: an object that is put if it is absent, with a fencing number and an expiry.

`lease.<fence>` in the pipeline's folder of checkpoints: the newest holds. Each number is made once, by whichever process asks
first; its holder puts it again every BEAT_SECONDS. One that is older than TTL_SECONDS has expired, by the store's own clock: no
two machines' clocks are compared. A holder that was stopped for longer finds a newer number before it commits a batch, and
gives up. What falls in between, the store refuses: entries of the table's log and of the checkpoint's logs are put only if they
are absent, by Spark too (spark_jobs/java/sluice/store). Of two that commit one version the second learns that the first has
committed under its own transaction id, and fails. Off S3 Spark's own classes write those logs; see docs/object-store.md.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError

from spark_jobs.contract.errors import LeaseHeld, LeaseLost
from spark_jobs.storage.object_store import client

if TYPE_CHECKING:
    from upath import UPath

TTL_SECONDS = 60.0
BEAT_SECONDS = 10.0
NAME = "lease."


class ObjectLease:
    """Held from `take` to `release`. Works on whatever obstore opens by URL: S3, Google, Azure, a local folder."""

    def __init__(self, path: UPath, run_id: str) -> None:
        self._path = path
        self._store = client(str(path.parent))
        self._told = {"token": uuid.uuid4().hex, "run_id": run_id, "pid": os.getpid(), "host": socket.gethostname(),
                      "started_at": datetime.now(UTC).isoformat(timespec="seconds")}
        self._fence = -1
        self._beaten = 0.0
        self._done = threading.Event()
        self._beating = threading.Thread(target=self._beat, name="lease", daemon=True)

    def take(self) -> None:
        """Raises LeaseHeld, naming the holder."""
        newest, holder = self._seen()
        if holder:
            raise self._held(holder)
        self._fence = 0 if newest is None else newest + 1
        self._beaten = time.monotonic()
        # Whoever has gone further meanwhile has removed lower numbers, and this may have been one of them.
        if self._put_first() and self._newest() == self._fence:
            self._begin()
            return
        raise self._held(self._seen()[1] or "another run")

    def confirm(self) -> None:
        """Raise LeaseLost where another process has taken it, or may have: asked before anything is committed."""
        taken = self._newest() != self._fence
        if taken or time.monotonic() - self._beaten > TTL_SECONDS:
            how = "was taken by another run while this one did not answer" if taken else "is held no longer: not renewed"
            raise LeaseLost(f"{self._path.parent} {how} for {TTL_SECONDS:.0f} s.",
                            "Nothing of its last batch was committed; the next run goes on from there.")

    def release(self) -> None:
        """Let the next one have it at once."""
        self._done.set()
        self._beating.join()  # it would put it back
        with suppress(BaseError, OSError):  # a store that does not answer lets it expire
            if self._newest() == self._fence:
                obstore.put(self._store, self._name(self._fence), self._content(released=True))

    def holder(self) -> str | None:
        """Who holds it now, in words; None where nobody does."""
        return self._seen()[1]

    def _put_first(self) -> bool:
        """Whether this number is ours. A put whose answer was lost is sent again, and refused though it was the first."""
        name = self._name(self._fence)
        try:
            obstore.put(self._store, name, self._content(), mode="create")
        except AlreadyExistsError:
            with suppress(FileNotFoundError):
                said: dict[str, Any] = json.loads(bytes(obstore.get(self._store, name).bytes()))
                return said.get("token") == self._told["token"]
            return False
        return True

    def _begin(self) -> None:
        for old in self._fences()[:-1]:
            with suppress(FileNotFoundError):  # others remove it too
                obstore.delete(self._store, self._name(old))
        self._beating.start()

    def _beat(self) -> None:
        while not self._done.wait(BEAT_SECONDS):
            with suppress(BaseError, OSError):  # the store may answer again before the lease expires
                if self._newest() != self._fence:
                    return
                began = time.monotonic()
                obstore.put(self._store, self._name(self._fence), self._content())
                self._beaten = began

    def _seen(self) -> tuple[int | None, str | None]:
        """The newest number and who holds it. Where that was taken over and removed before it could be read: the next."""
        while (newest := self._newest()) is not None:
            with suppress(FileNotFoundError):
                return newest, self._holder(newest)
        return None, None

    def _holder(self, fence: int) -> str | None:
        found = obstore.get(self._store, self._name(fence))
        said: dict[str, Any] = json.loads(bytes(found.bytes()))
        age = (self._now() - found.meta["last_modified"]).total_seconds()
        if said["released"] or age > TTL_SECONDS:
            return None
        return f"run {said['run_id']} (process {said['pid']} on {said['host']}, since {said['started_at']})"

    def _now(self) -> datetime:
        """By the store's clock: when it took what is put now."""
        probe = f"{NAME}now-{socket.gethostname()}-{os.getpid()}"
        obstore.put(self._store, probe, b"")
        now = obstore.head(self._store, probe)["last_modified"]
        obstore.delete(self._store, probe)
        return now

    def _newest(self) -> int | None:
        return max(self._fences(), default=None)

    def _fences(self) -> list[int]:
        names = (found["path"].removeprefix(NAME) for found in obstore.list_with_delimiter(self._store)["objects"])
        return sorted(int(name) for name in names if name.isdigit())

    def _name(self, fence: int) -> str:
        return f"{NAME}{fence:012}"

    def _content(self, *, released: bool = False) -> bytes:
        return json.dumps(self._told | {"released": released}).encode()

    def _held(self, holder: str) -> LeaseHeld:
        return LeaseHeld(f"{self._path.parent} is being written by {holder}.",
                         f"Wait for it to end, or stop it; it expires {TTL_SECONDS:.0f} s after its process has died.")
