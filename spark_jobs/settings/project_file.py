"""Project: a folder with a file sluice.toml, which gives settings to every process that enters it.

Its keys are the variables' names, without SLUICE_ and in small letters. Those at the top are of
every environment; a table, such as [prod], is one environment's. A process enters the project as it
begins: what no variable says becomes a variable. So whatever reads a setting reads variables alone,
and a child process has them too. A secret is never in the file: kafka_config and spark_secret_file
name files.
"""

from __future__ import annotations

import difflib
import os
import re
import stat
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from spark_jobs.errors import SettingInvalid
from spark_jobs.settings.variables import VARIABLES
from spark_jobs.spec.spark_options import SECRETIVE
from spark_jobs.storage.root.store import PATH_STYLE

FILE: Final = "sluice.toml"
FOLDER: Final = "SLUICE_PROJECT"
"""The variable with the project's folder. A process that works below the folder needs none."""
CHOSEN: Final = "SLUICE_ENV"
"""The variable with the environment's name."""
DEFAULT: Final = "dev"
_GAVE: Final = "SLUICE_PROJECT_GAVE"
"""The variable with the names of those that the project has made."""
KEYS: Final = {
    name.removeprefix("SLUICE_").lower(): name for name in VARIABLES if name != "SLUICE_NEXT"
}
"""Key -> variable. Whether it is about NEXT, each command says."""
NAMED: Final = re.compile(r"(root|kafka|kafka_config)__[a-z0-9_]+")
"""Keys of a root, or of a cluster, that has a name."""
_PATHS: Final = re.compile(r"(root|kafka_config)(__.+)?|jars|spark_env|spark_secret_file")
"""Keys of files and folders of this machine. A relative one is below the project."""
_CLEAR: Final = re.compile(r"-----BEGIN|[^\s/@:]+:[^\s@]+@|(?i:passw(or)?d|secret) *=")
"""What a value with a secret in it has."""


class Project(NamedTuple):
    """A project as one of its environments has it."""

    file: Path
    environment: str
    values: Mapping[str, str]
    """Variable -> value."""
    places: Mapping[str, str]
    """Variable -> the table that gives it, such as [dev]; empty for the top of the file."""


def enter(above: Path | None = None) -> Project | None:
    """Enter the project of this process, by its variables; None if there is none.

    Its folder is SLUICE_PROJECT, else the working folder or the nearest one above it with the file,
    else one at or above `above`. Its environment is SLUICE_ENV, else dev. Whoever enters again gets
    what the file says now. Raises SettingInvalid.
    """
    named = os.environ.get(FOLDER)
    folder = Path(named) if named else nearest(FILE, Path.cwd()) or (above and nearest(FILE, above))
    leave()
    if folder is None:
        return None
    found = read(folder.absolute() / FILE, os.environ.get(CHOSEN, ""))
    given = {FOLDER: str(found.file.parent), **found.values}
    made = {name: value for name, value in given.items() if not os.environ.get(name)}
    os.environ.update(made | {_GAVE: " ".join(made)})
    if (path := str(found.file.parent)) not in sys.path:
        sys.path.append(path)  # the pipelines' package is there
    return found


def leave() -> None:
    """Take back the variables that the project has made."""
    for name in os.environ.pop(_GAVE, "").split():
        os.environ.pop(name, None)


def origins() -> dict[str, str]:
    """Variable that the project has made -> its place, such as "sluice.toml [dev]"."""
    if not (folder := os.environ.get(FOLDER)):
        return {}
    found = read(Path(folder) / FILE, os.environ.get(CHOSEN, ""))
    gave = os.environ.get(_GAVE, "").split()
    return {name: f"{FILE} {found.places[name]}".rstrip() for name in gave if name in found.places}


@contextmanager
def told() -> Iterator[None]:
    """Within it, an error about a variable that the project has made names file and key too."""
    try:
        yield
    except SettingInvalid as error:
        gave = os.environ.get(_GAVE, "").split()
        named = [name for name in gave if re.search(rf"\b{name}\b", error.what)]
        if not named or FILE in error.what:
            raise
        key, place = named[0].removeprefix("SLUICE_").lower(), origins()[named[0]]
        raise error.adding(f"({key} in {os.environ[FOLDER]}/{place})") from None


def read(file: Path, environment: str) -> Project:
    """The project of the file; without an environment, of dev. Raises SettingInvalid."""
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingInvalid.no_project(folder=file.parent, file=FILE) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingInvalid.project_unreadable(file=file, error=error) from None
    tables = {name: each for name, each in content.items() if isinstance(each, dict)}
    chosen = environment or DEFAULT
    parts = {"": {name: each for name, each in content.items() if name not in tables}}
    parts |= {f"[{name}]": each for name, each in tables.items()}
    values, places = dict[str, str](), dict[str, str]()
    for place, table in parts.items():  # of the other environments too: an error shows at once
        for key, given in table.items():
            text = _text(file, f"{place} {key}".strip(), key, given)
            if text and place in {"", f"[{chosen}]"}:
                values[variable := f"SLUICE_{key.upper()}"] = text
                places[variable] = place
    if chosen not in tables and (environment or tables):
        known = ", ".join(f"[{name}]" for name in tables) or "none"
        raise SettingInvalid.environment_unknown(file=file, environment=chosen, known=known)
    return Project(file, chosen, values, places)


def _text(file: Path, at: str, key: str, given: Any) -> str:
    """The variable's value. Raises SettingInvalid."""
    name = KEYS.get(key, "")
    if not name and not NAMED.fullmatch(key):
        if SECRETIVE.search(key):
            raise SettingInvalid.secret_in_project(file=file, at=at)
        close = difflib.get_close_matches(key.lower().removeprefix("sluice_"), KEYS, n=1)
        near = f"Did you mean {close[0]}?" if close else f"The keys are {', '.join(KEYS)}."
        raise SettingInvalid.key_unknown(file=file, at=at, near=near)
    number = name and (VARIABLES[name][1] or "").isdigit()
    if isinstance(given, bool) and name == PATH_STYLE:
        return str(given).lower()
    if type(given) is int and (number or key == "rejected_days"):
        return str(given)
    if not isinstance(given, str):
        shown = str(given).lower() if isinstance(given, bool | int | float) else "no text"
        right = (name and VARIABLES[name][1]) or "..."
        raise SettingInvalid.value_no_text(file=file, at=at, given=shown, key=key, right=right)
    if has_secret(given):
        raise SettingInvalid.secret_in_project(file=file, at=at)
    if given and _PATHS.fullmatch(key) and "://" not in given:
        return str(file.parent / Path(given).expanduser())
    return given


def has_secret(value: str) -> bool:
    """Whether a setting's value has a secret in clear, as far as its form tells."""
    return _CLEAR.search(value) is not None


def nearest(name: str, start: Path) -> Path | None:
    """The folder `start`, or the nearest one above it, in which this name is. What another user has
    made does not count, since its code would run.
    """
    owners = {os.getuid(), start.stat().st_uid} if start.exists() else {os.getuid()}
    return next((each for each in (start, *start.parents) if _has(each, name, owners)), None)


def _has(folder: Path, name: str, owners: set[int]) -> bool:
    """Whether it has one of theirs, as far as this process may look. What all users share, as /tmp,
    has none: another's modules would stand beside it.
    """
    shared = stat.S_ISVTX | stat.S_IWOTH
    try:
        own = (folder / name).stat().st_uid in owners
        return own and folder.stat().st_mode & shared != shared
    except OSError:
        return False
