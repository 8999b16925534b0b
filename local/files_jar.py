"""`python -m local.files_jar`: compile spark_jobs/java, and put it beside the jars that every drain
has on its class path.

By Eclipse's compiler, a jar like the others: a machine that runs Sluice has a Java runtime, and
need not have a JDK.

With Janino's classes beside them, as pyspark has them but for the signature. Of a signed jar the
JVM keeps no class in its archive (local.archive), and every drain compiles by these.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from local import jvm
from spark_jobs.errors import JarsMissing, SluiceError
from spark_jobs.launch import submit
from spark_jobs.settings.installation import REPO, Settings
from spark_jobs.storage.root.files import replacing

SOURCES = REPO / "spark_jobs" / "java"
NEEDED_OF_OTHERS = ("delta-storage-*.jar", "spark-sql-kafka-*.jar", "kafka-clients-*.jar")
"""Of the jars that pyspark does not ship."""
NEEDED = (
    "hadoop-client-api-*.jar",
    "jackson-core-2*.jar",
    "jackson-databind-*.jar",
    "spark-core_*.jar",
    "spark-sql_*.jar",
    "spark-sql-api_*.jar",
    "spark-catalyst_*.jar",
    "spark-common-utils_*.jar",
    "spark-unsafe_*.jar",
    "scala-library-*.jar",
)
"""Of pyspark's jars: what the sources name.

S3A itself is not among them: they ask it through Hadoop's FileSystem.
"""
SIGNED = ("janino-*.jar", "commons-compiler-*.jar")
"""Of pyspark's jars: those of which classes are taken over."""
LICENCE = "LICENSE-janino.txt"


def _jars(settings: Settings) -> Path:
    """The folder with the compiler's and the other jars: beside SLUICE_JARS, or a clone's."""
    beside = settings.jars.parent
    return beside if (beside / "build").is_dir() else REPO / "jars"


def make(settings: Settings) -> Path:
    """Make the jar anew and return its place.

    Raises subprocess.CalledProcessError with what the compiler said, ValueError where its or
    Hadoop's jar is not there or there are two, or JarsMissing where there is no folder for it.
    """
    final = submit.files_jar(settings)
    if not final.parent.is_dir():
        raise JarsMissing.jars_folder_absent(folder=final.parent)
    with TemporaryDirectory(prefix="sluice-files-") as folder:
        _compile(Path(folder), _jars(settings))
        made = {str(path.relative_to(folder)): path for path in Path(folder).rglob("*.class")}
        with replacing(final) as unfinished, ZipFile(unfinished, "w") as jar:
            for name, path in sorted(made.items()):
                _add(jar, name, path.read_bytes())
            for name, content in _unsigned():
                _add(jar, name, content)
    return final


def _add(jar: ZipFile, name: str, content: bytes) -> None:
    # One date for all, so that the same sources give the same bytes.
    jar.writestr(ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, ZIP_DEFLATED)


def _unsigned() -> Iterator[tuple[str, bytes]]:
    """The entries of the SIGNED jars without their signatures, and the licence."""
    spark = _spark_jars()
    yield f"META-INF/licenses/{LICENCE}", (spark.parent / "licenses" / LICENCE).read_bytes()
    for pattern in SIGNED:
        with ZipFile(_the_one(spark, pattern)) as signed:
            for name in sorted(signed.namelist()):
                if not name.startswith("META-INF/") and not name.endswith("/"):
                    yield name, signed.read(name)


def _compile(folder: Path, jars: Path) -> None:
    places = ((_spark_jars(), NEEDED), (jars / "spark", NEEDED_OF_OTHERS))
    # Looked for behind the compiler: who lacks that lacks all of set-up.
    needed = (_the_one(folder, name) for folder, names in places for name in names)
    sources = sorted(map(str, SOURCES.rglob("*.java")))
    subprocess.run(
        [*compiler(jars, needed), "-d", str(folder), *sources],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def compiler(jars: Path, needed: Iterable[Path]) -> list[str]:
    """The start of a command line that compiles with these jars.

    Raises ValueError where the compiler is not there or there are two.
    """
    program = ["-jar", str(_the_one(jars / "build", "ecj-*.jar")), "-source", "17", "-target", "17"]
    return [jvm.java() or "java", *jvm.SMALL, *program, "-cp", os.pathsep.join(map(str, needed))]


def _the_one(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise ValueError(f"{folder} has {len(found)} files {pattern}, and it takes one")
    return found[0]


def _spark_jars() -> Path:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "jars"


def main() -> None:
    """Make it, or say why it could not be made, and go on: drains work without it, with Hadoop's
    own classes.

    Where the installation itself is wrong, jars that are not there for one, it ends with status 1:
    no drain would work.
    """
    try:
        make(Settings.of_the_build())
    except SluiceError as error:
        sys.exit(f"no {submit.FILES_JAR}: {error}")
    except (subprocess.SubprocessError, OSError, ValueError) as error:
        # The archive fits the class path that it was made with, and this jar is a part of it.
        tell_what_is_missing(
            submit.FILES_JAR, "take longer", error, "local.files_jar", "local.archive"
        )


def tell_what_is_missing(what: str, effect: str, error: Exception, *modules: str) -> None:
    """Say on standard error what drains go without, why, and what makes it: set-up does not come
    here again by itself.
    """
    again = " && ".join(f"{sys.executable} -m {module}" for module in modules)
    if "brought" in Path(__file__).parts:  # of a wheel, which has no such modules to run
        again = f"sluice install {sys.prefix}"
    sys.stderr.write(
        f"no {what}: {_why(error)}. Drains work without it and {effect}. To make it: {again}\n"
    )


def _why(error: Exception) -> str:
    """Without the command, which has the paths of all jars."""
    if isinstance(error, subprocess.TimeoutExpired):
        return f"it took longer than {error.timeout:.0f} s"
    if isinstance(error, subprocess.CalledProcessError):
        lines = (error.output or b"").decode(errors="replace").strip().splitlines()
        return f"it ended with status {error.returncode}: {' | '.join(lines[-3:])}"
    return str(error)


if __name__ == "__main__":
    main()
