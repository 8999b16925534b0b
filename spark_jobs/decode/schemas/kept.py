"""Kept: the schemas of a registry under the root, each in a file that is written once.

They are for whoever decodes again: a resumed run, a repair, a rebuild in years, without the
registry. An id means one schema for good, so a file is never asked for again, and never changed.
An id for which the registry had no schema that can be read is kept with the reason, so that whoever
reads its records again finds the same; the next run that finds it in new records asks once more.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from spark_jobs.decode.schemas.avro import parse
from spark_jobs.decode.schemas.protoc import descriptor_set
from spark_jobs.decode.schemas.registry import Registered, Registry
from spark_jobs.decode.schemas.schema import Schema, SchemaUnread
from spark_jobs.errors import CheckpointBroken, RegistryRefused
from spark_jobs.storage.root.files import create_whole
from spark_jobs.storage.root.store import opened
from spark_jobs.storage.stored import Stored

if TYPE_CHECKING:
    from upath import UPath

READERS: Final = 8
"""Files that are read at the same time: an object store takes some 20 ms for each."""
MISSING: Final = ".missing"
MOST_MISSING: Final = 2_000
"""Ids that are kept as missing. Records of another format have others in each run."""
NONE: Final = "the registry has no schema {}"
OTHERS: Final = "others.unasked"
"""It is there once records had more ids than are looked up."""


class _File(Stored):
    """The content of `<root>/schemas/<registry>/<id>.json`."""

    id: str
    kind: str
    schema_text: str
    references: tuple[tuple[str, str], ...] = ()
    descriptor: str | None = None
    """In base64."""
    url: str
    at: datetime


class Kept:
    """The schemas of one registry. `name`: as the topic's format names it."""

    def __init__(self, root: str, name: str) -> None:
        self.folder: UPath = opened(root) / "schemas" / name

    def schemas(self) -> dict[str, Schema | str]:
        """All of them. Raises CheckpointBroken if a file does not parse."""
        try:
            files = [each for each in self.folder.iterdir() if each.suffix in {".json", MISSING}]
        except FileNotFoundError:
            return {}
        with ThreadPoolExecutor(READERS) as readers:
            found = dict(zip(files, readers.map(_read, files), strict=True))
        # What was missing at first may be there by now.
        last = sorted(found, key=lambda file: file.suffix != MISSING)
        return {file.stem: found[file] for file in last}

    def note_others(self) -> None:
        """Note that nobody asked for some ids: their records are malformed, and stay so."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            create_whole(self.folder / OTHERS, "{}")

    def has_others(self) -> bool:
        """Whether there are records with ids for which nobody asked."""
        return bool((self.folder / OTHERS).exists())

    def fetch(self, ids: Iterable[str], registry: Callable[[], Registry]) -> dict[str, bool]:
        """Ask for those of the ids that are not kept, and keep the answers. Id -> whether there is
        a schema that can be read.

        Raises RegistryUnreachable, RegistryRefused.
        """
        kept = self.schemas()
        wanted = [each for each in ids if not isinstance(kept.get(each), Schema)]
        asked = registry() if wanted else None
        had = {each: True for each in ids if each not in wanted}
        missing = {each for each, schema in kept.items() if isinstance(schema, str)}
        for each in wanted:
            assert asked
            room = each in missing or len(missing) < MOST_MISSING
            had[each] = self._keep(each, asked, missing=room)
            missing |= set() if had[each] else {each}
        return had

    def refuse_others(self, ids: Iterable[str], registry: Callable[[], Registry]) -> None:
        """Hold those that are kept against the registry: one that was set up anew counts from 1
        again. Whoever starts from a topic's beginning asks.

        Raises RegistryRefused; RegistryUnreachable, by which nothing is known.
        """
        kept = self.schemas()
        # A GUID is made of its schema: no other registry gives it to another one.
        numbers = [each for each in ids if each.isdigit()]
        known = [(each, found) for each in numbers if isinstance(found := kept.get(each), Schema)]
        asked = registry() if known else None
        for number, ours in known:
            assert asked
            try:
                theirs = asked.schema(int(number))
            except SchemaUnread:
                continue
            if theirs is not None and theirs.text != ours.text:
                raise RegistryRefused.schema_differs(
                    number=number,
                    url=asked.url,
                    folder=self.folder,
                )

    def _keep(self, number: str, asked: Registry, *, missing: bool) -> bool:
        """Ask for this one; whether there is a schema that can be read. `missing`: whether there is
        room for one more that has none.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            found, descriptor = _readable(number, asked)
        except SchemaUnread as error:
            if not missing:
                self.note_others()
                return False
            with suppress(FileExistsError):
                create_whole(self.folder / f"{number}{MISSING}", json.dumps({"why": str(error)}))
            return False
        content = _File(
            id=number,
            kind=found.kind,
            schema_text=found.text,
            references=found.references,
            descriptor=descriptor,
            url=asked.url,
            at=datetime.now(UTC),
        )
        path = self.folder / f"{number}.json"
        with suppress(FileExistsError):  # another pipeline's run, of the same registry
            create_whole(path, content.model_dump_json(indent=2))
        return True


def _readable(number: str, asked: Registry) -> tuple[Registered, str | None]:
    """The schema, and of Protobuf its descriptors. Raises SchemaUnread without one."""
    found = asked.schema(int(number)) if number.isdigit() else asked.schema_by_guid(number)
    if found is None:
        raise SchemaUnread(NONE.format(number))
    try:
        if found.kind == "PROTOBUF":
            made = descriptor_set(found.text, found.references)
            return found, b64encode(made).decode()
        if found.kind == "AVRO":
            parse(found.text, [text for _, text in found.references])
    except ValueError as error:
        raise SchemaUnread(f"its schema is no {found.kind} that can be read: {error}") from None
    return found, None


def _read(path: UPath) -> Schema | str:
    try:
        if path.suffix == MISSING:  # of older runs it is empty
            return str(json.loads(path.read_text()).get("why", NONE.format(path.stem)))
        content = _File.read(path)
        descriptor = b64decode(content.descriptor) if content.descriptor else None
    except ValueError:
        raise CheckpointBroken.schema_file_unreadable(path=path) from None
    return Schema(content.kind, content.schema_text, content.references, descriptor)
