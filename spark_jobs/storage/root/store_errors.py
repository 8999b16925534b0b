"""Translates the errors of an object store's four clients into RootRefused and RootUnreachable, and
delta-rs' of a disk into RootNotWritable.
"""

from __future__ import annotations

import errno
import os
import re
import traceback
from collections.abc import Iterator, Mapping
from typing import Final

from spark_jobs.errors import RootNotWritable, RootRefused, RootUnreachable, SluiceError
from spark_jobs.storage.root.store import Store

_FAILED: Final = re.compile(
    r"LocalFileSystem error\W+(?:\[31m\W+\[0m )?"
    r"Unable to [a-z ]+? (?P<folder>/[^\n]*)/[^\n/]+?(?P<writes>#\d+)?"
    r"(?::|\n)[^\n]*\(os error (?P<number>\d+)\)"
)
"""A file that is written has a number at its end until it is whole."""
_OURS: Final = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT}


def translate_disk_error(text: str) -> RootNotWritable | None:
    """The error that delta-rs' text tells of a local disk; None if it tells of none."""
    if not (found := _FAILED.search(text)) or int(found["number"]) not in _OURS:
        return None
    folder, error = found["folder"], os.strerror(number := int(found["number"]))
    if number == errno.EACCES and not found["writes"]:
        return RootNotWritable.not_readable(path=folder, error=error)
    return RootNotWritable.not_writable(folder=folder, error=error)


_CLIENTS: Final = re.compile(
    r"botocore\.|s3fs\.|obstore\.|Generic S3|Generic \{ store|Error performing |<Error><Code>|"
    r"software\.amazon\.awssdk\.|hadoop\.fs\.s3a\.\w*Exception"
)
"""A line without one of these is not about the store: a refused connection may be Kafka's, or the
one to Spark's JVM.
"""
_NOT_SAID: Final = re.compile(r"^\s*(?:at |File ).*$| in [\d.]+[mnµ]?s\b", re.MULTILINE)
"""Frames of a stack, and how long a request took: no status, whatever its digits are.
"""
_MORE: Final = "↳"
"""In delta-rs' messages, the mark of a line that continues the line before it."""
_CLOCK: Final = "the clocks of this machine and of the store are too far apart"
_REGION: Final = "the bucket is in another region"
_CONDITION: Final = "it does not support conditional puts (If-None-Match: *), which Sluice needs"
_REFUSED: Final = {
    _CLOCK: ("RequestTimeTooSkewed", "difference between the request time"),
    _REGION: (
        "PermanentRedirect",
        "TemporaryRedirect",
        "redirect without LOCATION",
        "AuthorizationHeaderMalformed",
        "IllegalLocationConstraint",
        "status.{0,8}30[17]",
    ),
    _CONDITION: ("NotImplemented", "Not Implemented", "status.{0,8}501"),
    "it does not know the access key": ("InvalidAccessKeyId", "invalid access key"),
    "the secret key does not match the access key": (
        "SignatureDoesNotMatch",
        "signature (?:we calculated )?does not match",
    ),
    "the session's token has expired": (
        "ExpiredToken",
        "TokenRefreshRequired",
        "token has expired",
    ),
    "no credentials were found in the environment, in a profile or in a role of this machine": (
        "NoCredentials",
        "Unable to (?:locate|load) credentials",
        "NoAuthWithAWSException",
        "CredentialsNotLoaded",
        "no providers in chain",
    ),
    "AWS_PROFILE names a profile that does not exist": ("ProfileNotFound", "config profile"),
    "the bucket does not exist, and Sluice creates none": (
        "NoSuchBucket",
        "(?:specified )?bucket does not exist",
        "bucket not found",
    ),
    "it does not allow the request": (
        "AccessDenied",
        "Access Denied",
        "Forbidden",
        "Unauthenticated",
        "PermissionDenied",
        "PermissionError",
        "status.{0,8}40[13]",
        "40[13] ",
    ),
}
"""Meaning -> patterns of a client's message.

The order counts: some clients also say "denied" about a wrong key or clock.
"""
_CORRECT: Final = {
    _CLOCK: "Set this machine's clock, then run again.",
    _REGION: "Set AWS_REGION to the bucket's region, and AWS_ENDPOINT_URL, if it is set, to the "
    "endpoint of that region.",
    _CONDITION: "Use a store, or a version of it, that supports them: docs/deploy.md.",
}
"""Meaning -> remedy, where it is not the usual remedy."""
_UNREACHABLE: Final = {
    "it answered 503 until the time limit: it is overloaded, or not there": (
        "SlowDown",
        "Slow Down",
        "ServiceUnavailable",
        "Service Unavailable",
        "reduce your request rate",
        "AWSServiceThrottled",
        r"\b503\b",
    ),
    "it answered with a server error": (
        "InternalError",
        "Internal Server Error",
        "Bad Gateway",
        "Gateway Time-?out",
        r"\b50[024]\b",
        "AWSStatus500",
    ),
    "it did not answer in time": ("timed[ -]?out", "TimeoutE", "ReadTimeout", "SocketTimeout"),
    "there was no connection to it, or it was cut off": (
        "Could not connect",
        "Connection ?refused",
        "ConnectException",
        "error sending request",
        "ConnectorError",
        "dns error",
        "UnknownHost",
        "Name or service not known",
        "NoHttpResponse",
        "Connection ?reset",
        "ConnectionClosed",
        "connection closed",
        "Broken pipe",
        "Unable to execute HTTP request",
        "error decoding response body",
        "EOF",
        "ConnectTimeout",
        "ClientPayloadError",
        "IncompleteMessage",
        "operation was incomplete",
        "AWSClientIOException",
        "SdkClientException",
    ),
}


