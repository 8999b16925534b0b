"""The class-data archive: the old one stays until a new one is whole; nothing half-made."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from local import archive, files_jar
from spark_jobs.launch import java_options
from spark_jobs.settings.installation import Settings
from tests.harness.patience import patient
from tests.harness.ran import ran

WRITES = r"""made=$(echo "$@" | sed 's/.*-XX:ArchiveClassesAtExit=\([^ ]*\).*/\1/'); echo new >"$made" """


class Build:
    """A folder with jars and an archive, and drains by a spark-submit of the test's."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch):
        self.settings = Settings("/root", "127.0.0.1:1", folder / "jars", "local[1]", "1g")
        self.archive = java_options.archive(self.settings)
        self.archive.parent.mkdir()
        (self.archive.parent / "delta-spark_0.jar").touch()
        self.archive.write_text("old")
        self._bin = folder / "bin"
        self._patch = monkeypatch
        monkeypatch.setattr(archive.broker, "start", lambda *_: "127.0.0.1:1")
        monkeypatch.setattr(archive.broker, "stop", lambda *_: None)

    def spark_does(self, *lines: str):
        self._bin.mkdir()
        script = self._bin / "spark-submit"
        script.write_text("\n".join(("#!/bin/sh", *lines)))
        script.chmod(0o755)
        self._patch.setattr(sys, "executable", str(self._bin / "python"))

    def assert_only_the_old_one_is_there(self):
        assert self.archive.read_text() == "old"
        assert [path.name for path in self.archive.parent.glob("*classes*")] == [self.archive.name]


@pytest.fixture
def build(tmp_path, monkeypatch) -> Build:
    return Build(tmp_path, monkeypatch)


def test_a_whole_one_takes_the_place_of_the_old_one(build):
    build.spark_does(WRITES, f"grep -q old {build.archive} && exit 0")
    assert (archive.make(build.settings), build.archive.read_text()) == (build.archive, "new\n")
    assert [path.name for path in build.archive.parent.glob("*classes*")] == [build.archive.name]


def test_its_drains_are_told_of_no_kafka_but_their_own(build, tmp_path, monkeypatch):
    """Records of the build in a Kafka that this user has exported would be taken for real ones."""
    (tmp_path / "kafka.properties").write_text("bootstrap.servers=kafka.example:9092\n")
    for name, value in {
        "KAFKA_CONFIG": tmp_path / "kafka.properties",
        "JARS": build.settings.jars,
    }.items():
        monkeypatch.setenv(f"SLUICE_{name}", str(value))
    monkeypatch.delenv("SLUICE_KAFKA", raising=False)
    build.spark_does(WRITES, f"env >{tmp_path}/told")
    archive.make(Settings.of_the_build())
    told = (tmp_path / "told").read_text().splitlines()
    assert [line for line in told if line.startswith("SLUICE_KAFKA")] == [
        "SLUICE_KAFKA=127.0.0.1:1",
        "SLUICE_KAFKA_CONFIG=",
    ]


def test_drains_that_fail_when_it_is_half_made_leave_the_old_one(build):
    build.spark_does(WRITES, "echo what went wrong; exit 3")
    with pytest.raises(subprocess.CalledProcessError) as failed:
        archive.make(build.settings)
    assert (failed.value.returncode, failed.value.output) == (3, b"what went wrong\n")
    build.assert_only_the_old_one_is_there()


def test_drains_that_end_well_and_write_none_leave_the_old_one_and_say_so(build):
    build.spark_does("exit 0")
    with pytest.raises(OSError, match="the JVM wrote no"):
        archive.make(build.settings)
    build.assert_only_the_old_one_is_there()


def test_a_jvm_that_does_not_start_leaves_the_old_one(build):
    with pytest.raises(subprocess.CalledProcessError) as failed:
        archive.make(build.settings._replace(driver_memory="1k"))
    assert failed.value.returncode != 0
    build.assert_only_the_old_one_is_there()


@pytest.mark.parametrize("module", [archive, files_jar])
def test_setup_goes_on_without_what_drains_can_do_without_and_says_what_makes_it(
    build, module, monkeypatch, capsys
):
    """Set-up does not come here again by itself: it is said once, with the command."""
    build.spark_does("echo what went wrong; exit 3")
    monkeypatch.setenv("SLUICE_JARS", str(build.settings.jars))
    compilers = build.settings.jars.parent / "build"
    compilers.mkdir()
    for copies in range(3):
        module.main()
        told = capsys.readouterr().err
        assert f"python -m {module.__name__}" in told
        assert (
            f"build has {copies} files ecj-*.jar" if module is files_jar and copies != 1 else ""
        ) in told
        (compilers / f"ecj-{copies}.jar").touch()
    assert "what went wrong" in told or module is files_jar


@pytest.mark.parametrize("module", ["local.archive", "local.files_jar"])
def test_setup_heeds_the_variables_needs_no_broker_and_says_what_is_missing(tmp_path, module):
    jars = tmp_path / "nowhere" / "jars"
    env = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")} | {
        "SLUICE_JARS": str(jars)
    }
    done = ran(sys.executable, "-m", module, env=env, timeout=patient(120))  # fmt: skip
    assert done.returncode == 1
    assert str(jars) in done.stderr.splitlines()[0]
    assert "SLUICE_KAFKA" not in done.stderr
    assert "Traceback" not in done.stderr
