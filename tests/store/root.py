"""A root in the bucket: a prefix of its own, looked at by Amazon's own client."""

from __future__ import annotations

import secrets
from typing import Any

from tests.harness.crash import over
from tests.harness.object_store import ObjectStore
from tests.harness.scene import Scene


class Root:
    """Everything under one prefix."""

    def __init__(self, store: ObjectStore, bucket: str) -> None:
        self._client: Any = store.client()
        self.bucket = bucket
        self.prefix = f"root-{secrets.token_hex(4)}"

    @property
    def url(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}"

    def under(self, scene: Scene) -> Scene:
        """The same topic and ledger over this root."""
        return over(scene, self.url)

    def objects(self, below: str = "") -> dict[str, str]:
        """Name below the prefix -> ETag, of all that is there; without Hadoop's folder marks."""
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=self.bucket, Prefix=f"{self.prefix}/{below}"
        )
        found = (each for page in pages for each in page.get("Contents", ()))
        return {
            each["Key"].removeprefix(f"{self.prefix}/"): each["ETag"]
            for each in found
            if not each["Key"].endswith("/")
        }

    def read(self, name: str) -> bytes:
        """One object's content."""
        content: bytes = self._client.get_object(Bucket=self.bucket, Key=f"{self.prefix}/{name}")[
            "Body"
        ].read()
        return content

    def write(self, name: str, content: bytes) -> None:
        """One object, in the place of what is there."""
        self._client.put_object(Bucket=self.bucket, Key=f"{self.prefix}/{name}", Body=content)

    def take(self, other: Root, name: str) -> None:
        """A copy of one of another root's objects."""
        self._client.copy_object(
            Bucket=self.bucket,
            Key=f"{self.prefix}/{name}",
            CopySource={"Bucket": other.bucket, "Key": f"{other.prefix}/{name}"},
        )

    def remove(self, name: str) -> None:
        """One object less."""
        self._client.delete_object(Bucket=self.bucket, Key=f"{self.prefix}/{name}")


def of(scene: Scene, store: ObjectStore) -> Root:
    """The root of a scene that lies there."""
    made = Root(store, "")
    made.bucket, _, made.prefix = scene.settings.root.removeprefix("s3://").partition("/")
    return made


def copied(scene: Scene, store: ObjectStore) -> Scene:
    """The scene over a copy of its root."""
    old = of(scene, store)
    new = Root(store, old.bucket)
    for name in old.objects():
        new.take(old, name)
    return new.under(scene)
