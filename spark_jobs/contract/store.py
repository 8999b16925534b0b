"""The object store that a root may lie on, and how it is said to each of the four clients that speak to it, in one place.

Where it is and who asks is declared once, by the variables that all of them know: AWS_ENDPOINT_URL, AWS_REGION, for keys the
chain of environment, profile and instance. No key passes through here. Imports none of the clients.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spark_jobs.contract.errors import SettingInvalid

if TYPE_CHECKING:
    from upath import UPath

SCHEME: Final = "s3://"
PATH_STYLE: Final = "SLUICE_S3_PATH_STYLE"
ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
"""The variables that say where the store is; the first that is set counts."""
DEFAULT_REGION: Final = "us-east-1"
"""Of a store that has an endpoint of its own and says nothing of regions: most take any."""
CONNECT_SECONDS: Final = 5
ANSWER_SECONDS: Final = 20
"""For one answer. A connection on which nothing comes for so long is given up, and the request sent again."""
RETRIES: Final = 8
"""Of s3fs, each after 1.7 times as long as the one before: some ten seconds in all where a store answers 503."""
PATIENCE_SECONDS: Final = 60
"""For one request with all its repetitions."""
_CHAIN: Final = (
    # Spark itself hands a driver's AWS_ACCESS_KEY_ID on to executors, as the options that the first two look for.
    "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider", "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider",
)


def is_remote(root: str) -> bool:
    """Whether it is no folder of this machine."""
    return "://" in root and not root.startswith(("file://", "local://"))


def is_s3(root: str) -> bool:
    """Whether it lies on S3, or what speaks as S3 does."""
    return root.startswith((SCHEME, "s3a://"))


def spark_url(path: UPath | str) -> str:
    """As Spark and Hadoop call it: their client for S3 goes by another scheme."""
    text = str(path)
    return f"s3a://{text.removeprefix(SCHEME)}" if text.startswith(SCHEME) else text


def sluice_url(url: str) -> str:
    """As Sluice calls it, whatever Hadoop said."""
    return url.replace("s3a://", SCHEME)


def bucket(url: str) -> str:
    """The bucket of a URL on S3."""
    return sluice_url(url).removeprefix(SCHEME).partition("/")[0]


def opened(root: str) -> UPath:
    """The root, for the files under it.

    fsspec remembers listings. They are old as soon as another process, Spark's JVM above all, has written: it must not.
    """
    from upath import UPath

    if not is_remote(root):
        return UPath(root)
    if not is_s3(root):
        return UPath(root, use_listings_cache=False)
    made: UPath = UPath(sluice_url(root), use_listings_cache=False, **Store.from_environment().files())
    made.fs.retries = RETRIES  # of s3fs, which takes it no other way
    return made


class Store(NamedTuple):
    """Where an S3 is. All empty: Amazon's own, as its clients find it."""

    endpoint: str = ""
    region: str = ""
    path_style: bool = False
    """The bucket in the path of a URL, not in its host: what most servers of one's own need."""

    @classmethod
    def from_environment(cls) -> Store:
        """Raises SettingInvalid where the endpoint is no URL or has keys, or SLUICE_S3_PATH_STYLE is not true or false."""
        named = next(filter(os.environ.get, ENDPOINTS), ENDPOINTS[-1])
        endpoint = os.environ.get(named, "")
        if "@" in endpoint:
            raise SettingInvalid(f"{named} has keys in it, and it stands in logs and on command lines.",
                                 "Leave them out; docs/object-store.md has the ways to give them.")
        if endpoint and not endpoint.startswith(("http://", "https://")):
            raise SettingInvalid(f"{named} is {endpoint!r}: it is no URL.", "For example https://store.example:9000.")
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or (DEFAULT_REGION if endpoint else "")
        style = os.environ.get(PATH_STYLE) or ("true" if endpoint else "false")
        if style not in {"true", "false"}:
            raise SettingInvalid(f"{PATH_STYLE} is {style!r}: it can be true or false.",
                                 "Leave it out for true where AWS_ENDPOINT_URL is set, and false on Amazon's own.")
        return cls(endpoint.rstrip("/"), region, style == "true")

    def files(self) -> dict[str, Any]:
        """For s3fs, by which UPath reads and writes."""
        told = {"endpoint_url": self.endpoint, "region_name": self.region}
        return {
            "client_kwargs": {name: value for name, value in told.items() if value},
            # s3fs repeats a request itself, whatever these do.
            "config_kwargs": {
                "connect_timeout": CONNECT_SECONDS, "read_timeout": ANSWER_SECONDS, "retries": {"max_attempts": 1},
                "s3": {"addressing_style": "path" if self.path_style else "auto"},
            },
        }

    def delta(self, url: str) -> dict[str, str]:
        """For delta-rs, of the table at `url`. It is asked for conditional puts by name: without them commits must fail."""
        return {
            **self._rust(url), "conditional_put": "etag",
            "aws_force_credential_load": "true",  # or profiles are left out where the endpoint is not Amazon's
            "connect_timeout": f"{CONNECT_SECONDS}s", "timeout": f"{ANSWER_SECONDS}s",
            "max_retries": "6", "retry_timeout": f"{PATIENCE_SECONDS}s",
            **({"allow_http": "true"} if self.endpoint.startswith("http://") else {}),
        }

    def lease(self, url: str) -> dict[str, str]:
        """For obstore, which the lease uses, of what is under `url`."""
        return self._rust(url) | {"conditional_put": "etag"}

    def spark(self) -> dict[str, str]:
        """For S3A, Hadoop's client, by which Spark reads and writes."""
        return {
            "fs.s3a.aws.credentials.provider": ",".join(_CHAIN),
            "fs.s3a.path.style.access": "true" if self.path_style else "false",
            **({"fs.s3a.endpoint": self.endpoint} if self.endpoint else {}),
            **({"fs.s3a.endpoint.region": self.region} if self.region else {}),
            # That there is a server is known before Spark starts; later a machine may be busy with the batch itself.
            "fs.s3a.connection.establish.timeout": f"{ANSWER_SECONDS}s",
            "fs.s3a.connection.timeout": f"{ANSWER_SECONDS}s",
            # A run must end: by the defaults, twenty repetitions of which each waits twice as long as the one before, a store
            # that answers 503 would be asked for days.
            "fs.s3a.attempts.maximum": "2",
            "fs.s3a.retry.limit": "5",
            "fs.s3a.retry.throttle.limit": "7",
        }

    def _rust(self, url: str) -> dict[str, str]:
        """For object_store, which is below both of them.

        With the bucket in the host it takes the endpoint for the bucket's own: told the store's, it asks for the first part of
        a key as if that were a bucket. Source: AmazonS3Builder.with_virtual_hosted_style_request.
        """
        scheme, _, host = self.endpoint.partition("://")
        endpoint = self.endpoint if self.path_style else f"{scheme}://{bucket(url)}.{host}"
        return {
            **({"endpoint": endpoint} if self.endpoint else {}),
            **({"region": self.region} if self.region else {}),
            "virtual_hosted_style_request": "false" if self.path_style else "true",
        }
