"""What goes to executors: code that is the same for the same files, and their Python."""

import os
import time
import zipfile
from pathlib import Path

import pytest

from spark_jobs.errors import SettingInvalid, SparkFailed
from spark_jobs.launch import spark_side as shipment
from spark_jobs.settings.installation import Settings
from tests.harness.refused import fails

SETTINGS = Settings("/root", "a:1", Path("/jars"), "spark://m:7077", "3g")


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch) -> Path:
    (folder := tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_the_code_is_sluice_and_the_whole_package_that_the_pipelines_are_in(monkeypatch):
    monkeypatch.setenv("SLUICE_PIPELINES", "tests.harness.pipelines")
    names = zipfile.ZipFile(shipment.code_archive()).namelist()
    assert {
        "spark_jobs/decode/json/decoder.py",
        "tests/harness/pipelines/aircraft_rotations/logic.py",
    } <= set(names)
    assert not [name for name in names if "__pycache__" in name]
    assert len(names) == len(set(names))


def test_the_same_code_gives_the_same_archive_and_other_code_another(tmp_path, monkeypatch):
    (package := tmp_path / "flows").mkdir()
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("SLUICE_PIPELINES", "flows")
    first = shipment.code_archive()
    bytes_then = first.read_bytes()
    first.unlink()
    os.utime(package / "__init__.py", (0, 0))
    assert (shipment.code_archive(), first.read_bytes()) == (first, bytes_then)
    (package / "logic.py").write_text("ONE = 1\n")
    assert shipment.code_archive() != first


def test_archives_that_no_run_has_used_for_a_week_are_removed(temporary):
    used = shipment.code_archive()
    for name, age in (("sluice-old.zip", shipment.KEPT_SECONDS + 60), ("sluice-young.zip", 60)):
        (used.parent / name).touch()
        os.utime(used.parent / name, (time.time() - age,) * 2)
    os.utime(used, (0, 0))
    shipment.code_archive()
    assert {path.name for path in used.parent.iterdir()} == {used.name, "sluice-young.zip"}


def test_a_folder_that_others_may_write_to_is_refused(temporary):
    folder = shipment.code_archive().parent
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    with fails(SettingInvalid, "folder_shared"):
        shipment.code_archive()


@pytest.mark.parametrize(
    ("given", "python", "archive"),
    [
        ("", None, None),
        ("/opt/python", "/opt/python", None),
        ("{}#env/bin/python", "./env/bin/python", "{}#env"),
        ("s3://b/e.tar.gz#env/bin/python", "./env/bin/python", "s3://b/e.tar.gz#env"),
    ],
)
def test_executors_have_the_python_that_is_named(tmp_path, given, python, archive):
    (packed := tmp_path / "e.tar.gz").touch()
    options = shipment.configuration(SETTINGS._replace(executor_python=given.format(packed)))
    assert options.get("spark.pyspark.python") == python
    archives = [f"{shipment.code_archive()}#code", *([archive.format(packed)] if archive else [])]
    assert options["spark.archives"].split(",") == archives
    assert (options["spark.executorEnv.PYTHONPATH"], options["spark.executorEnv.TZ"]) == (
        "./code",
        "UTC",
    )


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("/nowhere/e.tar.gz#env/bin/python", "archive_absent"),
        ("e.tar.gz#env", "no_python_in_archive"),
        ("e.tar.gz#code/bin/python", "folder_replaced"),
        ("e.tar.gz#./env/bin/python", "folder_replaced"),
        ("e.tar.gz#../env/bin/python", "folder_replaced"),
    ],
)
def test_a_python_that_cannot_be_is_refused(given, reason):
    with fails(SettingInvalid, reason):
        shipment.configuration(SETTINGS._replace(executor_python=given))


def test_code_that_is_deployed_while_the_archive_is_made_is_not_kept_under_the_name_of_the_code_before_it(
    tmp_path, monkeypatch
):
    (package := tmp_path / "deployed_flows").mkdir()
    (logic := package / "logic.py").write_text("OLD = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("SLUICE_PIPELINES", "deployed_flows")
    write = shipment._write  # noqa: SLF001 - between the name and the content

    def deployed(archive: Path, files: list[tuple[str, bytes]]):
        logic.write_text("NEW = 1\n")
        write(archive, files)

    monkeypatch.setattr(shipment, "_write", deployed)
    assert zipfile.ZipFile(shipment.code_archive()).read("deployed_flows/logic.py") == b"OLD = 1\n"


def test_a_pipelines_folder_called_java_is_sent_and_sluices_own_is_not(tmp_path, monkeypatch):
    (tmp_path / "java_flows" / "java").mkdir(parents=True)
    (tmp_path / "java_flows" / "java" / "logic.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("SLUICE_PIPELINES", "java_flows")
    names = zipfile.ZipFile(shipment.code_archive()).namelist()
    assert "java_flows/java/logic.py" in names
    assert not [name for name in names if name.endswith(".java")]


def test_a_temporary_folder_that_takes_no_archive_is_told_in_words(temporary, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(temporary / "nowhere"))
    with fails(SparkFailed, "code_not_packed"):
        shipment.code_archive()
