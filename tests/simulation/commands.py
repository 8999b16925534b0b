"""Commands: what may be given to a world, by kind and a number; with what each makes of the model."""

import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Literal, NamedTuple

from spark_jobs.checkpoint.notes.live import GRACE
from spark_jobs.table.delta.table import Delta
from tests.simulation import clock
from tests.simulation.model import SHOPS, Delete, Edit, Found, Key, Model, Swap, Undo
from tests.simulation.places import arrived
from tests.simulation.stage import Plan
from tests.simulation.world import FIRST, World

OF_KEY = 0.3
"""Of the edits of a table that follows a key, so many are of the key."""


class Given(NamedTuple):
    """A command."""

    name: str
    act: Callable[[], Any]
    then: Callable[[Model], Model] = lambda model: model
    """What is true of the table when it has been done."""


class Commands:
    """Makes them. It counts the repairs."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.staged: dict[str, list[Swap | Found]] = {}
        """Repair -> what it does to the table, once it is staged."""
        self.planned: dict[str, Plan] = {}
        self.excisions: list[str] = []
        self.taken_out: list[str] = []
        """Repairs that excisions have begun."""

    def of(self, kind: str, number: int) -> Given | None:
        """One of this kind; None if there is nothing to which it could be given."""
        made: Given | None = getattr(self, f"_{kind.replace(' ', '_')}")(random.Random(number))
        return made

    def _drain(self, _: random.Random, *, closes: bool = False) -> Given:
        drained: list[int] = []

        def batches(model: Model) -> Model:
            until, first = drained[-1] + 1 if drained else None, self.world.topic.seen
            done = model.drained(until, first, empty=self.world.closed)
            if closes and not drained:
                return done.perhaps(done.drained(None, first, empty=True))
            return done

        def act() -> None:
            drained.append(self.world.drain(closes=closes))

        return Given("drain that closes" if closes else "drain", act, batches)

    def _closing_drain(self, chance: random.Random) -> Given:
        return self._drain(chance, closes=True)

    def _repartition(self, chance: random.Random) -> Given:
        stores, said = chance.choice((1, 2, 3)), list[str]()

        def moved(model: Model) -> Model:
            return model if said and "there were" not in said[-1] else model.moved()

        return Given(
            f"repartition {stores}", lambda: said.extend(self.world.repartition(stores)), moved
        )

    def _repair(self, chance: random.Random, *, changes: bool = True) -> Given:
        name, key = f"r{len(self.staged) + 1}", _key(chance, ("b", "c"))
        made = self.staged[name] = []

        def stage_and_swap() -> None:
            plan = self.world.plan(name, key, changes=changes)
            if plan is None:
                return
            self.planned[name] = plan
            arrived("planned")
            self.world.stage(plan, made)
            self.world.swap(name)

        return Given(f"repair {name} of {tuple(key)}", stage_and_swap, lambda m: m.done(made))

    def _repair_again(self, chance: random.Random) -> Given:
        """Another one has brought its records into the row, or nothing has to."""
        return self._repair(chance, changes=False)

    def _excise(self, chance: random.Random) -> Given:
        """Of some records; then the rows are computed again that have them."""
        number = len(self.excisions) + 1
        name = f"x{number}"
        offsets = tuple(sorted(chance.sample(range(FIRST + 3), chance.choice((1, 1, 2)))))
        self.excisions.append(name)
        repairs = {f"e{number}{n}": Key(offset, "b") for n, offset in enumerate(offsets)}

        def excise() -> None:
            self.world.excise(name, offsets)
            for repair, key in repairs.items():
                plan = self.world.plan(repair, key)
                if plan and plan.gone:
                    self.taken_out.append(repair)
                    self.world.stage(plan, [])
                    self.world.swap(repair)

        return Given(f"excise {name} of {offsets}", excise)

    def _lift(self, chance: random.Random) -> Given | None:
        if not self.excisions:
            return None
        name = chance.choice(self.excisions)
        return Given(f"lift {name}", lambda: self.world.lift(name))

    def _take_back(self, chance: random.Random) -> Given | None:
        """An undo of what took records out."""
        if not self.taken_out:
            return None
        name = chance.choice(self.taken_out)
        return Given(f"undo {name}", lambda: self.world.undo(name))

    def _stage(self, chance: random.Random) -> Given | None:
        """Airflow's task `stage`, cleared."""
        if not self.planned:
            return None
        name = chance.choice([*self.planned])
        return Given(
            f"stage {name} again", lambda: self.world.stage(self.planned[name], self.staged[name])
        )

    def _swap(self, chance: random.Random) -> Given | None:
        """Airflow's retry of one whose task was killed."""
        if not (names := [name for name, made in self.staged.items() if made]):
            return None
        name = chance.choice(names)
        return Given(
            f"swap {name}", lambda: self.world.swap(name), lambda m: m.done(self.staged[name])
        )

    def _undo(self, chance: random.Random) -> Given | None:
        if not self.staged:
            return None
        name = chance.choice([*self.staged])
        return Given(f"undo {name}", lambda: self.world.undo(name), lambda m: m.done([Undo(name)]))

    def _rewind(self, chance: random.Random) -> Given:
        batch = self.world.cursor().audited - chance.choice((0, 1, 1, 2))
        return Given(
            f"rewind {batch}", lambda: self.world.rewind(batch), lambda m: m.rewound(batch)
        )

    def _accept(self, _: random.Random) -> Given:
        return Given("accept", self.world.accept)

    def _reset(self, _: random.Random) -> Given:
        return Given("reset", self.world.reset, lambda model: model.reset())

    def _rebuild(self, _: random.Random) -> Given:
        last: list[int] = []
        return Given(
            "rebuild and switch",
            lambda: self.world.rebuild(last),
            lambda model: model.switched(last[0]) if last else model,
        )

    def _back(self, _: random.Random) -> Given:
        return Given("back", self.world.back, lambda model: model.back())

    def _doctor(self, _: random.Random) -> Given:
        return Given("doctor", self.world.doctor)

    def _lose_live(self, _: random.Random) -> Given:
        return Given("live.json is lost", self.world.lose_live)

    def _discard(self, _: random.Random) -> Given:
        return Given("discard", self.world.discard)

    def _retention(self, chance: random.Random) -> Given:
        before = self.world.read_to() - chance.choice((0, 1, 2))
        return Given(f"retention up to {before}", lambda: self.world.topic.removes(before))

    def _topic_anew(self, _: random.Random) -> Given:
        return Given("a topic made anew", self.world.topic.made_anew)

    def _correct(self, chance: random.Random) -> Given:
        shops = tuple(chance.sample(SHOPS, chance.choice((1, 1, 2))))
        return Given(f"correction of {shops}", lambda: self.world.correct(shops))

    def _publish(self, _: random.Random) -> Given:
        return Given("publish", self.world.publish)

    def _maintain(self, _: random.Random) -> Given:
        return Given("maintain", self.world.maintain)

    def _maintain_later(self, _: random.Random) -> Given:
        """When dead places go."""

        def act() -> None:
            with clock.ahead(GRACE + timedelta(days=1)):
                self.world.maintain()

        return Given("maintain after the days of grace", act)

    def _delete_bad(self, _: random.Random) -> Given:
        return Given("delete bad", self.world.delete_bad, self._by_person(Delete(None)))

    def _delete(self, chance: random.Random) -> Given:
        key = _key(chance, SHOPS)
        return Given(
            f"a person's DELETE of {tuple(key)}",
            lambda: self.world.delete(key),
            self._by_person(Delete(key)),
        )

    def _edit(self, chance: random.Random) -> Given | None:
        """Of the newest row or the oldest; where the table follows a key also of the key."""
        if not (rows := sorted(self.world.rows())):
            return None
        number = chance.randrange(100, 1000)
        by: Literal["UPDATE", "MERGE"] = "MERGE" if number % 2 else "UPDATE"
        edit = Edit(chance.choice((rows[0], rows[-1])), number, None, by)
        if self.world.keyed and chance.random() < OF_KEY:
            edit = edit._replace(sales=None, shop=f"z{number}")
        return Given(
            f"a person's {by} to {tuple(edit)}",
            lambda: self.world.edit(edit),
            self._by_person(edit),
        )

    def _by_person(self, deed: Delete | Edit) -> Callable[[Model], Model]:
        """Who takes an earlier RESTORE back, or completes a rewind, takes this back too."""
        unsure = self.world.restores or self.world.under_way

        def then(model: Model) -> Model:
            done = model.done([deed])
            return done.perhaps(model) if unsure else done

        return then

    def _optimize(self, _: random.Random) -> Given:
        return Given("a person's OPTIMIZE", self.world.optimize)

    def _vacuum(self, _: random.Random) -> Given:
        return Given("a person's VACUUM", self.world.vacuum)

    def _newer(self, _: random.Random) -> Given:
        return Given("a newer Sluice's note", self.world.newer)

    def _restore(self, chance: random.Random) -> Given | None:
        if not self.world.has_table:
            return None
        to = Delta(self.world.paths.table).version() - chance.choice((1, 2, 3))
        if to < 1:
            return None
        return Given(f"a person's RESTORE to {to}", lambda: self.world.restored(to), Model.some)


def _key(chance: random.Random, shops: tuple[str, ...]) -> Key:
    return Key(chance.randrange(FIRST + 3), chance.choice(shops))
