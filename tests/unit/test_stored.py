"""A note is put over what was read of it, and over nothing that another has written since: on a
disk as in an object store.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import obstore
import pytest

from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.errors import LeaseLost
from spark_jobs.storage import seen
from spark_jobs.storage.root.store import opened
from spark_jobs.storage.stored import Stored
from tests.simulation import bucket


@pytest.fixture(params=["disk", "store"])
def path(request) -> Iterator[Any]:
    with (
        TemporaryDirectory(dir=bucket.FOLDER) as folder,
        bucket.in_reach() if request.param == "store" else nullcontext(),
    ):
        root = f"s3://{Path(folder).relative_to(bucket.FOLDER)}"
        yield opened(root if request.param == "store" else folder) / "cursor.json"


class Held:
    """A lease that nobody takes."""

    def confirm(self) -> None:
        """It is held."""


HELD = Held()


def test_it_is_put_over_what_was_read_again_and_again(path):
    first = Cursor(audited=1)
    first.put(path, HELD)
    first.model_copy(update={"audited": 2}).put(path, HELD)
    read = Cursor.read(path)
    read.model_copy(update={"audited": 3}).put(path, HELD)
    assert Cursor.read(path) == Cursor(audited=3)


def test_it_is_not_put_over_what_another_has_written_since(path):
    Cursor(audited=1).put(path, HELD)
    late, prompt = Cursor.read(path), Cursor.read(path)
    prompt.model_copy(update={"audited": 2}).put(path, HELD)
    for note in (late.model_copy(update={"audited": 9}), Cursor(audited=9)):
        with pytest.raises(LeaseLost):
            note.put(path, HELD)
    assert Cursor.read(path).audited == 2


def test_what_was_not_read_is_put_over_what_is_there_if_it_says_so(path):
    path.write_text("{")
    torn = Cursor(audited=1).over(path)
    torn.put(path, HELD)
    assert Cursor.read(path).audited == 1


def test_bytes_that_are_no_text_are_as_torn_ones(path):
    path.write_bytes(b'{"audited": 1, "spec": "\xff\xfe"}')
    with pytest.raises(ValueError, match="surrogates"):
        Cursor.read(path)
    Cursor(audited=1).over(path).put(path, HELD)
    assert Cursor.read(path).audited == 1


@pytest.mark.parametrize("before", [None, 1])
def test_of_two_without_a_lease_one_puts_it(path, before, monkeypatch):
    """The second comes between the first one's last look and its write."""
    if before:
        Cursor(audited=before).put(path, None)
    notes = [Cursor(audited=each).over(path) for each in (2, 3)]
    refused = []

    def beside(write: Callable[..., Any]) -> Callable[..., Any]:
        def late(*args: Any, **more: Any) -> Any:
            if len(notes) == 1:
                second = notes.pop()
                try:
                    second.put(path, None)
                except LeaseLost:
                    refused.append(second)
            return write(*args, **more)

        return late

    monkeypatch.setattr(seen, "write_whole", beside(seen.write_whole))
    monkeypatch.setattr(os, "link", beside(os.link))
    monkeypatch.setattr(obstore, "put", beside(obstore.put))
    first = notes.pop(0)
    try:
        first.put(path, None)
    except LeaseLost:
        refused.append(first)
    assert len(refused) == 1
    assert Cursor.read(path) not in refused


def test_one_whose_answer_was_lost_is_this_ones(path, monkeypatch):
    """The client sends it again, and the store finds the tag of its own object."""
    Cursor(audited=1).put(path, HELD)
    again = Cursor.read(path).model_copy(update={"audited": 2})
    put = obstore.put

    def twice(*args: Any, **more: Any) -> Any:
        put(*args, **more)
        return put(*args, **more)

    monkeypatch.setattr(obstore, "put", twice)
    again.put(path, HELD)
    again.model_copy(update={"audited": 3}).put(path, HELD)
    assert Cursor.read(path).audited == 3


def test_without_the_lease_nothing_is_written(path):
    class Lost(Held):
        def confirm(self):
            raise LeaseLost("it is another's")

    with pytest.raises(LeaseLost):
        Cursor(audited=1).put(path, Lost())
    assert not path.exists()


def test_notes_are_equal_by_what_they_say():
    class Other(Stored):
        audited: int = 1

    assert Cursor(audited=1) == Cursor(audited=1)
    assert Cursor(audited=1) != Cursor(audited=2)
    assert Cursor(audited=1) != Other()
    assert len({Cursor(audited=1), Cursor(audited=1)}) == 1
