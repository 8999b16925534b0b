"""The image by itself: what is in it, what is not, and that it needs little."""

import json
import subprocess

RUN = (
    "docker", "run", "--rm", "--network", "none", "--read-only", "--tmpfs", "/tmp:exec",
    "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
)  # fmt: skip
IMAGE = "sluice:local"
SECONDS = 600
ARCHIVED = """
import os, subprocess, sys
from pathlib import Path
from spark_jobs.launch import submit
from spark_jobs.messages.job import Explain
from spark_jobs.settings.installation import Settings
os.environ["SLUICE_KAFKA"] = "127.0.0.1:1"
settings = Settings.from_environment()
variables = {"JAVA_TOOL_OPTIONS": "-Xlog:class+load:file=/tmp/classes-%p.log", "SPARK_LOCAL_IP": "127.0.0.1"}
words = submit.command(settings, Explain(pipeline="departure_delays"))
subprocess.run(words, env={**os.environ, **submit.environment(settings), **variables}, check=True, stdout=sys.stderr)
lines = [line for log in Path("/tmp").glob("classes-*.log") for line in log.read_text().splitlines()]
print(sum("source: shared objects file (top)" in line for line in lines))
"""
WITHOUT_BYTECODE = """
from importlib.util import cache_from_source
from pathlib import Path
places = [*Path("/opt/sluice").glob("*/"), Path("/opt/sluice/.venv/lib/python3.11/site-packages/airflow")]
files = [path for place in places if place.name != ".venv" for path in place.rglob("*.py")]
print(len(files), sum(not Path(cache_from_source(str(path))).exists() for path in files))
"""


def _printed(*words: str) -> str:
    done = subprocess.run(
        [*RUN, IMAGE, *words], capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_it_has_neither_compiler_nor_package_managers():
    tools = "gcc cc g++ make javac mvn pip pip3 uv git curl wget"
    assert _printed("sh", "-c", f"for tool in {tools}; do command -v $tool || true; done") == ""
    assert _printed("sh", "-c", "ls /var/lib/apt/lists /opt/sluice/jars").split() == [
        "/opt/sluice/jars:",
        "s3",
        "spark",
        "/var/lib/apt/lists:",
    ]


def test_it_says_what_it_is_and_runs_as_nobody_special():
    [told] = json.loads(
        subprocess.run(
            ["docker", "image", "inspect", IMAGE], capture_output=True, check=True
        ).stdout
    )
    assert told["Config"]["User"] == "sluice"
    assert told["Config"]["Labels"]["org.opencontainers.image.title"] == "Sluice"
    assert _printed("id", "-un").strip() == "sluice"


def test_the_command_line_works_without_network_and_without_writing():
    assert "departure_delays" in _printed("sluice", "validate")


def test_the_command_line_is_a_command_of_any_shell_in_it():
    """As `docker compose exec` starts one: the entrypoint is not asked there."""
    assert "pyspark 4" in _printed("sh", "-c", "sluice --version")


def test_the_class_data_archive_fits_the_class_path_of_a_run():
    assert int(_printed("python", "-c", ARCHIVED).split()[-1]) > 5000


def test_bytecode_is_there_for_every_module():
    files, missing = map(int, _printed("python", "-c", WITHOUT_BYTECODE).split())
    assert files > 1000
    assert missing == 0
