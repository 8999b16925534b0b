"""`python -m local.pyspark_zip`: put bytecode into the zips from which Spark's Python processes
import pyspark and py4j.

Spark puts these zips first on the path of the driver and of every Python worker (PythonUtils'
sparkPythonPath). They have sources alone, and what is imported from a zip is compiled anew by each
process: half a processor second for a worker, and more for a driver. Python takes bytecode of its
own version from a zip, and the sources if there is none (zipimport).

No drain may run meanwhile: a process that has read the old zip's directory fails at its next
import.
"""

from __future__ import annotations

import py_compile
import shutil
import sys
import zlib
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

from local.files_jar import tell_what_is_missing
from spark_jobs.storage.root.files import replacing


def zips() -> list[Path]:
    """Those of the installed pyspark."""
    found = find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return sorted((Path(found.origin).parent / "python" / "lib").glob("*.zip"))


def compile_into(archive: Path) -> bool:
    """Add the bytecode of each source that lacks it, but for tests; whether there was one.

    The new file takes the old one's place: a package manager may share that with its cache.
    """
    with ZipFile(archive) as old:
        names = set(old.namelist())
        sources = [name for name in names if _is_due(name) and f"{name}c" not in names]
        if not sources:
            return False
        with (
            TemporaryDirectory(prefix="sluice-zip-") as folder,
            replacing(archive, several=True) as unfinished,
            ZipFile(unfinished, "w", ZIP_DEFLATED) as new,
        ):
            old.extractall(folder)
            for name in sorted(names):
                new.write(Path(folder, name), name)
            for name in sorted(sources):
                made = Path(folder, f"{name}c")
                # Unchecked: nobody changes a source in a zip. Named as zipimport names it.
                py_compile.compile(
                    str(Path(folder, name)),
                    cfile=str(made),
                    dfile=f"{archive}/{name}",
                    doraise=True,
                    invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
                )
                new.write(made, f"{name}c")
            shutil.copymode(archive, unfinished)
    return True


def _is_due(name: str) -> bool:
    """Half of the sources are pyspark's own tests, and each name more is read at each start."""
    return name.endswith(".py") and "/tests/" not in name


def main() -> None:
    """Do it, or say why it could not be done, and go on: drains work without it."""
    try:
        for archive in zips():
            compile_into(archive)
    except (OSError, BadZipFile, zlib.error, py_compile.PyCompileError) as error:
        tell_what_is_missing("bytecode of pyspark", "start more slowly", error, "local.pyspark_zip")


if __name__ == "__main__":
    sys.exit(main())
