"""What `sluice install` says while it works, and that an archive that cannot be made ends nothing."""

import json
import shlex
import sys

import pytest

from spark_jobs.errors import InstallFailed
from spark_jobs.install.environment import JAR_LINE, PACKAGE_LINE, Step, _run, install
from spark_jobs.launch.java_options import ARCHIVE
from spark_jobs.registry.fingerprint.environment import code_version
from spark_jobs.settings.installation import MADE
from tests.harness.refused import fails

PIP = """\
Looking in links: /opt/wheels
Ignoring pywin32: markers 'sys_platform == "win32"' don't match your environment
Collecting msgspec==0.20.0 (from -r r.txt (line 1))
  Downloading msgspec-0.20.0-cp311-cp311-manylinux2014_x86_64.whl (219 kB)
Installing collected packages: msgspec
"""
MAVEN = """\
[INFO] --- dependency:3.8.1:copy-dependencies (default-cli) @ sluice ---
[INFO] Copying kafka-server-4.3.1.jar to /opt/sluice/jars/kafka/kafka-server-4.3.1.jar
[ERROR] Failed to execute goal
[INFO] Copying commons-logging-1.3.5.jar to /opt/sluice/jars/kafka/commons-logging-1.3.5.jar
"""
"""As these programs have said them."""


def saying(text, status=0):
    return [sys.executable, "-c", f"import sys; sys.stdout.write({text!r}); sys.exit({status})"]


def test_each_package_and_each_jar_is_told_as_it_comes():
    said = []
    _run("pip", saying(PIP), step=Step(PACKAGE_LINE, 2, said.append))
    step = Step(JAR_LINE, 96, said.append)
    for _ in range(2):  # profiles of one pom
        _run("Maven", saying(MAVEN), step=step)
    assert said == [
        "    1 of 2: pywin32",
        "    2 of 2: msgspec==0.20.0",
        "    1 of 96: kafka-server-4.3.1.jar",
        "    2 of 96: commons-logging-1.3.5.jar",
        "    3 of 96: kafka-server-4.3.1.jar",
        "    4 of 96: commons-logging-1.3.5.jar",
    ]


def test_a_step_that_fails_is_told_by_its_error_and_not_by_its_progress():
    with fails(InstallFailed, "step_failed", what="Maven", said="[ERROR] Failed to execute goal"):
        _run("Maven", saying(MAVEN, 1), step=Step(JAR_LINE, 96, lambda _: None))
    with fails(InstallFailed, "step_failed", what="pip", said="No matching distribution"):
        _run("pip", saying("No matching distribution\n", 1))


@pytest.fixture
def made(tmp_path):
    """An environment that was made but for its archive, whose Python says so, or makes it."""
    folder = tmp_path / "sluice"
    (folder / "lib/python3.11/site-packages/spark_jobs").mkdir(parents=True)
    for part in ("bin", "jars/spark", "jars/kafka", "jars/build"):
        (folder / part).mkdir(parents=True)
    (folder / MADE).write_text(json.dumps({"code": code_version()}))

    def python(line):
        (program := folder / "bin" / "python").write_text(f"#!/bin/sh\n{line}\n")
        program.chmod(0o755)
        return folder

    return python


def test_an_archive_that_could_not_be_made_ends_nothing_and_the_same_command_tries_again(
    made, capsys
):
    said = []
    folder = made("echo 'no class-data archive: it took long. To make it: sluice install here'")
    assert not install(folder, None, said.append)
    assert "To make it: sluice install here" in capsys.readouterr().err
    assert (folder / "jars" / "kafka").exists(), "the archive needs it"
    archive = folder / "jars" / "spark" / ARCHIVE
    assert not install(made(f"touch {shlex.quote(str(archive))}"), None, said.append)
    assert [each.name for each in (folder / "jars").iterdir()] == ["spark"]
    many = len(said)
    assert not install(folder, None, said.append)
    assert len(said) == many, "what is whole is left alone"
