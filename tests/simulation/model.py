"""Which rows the table must have: deeds make it, a rewind cuts, a killed deed is both."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from typing import Literal, NamedTuple

SHOPS = ("a", "b", "c")
BAD_SALES = 13
"""A row with this number fails the check."""


class Key(NamedTuple):
    """What a row is of: the offset whose record brings the hour of its window, and a shop."""

    offset: int
    shop: str


class Begins(NamedTuple):
    """Where a place begins to read: which topic of the name, and its first offset then."""

    topic: int
    offset: int


class Batch(NamedTuple):
    """A batch wrote the rows of one record."""

    number: int
    of: Begins
    """The record; of a batch that reads none the last one before it."""
    reads: bool = True
    """Not if it is of a repartition, or was planned by Sluice."""


class Change(NamedTuple):
    """What a record says of a shop, where the table follows the shop as a key."""

    key: Key
    sales: int
    """0 deletes it."""
    place: tuple[int, int]
    """A change counts if its place is above that of what is known of the shop."""
    said: int = 0
    """The number of its record, whatever a person has made of it."""

    def is_copy_of(self, other: Change) -> bool:
        return (self.place[0], self.said) == (other.place[0], other.said)


class Swap(NamedTuple):
    """A repair gave one row another number."""

    repair: str
    key: Key
    before: int
    after: int


class Found(NamedTuple):
    """A repair found one row as it had computed it: its records are in the table by others."""

    repair: str
    key: Key


class Undo(NamedTuple):
    """The number from before a repair is back."""

    repair: str


class Delete(NamedTuple):
    """A person deleted rows."""

    key: Key | None
    """Of one row; None: the bad ones."""


class Edit(NamedTuple):
    """A person gave one row, if it is there, another number or another shop, which nothing sells."""

    key: Key
    sales: int | None
    shop: str | None
    by: Literal["UPDATE", "MERGE"] = "UPDATE"

    def applied(self, sales: int) -> tuple[Key, int]:
        key = self.key if self.shop is None else self.key._replace(shop=self.shop)
        return key, sales if self.sales is None else self.sales


class Switch(NamedTuple):
    """A rebuild took the place of the table with these deeds. It is the first of its table's."""

    before: Deeds


Deed = Batch | Swap | Found | Undo | Delete | Edit | Switch
Deeds = tuple[Deed, ...]
Rows = dict[Key, int]


