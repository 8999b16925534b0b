"""Spark's side: the environment whose Python, spark-submit and packages a run starts with, and what
a run sends to a cluster's executors. Imports no pyspark.

SLUICE_SPARK_ENV names it, and `sluice install` makes it; without it, this process's own. So
Airflow's environment takes one light wheel and keeps its packages.

The code is sent as an archive, not by spark.submit.pyFiles. That would put a zip before the
driver's own code on its path, and the driver needs pipelines and configuration as files, which a
zip does not have.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import sys
import time
import zipfile
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from spark_jobs.errors import SettingInvalid, SparkFailed
from spark_jobs.registry import find as registry
from spark_jobs.registry.fingerprint.environment import require_spark
from spark_jobs.settings.installation import REPO, Settings
from spark_jobs.storage.root.files import replacing
from spark_jobs.storage.root.path_forms import own_folder
from spark_jobs.values import pinned as language
from spark_jobs.values.pinned import own

CODE_FOLDER = "code"
"""The folder with the code, in the working folder of an executor."""
KEPT_SECONDS = 7 * 86_400
"""An archive that no run has used for so long is removed; executors that come late in a run fetch
it from the driver.
"""
LEFT_OUT = "__pycache__"
JAVA = "spark_jobs/java/"
"""Sources of a jar. Executors get the jar."""
_FOLDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*")
"""Before an executor unpacks an archive, it deletes what has that name in its folder.

With . or .. it would delete more.
"""
RISK = "the code that executors run would be in it"
_EPOCH = (1980, 1, 1, 0, 0, 0)


def configuration(settings: Settings) -> dict[str, str]:
    """Spark's settings that send code and Python: name -> value.

    Raises SettingInvalid; SparkFailed if the archive cannot be written.
    """
    archives = [f"{code_archive()}#{CODE_FOLDER}"]
    given = python = settings.executor_python
    if "#" in given:
        archive, _, inside = given.partition("#")
        name, _, within = inside.strip("/").partition("/")
        if not name or not within:
            raise SettingInvalid.no_python_in_archive(given=given)
        if name == CODE_FOLDER or not _FOLDER.fullmatch(name):
            raise SettingInvalid.folder_replaced(given=given, name=name)
        if "://" not in archive and not Path(archive).is_file():
            raise SettingInvalid.archive_absent(given=given, archive=archive)
        archives.append(f"{archive}#{name}")
        python = f"./{name}/{within}"
    return {
        "spark.archives": ",".join(archives),
        "spark.executorEnv.PYTHONPATH": f"./{CODE_FOLDER}",
        **language.executor_options(),
        **({"spark.pyspark.python": python} if python else {}),
    }


def code_archive() -> Path:
    """The archive with Sluice and the package of the pipelines; written if it does not exist yet.

    Its name has the digest of its content, so that runs of the same code share one. Raises
    SparkFailed.
    """
    files = _files()
    digest = hashlib.sha256()
    for name, content in files:
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    try:
        folder = own_folder("code", RISK)
        return _reuse_or_write(folder, f"sluice-{digest.hexdigest()[:16]}.zip", files)
    except OSError as error:
        raise SparkFailed.code_not_packed(error=error) from None


def _reuse_or_write(folder: Path, name: str, files: list[tuple[str, bytes]]) -> Path:
    archive = folder / name
    try:
        os.utime(archive)
    except FileNotFoundError:
        _write(archive, files)
    for old in folder.iterdir():
        with suppress(FileNotFoundError):  # another run removes it too
            if old != archive and time.time() - old.stat().st_mtime > KEPT_SECONDS:
                old.unlink()
    return archive


def _files() -> list[tuple[str, bytes]]:
    """Name within the archive and content of each file, by name.

    In a namespace package the first folder with a file wins.

    Each file is read once. If it were read again for the archive, a deployment in between would put
    other code under this name.
    """
    paths = dict[str, Path]()
    for top in {__name__.partition(".")[0], registry.package().partition(".")[0]}:
        for folder in map(Path, _module(top).__path__):
            for path in folder.rglob("*"):
                within = path.relative_to(folder)
                name = f"{top}/{within.as_posix()}"
                left_out = name.startswith(JAVA) or any(
                    part == LEFT_OUT or part.startswith(".") for part in within.parts
                )
                if path.is_file() and not left_out:
                    paths.setdefault(name, path)
    return [(name, path.read_bytes()) for name, path in sorted(paths.items())]


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise SettingInvalid.package_absent(
            package=registry.package(), error=error, here=Path.cwd()
        ) from None


def _write(archive: Path, files: list[tuple[str, bytes]]) -> None:
    with (
        replacing(archive, several=True) as partial,
        zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as output,
    ):
        for name, content in files:
            output.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)


class SparkSide(NamedTuple):
    """Where a run's processes come from."""

    python: Path
    package: Path
    """The folder spark_jobs."""
    search: str
    """The folders that go before PYTHONPATH's, as it has them."""
    home: Path | None = None
    """The pyspark of another environment."""

    @property
    def submit(self) -> Path:
        return self.python.parent / "spark-submit"

    @property
    def application(self) -> Path:
        return self.package / "main.py"


def spark_side(spark_env: str) -> SparkSide:
    """SLUICE_SPARK_ENV's side; empty for this process's own. Raises SettingInvalid where it is not
    whole, has no Spark, or is of another version.
    """
    site = require_spark(spark_env)
    # It imports the pipelines from where this process does: neither a DAGs folder nor the working
    # folder is on PYTHONPATH.
    pipelines = registry.own_path()
    if pipelines is not None and pipelines != REPO:
        _refuse_hiding(pipelines)
    if site is None:
        both = dict.fromkeys(map(str, filter(None, (REPO, pipelines))))
        return SparkSide(own(), Path(__file__).parents[1], os.pathsep.join(both))
    search = "" if pipelines is None else os.fspath(pipelines)
    return SparkSide(
        Path(spark_env) / "bin" / "python", site / "spark_jobs", search, site / "pyspark"
    )


def _refuse_hiding(folder: Path) -> None:
    """What is on PYTHONPATH comes before Python's own modules."""
    files = [*folder.glob("*.py"), *(each.parent for each in folder.glob("*/__init__.py"))]
    hidden = {path.stem for path in files}
    names = sorted(hidden & sys.stdlib_module_names)
    if (package := registry.package().partition(".")[0]) in names:
        raise SettingInvalid.package_hides(package=package)
    if names:
        raise SettingInvalid.modules_hidden(folder=folder, name=names[0])
