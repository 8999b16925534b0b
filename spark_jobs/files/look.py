"""Look: holds a folder against the list of what is noted of it. Writes nothing.

New files follow in the order of their names: the writer has chosen them, and they are the same on
each machine and in each copy. Times of changes are not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs.errors import FilesUnfit
from spark_jobs.files.folder import There, digests, file_at, folder_of, listed, there
from spark_jobs.files.layout import Layout, layout_of
from spark_jobs.files.noted import MILLISECOND, Listed, Noted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from upath import UPath

    from spark_jobs.spec import Files

LONGEST_END: Final = 2
"""Bytes of a line end."""


class Look(NamedTuple):
    """What is where."""

    folder: UPath
    listed: Listed
    now: dict[str, There]
    """Name -> each file of the folder."""
    new: tuple[There, ...]
    """Those that are noted with another size or change, or not yet, and have settled; by name."""
    waiting: tuple[There, ...]
    """Those that have not."""

    @property
    def gone(self) -> set[str]:
        """Names of noted files that are not there any more."""
        return {each.name for each in self.listed.files} - self.now.keys()


def look(declared: Files, root: str, listed_: Listed, now_ms: int) -> Look:
    """`now_ms`: this machine's clock, in milliseconds since 1970. Raises FilesUnfit."""
    layout, folder = layout_of(declared), folder_of(declared, root)
    now, every = listed(folder, declared)
    known, changed = listed_.newest, list[There]()
    for name, each in now.items():
        if name not in known or _differs(known[name], each):
            layout.refuse_name(name)
            changed.append(each)
    new = [each for each in changed if _settled(each, declared, now_ms, every)]
    waiting = [each for each in changed if each not in new]
    return Look(folder, listed_, now, tuple(new), tuple(waiting))


def _differs(noted: Noted, now: There) -> bool:
    return (noted.stop, noted.changed, noted.tag) != (now.size, now.changed, now.tag)


def _settled(each: There, declared: Files, now_ms: int, every: Collection[str]) -> bool:
    above, slash, name = each.name.rpartition("/")
    marked = f"{above}{slash}{declared.marker.replace('*', name)}"
    rests = now_ms - each.changed >= declared.settled / MILLISECOND
    return rests and (not declared.marker or marked in every)


def parts(seen: Look, declared: Files) -> Iterator[Noted]:
    """What is to be noted of the new files, behind what is. Reads each of them. Raises FilesUnfit
    for one that cannot be read, that has another content than was noted, or that is a copy.
    """
    layout, known = layout_of(declared), seen.listed.begun
    gone = sorted((e for e in known.values() if e.name not in seen.now), key=lambda e: e.stop)
    went = {e.inode: e for e in gone if e.inode}
    # A list of before has no number of the disk: what such a file was is told by its content.
    unnumbered = [e for e in gone if not e.inode]
    names = {e.digest: e.name for e in seen.listed.files if e.readable}
    first = seen.listed.end
    # Those that have grown go first: a copy of one is then known.
    for each in sorted(seen.new, key=lambda each: each.name not in known):
        was = known.get(each.name)
        begins = [went[each.inode]] if each.inode in went else unnumbered if was is None else []
        was = _renamed(seen.folder, begins, was, each, declared) or was
        digest = _digest(seen.folder, layout, was, each)
        found = _counted(seen.folder, layout, was, each, digest, first)
        if there(seen.folder, each.name) != each:
            continue  # it changed while it was read: the next run looks again
        if was is not None and was.name != each.name:
            found = found.model_copy(update={"copy_of": was.name})
        if found.records and digest in names:
            found = _copy(found, names[digest], declared)
        names.setdefault(digest, each.name)
        first = found.behind
        yield found


def _renamed(
    folder: UPath, begins: Sequence[Noted], was: Noted | None, now: There, declared: Files
) -> Noted | None:
    """The noted file, one of `begins`, that has this name now, and has grown. One that has not is a
    copy. `was` is what is noted of this name: the file may have its first name again.
    """
    read = was.stop if was else 0
    longer = [each for each in begins if read < each.stop < now.size]
    if not longer or not now.inode or declared.copies == "read":
        return None
    found = zip(longer, digests(folder, now.name, *(each.stop for each in longer)), strict=True)
    # Another content: the disk has given the number again.
    went = [each for each, digest in found if digest == each.digest]
    if not went:
        return None
    if declared.copies == "refuse":
        refused = FilesUnfit.renamed if went[-1].inode else FilesUnfit.like_one_gone
        raise refused(name=now.name, of=went[-1].name, path=folder, stop=went[-1].stop)
    return went[-1]


def refuse_others(seen: Look, declared: Files) -> None:
    """Raise FilesUnfit for a file that has another content than was noted, and has not grown."""
    layout, known = layout_of(declared), seen.listed.begun
    for each in seen.new:
        if each.name in known:
            _digest(seen.folder, layout, known[each.name], each)


def _digest(folder: UPath, layout: Layout, was: Noted | None, now: There) -> str:
    """Of all of it. Raises FilesUnfit if it does not begin with what was noted."""
    if was is None:
        return digests(folder, now.name, now.size)[0]
    same = was.stop <= now.size
    before, after = digests(folder, now.name, was.stop, now.size) if same else ("", "")
    if before != was.digest or (now.size > was.stop and not _grows(folder, layout, was, now.name)):
        raise FilesUnfit.changed(
            name=now.name, path=folder, size=now.size, was=was.stop, noted=was.at,
            first=was.first, behind=was.behind,
        )  # fmt: skip
    return after


def _grows(folder: UPath, layout: Layout, was: Noted, name: str) -> bool:
    with file_at(folder, name) as file:
        file.seek(was.stop)
        return layout.grows(name, ended=was.ended, more=file.read(LONGEST_END))


def _counted(
    folder: UPath, layout: Layout, was: Noted | None, now: There, digest: str, first: int
) -> Noted:
    start = was.stop if was else 0
    common = {"name": now.name, "start": start, "stop": now.size, "changed": now.changed}
    common |= {"tag": now.tag, "inode": now.inode, "digest": digest, "first": first}
    if was is not None and start == now.size:  # touched, or written again: the same content
        return Noted(**common, records=0, ended=was.ended)
    with file_at(folder, now.name) as file:
        counted = layout.count(file, now.name, start, now.size)
    return Noted(**common, **counted._asdict())


def _copy(found: Noted, of: str, declared: Files) -> Noted:
    if declared.copies == "read":
        return found
    if declared.copies == "refuse":
        raise FilesUnfit.copy(name=found.name, of=of, path=declared.path)
    return found.model_copy(update={"records": 0, "marks": (), "copy_of": of})


def refuse_changed(folder: UPath, listed_: Listed, noted: Noted) -> None:
    """Raise FilesUnfit if the file has no longer what was noted of this part: by its size and its
    change, and where these differ by its content.
    """
    now = there(folder, noted.name)
    if now is None:
        raise FilesUnfit.went(name=noted.name, path=folder)
    if not _differs(listed_.newest.get(noted.name, noted), now):
        return
    if now.size < noted.stop or digests(folder, noted.name, noted.stop) != [noted.digest]:
        raise FilesUnfit.changed(
            name=noted.name, path=folder, size=now.size, was=noted.stop, noted=noted.at,
            first=noted.first, behind=noted.behind,
        )  # fmt: skip
