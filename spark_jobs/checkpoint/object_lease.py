"""The lease on an object store, which has no file locks: an object that is put if absent, with a
fencing number and an expiry.

The objects are `lease.<fence>` in the pipeline's checkpoint folder, and `staging.lease.<fence>` for
the lease of that name. The process with the newest number holds the lease. Each number is put once,
by the first process that asks, and its holder puts it again, every RENEW_SECONDS. It expires
TTL_SECONDS after its last put by the store's own clock: the clocks of two machines are never
compared.

A holder that was suspended for longer finds a newer number before it commits a batch, and gives up.
If it is suspended between that check and the commit, the store refuses the commit: entries of the
table's log and of the checkpoint's logs are put only if absent, by Spark too
(spark_jobs/java/sluice/store). If two processes commit the same version, the second finds that the
first has committed it under its own transaction id, and fails. On stores other than S3, Spark's own
classes write those logs; see docs/deploy.md.

Nor can it write a note (checkpoint/notes/): each is put over what was read, and the store compares.
So a change that it begins late is refused too: each holder puts its number into journal.json first.
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
from typing import TYPE_CHECKING, TypedDict

import obstore
from obstore.exceptions import BaseError

from spark_jobs.errors import LeaseHeld, LeaseLost
from spark_jobs.storage.object_store import client
from spark_jobs.storage.root.path_forms import delta_path, spark_url
from spark_jobs.storage.seen import ABSENT, look, put_over

if TYPE_CHECKING:
    from upath import UPath

TTL_SECONDS = 60.0
RENEW_SECONDS = 10.0


class LeaseContent(TypedDict):
    """The content of a lease object, as JSON."""

    token: str
    """Of one ObjectLease: tells two runs of the same name apart."""
    run_id: str
    pid: int
    host: str
    started_at: str
    released: bool


class ObjectLease:
    """A lease, held from `take` to `release`.

    Works on every store that obstore opens: S3, Google, Azure, a folder.
    """

    def __init__(self, path: UPath, run_id: str) -> None:
        self.path = path
        self._prefix = f"{path.name}."
        self._store = client(delta_path(path.parent))
        self._content = LeaseContent(
            token=uuid.uuid4().hex,
            run_id=run_id,
            pid=os.getpid(),
            host=socket.gethostname(),
            started_at=datetime.now(UTC).isoformat(timespec="seconds"),
            released=False,
        )
        self.fence = -1
        self._seen = ABSENT
        self._renewed_at = 0.0
        self._done = threading.Event()
        self._renewing = threading.Thread(target=self._renew, name="lease", daemon=True)

    def take(self) -> None:
        """Get the lease and start to renew it. Raises LeaseHeld, which names the holder."""
        newest, holder = self._newest_holder()
        if holder:
            raise self._held(holder)
        self.fence = 0 if newest is None else newest + 1
        self._renewed_at = time.monotonic()
        # The put also succeeds if another process had this number and one with a higher number has
        # removed it since.
        if self._claim() and self._newest() == self.fence:
            self._begin()
            return
        raise self._held(self._newest_holder()[1] or "another run")

    def confirm(self) -> None:
        """Raise LeaseLost if another process has taken the lease, or may have: it has removed this
        one's object before it begins. Numbers begin again in a place that was removed, so the
        object's content is compared.

        Called before every commit.
        """
        taken = look(self._object).text != self._seen.text
        if taken or time.monotonic() - self._renewed_at > TTL_SECONDS:
            how = (
                "was taken by another run: this one did not answer"
                if taken
                else "is held no longer: not renewed"
            )
            raise LeaseLost.lease_expired(
                folder=self.path.parent,
                how=how,
                seconds=TTL_SECONDS,
            )

    def release(self) -> None:
        """Stop renewing, and let the next run take the lease without waiting for it to expire."""
        self._done.set()
        self._renewing.join()  # it would put the object as held again
        with suppress(BaseError, OSError):  # if the store does not answer, the lease expires
            self._put(released=True)

    def holder(self) -> str | None:
        """The run, process and host that hold the lease now, as text; None if it is free."""
        return self._newest_holder()[1]

    def _claim(self) -> bool:
        try:
            self._put()
        except FileExistsError:
            return False
        return True

    def _put(self, *, released: bool = False) -> None:
        """Raises FileExistsError if the object is another's, or gone."""
        text = json.dumps(self._content | {"released": released})
        mark = "" if released else self._content["token"]
        self._seen = put_over(self._object, self._seen, text, alone=False, mark=mark)

    @property
    def told(self) -> dict[str, str]:
        """Its object, and the mark that it has while it is held."""
        holder = self._content["token"]
        return {"sluice.lease.path": spark_url(self._object), "sluice.lease.holder": holder}

    @property
    def _object(self) -> UPath:
        return self.path.with_name(self._name(self.fence))

    def _begin(self) -> None:
        for old in self._fences()[:-1]:
            with suppress(FileNotFoundError):  # another process removes it too
                obstore.delete(self._store, self._name(old))
        self._renewing.start()

    def _renew(self) -> None:
        while not self._done.wait(RENEW_SECONDS):
            began = time.monotonic()
            try:
                self._put()
            except FileExistsError:
                return
            except (BaseError, OSError):  # it may answer again before the lease expires
                continue
            self._renewed_at = began

    def _newest_holder(self) -> tuple[int | None, str | None]:
        """None as the second if the lease is free. Looks again if the object was removed before it
        could be read.
        """
        while (newest := self._newest()) is not None:
            with suppress(FileNotFoundError):
                return newest, self._holder(newest)
        return None, None

    def _holder(self, fence: int) -> str | None:
        answer = obstore.get(self._store, self._name(fence))
        content: LeaseContent = json.loads(bytes(answer.bytes()))
        age = (self._now() - answer.meta["last_modified"]).total_seconds()
        if content["released"] or age > TTL_SECONDS:
            return None
        return (
            f"run {content['run_id']} (process {content['pid']} on {content['host']}, since "
            f"{content['started_at']})"
        )

    def _now(self) -> datetime:
        """By the store's clock: the time of an object which is put now."""
        probe = f"{self._prefix}now-{socket.gethostname()}-{os.getpid()}"
        obstore.put(self._store, probe, b"")
        now = obstore.head(self._store, probe)["last_modified"]
        obstore.delete(self._store, probe)
        return now

    def _newest(self) -> int | None:
        return max(self._fences(), default=None)

    def _fences(self) -> list[int]:
        names = (
            entry["path"].removeprefix(self._prefix)
            for entry in obstore.list_with_delimiter(self._store)["objects"]
        )
        return sorted(int(name) for name in names if name.isdigit())

    def _name(self, fence: int) -> str:
        return f"{self._prefix}{fence:012}"

    def _held(self, holder: str) -> LeaseHeld:
        return LeaseHeld.held_until(
            folder=self.path.parent,
            holder=holder,
            seconds=TTL_SECONDS,
        )
