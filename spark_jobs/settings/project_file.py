"""Project: a folder with a file sluice.toml, which gives settings to every process that enters it.

Its keys are the variables' names, without SLUICE_ and in small letters. Those at the top are of
every environment; a table, such as [prod], is one environment's. A process enters the project as it
begins: what no variable says becomes a variable. So whatever reads a setting reads variables alone,
and a child process has them too. A secret is never in the file: kafka_config and spark_secret_file
name files.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import stat
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
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
"""The variable with those that the project has made: name -> value and place, as JSON. Who has set
one of them anew has a variable of their own.
"""
KEYS: Final = {
    name.removeprefix("SLUICE_").lower(): name for name in VARIABLES if name != "SLUICE_NEXT"
}
"""Key -> variable. Whether it is about NEXT, each command says."""
NAMED: Final = re.compile(r"(root|kafka|kafka_config)__[a-z0-9_]+")
"""Keys of a root, or of a cluster, that has a name."""
_PATHS: Final = re.compile(r"(root|kafka_config)(__.+)?|jars|spark_env|spark_secret_file")
"""Keys of files and folders of this machine. A relative one is below the project."""
_CLEAR: Final = re.compile(r"-----BEGIN|(?:^|[\s,]|://)[^\s,/]*@|[^\s/@:]+:[^\s@]+@")
"""What a value with a secret in it has: a key, or a user before a host."""
_PAIR: Final = re.compile(r"([^\s=]+)\s*=")


class Project(NamedTuple):
    """A project as one of its environments has it."""

    file: Path
    environment: str
    values: Mapping[str, str]
    """Variable -> value."""
    places: Mapping[str, str]
    """Variable -> the table that gives it, such as [dev]; empty for the top of the file."""


def enter(above: Path | None = None, environment: str = "") -> Project | None:
    """Enter the project of this process, by its variables; None if there is none.

    Its folder is SLUICE_PROJECT, else the working folder or the nearest one above it with the file,
    else one at or above `above`. Its environment is `environment`, else SLUICE_ENV, else dev.
    A second entry gets what the file says now. Raises SettingInvalid; then all is as before.
    """
    named, chosen = os.environ.get(FOLDER), environment or os.environ.get(CHOSEN, "")
    folder = Path(named) if named else _around(above)
    found = read(folder.absolute() / FILE, chosen) if folder else None
    leave()
    if found is None:
        return None
    if environment:
        os.environ.pop(CHOSEN, None)
    path, places = str(found.file.parent), found.places
    given = {FOLDER: path, CHOSEN: chosen, **found.values}
    made = {name: value for name, value in given.items() if value and not os.environ.get(name)}
    gave = {name: (value, places.get(name)) for name, value in made.items()}
    os.environ.update(made | {_GAVE: json.dumps(gave)})
    if path not in sys.path:
        sys.path.append(path)  # the pipelines' package is there
    return found


def leave() -> None:
    """Take back the variables that the project has made."""
    for name in _gave():
        del os.environ[name]
    os.environ.pop(_GAVE, None)


def origins() -> dict[str, str]:
    """Variable that the project has made -> its place, such as "sluice.toml [dev]"."""
    found = ((name, place) for name, (_, place) in _gave().items() if place is not None)
    return {name: f"{FILE} {place}".rstrip() for name, place in found}


def _gave() -> dict[str, tuple[str, str | None]]:
    """Variable that the project has made, and nobody has changed since -> value, place."""
    found = json.loads(os.environ.get(_GAVE) or "{}")
    return {name: each for name, each in found.items() if os.environ.get(name) == each[0]}


def _around(above: Path | None) -> Path | None:
    with suppress(FileNotFoundError):  # the working folder is removed
        if found := nearest(FILE, Path.cwd()):
            return found
    return nearest(FILE, above) if above else None


@contextmanager
def told() -> Iterator[None]:
    """Within it, an error about a variable that the project has made names file and key too."""
    try:
        yield
    except SettingInvalid as error:
        places = origins().items()
        named = [each for each in places if re.search(rf"\b{each[0]}\b", error.what)]
        if not named or FILE in error.what:
            raise
        [(name, place), *_] = named
        key = name.removeprefix("SLUICE_").lower()
        raise error.adding(f"({key} in {os.environ[FOLDER]}/{place})") from None


def read(file: Path, environment: str) -> Project:
    """The project of the file; without an environment, of dev. Raises SettingInvalid."""
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8-sig"))
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
    if not isinstance(given, str) or "\0" in given:
        shown = str(given).lower() if isinstance(given, bool | int | float) else "no text"
        right = (name and VARIABLES[name][1]) or "..."
        raise SettingInvalid.value_no_text(file=file, at=at, given=shown, key=key, right=right)
    if has_secret(given):
        raise SettingInvalid.secret_in_project(file=file, at=at)
    if given and _PATHS.fullmatch(key) and "://" not in given:
        try:
            return str(file.parent / Path(given).expanduser())
        except RuntimeError:
            raise SettingInvalid.home_unknown(file=file, at=at, given=given) from None
    return given


def has_secret(value: str) -> bool:
    """Whether a setting's value has a secret in clear, as far as its form tells."""
    named = any(SECRETIVE.search(name) for name in _PAIR.findall(value))
    return named or _CLEAR.search(value) is not None


def nearest(name: str, start: Path) -> Path | None:
    """The folder `start`, or the nearest one above it, in which this name is. What another user has
    made does not count, since its code would run.
    """
    owners = {os.getuid()}
    with suppress(OSError):  # it is not there, or this process may not look
        owners.add(start.stat().st_uid)
    return next((each for each in (start, *start.parents) if _has(each, name, owners)), None)


def _has(folder: Path, name: str, owners: set[int]) -> bool:
    """Whether it has one of theirs, as far as this process may look; of a link both ends. What all
    users share, as /tmp, has none: another's modules would stand beside it.
    """
    shared = stat.S_ISVTX | stat.S_IWOTH
    try:
        own = {(folder / name).stat().st_uid, (folder / name).lstat().st_uid} <= owners
        return own and folder.stat().st_mode & shared != shared
    except OSError:
        return False
