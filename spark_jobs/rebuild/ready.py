"""Ready: whether a switch, or its way back, may begin, and what its note needs to know."""

from __future__ import annotations

from typing import NamedTuple

from spark_jobs.checkpoint.identity import Identity, read_identity
from spark_jobs.checkpoint.lease import holder
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.checkpoint.notes.live import read_live
from spark_jobs.errors import RebuildRefused
from spark_jobs.rebuild.commit import content, refuse_table
from spark_jobs.root.path_forms import sql_table
from spark_jobs.root.paths import Paths
from spark_jobs.sink import history, table
from spark_jobs.storage.delta import version_is_whole


class Ready(NamedTuple):
    """Facts of both versions: see Switching."""

    rows_of: int
    table_version: int
    generation: str
    next_generation: str
    batch: int


def ready(live: Paths, paths: Paths, side: Paths) -> Ready:
    """The facts of a switch to what the side root has. Both leases are held.

    `live` are the paths of the version that drains, `paths` those that the new one is to have.
    Raises RebuildRefused.
    """
    name = live.table.name
    known = _live_identity(live)
    if paths.version.exists():
        raise RebuildRefused(
            f"{paths.version} is there: state version {paths.version.name} of {name} was used "
            "before.",
            "Give NEXT a state version that was not.",
        )
    following = read_identity(side)
    committed = Checkpoint(side.checkpoint).committed()
    if following is None or not committed:
        raise RebuildRefused(
            f"{name}: the rebuild has no batch yet.", f"Run it: sluice rebuild {name} --execute"
        )
    _refuse_unfinished(side, committed[-1])
    missing = behind(live, side)
    if missing:
        raise RebuildRefused(
            f"{name}: the live pipeline has read {missing:,} offsets that the rebuild has not.",
            f"Let it catch up: sluice rebuild {name} --execute",
        )
    newest = table.version(side.table)
    wanted = content(side.table, newest)
    if any(file.get("deletionVector") for file in wanted.files):
        raise RebuildRefused(
            f"{side.table} has deletion vectors, whose files a switch does not take along.",
            f"In Spark: REORG TABLE {sql_table(side.table)} APPLY (PURGE), without deletion "
            "vectors.",
        )
    refuse_table(live.table, wanted)
    return Ready(
        newest, table.version(live.table), known.generation, following.generation, committed[-1]
    )


def ready_back(live: Paths, former: Paths) -> Ready:
    """The facts of the way back to the version before. The lease is held. Raises RebuildRefused."""
    name = live.table.name
    known, fact = _live_identity(live), read_live(live.live)
    before = fact.before if fact else None
    if before is None or f"v{before.version}" != former.version.name:
        raise RebuildRefused(
            f"{name}: no switch is there to take back.",
            f"Go back within a state version with `sluice rewind {name}`.",
        )
    kept = Identity.read(former.identity) if former.identity.exists() else None
    if kept is None or kept.generation != before.generation or kept.table_id != known.table_id:
        raise RebuildRefused(
            f"{name}: {former.version} is not the checkpoint any more that the switch replaced, or "
            "the table is another: there was a reset or a rewind since.",
            "Rebuild the former logic from Kafka, as NEXT.",
        )
    if not version_is_whole(live.table, before.table_version):
        raise RebuildRefused(
            f"{name}: version {before.table_version} of {live.table}, the last before the switch, "
            "is gone: VACUUM or a clean-up of its log has removed files of it.",
            "Rebuild the former logic from Kafka, as NEXT.",
        )
    refuse_table(live.table, content(live.table, before.table_version))
    audited = read_cursor(former.cursor).audited
    if table.newest_batch(live.table, kept.owner(name)) > audited:
        raise RebuildRefused(
            f"{name}: the table had rows of a batch after {audited} when it was switched, and "
            "nobody has accounted for them: the run before was killed.",
            "Rebuild the former logic from Kafka, as NEXT.",
        )
    return Ready(
        before.table_version,
        table.version(live.table),
        known.generation,
        kept.generation,
        audited,
    )


def behind(live: Paths, side: Paths) -> int:
    """Offsets that the live checkpoint has read and the side one has not."""
    ends = []
    for paths in (live, side):
        checkpoint = Checkpoint(paths.checkpoint)
        committed = checkpoint.committed()
        ends.append(checkpoint.batch(committed[-1]).end if committed else {})
    return sum(max(0, end - ends[1].get(partition, 0)) for partition, end in ends[0].items())


def _live_identity(live: Paths) -> Identity:
    known = read_identity(live)
    if known is None or not known.table_id or table.identifier(live.table) != known.table_id:
        raise RebuildRefused(
            f"{live.table} is not a table that {live.checkpoint} has written.",
            f"See what is wrong with it: sluice plan {live.table.name}",
        )
    if held := holder(live.staging_lease):
        raise RebuildRefused(
            f"{live.table.name}: a repair is being computed by {held}, for a table that the "
            "switch replaces.",
            "Wait until it ends, or stop it.",
        )
    return known


def _refuse_unfinished(side: Paths, newest: int) -> None:
    """Raise RebuildRefused unless every batch is accounted for, and every row has passed."""
    cursor, name = read_cursor(side.cursor), side.table.name
    begun = Checkpoint(side.checkpoint).planned()[-1] != newest
    passed = cursor.judged == cursor.audited == newest and cursor.judged_table_version is not None
    if begun or not passed or _changed(side, cursor.judged_table_version or 0):
        raise RebuildRefused(
            f"{name}: batches {cursor.judged + 1} to {newest} of the rebuild have not passed "
            "their account and checks.",
            f"Run it again: sluice rebuild {name} --execute. A failed check is accepted with "
            f"SLUICE_ROOT={side.root} sluice accept {name}.",
        )


def _changed(side: Paths, judged: int) -> bool:
    newest = table.version(side.table)
    return newest > judged and history.rows_changed(side.table, judged, newest)
