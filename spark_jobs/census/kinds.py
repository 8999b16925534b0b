"""Kinds of place: which files each has, until when they stay, and what removes them. A new kind is
one more entry; a file of no kind is still opened.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from spark_jobs.table.entry import LOG


class Kind(NamedTuple):
    """A kind of place."""

    name: str
    files: str
    """A pattern of paths below the root."""
    stays: str
    """Until when, and what removes it."""

    @property
    def values_anywhere(self) -> bool:
        """Whether numbers that no name goes with may be values of records: in lists of keys."""
        return self.name in ("staging", "failing records", "excisions", "kept answers")


_POSITION: Final = r"checkpoints/[^/]+/v[^/]+/"
_DEAD: Final = "a dead one 7 days: `sluice maintain`"
_STATE: Final = (
    "until the step drops the key and later batches purge its files; behind a rewind 7 days"
)
_MAINTAINED: Final = (
    "a live row until DELETE; an old file 7 days (delta.deletedFileRetentionDuration), then "
    "`sluice maintain`, but not while a version that is published or not judged needs it"
)
_LOGGED: Final = (
    "30 days behind the next checkpoint (delta.logRetentionDuration), then Delta; a checkpoint "
    "repeats the entries of live files"
)
KINDS: Final = (
    Kind("log of a table", rf"(tables|published|archive|ops)/[^/]+/{LOG}/.+", _LOGGED),
    Kind("change feed", r"(tables|published|archive|ops)/[^/]+/_change_data/.+", _MAINTAINED),
    Kind("table", r"tables/.+", _MAINTAINED),
    Kind("published table", r"published/.+", _MAINTAINED),
    Kind("archive", r"archive/.+", "Archive(keep=...), 400 days: `sluice maintain`"),
    Kind("late", r"ops/late/.+", "for ever, or SLUICE_REJECTED_DAYS: `sluice maintain`"),
    Kind("quarantine", r"ops/quarantine/.+", "as late"),
    Kind("marks and repairs", r"ops/(outdated|repairs|merged)/.+", "for ever"),
    Kind("ops tables", r"ops/.+", "SLUICE_HISTORY_DAYS: `sluice maintain`"),
    Kind("files beside the stream", r"sides/.+", "for ever: a batch has read that content"),
    Kind("staging", r"staging/.+", "30 days, unfinished ones a day: `sluice maintain`"),
    Kind("reports", r"reports/.+", "SLUICE_HISTORY_DAYS: `sluice maintain`"),
    Kind("state of a rewind", rf"{_POSITION}spark-[^/]+/.*", f"the live one as state; {_DEAD}"),
    Kind("state", rf"{_POSITION}spark/state/.+", _STATE),
    Kind("Spark's log", rf"{_POSITION}spark/.+", "until Spark purges the batch"),
    Kind("failing records", rf"{_POSITION}failing\.json", "with its place: `sluice reset`"),
    Kind("excisions", r"excised/.+", "until `sluice excise --lift`"),
    Kind(
        "kept answers",
        rf"{_POSITION}(state|new_keys)\.json",
        "until the next answer, or with its place",
    ),
    Kind("what was put aside", rf"{_POSITION}.+/.+", "for ever: by hand"),
    Kind("position", rf"{_POSITION}[^/]+", f"with its place; {_DEAD}"),
    Kind("notes of a pipeline", r"checkpoints/.+", "for ever, or until the next change"),
)
REST: Final = Kind("no kind of Sluice's", r".*", "for ever: by hand")


def kind_of(path: str) -> Kind:
    """The kind of a file, by its path below the root.

    >>> kind_of(f"tables/a/{LOG}/00000000000000000000.json").name
    'log of a table'
    >>> kind_of("mine.txt").name
    "no kind of Sluice's"
    """
    return next((kind for kind in KINDS if re.fullmatch(kind.files, path)), REST)
