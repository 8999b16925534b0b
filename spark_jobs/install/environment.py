"""Environment: Spark's side in a folder of its own: a virtual environment with locked packages and
this very Sluice, the jars by their sums, and the class-data archive; and what the machine must have
before one can be made.

The file sluice.json is whole at the end: what was cut off is not taken for an environment.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import spark_jobs
from spark_jobs.errors import InstallFailed
from spark_jobs.launch.java_options import ARCHIVE
from spark_jobs.registry.fingerprint.environment import code_version
from spark_jobs.settings.installation import MADE, REPO
from spark_jobs.values.pinned import BASE, isolated, searching

PYTHONS: Final = ("3.11", "3.12", "3.13")
JAVAS: Final = ("17", "21")


def python(named: str | None) -> str:
    """The interpreter of the environment: `named`, or the one of this process's environment.

    Raises InstallFailed.
    """
    chosen = named or str(BASE)
    found = _said(isolated(chosen, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"))
    if found not in PYTHONS:
        raise InstallFailed.python_unfit(
            python=chosen, found=found or "no Python", wanted=", ".join(PYTHONS)
        )
    return chosen


def maven() -> str:
    """Raises InstallFailed without one."""
    found = shutil.which("mvn")
    if found is None:
        raise InstallFailed.maven_absent()
    return found


def java() -> str | None:
    """JAVA_HOME's, or the path's where that is not set; None if there is none."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")


def java_version() -> str:
    """Its major version; empty without one."""
    path = java()
    said = _said([path, "-version"]) if path else ""
    found = re.search(r'version "(\d+)', said)
    return found[1] if found else ""


def require_java() -> None:
    """Raises InstallFailed without a Java that Spark runs on."""
    if (found := java_version()) not in JAVAS:
        raise InstallFailed.java_unfit(found=found or "none", wanted=" or ".join(JAVAS))


def _said(words: list[str]) -> str:
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    except OSError:
        return ""
    return done.stdout.decode(errors="replace").strip()


PACKAGE: Final = Path(spark_jobs.__file__).parent
PARTS: Final = ("spark", "s3", "kafka", "build")
"""Profiles of pom.xml. The last two serve the making alone: a broker, and a compiler of Java."""
PASSING: Final = ("kafka", "build")
SUMS: Final = "jars.sha256"
PACKAGE_LINE: Final = re.compile(r"(?:Collecting|Ignoring) ([^\s:]+)")
"""pip's, of each requirement; it ignores other systems' wheels."""
JAR_LINE: Final = re.compile(r"\[INFO\] Copying (\S+\.jar) to ")
"""Maven's, of each jar."""


def brought() -> Path:
    """What a wheel brings for this, and a clone has at its top: pom.xml, requirements, local."""
    inside = PACKAGE / "install" / "brought"
    return inside if inside.exists() else REPO


def install(folder: Path, interpreter: str | None, say: Callable[[str], None]) -> bool:
    """Make it, and tell each step; False where this version is there already.

    An environment of another version is made anew. Raises InstallFailed.
    """
    folder = folder.resolve()
    if made(folder) == code_version():
        if (folder / "jars" / PASSING[0]).exists():
            _made_here(folder, say)
        return False
    if folder.exists() and any(folder.iterdir()) and not (folder / MADE).exists():
        raise InstallFailed.folder_used(folder=folder)
    if re.search(r"\s", str(folder)):
        raise InstallFailed.folder_spaced(folder=folder)
    chosen, mvn = python(interpreter), maven()
    require_java()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / MADE).write_text("{}")  # begun: whoever comes again goes on from nothing
    _packages(folder, chosen, say)
    _sluice(folder)
    _jars(folder, mvn, say)
    _made_here(folder, say)
    version = {"sluice": spark_jobs.__version__, "code": code_version(), "python": chosen}
    (folder / MADE).write_text(json.dumps(version, indent=2))
    return True