def translated(
    error: BaseException, root: str = "", *, certain: bool = False
) -> SluiceError | None:
    """The error as RootRefused, RootUnreachable or RootNotWritable; None where neither store nor
    disk caused it.

    The message contains no key.

    SLUICE_TRACEBACK=1 prints its stack trace.

    `certain`: the caller knows that the store caused the error. Some clients raise a
    FileNotFoundError that does not name them.
    """
    text = "\n".join(_chain(error))
    if disk := translate_disk_error(text):
        return disk
    text = text if certain else "\n".join(_of_the_store(text))
    if not text:
        return None
    if os.environ.get("SLUICE_TRACEBACK"):
        traceback.print_exception(error)
    where = f"the object store{f' of {root}' if root else ''}{_endpoint()}"
    if meaning := _meaning(text, _REFUSED):
        usual = (
            "Correct the keys, the bucket or its policy; docs/deploy.md lists the rights "
            "that Sluice needs."
        )
        return RootRefused.request_refused(
            where=where,
            meaning=meaning,
            remedy=_CORRECT.get(meaning, usual),
        )
    if meaning := _meaning(text, _UNREACHABLE):
        return RootUnreachable.no_answer(where=where, meaning=meaning)
    return None


def _meaning(text: str, table: Mapping[str, tuple[str, ...]]) -> str | None:
    return next(
        (
            meaning
            for meaning, patterns in table.items()
            if re.search("|".join(patterns), text, re.IGNORECASE)
        ),
        None,
    )


def _of_the_store(text: str) -> Iterator[str]:
    of_store = False
    for line in _NOT_SAID.sub("", text).splitlines():
        of_store = bool(_CLIENTS.search(line)) or (of_store and _MORE in line)
        if of_store:
            yield line


def _endpoint() -> str:
    endpoint = Store.from_environment().endpoint
    return f" at {endpoint}" if endpoint else ""


def _chain(error: BaseException | None) -> Iterator[str]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield f"{type(error).__module__}.{type(error).__qualname__}: {error}"
        error = error.__cause__ or error.__context__
