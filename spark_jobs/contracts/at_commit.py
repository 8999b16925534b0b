"""At a commit: the pipelines as a commit of git has them, loaded by a process of its own, with the
Sluice that is installed; and the pipelines that a difference of git touches.

Of the commit's files, those in folders of the path go into a folder that is removed. The repository
is only read. The commit's code runs, with this process's environment.

Touched are a pipeline's folder, and the modules of the project that its spec.py and logic.py
import.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from spark_jobs.contracts.contract import Side, side
from spark_jobs.errors import CaseInvalid, CommitUnreadable
from spark_jobs.registry import find as registry
from spark_jobs.registry.project import OWN, SLUICE, plain
from spark_jobs.settings.installation import REPO
from spark_jobs.values.pinned import own, searching


class AtCommit(NamedTuple):
    """What a commit has."""

    commit: str
    """Its id, short."""
    sides: dict[str, Side]


def at_commit(ref: str) -> AtCommit:
    """The pipelines and archives at this commit; none where it has not the folder yet. Raises
    CommitUnreadable.
    """
    here = registry.folder().resolve()
    top = _top(here, ref)
    commit = _git(top, ref, "rev-parse", "--verify", "--end-of-options", f"{ref}^{{commit}}")
    with tempfile.TemporaryDirectory(prefix="sluice-contracts-") as given:
        folder = Path(given).resolve()
        files = folder / "files"
        files.mkdir()
        _check_out(top, commit, files, folder / "index", here)
        if (files / here.relative_to(top)).is_dir():
            sides = _loaded(ref, top, files, folder / "sides.json")
        else:
            _refuse_elsewhere(top, here, ref, commit)
            sides = {}
    return AtCommit(commit[:8], sides)


def _top(folder: Path, ref: str) -> Path:
    try:
        return Path(_git(folder, ref, "rev-parse", "--show-toplevel")).resolve()
    except CommitUnreadable as error:
        raise CommitUnreadable.no_repository(
            folder=folder, error=error.parameters["error"]
        ) from None


def _refuse_elsewhere(top: Path, here: Path, ref: str, commit: str) -> None:
    """Raises CommitUnreadable if git ignores the folder of the pipelines, or the commit has one of
    their specs in another folder: they would be taken for new.
    """
    folder = here.relative_to(top)
    if _is_ignored(top, folder):
        raise CommitUnreadable.ignored(ref=ref, folder=folder)
    specs = {f"{name}/spec.py" for name in registry.names()}
    for file in _git(top, ref, "ls-tree", "-r", "-z", "--name-only", commit).split("\0"):
        if "/".join(Path(file).parts[-2:]) in specs:
            raise CommitUnreadable.elsewhere(ref=ref, folder=folder, file=file)


def _is_ignored(top: Path, folder: Path) -> bool:
    try:
        _git(top, "", "check-ignore", "--quiet", str(folder))
    except CommitUnreadable:
        return False
    return True


def _check_out(top: Path, commit: str, files: Path, index: Path, here: Path) -> None:
    """As `git worktree` would, but that the repository knows nothing of it."""
    variables = {"GIT_INDEX_FILE": str(index), "GIT_LFS_SKIP_SMUDGE": "1"}
    _git(top, commit, "read-tree", commit, variables=variables)
    wanted = (here, *map(_place, _path()))
    folders = {str(each.relative_to(top)) for each in wanted if each.is_relative_to(top)}
    listed = ("--literal-pathspecs", "ls-files", "-z", "--")
    names = _git(top, commit, *listed, *folders, variables=variables)
    out = ("checkout-index", "-z", "--stdin", f"--prefix={files}/")
    _git(top, commit, *out, variables=variables, given=names)


def _path() -> list[str]:
    """This process's, which has the pipelines' own first."""
    inner = registry.package().count(".") + 1
    return [str(registry.folder().parents[inner - 1]), *sys.path]


def _place(entry: str) -> Path:
    return Path(entry or ".").resolve()


def _git(
    folder: Path,
    ref: str,
    *words: str,
    variables: Mapping[str, str] | None = None,
    given: str | None = None,
) -> str:
    """Runs no hook. `given` is git's input."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), "-c", "core.hooksPath=/dev/null", *words],
            input=given,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            check=False,
            env={**plain(), **(variables or {})},
        )
    except FileNotFoundError:
        raise CommitUnreadable.unknown(ref=ref, error="there is no git") from None
    if done.returncode:
        error = (done.stderr.strip().splitlines() or ["no answer"])[0]
        raise CommitUnreadable.unknown(ref=ref, error=error)
    return done.stdout.rstrip("\n")


