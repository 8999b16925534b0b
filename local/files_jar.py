"""`python -m local.files_jar`: compile spark_jobs/java, and put it beside the jars that every drain has on its class path.

By Eclipse's compiler, a jar like the others: a machine that runs Sluice has a Java runtime, and need not have a JDK.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile, ZipInfo

from local import jvm
from spark_jobs import submit
from spark_jobs.contract.errors import SluiceError
from spark_jobs.contract.settings import REPO, Settings

SOURCES = REPO / "spark_jobs" / "java"
COMPILER = REPO / "jars" / "build"
DELTA = REPO / "jars" / "spark"
NEEDED = ("hadoop-client-api-*.jar", "spark-sql_*.jar", "spark-common-utils_*.jar", "scala-library-*.jar")
"""Of pyspark's jars: what the sources name. S3A itself is not among them: they ask it through Hadoop's FileSystem."""
SMALL = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""For a JVM that lives for two seconds: half the processor time."""


def make(settings: Settings) -> Path:
    """Make the jar anew and return its place. Raises subprocess.CalledProcessError with the compiler's output."""
    final = submit.files_jar(settings)
    with TemporaryDirectory(prefix="sluice-files-") as folder:
        _compile(Path(folder))
        unfinished = final.with_suffix(".unfinished")
        with ZipFile(unfinished, "w") as jar:
            for path in sorted(Path(folder).rglob("*.class")):
                # One date for all, so that the same sources give the same bytes.
                jar.writestr(ZipInfo(str(path.relative_to(folder)), (1980, 1, 1, 0, 0, 0)), path.read_bytes())
        return unfinished.replace(final)


def _compile(folder: Path) -> None:
    [compiler] = COMPILER.glob("ecj-*.jar")
    needed = [*(path for name in NEEDED for path in _spark_jars().glob(name)), *DELTA.glob("delta-storage-*.jar")]
    sources = sorted(map(str, SOURCES.rglob("*.java")))
    path = os.pathsep.join(map(str, needed))
    words = [jvm.java() or "java", *SMALL, "-jar", str(compiler), "-source", "17", "-target", "17", "-cp", path]
    subprocess.run([*words, "-d", str(folder), *sources], check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def _spark_jars() -> Path:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "jars"


def main() -> None:
    """Make it, or say in a line why it could not be made: drains work without it, more slowly."""
    try:
        make(Settings.of_the_build())
    except (subprocess.SubprocessError, OSError, SluiceError) as error:
        output = getattr(error, "output", None) or b""
        sys.exit(f"no {submit.FILES_JAR}: {error}\n{output.decode(errors='replace')[-2000:]}")


if __name__ == "__main__":
    main()
