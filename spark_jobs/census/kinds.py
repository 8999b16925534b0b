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
    files: re.Pattern[str]
    """Of paths below the root."""
    stays: str
    """Until when, and what removes it."""
    values_anywhere: bool = False
    """Whether numbers that no name goes with may be values of records: in lists of keys."""


def _kind(name: str, files: str, stays: str, *, values_anywhere: bool = False) -> Kind:
    return Kind(name, re.compile(files), stays, values_anywhere)


_POSITION: Final = r"checkpoints/[^/]+/v[^/]+/"
_MAINTAINED: Final = (
    "a live row until DELETE; an old file 7 days (delta.deletedFileRetentionDuration), then "
    "`sluice maintain`, but not while a version that is published or not judged needs it"
)
_LOGGED: Final = (
    "30 days behind the next checkpoint (delta.logRetentionDuration), then Delta; a checkpoint "
    "repeats the entries of live files"
)
KINDS: Final = (
    _kind("log of a table", rf"(tables|published|archive|ops)/[^/]+/{LOG}/.+", _LOGGED),
    _kind("change feed", r"(tables|published|archive|ops)/[^/]+/_change_data/.+", _MAINTAINED),
    _kind("table", r"tables/.+", _MAINTAINED),
    _kind("published table", r"published/.+", _MAINTAINED),
    _kind("archive", r"archive/.+", "Archive(keep=...), 400 days: `sluice maintain`"),
    _kind("late", r"ops/late/.+", "for ever, or SLUICE_REJECTED_DAYS: `sluice maintain`"),
    _kind("quarantine", r"ops/quarantine/.+", "as late"),
    _kind("marks and repairs", r"ops/(outdated|repairs|merged)/.+", "for ever"),
    _kind("ops tables", r"ops/.+", "SLUICE_HISTORY_DAYS: `sluice maintain`"),
    _kind("files beside the stream", r"sides/.+", "for ever: a batch has read that content"),
    _kind(
        "staging",
        r"staging/.+",
        "30 days, unfinished ones a day: `sluice maintain`",
        values_anywhere=True,
    ),
    _kind("reports", r"reports/.+", "SLUICE_HISTORY_DAYS: `sluice maintain`"),
    _kind(
        "state of a rewind",
        rf"{_POSITION}spark-[^/]+/.*",
        "the live one as state; a dead one 7 days: `sluice maintain`",
    ),
    _kind(
        "state",
        rf"{_POSITION}spark/state/.+",
        "until the step drops the key and later batches purge its files; behind a rewind 7 days",
    ),
    _kind("Spark's log", rf"{_POSITION}spark/.+", "until Spark purges the batch"),
    _kind(
        "failing records",
        rf"{_POSITION}failing\.json",
        "with its place: `sluice reset`",
        values_anywhere=True,
    ),
    _kind("excisions", r"excised/.+", "until `sluice excise --lift`", values_anywhere=True),
    _kind(
        "kept answers",
        rf"{_POSITION}(state|new_keys)\.json",
        "until the next answer, or with its place",
        values_anywhere=True,
    ),
    _kind("what was put aside", rf"{_POSITION}.+/.+", "for ever: by hand"),
    _kind(
        "position",
        rf"{_POSITION}[^/]+",
        "with its place; a dead one 7 days: `sluice maintain`",
    ),
    _kind("notes of a pipeline", r"checkpoints/.+", "for ever, or until the next change"),
)
REST: Final = _kind("no kind of Sluice's", r".*", "for ever: by hand")


def kind_of(path: str) -> Kind:
    """The kind of a file, by its path below the root.

    >>> kind_of(f"tables/a/{LOG}/00000000000000000000.json").name
    'log of a table'
    >>> kind_of("mine.txt").name
    "no kind of Sluice's"
    """
    return next((kind for kind in KINDS if kind.files.fullmatch(path)), REST)
