"""Parts: the commits in which the published table is moved on.

A stream reads what a commit adds, and ends at one that removes rows, or passes over it. So appends
are a part of their own, beside repairs: also those that only add rows, as an undo may, or a stream
would read rows again. No part shows a row that was mended before a verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

from spark_jobs.table import history
from spark_jobs.table.delta.delta_log import Action, Replay, changes_data, file_key
from spark_jobs.table.delta.log_entries import said

Read = Callable[[int], list[Action]]
"""The actions of a commit of the pipeline's table, by its version."""


class Part(NamedTuple):
    """Some commits that are shown at once."""

    version: int
    """All commits up to this one are shown then."""
    ahead: tuple[int, ...]
    """And these later ones, which have no file with those between in common."""
    done: Replay
    repairs: bool
    """Whether all of them are repairs, which streams do not read."""


def in_one(read: Read, since: int, ahead: Collection[int], version: int) -> Part:
    """All commits behind `since`, up to `version`, but for those ahead, which are shown."""
    commits = [read(each) for each in range(since + 1, version + 1) if each not in ahead]
    while version + 1 in ahead:
        version += 1
    later = tuple(each for each in ahead if each > version)
    return Part(version, later, _sum(commits), _repairs(commits))


def next_part(read: Read, since: int, ahead: Collection[int], version: int) -> Part:
    """The first of it that can be shown: as many appends as follow each other, or one change of
    rows, or one OPTIMIZE. Appends amid commits that cannot be shown one by one go ahead of these.
    """
    commits = {each: read(each) for each in range(since + 1, version + 1) if each not in ahead}
    units = _units(commits, _passing(commits))
    end, made = version, None
    for unit in units:
        together = {each: commits[each] for each in unit}
        if _appends(together.values()):
            end, made = unit[-1], unit
            continue
        if made is None:
            if first := _appends_apart(together):
                both = tuple(sorted({*ahead, *first}))
                return Part(since, both, _sum(commits[each] for each in first), repairs=False)
            end = unit[-1]
        break
    return in_one(read, since, ahead, end)


def _units(commits: dict[int, list[Action]], passing: set[int]) -> Iterator[list[int]]:
    together: list[int] = []
    for version in commits:
        together.append(version)
        if version not in passing:
            yield together
            together = []


def _appends(commits: Iterable[list[Action]]) -> bool:
    made = [*commits]
    return not _sum(made).removed and not _repairs(made)


def _repairs(commits: list[list[Action]]) -> bool:
    with_files = [each for each in commits if any(_files(each))]
    return bool(with_files) and all(history.REPAIR in _said(each) for each in with_files)


def _appends_apart(commits: dict[int, list[Action]]) -> list[int]:
    """Those of them that append, and have no file with the others in common; none where columns
    change, since rows may need them.
    """
    kinds = {kind for actions in commits.values() for action in actions for kind in action}
    if kinds & {"metaData", "protocol"}:
        return []
    groups: list[tuple[set[str], list[int]]] = []
    for version, actions in commits.items():
        files, versions = {file_key(file) for _, file in _files(actions)}, [version]
        for group in [each for each in groups if each[0] & files]:
            groups.remove(group)
            files, versions = files | group[0], group[1] + versions
        groups.append((files, versions))
    of_each = [[*map(commits.__getitem__, sorted(versions))] for _, versions in groups]
    return sorted(
        each
        for (_, versions), group in zip(groups, of_each, strict=True)
        if _sum(group).added and _appends(group)
        for each in versions
    )


def _files(actions: list[Action]) -> Iterator[tuple[str, Action]]:
    for kind in ("add", "remove"):
        yield from ((kind, action[kind]) for action in actions if kind in action)


def _passing(commits: dict[int, list[Action]]) -> set[int]:
    """The versions that have files of before a person's mend, or lack files that come back."""
    passing: set[int] = set()
    gone: dict[str, tuple[int, int]] = {}
    """File -> who removes it, and up to which version it may be of, to be shown before that."""
    back: dict[str, int] = {}
    """File -> who adds it, though an earlier commit may have removed it."""
    for version, actions in reversed(commits.items()):
        passed, mended = _passed(actions), False
        for kind, file in _files(actions):
            key = file_key(file)
            if kind == "add":
                until, good = gone.get(key, (version, version))
                if version > good:
                    passing.update(range(version, until))
                    mended = True
                back[key] = version
            else:
                passing.update(range(version, back.pop(key, version)))
                # The rows that an OPTIMIZE moves are mended with the file that it moves them to.
                gone[key] = version, passed if mended or changes_data(file) else version
    return passing


def _passed(actions: list[Action]) -> int:
    said = _said(actions).get(history.PASSED)
    return said if type(said) is int else -1


def _said(actions: list[Action]) -> Action:
    infos = (each["commitInfo"] for each in actions if "commitInfo" in each)
    return said(next(infos, {}))


def _sum(commits: Iterable[list[Action]]) -> Replay:
    made = Replay()
    for actions in commits:
        made.take(actions)
    return made
