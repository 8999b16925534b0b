"""The object store as the lease and the first question to it need it: a client with the standard chain's credentials."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import obstore
from obstore.exceptions import AlreadyExistsError
from obstore.store import ObjectStore, from_url

from spark_jobs.contract.errors import RootRefused, SluiceError
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.store import ANSWER_SECONDS, CONNECT_SECONDS, Store, is_remote, is_s3
from spark_jobs.contract.store_errors import translate_store_error

RETRIES = {"max_retries": 7, "retry_timeout": timedelta(seconds=ANSWER_SECONDS)}
FRESH = timedelta(minutes=5)
"""For how long a key is used that has an end, until it is asked for again: botocore renews it in time."""


def client(url: str) -> ObjectStore:
    """Of everything under `url`, whatever obstore opens: S3, Google, Azure, a local folder. Raises RootRefused without keys."""
    if not is_s3(url):
        return from_url(url)
    store = Store.from_environment()
    options = {"connect_timeout": f"{CONNECT_SECONDS}s", "timeout": f"{ANSWER_SECONDS}s",
               "allow_http": store.endpoint.startswith("http://")}
    asked: dict[str, Any] = {"config": store.obstore_options(url), "client_options": options, "retry_config": RETRIES}
    made: ObjectStore = from_url(url, credential_provider=_credentials(), **asked)
    return made


def require_writable(paths: Paths) -> None:
    """Raise RootNotWritable, RootRefused or RootUnreachable where the pipeline's checkpoint cannot be written."""
    if is_remote(str(paths.root)):
        refuse_unusable(str(paths.version))
    else:
        paths.ensure_writable()


def refuse_unusable(url: str) -> None:
    """Put an object there, ask for it once more only if it is absent, and take it away again.

    Raises RootRefused where the store turns these keys or this bucket away, or puts what it was told to put only if absent:
    many that do not know the condition leave it out and say nothing, and each lease and each commit would be given to two.
    Raises RootUnreachable where it does not answer within some 20 seconds. Makes no bucket.
    """
    probe = f".sluice-writable-{uuid.uuid4().hex[:8]}"
    with _in_words(url):
        there = client(url)
        obstore.put(there, probe, b"")
        unsafe = _overwrites(there, probe)
        obstore.delete(there, probe)
    if unsafe:
        raise RootRefused(
            f"the object store of {url} overwrites an object that it was asked to put only if it is absent (If-None-Match: *): "
            "of two runs both would hold the lease, and of two commits the second would hide the first.",
            "Use a store, or a version of it, that knows conditional puts: docs/object-store.md.")


def _overwrites(there: ObjectStore, name: str) -> bool:
    try:
        obstore.put(there, name, b"", mode="create")
    except AlreadyExistsError:
        return False
    return True


def require_readable(root: str) -> None:
    """Raise RootRefused or RootUnreachable where a root on a store cannot be listed: some clients find nothing there then."""
    if is_remote(root):
        with _in_words(root):
            obstore.list_with_delimiter(client(root))


@contextmanager
def _in_words(url: str) -> Iterator[None]:
    try:
        yield
    except SluiceError:
        raise
    except Exception as error:  # noqa: BLE001 - obstore's and botocore's have no root in common
        raise translate_store_error(error, url, certain=True) or error from None


def _credentials() -> Callable[[], Any]:
    """By botocore's chain, which s3fs uses too: environment, profile, container, instance."""
    from botocore.session import Session  # type: ignore[import-untyped]  # noqa: PLC0415 - a disk needs none

    found = Session().get_credentials()
    if found is None:
        raise RootRefused("no credentials for the object store were found: not in the environment, in no profile, and this "
                          "machine has no role.", "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE.")

    def current() -> dict[str, Any]:
        keys = found.get_frozen_credentials()
        ends = datetime.now(UTC) + FRESH if keys.token else None
        return {"access_key_id": keys.access_key, "secret_access_key": keys.secret_key, "token": keys.token, "expires_at": ends}

    return current
