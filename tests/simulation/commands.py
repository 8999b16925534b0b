"""Commands: what may be given to a world, by kind and a number; with what each makes of the model."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

from spark_jobs.contract.errors import SluiceError
from spark_jobs.sink import table
from spark_jobs.storage import delta
from tests.simulation.model import Batch, Delete, Key, Model, Undo
from tests.simulation.world import World


class Given(NamedTuple):
    """A command."""

    name: str
    act: Callable[[], Any]
    then: Callable[[Model], Model]
    """What is true of the table when it has been done."""


class Commands:
    """Makes them. It counts the repairs."""

    def __init__(self, world: World, first: int) -> None:
        self.world, self.first, self.repairs = world, first, 0

    def of(self, kind: str, number: int) -> Given | None:
        """One of this kind; None if there is nothing to which it could be given."""
        made: Given | None = getattr(self, f"_{kind.replace(' ', '_')}")(random.Random(number))
        return made

    def _drain(self, _: random.Random) -> Given:
        drained: list[int] = []
        possible = self.world.model.possible
        newest = max(
            (d.number for deeds in possible for d in deeds if isinstance(d, Batch)), default=-1
        )

        def batches(model: Model) -> Model:
            until = drained[-1] + 1 if drained else newest + 2
            return model.done(Batch(each) for each in range(until))

        return Given("drain", lambda: drained.append(self.world.drain()), batches)

    def _repair(self, chance: random.Random) -> Given | None:
        self.repairs += 1
        name = f"r{self.repairs}"
        key = Key(chance.randrange(self.first + 3), chance.choice(("b", "c")))
        try:
            deed = self.world.stage(name, key)
        except SluiceError:  # a stage looks first whether the checkpoint is whole
            return None
        if deed is None:
            return None
        return Given(
            f"swap {name} of {key}", lambda: self.world.swap(name), lambda m: m.done([deed])
        )

    def _undo(self, chance: random.Random) -> Given | None:
        if not self.repairs:
            return None
        name = f"r{chance.randint(1, self.repairs)}"
        return Given(f"undo {name}", lambda: self.world.undo(name), lambda m: m.done([Undo(name)]))

    def _rewind(self, chance: random.Random) -> Given:
        batch = self.world.cursor().audited - chance.choice((0, 1, 1, 2))
        return Given(
            f"rewind {batch}", lambda: self.world.rewind(batch), lambda m: m.rewound(batch)
        )

    def _accept(self, _: random.Random) -> Given:
        return Given("accept", self.world.accept, lambda model: model)

    def _reset(self, _: random.Random) -> Given:
        return Given("reset", self.world.reset, lambda model: model.reset())

    def _publish(self, _: random.Random) -> Given:
        return Given("publish", self.world.publish, lambda model: model)

    def _delete_bad(self, _: random.Random) -> Given:
        return Given("delete bad", self.world.delete_bad, lambda m: m.done([Delete()]))

    def _restore(self, chance: random.Random) -> Given | None:
        path = self.world.paths.table
        if not delta.is_table(path):
            return None
        to = table.version(path) - chance.choice((1, 2, 3))
        if to < 1:
            return None
        return Given(f"a person's RESTORE to {to}", lambda: self.world.restored(to), Model.some)
