"""Seen: what a file had when it was read. It is replaced only while it has that.

Who holds a lease may sleep for longer than it lasts, between any look at it and the write behind.
What the next holder has written then stays: a store compares the object's tag in the put itself
(If-Match, If-None-Match). On a disk the kernel lets nobody come late, and the text is compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import obstore
from obstore.exceptions import AlreadyExistsError, PreconditionError

from spark_jobs.root.files import write_whole
from spark_jobs.root.path_forms import delta_path
from spark_jobs.root.store import is_remote
from spark_jobs.storage.object_store import client

if TYPE_CHECKING:
    from obstore import UpdateVersion
    from upath import UPath


class Seen(NamedTuple):
    """A file, as it was read."""

    text: str | None
    """None: there was none."""
    tag: UpdateVersion | None = None
    """The object's, on a store."""


ABSENT = Seen(None)


def look(path: UPath) -> Seen:
    """What is there now."""
    try:
        if not is_remote(str(path)):
            return Seen(path.read_text())
        answer = obstore.get(client(delta_path(path.parent)), path.name)
        return Seen(bytes(answer.bytes()).decode(), _tag(answer.meta))
    except FileNotFoundError:
        return ABSENT


def put_over(path: UPath, seen: Seen, text: str) -> Seen:
    """Write the file over what was seen. Raises FileExistsError if that is there no more.

    A client repeats a put whose answer was lost, and the store refuses the repetition: so what has
    the same text counts as written.
    """
    if not is_remote(str(path)):
        if look(path) not in {seen, Seen(text)}:
            raise FileExistsError(path)
        write_whole(path, text)
        return Seen(text)
    try:
        made = obstore.put(
            client(delta_path(path.parent)),
            path.name,
            text.encode(),
            mode="create" if seen.tag is None else seen.tag,
        )
    except (AlreadyExistsError, PreconditionError, FileNotFoundError):
        if (now := look(path)).text != text:
            raise FileExistsError(path) from None
        return now
    return Seen(text, _tag(made))


def _tag(about: Any) -> UpdateVersion:  # Any: a put's result or an object's meta, by their stubs
    tag: UpdateVersion = {"e_tag": about["e_tag"]}
    if version := about.get("version"):
        tag["version"] = version
    return tag
