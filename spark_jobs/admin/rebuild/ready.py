"""Ready: whether a switch, or its way back, may begin."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.admin.rebuild.needs import read_to
from spark_jobs.checkpoint.identity import Identity, read_identity
from spark_jobs.checkpoint.lease import holder
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.checkpoint.notes.live import read_live
from spark_jobs.errors import RebuildRefused
from spark_jobs.storage.root.live_place import Place
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table import history
from spark_jobs.table.tables import table_of

if TYPE_CHECKING:
    from spark_jobs.spec import Pipeline


class Former(NamedTuple):
    """The place to which one goes back."""

    paths: Paths
    identity: Identity
    audited: int
    """Its newest batch that has its account."""


def ready(live: Paths, beside: Paths) -> Identity:
    """Whose checkpoint drains now, if what was computed beside may take its turn. Both leases are
    held. Raises RebuildRefused.
    """
    known = _live_identity(live)
    following, committed = read_identity(beside), Checkpoint(beside.checkpoint).committed()
    if following is None or not committed:
        raise RebuildRefused.no_batch_yet(pipeline=live.pipeline)
    _refuse_unfinished(beside, committed[-1])
    if missing := behind(live, beside):
        raise RebuildRefused.behind_live(pipeline=live.pipeline, missing=missing)
    return known


def ready_back(live: Paths, former: Pipeline) -> Former:
    """The place before the last switch, if it may drain again. `live` are the paths of what drains
    now. Raises RebuildRefused.
    """
    fact, again = read_live(live), "Rebuild the former logic from Kafka, as NEXT."
    if fact is None or (before := fact.before) is None or before.version != former.state.version:
        raise RebuildRefused.no_switch(pipeline=former.name)
    if not before.folder:
        raise RebuildRefused.older_switch(pipeline=former.name, again=again)
    _live_identity(live)
    paths = Paths(str(live.root), former, Place(before.folder, before.table))
    if not paths.identity.exists() or not table_of(paths).exists():
        raise RebuildRefused.former_removed(
            pipeline=former.name, folder=paths.version, table=paths.table, again=again
        )
    kept = Identity.read(paths.identity)
    if kept.generation != before.generation or kept.table_id != table_of(paths).identifier():
        raise RebuildRefused.former_replaced(
            pipeline=former.name, folder=paths.version, table=paths.table, again=again
        )
    return Former(paths, kept, read_cursor(paths.cursor).audited)


def behind(live: Paths, beside: Paths) -> int:
    """Offsets that the live checkpoint has read and the one beside has not."""
    done = read_to(beside)
    return sum(max(0, end - done.get(partition, 0)) for partition, end in read_to(live).items())


def _live_identity(live: Paths) -> Identity:
    known = read_identity(live)
    if known is None or not known.table_id or table_of(live).identifier() != known.table_id:
        raise RebuildRefused.live_table_foreign(
            table=live.table, checkpoint=live.checkpoint, pipeline=live.pipeline
        )
    if held := holder(live.staging_lease):
        raise RebuildRefused.repair_computing(pipeline=live.pipeline, holder=held)
    return known


def _refuse_unfinished(beside: Paths, newest: int) -> None:
    """Raise RebuildRefused unless every batch is accounted for, and every row has passed."""
    cursor = read_cursor(beside.cursor)
    begun = Checkpoint(beside.checkpoint).planned()[-1] != newest
    passed = cursor.judged == cursor.audited == newest and cursor.judged_table_version is not None
    if begun or not passed or _changed(beside, cursor.judged_table_version or 0):
        raise RebuildRefused.unjudged(
            pipeline=beside.pipeline, first=cursor.judged + 1, newest=newest
        )


def _changed(beside: Paths, judged: int) -> bool:
    newest = table_of(beside).version()
    return newest > judged and history.rows_changed(table_of(beside), judged, newest)
