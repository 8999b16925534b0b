"""Cases: the file tests.yaml beside a spec: records in batches, and what comes of them.

A field more or less, a misspelt one or a wrong type raises CaseInvalid. Needs no Spark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from spark_jobs.errors import CaseInvalid
from spark_jobs.registry import find as registry
from spark_jobs.storage import failpoint

VERBS: Final[dict[str, Callable[[str], bool]]] = {
    **dict.fromkeys(("drain", "repair", "replay", "undo", "correct"), bool),
    "rewind": lambda of: not of.isdecimal(),
    "kill": lambda of: of not in failpoint.POINTS,
}
"""The verb of an act -> whether what is written behind it is wrong."""
READING: Final = ("drain", "kill")
"""The verbs that read the next batch."""
WRITTEN: Final = ("drain", "kill AT", "repair", "replay", "undo", "rewind BATCH", "correct")
NAMES: Final = ("tests.yaml", "tests.yml", "tests.json")
"""The first of them that a pipeline's folder has is read."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Record(_Part):
    """A record as a producer sends it."""

    value: Any
    """Text or bytes (!!binary) as they are; null for a tombstone; anything else as JSON."""
    key: str | bytes | None = None
    headers: dict[str, str | None] | None = None
    timestamp: datetime | None = Field(default=None, strict=False)
    """Kafka's; by default when its batch is run. Without a zone it is UTC."""
    partition: int = Field(default=0, ge=0, le=99)
    topic: str | None = None
    """Its topic's name, where the pipeline reads several."""

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, given: Any) -> Any:
        """What is not written with `value` is the value itself."""
        whole = isinstance(given, Mapping) and "value" in given and given.keys() <= FIELDS
        return given if whole or isinstance(given, cls) else {"value": given}


FIELDS: Final = {"value", "key", "headers", "timestamp", "partition", "topic"}


class Expected(_Part):
    """What comes of all batches. A count that is not written is not compared, but for what was
    rejected or lost: nothing may be late, malformed, premature or unaccounted that the case does
    not name.
    """

    rows: list[dict[str, Any]] | None = None
    """The table's rows, in any order. Only the columns that a row names are compared."""
    late: int = 0
    malformed: int | list[str] = 0
    """How many, or for each of them a part of its reason."""
    premature: int | list[str] = 0
    unaccounted: int = 0
    """Records that no outcome explains."""
    elements: int | None = None
    """Of the values of a topic with `each`, as are the next two."""
    empty: int | None = None
    refused: int | None = None
    filtered: int | None = None
    accepted: int | None = None
    duplicates: int | None = None
    inserted: int | None = None
    updated: int | None = None
    deleted: int | None = None
    absent: int | None = None
    superseded: int | None = None
    fails: str | None = None
    """The code of the error with which the last batch ends."""

    @model_validator(mode="before")
    @classmethod
    def _says_something(cls, given: Any) -> Any:
        """`rows:` with nothing behind it would compare nothing."""
        empty = (
            [name for name, of in given.items() if of is None] if isinstance(given, Mapping) else []
        )
        if empty:
            raise ValueError(f"{empty[0]} has no value; write [] for no rows, or leave it out")
        return given


class Act(_Part):
    """What a case does once."""

    verb: Literal["drain", "kill", "repair", "replay", "undo", "rewind", "correct"]
    of: str = ""
    """The failpoint of a kill, the batch of a rewind."""

    @model_validator(mode="before")
    @classmethod
    def _text(cls, given: Any) -> Any:
        if not isinstance(given, str):
            return given
        verb, _, of = given.partition(" ")
        if verb not in VERBS or VERBS[verb](of):
            raise ValueError(f"write one of {', '.join(WRITTEN)}")
        return {"verb": verb, "of": of}

    @property
    def takes(self) -> bool:
        """Whether it reads the next batch."""
        return self.verb in READING


