"""Files that are there whole or not at all; on S3 a writer knows its own again, and another's is an
error.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from s3fs.errors import translate_boto_error
from upath import UPath

from spark_jobs.root.files import create_whole, replacing, write_whole


class Taken:
    """A path on S3 whose store refuses a put, and what is there."""

    def __init__(self, there: bytes, **said: str) -> None:
        self._there = there
        self._said = said

    def __str__(self) -> str:
        return "s3://bucket/offsets/7"

    def open(self, mode: str) -> BytesIO:
        assert mode == "xb"
        answer: Any = {"Error": self._said}
        raise translate_boto_error(ClientError(answer, "PutObject"))

    def read_bytes(self) -> bytes:
        return self._there


SAID = [
    {"Code": "PreconditionFailed", "Condition": "If-None-Match"},
    {"Code": "PreconditionFailed"},
    {"Code": "412"},
]


@pytest.mark.parametrize("said", SAID, ids=["as Amazon", "without the condition", "without a body"])
def test_what_a_store_refuses_is_ones_own_where_it_says_the_same_and_another_writers_where_not(
    said: dict[str, str],
) -> None:
    mine: Any = Taken(b"mine", **said)
    create_whole(mine, "mine")
    others: Any = Taken(b"another's", **said)
    with pytest.raises(FileExistsError, match="offsets/7 was created by another writer"):
        create_whole(others, "mine")


def test_a_store_that_does_not_allow_it_is_told_as_that() -> None:
    denied: Any = Taken(b"mine", Code="AccessDenied")
    with pytest.raises(PermissionError):
        create_whole(denied, "mine")


@pytest.mark.parametrize("several", [False, True])
def test_a_file_takes_its_place_when_it_is_whole_and_nothing_else_is_left(
    tmp_path: Path, several: bool
) -> None:
    (path := tmp_path / "made").write_text("older")
    with replacing(path, several=several) as partial:
        partial.write_text("newer")
        assert path.read_text() == "older"
    assert path.read_text() == "newer"
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("several", [False, True])
def test_one_that_could_not_be_written_leaves_the_older_one_and_nothing_else(
    tmp_path: Path, several: bool
) -> None:
    def half(partial: Path) -> None:
        partial.write_text("new")
        raise OSError(28, "No space left on device")

    (path := tmp_path / "made").write_text("older")
    with pytest.raises(OSError, match="No space left"), replacing(path, several=several) as partial:
        half(partial)
    assert path.read_text() == "older"
    assert [*tmp_path.iterdir()] == [path]


def test_of_two_that_write_one_file_at_once_both_succeed(tmp_path: Path) -> None:
    path = tmp_path / "made"
    with replacing(path, several=True) as one, replacing(path, several=True) as other:
        one.write_text("one")
        other.write_text("other")
    assert path.read_text() == "one", "it ended last"


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_local_root_may_be_said_as_a_url(tmp_path: Path, scheme: str) -> None:
    write_whole(UPath(f"{scheme}{tmp_path}/cursor.json"), "{}")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"cursor.json": "{}"}
