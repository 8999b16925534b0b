"""Invariants: what must be true of a root when every command has ended."""

import json

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.excised import EXCISED
from spark_jobs.checkpoint.notes.failing import read_failing
from spark_jobs.checkpoint.notes.noted_versions import noted_now
from spark_jobs.errors import CheckpointBroken, CheckpointForeign, SluiceError
from spark_jobs.messages.event import Event
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.repair.find.outdated_rows import Outdated
from spark_jobs.spec.analysis.ranged import ranged
from tests.simulation import beside
from tests.simulation.model import BAD_SALES, Deeds, Rows, found, standing, without
from tests.simulation.rows import EVENING, of_day
from tests.simulation.world import World
from tests.unit.repaired import SPEC, hour

BROKEN = {CheckpointBroken.code, CheckpointForeign.code}


class Violation(Exception):
    """An invariant does not hold."""

    def __init__(self, kind: str, what: str) -> None:
        super().__init__(f"{kind}: {what}")
        self.kind = kind


def hold(world: World) -> None:
    """All of them. Raises Violation."""
    rows = world.rows()
    fits = world.model.seen(rows, world.excised).possible
    if not fits:
        raise Violation("rows", _differences(world))
    fates(world, fits)
    outdated_is_told(world)
    excisions_are_taken_over(world)
    excised_is_told(world, rows)
    published_is_good(world)
    if world.published() != rows:
        raise Violation("published", "not what the table has, though all of it has passed")
    events(world)
    for day, known in world.by_day.items():
        now = of_day(rows, day)
        changed = {
            key: (of, now.get(key))
            for key, of in known.items()
            if now.get(key) != of and key not in world.touched
        }
        if changed:  # rows that came since are told when the day is final
            raise Violation("days", f"{day} changed since it was told: {changed}")


def not_broken(error: SluiceError) -> None:
    """Nobody has damaged a checkpoint, whoever was killed or came late."""
    if error.code in BROKEN:
        raise Violation("broken", f"what a drain found: {error}")


def _differences(world: World) -> str:
    rows = world.rows()
    told = []
    for deeds in world.model.possible:
        wanted = without(world.model.rows(deeds), world.excised)
        rows = without(rows, world.excised)
        changed = {k: (wanted.get(k), rows.get(k)) for k in {*wanted, *rows}}
        told.append(str({k: pair for k, pair in changed.items() if pair[0] != pair[1]}))
    return f"(wanted, is) of each possibility: {' | '.join(told)}"[:1000]


def fates(world: World, fits: frozenset[Deeds]) -> None:
    """Each repair is told to be in the table if it is, its records too."""
    told = {
        each["repair_id"]: each["state"]
        for each in repairs.stored(
            world.paths.root, SPEC.name, f"{live(world)} AND kind <> 'excise'"
        )
        if not each["repair_id"].endswith("/undo")
    }
    merged = {
        each["repair_id"]
        for each in ops_tables.query(
            world.paths.root, "merged", f"SELECT repair_id FROM merged WHERE {live(world)}"
        ).to_pylist()
    }
    for deeds in fits:
        swapped, same = standing(deeds), found(deeds)
        wrong = {
            name: (state, name in merged)
            for name, state in told.items()
            if (state == "swapped") != swapped.get(name, False)
            or (state == "canonical") != (name in same)
            or (name in merged) != (swapped.get(name, False) or name in same)
        }
        if not wrong:
            return
    raise Violation(
        "fates", f"told, and whether its record is merged: {wrong}, and the rows say otherwise"
    )


def outdated_is_told(world: World) -> None:
    """Marks are open wherever a row was made with an older version than the newest run has noted,
    that has other rows of its shop since.
    """
    known = read_identity(world.paths)
    if world.keyed or known is None:
        return
    checkpoint = Checkpoint(world.paths.checkpoint)
    noted = noted_now(checkpoint, world.spec)
    own = (ranged(world.spec), world.paths, known.generations, world.cursor().audited)
    told = [each.span for of in Outdated(*own, noted).open for each in of.touching]
    changed = beside.changes(world.folder, noted["shops"].version)
    wrong = [
        (row["windowEnd"], row["shop"], made)
        for row, made in beside.made_with(world.folder / "tables" / world.paths.table.name)
        if any(made < version for version in changed.get(row["shop"], ()))
        and not any(span.start < row["windowEnd"] <= span.end for span in told)
    ]
    if wrong:
        raise Violation("outdated", f"no mark is open for {wrong}, told are {told}")