class Case(_Part):
    """One case."""

    name: str = Field(min_length=1)
    dimensions: dict[str, list[dict[str, Any]]] = {}
    """Name of a dimension -> its rows; of those that are left out, the file's."""
    corrections: list[dict[str, list[dict[str, Any]]]] = []
    """What each `correct` puts in the place of rows of dimensions, one after the other."""
    given: list[list[Record]] = Field(min_length=1)
    """Batches: each is a run of its own."""
    then: list[Act] = []
    """What is done; by default a drain for each batch."""
    expect: Expected

    @model_validator(mode="after")
    def _reads_all(self) -> Self:
        drains = sum(act.takes for act in self.then)
        if self.then and drains < len(self.given):
            raise ValueError(
                f"a drain or a kill reads one batch: given has {len(self.given)}, then {drains}"
            )
        corrects = sum(act.verb == "correct" for act in self.then)
        if corrects != len(self.corrections):
            raise ValueError(
                f"a correct takes one of corrections: there are {len(self.corrections)}, then has "
                f"{corrects}"
            )
        return self

    @property
    def acts(self) -> tuple[Act, ...]:
        """What is done, in order."""
        return tuple(self.then) or (Act(verb="drain"),) * len(self.given)


class _File(_Part):
    defaults: dict[str, Any] = {}
    """Fields of each record's value, if that is an object and does not have them."""
    dimensions: dict[str, list[dict[str, Any]]] = {}
    """Name of a dimension -> its rows, for all cases."""
    cases: list[Case] = Field(min_length=1)

    @model_validator(mode="after")
    def _named(self) -> Self:
        twice = [
            name for name, count in Counter(each.name for each in self.cases).items() if count > 1
        ]
        if twice:
            raise ValueError(f"give each case a name of its own, not {twice[0]!r} twice")
        return self


def file_of(pipeline: str) -> Path | None:
    """The file with its cases, if it has one."""
    folder = registry.logic_path(pipeline).parent
    return next((folder / name for name in NAMES if (folder / name).is_file()), None)


def required_file(pipeline: str) -> Path:
    """The file with its cases. Raises CaseInvalid if it has none."""
    path = file_of(pipeline)
    if path is None:
        raise CaseInvalid.file_absent(pipeline=pipeline, names=", ".join(NAMES))
    return path


def read(path: Path) -> tuple[Case, ...]:
    """The cases of a file, in its order. Raises CaseInvalid."""
    found = _parsed(path)
    try:
        file = _File.model_validate(found)
    except ValidationError as error:
        raise _invalid(path, found, error) from None
    return tuple(_completed(case, file) for case in file.cases)


def _completed(case: Case, file: _File) -> Case:
    def whole(record: Record) -> Record:
        if not isinstance(record.value, Mapping):
            return record
        return record.model_copy(update={"value": {**file.defaults, **record.value}})

    given = [[whole(record) for record in batch] for batch in case.given]
    return case.model_copy(
        update={"given": given, "dimensions": {**file.dimensions, **case.dimensions}}
    )


def _parsed(path: Path) -> Any:
    """YAML 1.2, of which JSON is a part. What looks like a time stays text, as in JSON."""
    from ruamel.yaml import YAML, YAMLError  # noqa: PLC0415 - Spark's side has it
    from ruamel.yaml.constructor import SafeConstructor  # noqa: PLC0415 - as above

    class Texts(SafeConstructor):  # type: ignore[misc]  # ruamel has no types here
        """Makes no times."""

    Texts.add_constructor("tag:yaml.org,2002:timestamp", SafeConstructor.construct_yaml_str)
    yaml = YAML(typ="safe", pure=True)
    yaml.Constructor = Texts
    try:
        return yaml.load(path)
    except (YAMLError, UnicodeDecodeError, ValueError) as error:
        raise CaseInvalid.unreadable(file=_shown(path), error=error) from None


def _invalid(path: Path, found: Any, error: ValidationError) -> CaseInvalid:
    # A misspelt field is also one that is missing, which says less.
    first = min(error.errors(include_url=False), key=lambda each: each["type"] != "extra_forbidden")
    where, case = first["loc"], "the file"
    if where[:1] == ("cases",) and len(where) > 1 and isinstance(where[1], int):
        given = found["cases"][where[1]]
        name = given.get("name") if isinstance(given, Mapping) else None
        case = f"case {name!r}" if name else f"case {where[1] + 1}"
        where = where[2:]
    right = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        right = "there is no such field"
    return CaseInvalid.field_wrong(
        file=_shown(path),
        case=case,
        field=".".join(map(str, where)) or "its form",
        given="missing" if first["type"] == "missing" else repr(first["input"])[:200],
        right=right,
    )


def _shown(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"
