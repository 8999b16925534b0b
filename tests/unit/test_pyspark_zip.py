"""Bytecode in the zips from which Spark's Python processes import pyspark."""

import py_compile
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from local import pyspark_zip
from local.pyspark_zip import compile_into, zips
from tests.harness.ran import python

SOURCES = {"wing/__init__.py": "", "wing/flap.py": "def fails():\n    raise ValueError('here')\n"}
ASKS = """
import sys
sys.path.insert(0, sys.argv[1])
import traceback, wing.flap
print(wing.flap.__file__)
try:
    wing.flap.fails()
except ValueError:
    print(traceback.format_exc())
"""


@pytest.fixture
def archive(tmp_path) -> Path:
    path = tmp_path / "wing.zip"
    with ZipFile(path, "w") as made:
        for name, text in SOURCES.items():
            made.writestr(name, text)
    return path


def asked(archive: Path) -> str:
    """What a process that imports from there says."""
    return python(ASKS, str(archive)).stdout


def test_a_process_takes_bytecode_from_it_and_a_traceback_names_the_source_and_its_line(archive):
    assert asked(archive).startswith(f"{archive}/wing/flap.py\n")
    assert compile_into(archive)
    said = asked(archive)
    assert said.startswith(f"{archive}/wing/flap.pyc\n")
    assert f'File "{archive}/wing/flap.py", line 2, in fails\n    raise ValueError' in said


def test_every_source_stays_and_a_second_time_changes_nothing(archive):
    archive.chmod(0o640)
    assert compile_into(archive)
    with ZipFile(archive) as made:
        assert {name: made.read(name).decode() for name in SOURCES} == SOURCES
        assert set(made.namelist()) == SOURCES.keys() | {f"{name}c" for name in SOURCES}
    before = archive.read_bytes(), archive.stat().st_mtime_ns
    assert not compile_into(archive)
    assert (archive.read_bytes(), archive.stat().st_mtime_ns) == before
    assert archive.stat().st_mode & 0o777 == 0o640


def test_a_package_manager_s_copy_of_the_file_stays_as_it_was(archive, tmp_path):
    cached = tmp_path / "cached.zip"
    cached.hardlink_to(archive)
    before = cached.read_bytes()
    assert compile_into(archive)
    assert cached.read_bytes() == before != archive.read_bytes()


def test_a_source_that_does_not_compile_leaves_the_zip_alone(archive, monkeypatch, capsys):
    with ZipFile(archive, "a") as made:
        made.writestr("wing/broken.py", "def")
    before = archive.read_bytes()
    with pytest.raises(py_compile.PyCompileError):
        compile_into(archive)
    monkeypatch.setattr(pyspark_zip, "zips", lambda: [archive])
    pyspark_zip.main()
    assert f"{sys.executable} -m local.pyspark_zip" in capsys.readouterr().err
    assert archive.read_bytes() == before
    assert [path.name for path in archive.parent.iterdir()] == [archive.name]


def test_a_file_that_is_no_zip_does_not_stop_set_up(tmp_path, monkeypatch, capsys):
    (tmp_path / "torn.zip").write_bytes(b"PK torn")
    monkeypatch.setattr(pyspark_zip, "zips", lambda: [tmp_path / "torn.zip"])
    pyspark_zip.main()
    assert "-m local.pyspark_zip" in capsys.readouterr().err


def test_set_up_has_done_it_for_the_installed_pyspark():
    found = zips()
    assert {path.name.partition("-")[0] for path in found} == {"pyspark.zip", "py4j"}
    for path in found:
        with ZipFile(path) as made:
            names = set(made.namelist())
        due = {name for name in names if name.endswith(".py") and "/tests/" not in name}
        assert {f"{name}c" for name in due} == {name for name in names if name.endswith(".pyc")}