def excisions_are_taken_over(world: World) -> None:
    """The drain at the end knows each that is noted, and none that has ended."""
    known = read_identity(world.paths)
    if world.keyed or known is None:
        return
    has = {each.id for each in read_failing(world.paths.failing).excised}
    notes = (world.folder / "excised").rglob("*.json")
    noted = (json.loads(path.read_text()) for path in notes if not path.name.startswith("."))
    stand = {each["id"] for each in noted if each["topic_id"] == known.topic_id}
    if has != stand:
        raise Violation("excisions", f"the checkpoint has {has}, and noted are {stand}")


def excised_is_told(world: World, rows: Rows) -> None:
    """An excised record whose row is there has an open mark, and one without a row is kept in
    ops.quarantine. A RESTORE of a person may have put rows back, or taken them.
    """
    known = read_identity(world.paths)
    if world.keyed or known is None or world.restores:
        return
    checkpoint = Checkpoint(world.paths.checkpoint)
    own = (ranged(world.spec), world.paths, known.generations, world.cursor().audited)
    open_ = Outdated(*own, noted_now(checkpoint, world.spec)).open
    spans = [e.span for of in open_ if of.marks.input == EXCISED for e in of.touching]
    there = {key.offset for key in rows}
    refused = {place.offset for place in read_failing(world.paths.failing).in_repairs.places()}
    ends = {n: hour(EVENING + n) for n in there & refused}
    if quiet := [n for n, at in ends.items() if not any(s.start < at <= s.end for s in spans)]:
        raise Violation("excised", f"no mark is open for the rows of {quiet}, told are {spans}")
    sql = f'SELECT "offset" FROM quarantine WHERE {live(world)}'
    kept = {e["offset"] for e in ops_tables.query(world.paths.root, "quarantine", sql).to_pylist()}
    deleted = {key.offset for key in world.touched} | world.model.bad
    lost = {
        n for n in world.excised - there - kept - deleted if world.began() <= n < world.read_to()
    }
    if lost:
        raise Violation("excised", f"records {lost} are neither in a row nor in ops.quarantine")


def published_is_good(world: World) -> None:
    """No row is published that failed its check, unless a person accepted one."""
    if world.under_way:
        return
    try:
        shown = world.published()
    except Exception as error:
        raise Violation("unreadable", f"consumers cannot read: {error}") from error
    bad = [k for k, sales in shown.items() if sales == BAD_SALES and k not in world.accepted]
    if bad:
        raise Violation("unjudged", f"published though they failed: {bad}")


def events(world: World) -> None:
    """Each begins where the one before it ended, and every repair that stands was told."""
    first: dict[int, Event] = {}
    for event in world.airflow:
        if first.setdefault(event.number, event) != event:
            raise Violation("overlap", f"two events of number {event.number}")
    if [*first] != [*range(1, len(first) + 1)]:
        raise Violation("overlap", f"events {[*first]}")
    before = None
    for event in first.values():
        follows = before is None or event.table_version_before == before.table_version
        anew = event.table_version_before is None and world.moves
        if not follows and not anew:
            raise Violation(
                "overlap",
                f"event {event.number} begins after {event.table_version_before}, and the one "
                f"before it ended at {before and before.table_version}",
            )
        before = event
    if any(event.decisions for event in world.airflow) and not world.failed_passed:
        raise Violation("decided", "a decision was told, and no row that failed has ever passed")
    told = {each.repair_id for event in world.airflow for each in event.repairs}
    stand = {
        each["repair_id"]
        for each in repairs.stored(
            world.paths.root, SPEC.name, f"state = 'swapped' AND {live(world)}"
        )
    }
    if untold := stand - told:
        raise Violation("untold", f"no event has {sorted(untold)}")


def live(world: World) -> str:
    """The SQL condition for rows of the checkpoint that is there now: a reset leaves the others."""
    known = read_identity(world.paths)
    return ops_tables.among("generation", known.generations) if known else "false"
