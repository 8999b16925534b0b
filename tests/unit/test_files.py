"""Files put where nothing is: on S3 a writer knows its own again, and another's is an error, however a store says so."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from botocore.exceptions import ClientError
from s3fs.errors import translate_boto_error

from spark_jobs.contract.files import create_whole


class Taken:
    """A path on S3 whose store refuses a put, and what is there."""

    def __init__(self, there: bytes, **said: str) -> None:
        self._there, self._said = there, said

    def __str__(self) -> str:
        return "s3://bucket/offsets/7"

    def open(self, mode: str) -> BytesIO:
        assert mode == "xb"
        answer: Any = {"Error": self._said}
        raise translate_boto_error(ClientError(answer, "PutObject"))

    def read_bytes(self) -> bytes:
        return self._there


SAID = [{"Code": "PreconditionFailed", "Condition": "If-None-Match"}, {"Code": "PreconditionFailed"}, {"Code": "412"}]


@pytest.mark.parametrize("said", SAID, ids=["as Amazon", "without the condition", "without a body"])
def test_what_a_store_refuses_is_ones_own_where_it_says_the_same_and_another_writers_where_not(said: dict[str, str]) -> None:
    mine: Any = Taken(b"mine", **said)
    create_whole(mine, "mine")
    others: Any = Taken(b"another's", **said)
    with pytest.raises(FileExistsError, match="offsets/7 was put by another writer meanwhile"):
        create_whole(others, "mine")


def test_a_store_that_does_not_allow_it_is_told_as_that() -> None:
    denied: Any = Taken(b"mine", Code="AccessDenied")
    with pytest.raises(PermissionError):
        create_whole(denied, "mine")