def _loaded(ref: str, top: Path, files: Path, into: Path) -> dict[str, Side]:
    """By a process that has the commit's folders on its path in the place of this one's."""
    moved = [_moved(_place(each), top, files) for each in _path()]
    cwd = Path(_moved(Path.cwd(), top, files))
    done = subprocess.run(
        searching(own(), "-m", __name__, str(into), *moved),
        env={**os.environ, "PYTHONPATH": str(REPO), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=cwd if cwd.is_dir() else files,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or not into.exists():
        error = (done.stderr.strip().splitlines() or ["no answer"])[-1]
        raise CommitUnreadable.not_loaded(ref=ref, error=error)
    return {name: Side(**of) for name, of in json.loads(into.read_text()).items()}


def _moved(place: Path, top: Path, files: Path) -> str:
    """Where this folder's content is as of the commit; itself if the commit has not the folder, as
    that of an environment in the repository.
    """
    there = files / place.relative_to(top) if place.is_relative_to(top) else place
    return str(there if there.is_dir() else place)


def _load(into: Path, path: list[str]) -> None:
    """In that process: Sluice is imported by now, and stays as it is but for users' own code."""
    sys.path[:] = path
    for name in {registry.package(), *OWN}:
        within = Path(name.replace(".", "/"))
        places = [str(place) for each in path if (place := Path(each) / within).is_dir()]
        if within.parts[0] == SLUICE:
            importlib.import_module(name).__path__ = places[:1]
    names = (*registry.names(), *registry.archives())
    into.write_text(json.dumps({name: side(name).model_dump(mode="json") for name in names}))


if __name__ == "__main__":
    _load(Path(sys.argv[1]), sys.argv[2:])


def touched(pipelines: Iterable[str], ref: str) -> list[str]:
    """Those that differ from the commit, in what is committed, in what is not, and in new files.
    Raises CaseInvalid, or SpecInvalid where an imported module is missing.
    """
    names = list(pipelines)
    if not names:
        return []
    changed = _changed(registry.logic_path(names[0]).parents[1], ref)
    return [name for name in names if _is_touched(name, changed)]


def _is_touched(name: str, changed: set[Path]) -> bool:
    folder = registry.logic_path(name).parent.resolve()
    imported = {path.resolve() for path in registry.files(name)}
    return any(path.is_relative_to(folder) or path in imported for path in changed)


def _changed(folder: Path, ref: str) -> set[Path]:
    def lines(*words: str) -> list[str]:
        done = subprocess.run(
            ["git", "-C", str(folder), *words],
            capture_output=True,
            text=True,
            check=False,
            env=plain(),
        )
        if done.returncode:
            error = (done.stderr.strip().splitlines() or ["no answer"])[0]
            raise CaseInvalid.unknown_ref(ref=ref, error=error)
        return [line for line in done.stdout.split("\0") if line]

    try:
        top = Path(lines("rev-parse", "--show-toplevel")[0].rstrip("\n")).resolve()
    except FileNotFoundError:
        raise CaseInvalid.unknown_ref(ref=ref, error="there is no git") from None
    known = lines(
        "diff", "--name-only", "--no-renames", "--no-relative", "-z", "--end-of-options", ref, "--"
    )
    new = lines("-C", str(top), "ls-files", "--others", "--exclude-standard", "-z")
    every = (path for path in (*known, *new) if not path.endswith(".pyc"))
    return {(top / path).resolve() for path in every}
