"""Shipment: what executors of a cluster need of a run and may not have: code, Python, jars. Imports no pyspark.

The code goes as an archive and not as spark.submit.pyFiles, which would stand before the driver's own code on its path: what
it finds as files there (pipelines, configuration) is not to be found in a zip.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import tempfile
import time
import zipfile
from contextlib import suppress
from pathlib import Path
from types import ModuleType

from spark_jobs.contract import registry
from spark_jobs.contract.errors import SettingInvalid, SparkFailed
from spark_jobs.contract.files import replacing
from spark_jobs.contract.settings import Settings

CODE_FOLDER = "code"
"""Where executors find the code, in the folder that they work in."""
KEPT_SECONDS = 7 * 86_400
"""An archive that no run has used for so long is removed; executors that come late in a run fetch it from the driver."""
LEFT_OUT = "__pycache__"
JAVA = "spark_jobs/java/"
"""Sources of a jar that executors get as such."""
_FOLDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*")
"""An executor deletes what has an archive's name in its folder, before it unpacks it: . and .. would be more than that."""
_EPOCH = (1980, 1, 1, 0, 0, 0)


def configuration(settings: Settings) -> dict[str, str]:
    """Spark's options that send it. Raises SettingInvalid, or SparkFailed where the archive cannot be written."""
    archives = [f"{code_archive()}#{CODE_FOLDER}"]
    given, python = settings.executor_python, settings.executor_python
    if "#" in given:
        archive, _, inside = given.partition("#")
        name, _, within = inside.strip("/").partition("/")
        if not name or not within:
            raise SettingInvalid(f"SLUICE_EXECUTOR_PYTHON is {given!r}: after # it names no Python within the archive.",
                                 "Write for example environment.tar.gz#environment/bin/python.")
        if name == CODE_FOLDER or not _FOLDER.fullmatch(name):
            raise SettingInvalid(f"SLUICE_EXECUTOR_PYTHON is {given!r}: {name!r} is in the place of the executors' own.",
                                 "After #, name a folder of its own first: environment.tar.gz#environment/bin/python.")
        if "://" not in archive and not Path(archive).is_file():
            raise SettingInvalid(f"SLUICE_EXECUTOR_PYTHON is {given!r}: there is no file {archive}.",
                                 "Pack an environment as docs/cluster.md shows, or name a Python that the workers have.")
        archives.append(f"{archive}#{name}")
        python = f"./{name}/{within}"
    return {
        "spark.archives": ",".join(archives),
        "spark.executorEnv.PYTHONPATH": f"./{CODE_FOLDER}",
        "spark.executorEnv.TZ": "UTC",
        **({"spark.pyspark.python": python} if python else {}),
    }


def code_archive() -> Path:
    """The archive with Sluice and the package that the pipelines are in; made where it is not there yet.

    Its name is its content's digest, so that runs of the same code share one. Raises SparkFailed.
    """
    files = _files()
    digest = hashlib.sha256()
    for name, content in files:
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    try:
        return _reuse_or_write(_folder(), f"sluice-{digest.hexdigest()[:16]}.zip", files)
    except OSError as error:
        raise SparkFailed(f"the archive of the code that executors run cannot be written: {error}.",
                          "Make room in the temporary folder, or set TMPDIR to another.") from None


def _reuse_or_write(folder: Path, name: str, files: list[tuple[str, bytes]]) -> Path:
    """The archive of that name; what no run has used for long is removed."""
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
    """Name within the archive, and content, of each file; by name. A namespace package's folders overlap: the first has it.

    Each is read once: were it read again for the archive, a deployment in between would leave other code under this name.
    """
    found = dict[str, Path]()
    for top in {__name__.partition(".")[0], registry.package().partition(".")[0]}:
        for folder in map(Path, _module(top).__path__):
            for path in folder.rglob("*"):
                within = path.relative_to(folder)
                name = f"{top}/{within.as_posix()}"
                left_out = name.startswith(JAVA) or any(part == LEFT_OUT or part.startswith(".") for part in within.parts)
                if path.is_file() and not left_out:
                    found.setdefault(name, path)
    return [(name, path.read_bytes()) for name, path in sorted(found.items())]


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise SettingInvalid(f"SLUICE_PIPELINES is {registry.package()!r}: {error}.",
                             "Name a Python package on the PYTHONPATH, or unset it.") from None


def _folder() -> Path:
    """This user's alone: whoever else could write into it would run code as this user."""
    folder = Path(tempfile.gettempdir()) / f"sluice-code-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    about = folder.lstat()
    if about.st_uid != os.getuid() or about.st_mode & 0o022 or folder.is_symlink():
        raise SparkFailed(f"{folder} is not this user's alone, and the code that executors run would lie in it.",
                          "Remove it, or set TMPDIR to a folder of your own.")
    return folder


def _write(archive: Path, files: list[tuple[str, bytes]]) -> None:
    """The same files give the same bytes; nobody sees an archive that is not whole."""
    with replacing(archive, several=True) as partial, zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as into:
        for name, content in files:
            into.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