def made(folder: Path) -> str | None:
    """The code of Sluice that an environment was made with; None if it was not made to its end."""
    try:
        return str(json.loads((folder / MADE).read_text())["code"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _packages(folder: Path, chosen: str, say: Callable[[str], None]) -> None:
    say("  Python packages ...")
    _run("a virtual environment", isolated(chosen, "-m", "venv", str(folder)))
    words = ["install", "--disable-pip-version-check", "--no-deps", "--require-hashes"]
    listed = brought() / "requirements" / "spark.txt"
    many = sum(line[:1].isalnum() for line in listed.read_text().splitlines())
    pip = isolated(folder / "bin" / "python", "-m", "pip", *words, "-r", str(listed))
    _run("pip", pip, step=Step(PACKAGE_LINE, many, say))


def _sluice(folder: Path) -> None:
    """This Sluice's own files, whatever index or clone it came from: both sides are the same."""
    [site] = folder.glob("lib/python3*/site-packages")
    left_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, site / PACKAGE.name, ignore=left_out)
    inside = site / PACKAGE.name / "install" / "brought"
    if not inside.exists():
        inside.mkdir()
        for name in ("pom.xml", "requirements", "local"):
            old, new = brought() / name, inside / name
            if old.is_dir():
                shutil.copytree(old, new, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(old, new)
    command = folder / "bin" / "sluice"
    command.write_text(
        f"#!{folder}/bin/python\nfrom spark_jobs.cli.__main__ import main\n\nmain()\n"
    )
    command.chmod(0o755)
    _run("Python", isolated(folder / "bin" / "python", "-m", "compileall", "-q", str(site)))


def _jars(folder: Path, mvn: str, say: Callable[[str], None]) -> None:
    say("  jars ...")
    step = Step(JAR_LINE, len((brought() / "requirements" / SUMS).read_text().splitlines()), say)
    for part in PARTS:
        where = folder / "jars" / part
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime"]
        words = [mvn, "-B", "-ntp", "-f", str(brought() / "pom.xml"), f"-P{part}", *goal]
        _run("Maven", [*words, f"-DoutputDirectory={where}"], step=step)
    for line in (brought() / "requirements" / SUMS).read_text().splitlines():
        wanted, name = line.split(maxsplit=1)
        path = folder / "jars" / name.lstrip("*")
        found = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "no file"
        if found != wanted:
            raise InstallFailed.jar_differs(jar=path, found=found, wanted=wanted)


def _made_here(folder: Path, say: Callable[[str], None]) -> None:
    """By the environment's own Python: what is made fits that alone. Runs work without the archive:
    where it cannot be made, what it needs stays, and the same command tries again.
    """
    say("  class-data archive, by which every run starts sooner ...")
    own = folder / "bin" / "python"
    for module in ("local.pyspark_zip", "local.files_jar", "local.archive"):
        said = _run(module, searching(own, "-m", module), _alone(folder))
        sys.stderr.write(f"  {said[-1]}\n" if said and "To make it:" in said[-1] else "")
    if (folder / "jars" / "spark" / ARCHIVE).exists():
        for part in PASSING:
            shutil.rmtree(folder / "jars" / part)


def _alone(folder: Path) -> dict[str, str]:
    [site] = folder.glob("lib/python3*/site-packages")
    ours = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
    ours.pop("SPARK_HOME", None)
    jars = str(folder / "jars" / "spark")
    return ours | {
        "PYTHONPATH": str(site / PACKAGE.name / "install" / "brought"),
        "SLUICE_JARS": jars,
    }


class Step:
    """Says each thing that a command has got: its number, how many there are, and its name."""

    def __init__(self, line: re.Pattern[str], many: int, say: Callable[[str], None]) -> None:
        """`line`: of the command's output, a line that is about one; its group is the name."""
        self._line, self._many, self._say = line, many, say
        self._done = 0

    def hear(self, text: str) -> bool:
        """Whether it was such a line."""
        found = self._line.match(text)
        if found:
            self._done += 1
            self._say(f"    {self._done} of {self._many}: {found[1]}")
        return found is not None


def _run(
    what: str,
    words: Sequence[str],
    variables: dict[str, str] | None = None,
    step: Step | None = None,
) -> list[str]:
    """Raises InstallFailed with the end of what the command said, without progress."""
    said = list[str]()
    try:
        with subprocess.Popen(
            words,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process:
            assert process.stdout is not None
            for line in map(str.strip, process.stdout):
                if line and not (step and step.hear(line)):
                    said.append(line)
    except OSError as error:
        raise InstallFailed.step_failed(what=what, said=error.strerror or str(error)) from None
    if process.returncode:
        wrong = [line for line in said if line.startswith("[ERROR]")] or said
        raise InstallFailed.step_failed(what=what, said=" | ".join(wrong[-6:]))
    return said
