"""What an application writes on stderr comes through, but for what says nothing."""

import subprocess

from tests.harness.patience import patient
from tests.harness.ran import python

NOISE = "WARNING: Using incubator modules: jdk.incubator.vector"
STARTING = """
import os, sys
from spark_jobs.launch import foreground
sys.exit(foreground.run([sys.executable, "-c", sys.argv[1]], os.environ))
"""


def relayed(program: str) -> subprocess.CompletedProcess[str]:
    """Of a program that writes, and that a command has started."""
    return python(STARTING, program, timeout=patient(60), check=False)


def test_the_jvms_line_about_its_modules_is_left_out_and_all_else_is_there():
    lines = ["first", NOISE, f"{NOISE} and more", "last"]
    done = relayed(f"import sys; print(*{lines}, sep='\\n', file=sys.stderr); sys.exit(7)")
    assert (done.returncode, done.stderr.splitlines()) == (7, [lines[0], *lines[2:]])


def test_what_pyspark_prints_of_a_processors_start_is_left_out():
    worker = "Streaming TransformWithStateInPandas Python worker"
    lines = ["first", "", f"Starting {worker}.", "", f"{worker} received it.", "", "last"]
    done = relayed(f"import sys; print(*{lines}, sep='\\n', file=sys.stderr)")
    assert done.stderr.splitlines() == ["first", "", "last"]


def test_a_process_that_outlives_the_application_is_not_waited_for():
    left = "import time; time.sleep(30)"
    done = relayed(
        f"import subprocess, sys; print('said', file=sys.stderr, flush=True); "
        f"subprocess.Popen([sys.executable, '-c', {left!r}], stdout=subprocess.DEVNULL)"
    )
    assert (done.returncode, done.stderr) == (0, "said\n")