class Model(NamedTuple):
    """What may be true of the table: one of several lists of deeds."""

    bad: frozenset[int]
    """The offsets that bring a bad row."""
    possible: frozenset[Deeds] = frozenset({()})
    keyed: bool = False
    """Whether the table follows a key, the shop."""

    def done(self, deeds: Iterable[Deed]) -> Model:
        """These were done."""
        added = tuple(deeds)
        return self._replace(possible=frozenset(_with(each, added) for each in self.possible))

    def drained(
        self, until: int | None, first: Collection[Begins], *, empty: bool = False
    ) -> Model:
        """All batches before this one were, or one more; a place began at one of these. `empty`:
        any of them may have read nothing.
        """
        found = {
            made
            for each in self.possible
            for at in first
            for made in _filled(each, until, at, empty=empty)
        }
        return self._replace(possible=frozenset(found))

    def moved(self) -> Model:
        """A batch read nothing."""
        return self._replace(possible=frozenset(map(_moved, self.possible)))

    def rewound(self, batch: int) -> Model:
        """Back to the end of that batch."""
        return self._replace(possible=frozenset(_until(each, batch) for each in self.possible))

    def reset(self) -> Model:
        """Nothing is left."""
        return self._replace(possible=frozenset({()}))

    def switched(self, batch: int) -> Model:
        """A table that has been computed up to this batch is the one. It has all that the one
        before was made from, and its bad rows were deleted.
        """
        found = set()
        for each in self.possible:
            began = next((deed.of for deed in each if isinstance(deed, Batch)), Begins(1, 0))
            [drained] = _filled((Switch(_alone(each)),), batch + 1, began)
            found.add((*drained, Delete(None)))
        return self._replace(possible=frozenset(found))

    def back(self) -> Model:
        """The table from before the last switch is the one again."""
        return self._replace(possible=frozenset(map(_before, self.possible)))

    def some(self) -> Model:
        """The first of them, or all: a RESTORE took the others out, and it may be mended or not."""
        found = {each[:at] for each in self.possible for at in range(len(each) + 1)}
        return self._replace(possible=frozenset(found))

    def perhaps(self, other: Model) -> Model:
        """This, or what another says."""
        return self._replace(possible=self.possible | other.possible)

    def seen(self, rows: Rows, excised: Collection[int] = ()) -> Model:
        """Only what has these rows, but for those of `excised` offsets. Most differ by batches that
        read nothing: they have the same.
        """
        wrote, rows = {each: _written(each) for each in self.possible}, without(rows, excised)
        fits = {each for each in {*wrote.values()} if without(self.rows(each), excised) == rows}
        return self._replace(
            possible=frozenset(each for each, written in wrote.items() if written in fits)
        )

    def rows(self, deeds: Deeds) -> Rows:
        """What these deeds make of nothing."""
        if self.keyed:
            return self._present(deeds)
        rows: Rows = {}
        swaps = {each.repair: each for each in deeds if isinstance(each, Swap)}
        for deed in deeds:
            match deed:
                case Batch(_, of, True):
                    rows |= {Key(of.offset, shop): self.sales(of, shop) for shop in SHOPS}
                case Swap(_, key, _, after):
                    rows[key] = after
                case Undo(repair):
                    rows[swaps[repair].key] = swaps[repair].before
                case Delete(None):
                    rows = {key: sales for key, sales in rows.items() if sales != BAD_SALES}
                case Delete(key):
                    rows.pop(key, None)
                case Edit(key) if key in rows:
                    made, sales = deed.applied(rows.pop(key))
                    rows[made] = sales
        return rows

    def _present(self, deeds: Deeds) -> Rows:
        """One record after the other, and of each shop what is newest."""
        known: dict[str, Change] = {}
        for deed in deeds:
            match deed:
                case Batch(_, of, True):
                    for shop in SHOPS:
                        new = change(of, shop, self.sales)
                        if shop not in known or new.place > known[shop].place:
                            known[shop] = met(known.get(shop), new)
                case Delete(key):
                    gone = (lambda each: each.sales == BAD_SALES) if key is None else None
                    known = {
                        shop: each
                        for shop, each in known.items()
                        if not (gone(each) if gone else each.key == key)
                    }
                case Edit(key):
                    for shop in [s for s, each in known.items() if each.key == key and each.sales]:
                        each = known.pop(shop)
                        made, sales = deed.applied(each.sales)
                        known[made.shop] = each._replace(key=made, sales=sales)
        return {each.key: each.sales for each in known.values() if each.sales}

    def sales(self, of: Begins, shop: str) -> int:
        """The number that a record brings for a shop."""
        return BAD_SALES if of.offset in self.bad and shop == "a" else of.topic


def without(rows: Rows, excised: Collection[int]) -> Rows:
    """What is not of one of these offsets."""
    return {key: sales for key, sales in rows.items() if key.offset not in excised}


def met(known: Change | None, new: Change) -> Change:
    """Of a copy the place alone."""
    return known._replace(place=new.place) if known and new.is_copy_of(known) else new


def change(of: Begins, shop: str, sales: Callable[[Begins, str], int]) -> Change:
    """Some come late, some delete, and some are copies of one before."""
    turn = of.offset + SHOPS.index(shop)
    if turn % 7 == 6 and of.offset >= 2:
        first = change(of._replace(offset=of.offset - 2), shop, sales)
        return first._replace(place=(first.place[0], of.offset))
    deletes, late = turn % 5 == 4, turn % 3 == 2
    place, said = of.offset - 4 * late, 0 if deletes else sales(of, shop)
    return Change(Key(of.offset, shop), said, (place, of.offset), said)


