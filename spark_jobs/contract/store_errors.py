"""What an object store's four clients say when it does not answer, or turns a request away: in one error, in words."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Iterator
from typing import Final

from spark_jobs.contract.errors import RootRefused, RootUnreachable, SluiceError
from spark_jobs.contract.store import Store

_ITS_CLIENTS: Final = re.compile(
    r"botocore\.|s3fs\.|obstore\.|Generic S3|Generic \{ store|software\.amazon\.awssdk\.|hadoop\.fs\.s3a\.\w*Exception")
"""Without one of these a line is not of the store: a refused connection may be Kafka's, or that to Spark's own JVM."""
_FRAME: Final = re.compile(r"^\s*(?:at |File ).*$", re.MULTILINE)
_MORE: Final = "↳"
"""In what delta-rs says, a line that goes on with the one before it."""
_CLOCK: Final = "this machine's clock and its own are too far apart"
_REGION: Final = "the bucket lies in another region than was asked"
_CONDITION: Final = "it cannot do what was asked: Sluice needs conditional puts (If-None-Match: *)"
_REFUSED: Final = {
    "RequestTimeTooSkewed|difference between the request time": _CLOCK,
    "PermanentRedirect|TemporaryRedirect|redirect without LOCATION|AuthorizationHeaderMalformed|IllegalLocationConstraint|"
    "status.{0,8}30[17]": _REGION,
    "NotImplemented|Not Implemented|status.{0,8}501": _CONDITION,
    "InvalidAccessKeyId|invalid access key": "it does not know the access key",
    "SignatureDoesNotMatch|signature (?:we calculated )?does not match": "the secret key does not go with the access key",
    "ExpiredToken|TokenRefreshRequired|token has expired": "the session's token has expired",
    "NoCredentials|Unable to (?:locate|load) credentials|NoAuthWithAWSException|CredentialsNotLoaded|no providers in chain":
        "no credentials were found: not in the environment, in no profile, and this machine has no role",
    "ProfileNotFound|config profile": "AWS_PROFILE names a profile that is not there",
    "NoSuchBucket|(?:specified )?bucket does not exist|bucket not found": "there is no such bucket, and Sluice makes none",
    "AccessDenied|Access Denied|Forbidden|Unauthenticated|PermissionDenied|PermissionError|status.{0,8}40[13]|40[13] ":
        "it does not allow what was asked",
}
"""What a client says -> what it means. In this order: of a wrong key, or a clock, some say that access is denied too."""
_CORRECT: Final = {
    _CLOCK: "Set this machine's clock, then run again.",
    _REGION: "Set AWS_REGION to the bucket's; and AWS_ENDPOINT_URL, where that is set, to the endpoint of that region.",
    _CONDITION: "Use a store, or a version of it, that knows them: docs/object-store.md.",
}
"""What it means -> the remedy, where it is not the usual one."""
_UNREACHABLE: Final = {
    "SlowDown|Slow Down|ServiceUnavailable|Service Unavailable|reduce your request rate|AWSServiceThrottled|\\b503\\b":
        "it answered 503 until patience ended: it is overloaded, or not there",
    "InternalError|Internal Server Error|Bad Gateway|Gateway Time-?out|\\b50[024]\\b|AWSStatus500":
        "it answered with an error of its own",
    "timed[ -]?out|TimeoutE|ReadTimeout|SocketTimeout": "it did not answer in time",
    "Could not connect|Connection ?refused|ConnectException|error sending request|ConnectorError|dns error|UnknownHost|"
    "Name or service not known|NoHttpResponse|Connection ?reset|ConnectionClosed|connection closed|Broken pipe|"
    "Unable to execute HTTP request|error decoding response body|EOF|ConnectTimeout|ClientPayloadError|IncompleteMessage|"
    "operation was incomplete|AWSClientIOException|SdkClientException": "there was no connection to it, or it was cut off",
}


def told(error: BaseException, root: str = "", *, certain: bool = False) -> SluiceError | None:
    """The error as RootRefused or RootUnreachable; None where it is not one of the store's. Names no key.

    SLUICE_TRACEBACK=1 shows where it came from.

    `certain` where only the store can have said it: some of its clients say FileNotFoundError, and nothing of themselves.
    """
    text = "\n".join(_chain(error))
    text = text if certain else "\n".join(_of_the_store(text))
    if not text:
        return None
    if os.environ.get("SLUICE_TRACEBACK"):
        traceback.print_exception(error)
    where = f"the object store{f' of {root}' if root else ''}{_endpoint()}"
    for pattern, meaning in _REFUSED.items():
        if re.search(pattern, text, re.IGNORECASE):
            usual = "Correct the keys, the bucket or its policy; docs/object-store.md has the least that it needs."
            return RootRefused(f"{where} refused: {meaning}.", _CORRECT.get(meaning, usual))
    for pattern, meaning in _UNREACHABLE.items():
        if re.search(pattern, text, re.IGNORECASE):
            return RootUnreachable(f"{where}: {meaning}.",
                                   "Check AWS_ENDPOINT_URL and the store, then run again: it resumes.")
    return None


def _of_the_store(text: str) -> Iterator[str]:
    """Its own lines, among all that Spark and Python tell with an error."""
    mine = False
    for line in _FRAME.sub("", text).splitlines():
        mine = bool(_ITS_CLIENTS.search(line)) or (mine and _MORE in line)
        if mine:
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
