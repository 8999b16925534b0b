"""Changes: which rows the commits behind a version may have changed, as the log alone tells."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.table.delta.delta_log import Replay, file_key, may_hold, only_rearranges

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spark_jobs.table.delta.delta_log import Action, Log
    from spark_jobs.values.spans import Span


class Change(NamedTuple):
    """What a commit may have changed."""

    version: int
    files: tuple[Action, ...]
    """That it added or removed, as they were added."""
    anywhere: bool
    """Whether any row of the table may be another: the log does not tell which it removed, or the
    columns are others.
    """
    restores: bool

    def touches(self, column: str, spans: Iterable[Span]) -> bool:
        """Whether rows with times of this column in one of the spans may be among them."""
        spans = tuple(spans)
        return self.anywhere or any(may_hold(each, column, spans) for each in self.files)


def changes(log: Log, since: int, until: int) -> Iterator[Change]:
    """Those of the commits behind `since`, up to `until`. The log has all of them."""
    known: Replay | None = None  # read where a commit takes something away, which few do
    for version in range(since + 1, until + 1):
        actions = log.commit(version)
        gone = [file_key(each["remove"]) for each in actions if "remove" in each]
        columns = [_columns(each["metaData"]) for each in actions if "metaData" in each]
        if known is None and (gone or columns):
            with suppress(LookupError):
                known = log.replay(version - 1)
            known = known or Replay()
        was = [known.added[each] for each in gone if each in known.added] if known else []
        schema = _columns(known.metadata) if known else None
        if known:
            known.take(actions)
        if only_rearranges(actions):
            continue
        added = [each["add"] for each in actions if "add" in each]
        anywhere = len(was) < len(gone) or any(each != schema for each in columns)
        if added or was or anywhere:
            restores = any(
                each.get("commitInfo", {}).get("operation") == "RESTORE" for each in actions
            )
            yield Change(version, (*added, *was), anywhere, restores)


def _columns(metadata: Action | None) -> object:
    return metadata and metadata.get("schemaString")
