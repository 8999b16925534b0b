"""The object store of a root: its options for each of the four clients that read and write it.

Endpoint, region and keys come from the variables that all four clients read: AWS_ENDPOINT_URL,
AWS_REGION, and for keys the chain of environment, profile and instance. This module sees no key and
imports no client.
"""

from __future__ import annotations

import os
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spark_jobs.errors import SettingInvalid, SluiceError

if TYPE_CHECKING:
    from upath import UPath

TRANSLATED: Final = "spark_jobs.storage.root.store_errors:translated"
SCHEME: Final = "s3://"
PATH_STYLE: Final = "SLUICE_S3_PATH_STYLE"
ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
"""The variables with the store's URL; the first one that is set counts."""
DEFAULT_REGION: Final = "us-east-1"
"""For a store with its own endpoint where no region is set: most such stores accept any region."""
CONNECT_SECONDS: Final = 5
ANSWER_SECONDS: Final = 20
"""The longest silence of a connection.

After it the client closes the connection and sends the request again.
"""
RETRIES: Final = 8
"""Of s3fs.

Each waits 1.7 times as long as the one before: about ten seconds in total where a store answers
503.
"""
PATIENCE_SECONDS: Final = 60
"""The longest time for one request with all its retries."""
_CHAIN: Final = (
    # Spark passes a driver's AWS_ACCESS_KEY_ID on to executors, as the options that the first two
    # providers read.
    "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider",
    "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider",
)


def is_remote(root: str) -> bool:
    """Whether the root is not a folder of this machine."""
    return "://" in root and not root.startswith(("file://", "local://"))


def make_folder(folder: UPath) -> None:
    """With all above it. An object store has none."""
    if not is_remote(str(folder)):
        folder.mkdir(parents=True, exist_ok=True)


def is_s3(root: str) -> bool:
    """Whether the root is on S3, or on a store with S3's API."""
    return root.startswith((SCHEME, "s3a://"))


def sluice_url(url: str) -> str:
    """The URL in Sluice's form, also for a URL from Hadoop."""
    return url.replace("s3a://", SCHEME)


def bucket(url: str) -> str:
    """The bucket of a URL on S3."""
    return sluice_url(url).removeprefix(SCHEME).partition("/")[0]


def opened(root: str) -> UPath:
    """The path of `root`, to read and write the files under it.

    fsspec would cache listings, and they would be stale as soon as another process writes, above
    all Spark's JVM.
    """
    from upath import UPath

    if not is_remote(root):
        return UPath(root)
    if not is_s3(root):
        return UPath(root, use_listings_cache=False)
    made: UPath = UPath(
        sluice_url(root), use_listings_cache=False, **Store.from_environment().s3fs_options()
    )
    made.fs.retries = RETRIES  # s3fs has no other way to set it
    return made


class Store(NamedTuple):
    """Where a store with S3's API is. Empty fields: Amazon's S3, as its clients find it."""

    endpoint: str = ""
    region: str = ""
    path_style: bool = False
    """Whether the bucket is in the path of a URL and not in its host: most self-hosted stores need
    it.
    """

    @classmethod
    def from_environment(cls) -> Store:
        """Raises SettingInvalid where the endpoint is no URL or has keys, or SLUICE_S3_PATH_STYLE
        is not true or false.
        """
        named = next(filter(os.environ.get, ENDPOINTS), ENDPOINTS[-1])
        endpoint = os.environ.get(named, "")
        if "@" in endpoint:
            raise SettingInvalid.keys_in_endpoint(name=named)
        if endpoint and not endpoint.startswith(("http://", "https://")):
            raise SettingInvalid.endpoint_no_url(name=named, endpoint=endpoint)
        region = (
            os.environ.get("AWS_REGION")
            or os.environ.get("AWS_DEFAULT_REGION")
            or (DEFAULT_REGION if endpoint else "")
        )
        style = os.environ.get(PATH_STYLE) or ("true" if endpoint else "false")
        if style not in {"true", "false"}:
            raise SettingInvalid.path_style_unknown(style=style)
        return cls(endpoint.rstrip("/"), region, style == "true")

    def s3fs_options(self) -> dict[str, Any]:  # s3fs nests its options
        """For s3fs, with which UPath reads and writes."""
        client = {"endpoint_url": self.endpoint, "region_name": self.region}
        return {
            "client_kwargs": {name: value for name, value in client.items() if value},
            # A file in one request: by default its size is asked for first, and an answer to that
            # never says why a store refuses.
            "max_concurrency": 1,
            # s3fs itself sends a request again, whatever these options are.
            "config_kwargs": {
                "connect_timeout": CONNECT_SECONDS,
                "read_timeout": ANSWER_SECONDS,
                "retries": {"max_attempts": 1},
                "s3": {"addressing_style": "path" if self.path_style else "auto"},
            },
        }

    def delta_options(self, url: str) -> dict[str, str]:
        """For delta-rs and the table at `url`.

        Conditional puts are set: on a store without them a commit must fail.
        """
        return {
            **self._rust(url),
            "conditional_put": "etag",
            # else it ignores profiles where the endpoint is not Amazon's
            "aws_force_credential_load": "true",
            "connect_timeout": f"{CONNECT_SECONDS}s",
            "timeout": f"{ANSWER_SECONDS}s",
            "max_retries": "6",
            "retry_timeout": f"{PATIENCE_SECONDS}s",
            **({"allow_http": "true"} if self.endpoint.startswith("http://") else {}),
        }

    def obstore_options(self, url: str) -> dict[str, str]:
        """For obstore, which the lease uses, and the objects under `url`."""
        return self._rust(url) | {"conditional_put": "etag"}

    def s3a_options(self) -> dict[str, str]:
        """For S3A, the client of Hadoop, with which Spark reads and writes."""
        return {
            "fs.s3a.aws.credentials.provider": ",".join(_CHAIN),
            "fs.s3a.path.style.access": "true" if self.path_style else "false",
            **({"fs.s3a.endpoint": self.endpoint} if self.endpoint else {}),
            **({"fs.s3a.endpoint.region": self.region} if self.region else {}),
            # Sluice has reached the server before Spark starts. Later the machine may be busy with
            # the batch itself.
            "fs.s3a.connection.establish.timeout": f"{ANSWER_SECONDS}s",
            "fs.s3a.connection.timeout": f"{ANSWER_SECONDS}s",
            # A run must end. S3A's defaults are twenty retries, each after twice the time of the
            # one before: on a store that answers 503 they take days.
            "fs.s3a.attempts.maximum": "2",
            "fs.s3a.retry.limit": "5",
            "fs.s3a.retry.throttle.limit": "7",
        }

    def _rust(self, url: str) -> dict[str, str]:
        """For object_store, which delta-rs and obstore use.

        With the bucket in the host it expects the bucket's endpoint. With the store's endpoint it
        would take the first part of a key for a bucket. Source:
        AmazonS3Builder.with_virtual_hosted_style_request.
        """
        scheme, _, host = self.endpoint.partition("://")
        endpoint = self.endpoint if self.path_style else f"{scheme}://{bucket(url)}.{host}"
        return {
            **({"endpoint": endpoint} if self.endpoint else {}),
            **({"region": self.region} if self.region else {}),
            "virtual_hosted_style_request": "false" if self.path_style else "true",
        }


def translate_store_error(
    error: BaseException, root: str = "", *, certain: bool = False
) -> SluiceError | None:
    """The error by store_errors.py, which is loaded where something has failed."""
    found: SluiceError | None = resolve_name(TRANSLATED)(error, root, certain=certain)
    return found
