"""Ways: how the values of a field are found in decoded records, and by what they are read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from spark_jobs.decode.json.connect import Read, Schema, beside
from spark_jobs.decode.json.leaf import Leaf, members_of
from spark_jobs.decode.json.tree import Node, Step, joined, walk
from spark_jobs.values.path import as_text

if TYPE_CHECKING:
    from spark_jobs.spec.fields.place import Place
    from spark_jobs.values.path import Path


class Way(NamedTuple):
    """How a field's values are found."""

    place: Place
    leaf: Leaf
    bases: tuple[tuple[list[Step], tuple[list[Step], ...]], ...]
    """Of each base the way to it, and from the record to each of the paths in it."""
    checked: bool
    """Whether msgspec refuses a record without it."""
    text: str
    """Where it is, for a reason."""
    members: frozenset[str]
    """The names that its type has."""

    held: tuple[Path | None, ...]
    """Of each of its paths the place of the schema that it may be held against; empty for none."""

    @property
    def looked_at(self) -> bool:
        """Whether its values are looked at though nobody wants them."""
        return not self.checked or self.leaf.judges or bool(self.members)


def is_sure(place: Place, of: Leaf) -> bool:
    """Whether there is one place alone for a required field, so that msgspec can refuse a record
    without it.
    """
    one = len(place.paths) == 1 and place.bases == ((),)
    certain = one and all(isinstance(each, str) for each in place.paths[0])
    return place.field.required and certain and of.annotation is not msgspec.Raw


def way_of(place: Place, of: Leaf, root: Node) -> Way:
    bases = tuple(
        (root.steps(base), tuple(joined(root.steps((*base, *path), of)) for path in place.paths))
        for base in place.bases
    )
    members = frozenset[str]() if place.field.format else members_of(place.field.tree)
    text = as_text(place.paths[0])
    whole = [beside((*base, *path)) for base in place.bases for path in place.paths]
    held = tuple(whole) if any(each is not None for each in whole) else ()
    shared = any(way and way[-1].reads for _, ways in bases for way in ways)
    checked = is_sure(place, of) and not shared
    return Way(place, of, bases, checked, text, frozenset(members), held)


def paths_of(way: Way) -> list[Path]:
    return [(*base, *path) for base in way.place.bases for path in way.place.paths]


def values_of(
    way: Way, records: list[Any], chosen: dict[Any, list[int | None]], wrong: dict[int, str]
) -> list[Any]:
    """The field's value in each record, null if it has none. `chosen` keeps which base counts;
    `wrong` gets why a value does not decode.
    """
    refused = dict[int, str]()
    columns = [_first(way, records, paths, refused) for _, paths in way.bases]
    for number, why in refused.items():
        wrong.setdefault(number, f"{why} in `$.{way.text}`")
    if len(columns) == 1:
        return columns[0]
    key = way.place.bases
    if key not in chosen:
        bases = [walk(records, steps, refused) for steps, _ in way.bases]
        chosen[key] = [
            next((number for number, base in enumerate(each) if base is not None), None)
            for each in zip(*bases, strict=True)
        ]
    return [
        None if base is None else columns[base][index] for index, base in enumerate(chosen[key])
    ]


def read_otherwise(
    way: Way,
    schemas: Mapping[Path, Sequence[Schema | None]],
    records: Sequence[Any],
    values: Sequence[Any],
) -> dict[Read, list[int]]:
    """By what else than as declared values are read, since the schema of their record says so, and
    the numbers of these records.
    """
    found = defaultdict[Read, list[int]](list)
    for place, each in schemas.items():
        own = tuple(
            path[len(place) + 1 :] if held == place else None
            for path, held in zip(paths_of(way), way.held, strict=True)
        )
        reads = {
            schema: schema.reads(way.place.field, own) for schema in {*each} - {None} if schema
        }
        odd = {schema: by for schema, by in reads.items() if any(by)}
        for number, schema in enumerate(each if odd else ()):
            if schema in odd and values[number] is not None:
                read = odd[schema][_path_of(way, records[number])]
                if read:
                    found[read].append(number)
    return found


def _path_of(way: Way, record: Any) -> int:
    """Which of its paths gives the value of a record that has one."""
    first = 0
    for base, paths in way.bases:
        if not base or walk([record], base, {})[0] is not None:
            there = (n for n, each in enumerate(paths) if _at(way, [record], each, {}) != [None])
            return first + next(there)
        first += len(paths)
    raise AssertionError


def _first(
    way: Way, records: list[Any], paths: Sequence[list[Step]], wrong: dict[int, str]
) -> list[Any]:
    found = _at(way, records, paths[0], wrong)
    for steps in paths[1:]:
        if None in found:
            others = _at(way, records, steps, wrong)
            found = [
                other if value is None else value
                for value, other in zip(found, others, strict=True)
            ]
    return found


def _at(
    way: Way, records: Sequence[Any], steps: Sequence[Step], wrong: dict[int, str]
) -> list[Any]:
    """The values there; a null of raw JSON is none."""
    found = walk(records, steps, wrong)
    return [*map(_but_null, found)] if way.leaf.annotation is msgspec.Raw else found


def _but_null(value: Any) -> Any:
    return None if isinstance(value, msgspec.Raw) and bytes(value) == b"null" else value
