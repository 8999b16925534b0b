"""Kept: the schemas of a registry under the root, each in a file that is written once.

They are for whoever decodes again: a resumed run, a repair, a rebuild in years, without the
registry. An id means one schema for good, so a file is never asked for again, and never changed.
An id that the registry did not have when its records came is kept as missing, so that whoever reads
those again finds the same; the next run that finds the id in new records asks once more.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from spark_jobs.checkpoint.notes.stored import Stored
from spark_jobs.errors import CheckpointBroken, RegistryRefused
from spark_jobs.root.files import create_whole
from spark_jobs.root.store import opened
from spark_jobs.schemas.avro import parse
from spark_jobs.schemas.protoc import NotProtobuf, descriptor_set
from spark_jobs.schemas.registry import Registered, Registry
from spark_jobs.schemas.schema import Schema

if TYPE_CHECKING:
    from upath import UPath

READERS: Final = 8
"""Files that are read at the same time: an object store takes some 20 ms for each."""
MISSING: Final = ".missing"
MOST_MISSING: Final = 2_000
"""Ids that are kept as missing. Records of another format have others in each run."""
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

    def schemas(self) -> dict[str, Schema | None]:
        """All of them. Raises CheckpointBroken if a file does not parse."""
        try:
            files = [each for each in self.folder.iterdir() if each.suffix in {".json", MISSING}]
        except FileNotFoundError:
            return {}
        with ThreadPoolExecutor(READERS) as readers:
            found = dict(zip(files, readers.map(_read, files), strict=True))
        missing = {file.stem: None for file in files if file.suffix == MISSING}
        return missing | {file.stem: each for file, each in found.items() if each is not None}

    def note_others(self) -> None:
        """Note that nobody asked for some ids: their records are malformed, and stay so."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            create_whole(self.folder / OTHERS, "{}")

    def has_others(self) -> bool:
        """Whether there are records with ids for which nobody asked."""
        return bool((self.folder / OTHERS).exists())

    def fetch(self, ids: Iterable[str], registry: Callable[[], Registry]) -> dict[str, bool]:
        """Ask for those of the ids that are not kept, and keep the answers. Id -> whether the
        registry has it.

        Raises RegistryUnreachable; RegistryRefused also if what it gives is no schema.
        """
        kept = self.schemas()
        wanted = [each for each in ids if kept.get(each) is None]
        asked = registry() if wanted else None
        had = {each: True for each in ids if each not in wanted}
        missing = {each for each, schema in kept.items() if schema is None}
        for each in wanted:
            assert asked
            found = asked.schema(int(each)) if each.isdigit() else asked.schema_by_guid(each)
            had[each] = found is not None
            if found is None:
                missing.add(each)
            if found is not None or len(missing) <= MOST_MISSING:
                self._keep(each, found, asked.url)
            else:
                self.note_others()
        return had

    def refuse_others(self, ids: Iterable[str], registry: Callable[[], Registry]) -> None:
        """Hold those that are kept against the registry: one that was set up anew counts from 1
        again. Whoever starts from a topic's beginning asks.

        Raises RegistryRefused; RegistryUnreachable, by which nothing is known.
        """
        kept = self.schemas()
        # A GUID is made of its schema: no other registry gives it to another one.
        numbers = [each for each in ids if each.isdigit()]
        known = [(each, found) for each in numbers if (found := kept.get(each)) is not None]
        asked = registry() if known else None
        for number, ours in known:
            assert asked
            theirs = asked.schema(int(number))
            if theirs is not None and theirs.text != ours.text:
                raise RegistryRefused.schema_differs(
                    number=number,
                    url=asked.url,
                    folder=self.folder,
                )

    def _keep(self, number: str, found: Registered | None, url: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if found is None:
            with suppress(FileExistsError):
                create_whole(self.folder / f"{number}{MISSING}", "{}")
            return
        content = _File(
            id=number,
            kind=found.kind,
            schema_text=found.text,
            references=found.references,
            descriptor=_descriptor(number, found, url),
            url=url,
            at=datetime.now(UTC),
        )
        path = self.folder / f"{number}.json"
        with suppress(FileExistsError):  # another pipeline's run, of the same registry
            create_whole(path, content.model_dump_json(indent=2))


def _descriptor(number: str, found: Registered, url: str) -> str | None:
    """Of Protobuf. Raises RegistryRefused if the text is none, also of Avro."""
    try:
        if found.kind == "PROTOBUF":
            return b64encode(descriptor_set(found.text, found.references)).decode()
        if found.kind == "AVRO":
            parse(found.text, [text for _, text in found.references])
    except (NotProtobuf, ValueError) as error:
        raise RegistryRefused.schema_unreadable(
            number=number,
            url=url,
            kind=found.kind,
            error=error,
        ) from None
    return None


def _read(path: UPath) -> Schema | None:
    if path.suffix == MISSING:
        return None
    try:
        content = _File.read(path)
        descriptor = b64decode(content.descriptor) if content.descriptor else None
    except ValueError:
        raise CheckpointBroken.schema_file_unreadable(path=path) from None
    return Schema(content.kind, content.schema_text, content.references, descriptor)