def standing(deeds: Deeds) -> dict[str, bool]:
    """Repair -> whether its row is in the table."""
    found: dict[str, bool] = {}
    for deed in deeds:
        if isinstance(deed, Swap | Undo):
            found[deed.repair] = isinstance(deed, Swap)
    return found


def found(deeds: Deeds) -> set[str]:
    """The repairs that found their row so, and in whose hour nothing was taken back since: a range
    is compared whole.
    """
    keys = {each.repair: each.key for each in deeds if isinstance(each, Swap)}
    there: dict[str, Found] = {}
    swapped: set[str] = set()
    relied: dict[str, set[str]] = {}
    for deed in deeds:
        match deed:
            case Swap(repair):
                swapped.add(repair)
            case Found(repair, key):
                there[repair] = deed
                relied[repair] = {each for each in swapped if keys[each].offset == key.offset}
            case Undo(gone):
                swapped.discard(gone)
                there = {name: each for name, each in there.items() if gone not in relied[name]}
    return {*there}


def _with(deeds: Deeds, added: Deeds) -> Deeds:
    """Deeds are done once: a command that is given again completes or finds itself done."""
    for deed in added:
        if isinstance(deed, Swap) and standing(deeds).get(deed.repair):
            continue
        if isinstance(deed, Found) and deed.repair in found(deeds):
            continue
        if isinstance(deed, Undo) and not standing(deeds).get(deed.repair):
            continue
        deeds = (*deeds, deed)
    return deeds


def _filled(deeds: Deeds, until: int | None, first: Begins, *, empty: bool = False) -> list[Deeds]:
    """With all batches before that one, or with one more; each way in which they may have come."""
    last = _last(deeds)
    until = (last.number + 2 if last else 1) if until is None else until
    return [(*deeds, *more) for more in _behind(last, until, first, empty=empty)]


@lru_cache(maxsize=64)
def _behind(last: Batch | None, until: int, first: Begins, *, empty: bool) -> tuple[Deeds, ...]:
    """The ways in which batches come behind this one and before that number."""
    number, at = (last.number + 1, _next(last.of)) if last else (0, first)
    if number >= until:
        return ((),)
    ways = [Batch(number, at), *([Batch(number, last.of, reads=False)] if empty and last else [])]
    return tuple((way, *more) for way in ways for more in _behind(way, until, first, empty=empty))


def _written(deeds: Deeds) -> Deeds:
    """Without the batches that read nothing."""
    return tuple(deed for deed in deeds if not isinstance(deed, Batch) or deed.reads)


def _moved(deeds: Deeds) -> Deeds:
    last = _last(deeds)
    return (*deeds, Batch(last.number + 1, last.of, reads=False)) if last else deeds


def _last(deeds: Deeds) -> Batch | None:
    return next((deed for deed in reversed(deeds) if isinstance(deed, Batch)), None)


def _next(of: Begins) -> Begins:
    return of._replace(offset=of.offset + 1)


def _alone(deeds: Deeds) -> Deeds:
    """Without the table before: from a switch one goes back one step."""
    return deeds[1:] if deeds and isinstance(deeds[0], Switch) else deeds


def _before(deeds: Deeds) -> Deeds:
    return deeds[0].before if deeds and isinstance(deeds[0], Switch) else deeds


def _until(deeds: Deeds, batch: int) -> Deeds:
    """Without what came behind the batch; all where it is not there."""
    for at, deed in enumerate(deeds):
        if isinstance(deed, Batch) and deed.number == batch:
            return (*deeds[: at + 1], *_kept(deeds, at, deed.of))
    return deeds


def _kept(deeds: Deeds, at: int, end: Begins) -> Deeds:
    """Of what came behind, the repairs that changed nothing: what they rest on is still there."""
    behind = deeds[at + 1 :]
    keys = {each.repair: each.key for each in deeds if isinstance(each, Swap)}
    stays = found(deeds)
    return tuple(
        each
        for number, each in enumerate(behind)
        if isinstance(each, Found)
        and each.repair in stays
        and each.key.offset <= end.offset
        and not any(
            isinstance(before, Swap | Undo) and keys[before.repair].offset == each.key.offset
            for before in behind[:number]
        )
    )
