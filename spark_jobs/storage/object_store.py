"""The object store's client, with credentials of AWS's standard chain, and the checks that the
store can be used.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import obstore
from obstore.exceptions import AlreadyExistsError, PreconditionError
from obstore.store import LocalStore, ObjectStore, from_url

from spark_jobs.errors import RootRefused, SluiceError
from spark_jobs.storage.root.path_forms import delta_path, disk_path
from spark_jobs.storage.root.paths import Paths
from spark_jobs.storage.root.store import (
    ANSWER_SECONDS,
    CONNECT_SECONDS,
    Store,
    is_remote,
    is_s3,
    translate_store_error,
)

if TYPE_CHECKING:
    from obstore import UpdateVersion
    from upath import UPath

RETRIES = {"max_retries": 7, "retry_timeout": timedelta(seconds=ANSWER_SECONDS)}
ONCE = {"max_retries": 1, "retry_timeout": timedelta(seconds=CONNECT_SECONDS)}
"""Of a question that somebody waits for."""
OTHER_TAG = '"00000000000000000000000000000000"'
"""A tag that no object has."""
FRESH = timedelta(minutes=5)
"""How long a client or a temporary key is used before AWS's chain is asked again. botocore renews
the key in time.
"""


def client(url: str) -> ObjectStore:
    """A client for all under `url`, on S3, Google, Azure or a local folder.

    Raises RootRefused without S3 credentials.
    """
    if not is_remote(url):
        return LocalStore(disk_path(url), mkdir=True)
    if not is_s3(url):
        return from_url(url)
    return _client(url, Store.from_environment(), _now(), once=False)


def _now() -> object:
    now = int(time.monotonic() / FRESH.total_seconds())
    return frozenset(os.environ.items()), os.getpid(), now


@lru_cache(maxsize=64)
def _client(url: str, store: Store, _told: object, *, once: bool) -> ObjectStore:
    """One for all who ask in a process of one environment, for FRESH: it keeps its connections."""
    options = {
        "connect_timeout": f"{CONNECT_SECONDS}s",
        "timeout": f"{CONNECT_SECONDS if once else ANSWER_SECONDS}s",
        "allow_http": store.endpoint.startswith("http://"),
    }
    asked: dict[str, Any] = {
        "config": store.obstore_options(url),
        "client_options": options,
        "retry_config": ONCE if once else RETRIES,
    }
    made: ObjectStore = from_url(url, credential_provider=_credentials(), **asked)
    return made


def put_new(path: UPath, text: str) -> bool:
    """Create the file, whole; False if it is there: of two writers one creates it.

    A client that repeats a put whose answer was lost is told so of its own file too.
    """
    try:
        obstore.put(client(delta_path(path.parent)), path.name, text.encode(), mode="create")
    except AlreadyExistsError:
        return False
    return True


def require_writable(paths: Paths) -> None:
    """Raise RootNotWritable, RootRefused or RootUnreachable if the pipeline's checkpoint cannot be
    written.
    """
    if is_remote(str(paths.root)):
        refuse_unusable(delta_path(paths.above))
    else:
        paths.ensure_writable()


def refuse_unusable(url: str) -> None:
    """Put an object, put it again with the conditions that it is absent and that it is another, and
    remove it.

    Raises RootRefused if the store refuses these keys or this bucket, or makes another put: many
    stores that do not know a condition ignore it silently, and would give each lease and each
    commit to two processes. Raises RootUnreachable if the store does not answer within some 20
    seconds. Creates no bucket.
    """
    probe = f".sluice-writable-{uuid.uuid4().hex[:8]}"
    with _translated_errors(url):
        store = client(url)
        obstore.put(store, probe, b"")
        unsafe = _overwrites(store, probe)
        obstore.delete(store, probe)
    if unsafe:
        raise RootRefused.no_conditional_put(url=url)


def _overwrites(store: ObjectStore, name: str) -> bool:
    """Whether the store puts an object that exists, although the put has the condition that it is
    absent, or that it has another tag.
    """
    conditions: tuple[Literal["create"] | UpdateVersion, ...] = "create", {"e_tag": OTHER_TAG}
    for condition in conditions:
        try:
            obstore.put(store, name, b"", mode=condition)
        except (AlreadyExistsError, PreconditionError):
            continue
        return True
    return False


def require_readable(root: str) -> None:
    """Raise RootRefused or RootUnreachable if a root on a store cannot be listed: some clients find
    it empty then.
    """
    if is_remote(root):
        with _translated_errors(root):
            obstore.list_with_delimiter(client(root))


def folders_in(url: str) -> set[str] | None:
    """The names of the folders directly in this one; None where there is none.

    It asks once, for somebody who waits. Raises RootRefused, RootUnreachable.
    """
    if not is_remote(url):
        try:
            with os.scandir(disk_path(url)) as found:
                return {each.name for each in found if each.is_dir()}
        except FileNotFoundError:
            return None
    with _translated_errors(url):
        store = (
            _client(url, Store.from_environment(), _now(), once=True) if is_s3(url) else client(url)
        )
        below = obstore.list_with_delimiter(store)["common_prefixes"]
    return {each.rstrip("/").rpartition("/")[2] for each in below} or None


@contextmanager
def _translated_errors(url: str) -> Iterator[None]:
    """Raise the clients' errors within the block as RootRefused or RootUnreachable."""
    try:
        yield
    except SluiceError:
        raise
    except Exception as error:  # noqa: BLE001 - obstore's and botocore's have no root in common
        raise translate_store_error(error, url, certain=True) or error from None


def _credentials() -> Callable[[], Any]:
    """obstore's credential provider by botocore's chain, as s3fs has it: environment, profile,
    container, instance.
    """
    from botocore.session import Session  # type: ignore[import-untyped]  # noqa: PLC0415 - a disk needs none

    credentials = Session().get_credentials()
    if credentials is None:
        raise RootRefused.no_credentials()

    def current() -> dict[str, Any]:
        keys = credentials.get_frozen_credentials()
        expires = datetime.now(UTC) + FRESH if keys.token else None
        return {
            "access_key_id": keys.access_key,
            "secret_access_key": keys.secret_key,
            "token": keys.token,
            "expires_at": expires,
        }

    return current
