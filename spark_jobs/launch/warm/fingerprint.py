"""Fingerprint: what a worker was started with. If any of it has changed since, the worker ends
before the next drain.

Files are compared by their status (inode, size, times of content and of status), not by content: a
file that was changed and changed back may have been read in between. Of jars and Spark's
zips the time of the status does not count, which a second hard link changes too: they are opened at
the start.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import resource
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from pathlib import Path

from spark_jobs.launch.spark_side import SparkSide, spark_side
from spark_jobs.launch.warm.start import compared
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import MADE, Settings

LEFT_OUT = "__pycache__"
CONFIGURATION = ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR")
"""Variables with a folder of configuration that spark-submit reads."""
SLUICE = __name__.partition(".")[0]
PACKAGES = ("site-packages", "dist-packages")


def taken(
    settings: Settings, command: Iterable[str], variables: Mapping[str, str]
) -> dict[str, str]:
    """Part -> digest, as it is now. `command` starts the worker: it has Spark's options.

    Of each variable it has a digest, and no value. Raises SettingInvalid.
    """
    side = spark_side(settings.spark_env)
    code = {SLUICE: [side.package]}
    top = registry.package().partition(".")[0]
    code.setdefault(top, [*map(Path, importlib.import_module(top).__path__)])
    environment = {
        f"variable {name}": _digest([value]) for name, value in compared(variables).items()
    }
    return {
        "Spark's options": _digest(command),
        "Python": _of_files([side.python, side.python.parent.parent / "pyvenv.cfg"]),
        "Spark's environment": _of_files(_made(settings)),
        "installed packages": _of_files(_installed(side)),
        "jars": _of_files(_files_in(settings.jars), touched=False),
        "Spark's configuration files": _of_files(_spark_files(variables, side)),
        "Spark's Python": _of_files(_spark_python(variables, side), touched=False),
        "folder": _digest([str(Path.cwd())]),
        "process limits": _digest(_process_limits()),
        **{f"code of {name}": _of_files(_code(folders)) for name, folders in code.items()},
        **environment,
    }


def changed(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The parts that differ, that are new or that are gone, sorted."""
    return sorted(part for part in before.keys() | now.keys() if before.get(part) != now.get(part))


def _digest(texts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        content = text.encode(errors="surrogateescape")
        digest.update(len(content).to_bytes(8, "big") + content)
    return digest.hexdigest()[:16]


def _of_files(paths: Iterable[Path], *, touched: bool = True) -> str:
    return _digest(f"{path} {_status(path, touched=touched)}" for path in sorted(paths))


def _status(path: Path, *, touched: bool) -> str:
    """`touched`: with the time of the status, which nobody can set back."""
    try:
        status = path.stat()
    except OSError as error:
        return str(error.errno)
    since = f" {status.st_ctime_ns}" if touched else ""
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns}{since}"


def _code(folders: Iterable[Path]) -> list[Path]:
    return [path for folder in folders for path in _files_in(folder)]


def _files_in(folder: Path) -> list[Path]:
    """Also behind links, but those that Python compiles."""
    found, seen = list[Path](), set[tuple[int, int]]()
    for where, folders, files in os.walk(folder, followlinks=True):
        status = os.stat(where)  # noqa: PTH116 - as os.walk has it
        if (status.st_dev, status.st_ino) in seen:  # a link to a folder above it would have no end
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        folders[:] = [name for name in folders if name != LEFT_OUT and not name.startswith(".")]
        found += [Path(where, name) for name in files]
    return found


def _installed(side: SparkSide) -> list[Path]:
    if side.home:
        return [*side.home.parent.glob("*-info")]
    own = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    places = own | {place for place in sys.path if Path(place).name in PACKAGES}
    return [path for place in places for path in Path(place).glob("*-info")]


def _made(settings: Settings) -> list[Path]:
    """What `sluice install` writes last of the environment in which the worker runs."""
    return [Path(settings.spark_env) / MADE] if settings.spark_env else []


def _process_limits() -> list[str]:
    """What a process has of its parent beside the environment, and makes or opens files by."""
    mask = os.umask(0o077)  # there is no other way to ask
    os.umask(mask)
    limits = [resource.getrlimit(each) for each in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS)]
    return [f"{mask:o}", str(os.getegid()), str(sorted(os.getgroups())), *map(str, limits)]


def _spark_files(variables: Mapping[str, str], side: SparkSide) -> list[Path]:
    named = [variables[name] for name in CONFIGURATION if variables.get(name)]
    folders = [*map(Path, named), *(home / "conf" for home in _spark_homes(variables, side))]
    return [path for folder in folders for path in _files_in(folder)]


def _spark_python(variables: Mapping[str, str], side: SparkSide) -> list[Path]:
    """The zips that Spark puts first on the path of driver and workers: local/pyspark_zip.py
    rewrites one.
    """
    return [
        zip_ for home in _spark_homes(variables, side) for zip_ in _files_in(home / "python/lib")
    ]


def _spark_homes(variables: Mapping[str, str], side: SparkSide) -> list[Path]:
    installed = side.home or Path(sysconfig.get_path("purelib"), "pyspark")
    named = variables.get("SPARK_HOME")
    return [*([Path(named)] if named else []), *([installed] if installed.exists() else [])]
