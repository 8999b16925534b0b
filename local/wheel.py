"""`python -m local.wheel FOLDER`: build the wheel: Sluice, its plugin of Airflow, and what
`sluice install` makes Spark's side from. Beside it lies for each documented Airflow a file of pip's
constraints, since pip alone takes newer libraries than an Airflow of some months stands.

The wheel is of a copy of the sources, in which all of it lies in one package.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

REPO = Path(__file__).parent.parent
SOURCES = ("spark_jobs", "plugins", "pyproject.toml", "README.md", "LICENSE")
BROUGHT = ("pom.xml", "requirements/spark.txt", "requirements/jars.sha256")
CONSTRAINTS = REPO / "requirements"
BUILD = "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"


def build(into: Path) -> Path:
    """The new wheel in the folder `into`. Raises subprocess.CalledProcessError."""
    into.mkdir(parents=True, exist_ok=True)
    for path in CONSTRAINTS.glob("constraints-*.txt"):
        _copy(path, into / path.name)
    with TemporaryDirectory(prefix="sluice-wheel-") as folder:
        sources = Path(folder)
        for name in SOURCES:
            _copy(REPO / name, sources / name)
        brought = sources / "spark_jobs" / "install" / "brought"
        for name in (*BROUGHT, *(f"local/{path.name}" for path in REPO.glob("local/*.py"))):
            (brought / name).parent.mkdir(parents=True, exist_ok=True)
            _copy(REPO / name, brought / name)
        done = subprocess.run(
            [sys.executable, "-c", BUILD, str(into.absolute())],
            cwd=sources,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=True,
        )
    return into / done.stdout.splitlines()[-1]


def _copy(old: Path, new: Path) -> None:
    if old.is_dir():
        shutil.copytree(old, new, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    else:
        shutil.copy(old, new)


if __name__ == "__main__":
    sys.stdout.write(f"{build(Path(sys.argv[1]))}\n")
