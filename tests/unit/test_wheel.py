"""The wheel: all of the product's files are in it, and what `sluice install` makes Spark's side from."""

import subprocess
import sys
from email import message_from_string
from importlib.metadata import distributions, version
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from local import wheel
from spark_jobs.settings.installation import REPO
from tests.harness.airflow_versions import documented
from tests.harness.ran import python, ran


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    wheel.build(folder := tmp_path_factory.mktemp("dist"))
    return folder


@pytest.fixture(scope="module")
def built(tmp_path_factory, dist):
    [made] = dist.glob("*.whl")
    with ZipFile(made) as archive:
        folder = tmp_path_factory.mktemp("installed")
        archive.extractall(folder)
    return folder


def pins(file):
    """Package -> version, of the lines for this Python."""
    lines = map(Requirement, file.read_text().splitlines())
    asked = (each for each in lines if each.marker is None or each.marker.evaluate())
    return {each.name: str(each.specifier).removeprefix("==") for each in asked}


def test_beside_it_lie_pips_constraints_for_each_documented_airflow(dist):
    found = {path.name: pins(path) for path in dist.glob("*.txt")}
    assert found.keys() == {f"constraints-{each}.txt" for each in documented()}
    for each in documented():
        given = found[f"constraints-{each}.txt"]
        assert given["apache-airflow"] == given["apache-airflow-core"] == each
        assert {"deltalake", "fastapi", "apache-airflow-providers-apache-spark"} <= given.keys()


def test_those_of_the_airflow_that_tests_run_on_are_what_they_run_on(dist):
    given = pins(dist / f"constraints-{version('apache-airflow-core')}.txt")
    here = {canonicalize_name(each.metadata["Name"]): each.version for each in distributions()}
    both = given.keys() & here.keys()
    assert {name: given[name] for name in both} == {name: here[name] for name in both}
    assert len(both) > 100


def sources(folder, top):
    left_out = {"__pycache__", "brought"}
    files = (path for path in (folder / top).rglob("*") if path.is_file())
    return {str(path.relative_to(folder)) for path in files if not left_out & {*path.parts}}


def test_it_has_every_file_of_the_product_and_no_other(built):
    assert sources(built, "spark_jobs") == sources(REPO, "spark_jobs")
    assert sources(built, "sluice_airflow") == sources(REPO / "plugins", "sluice_airflow")


def test_what_sluice_install_needs_is_in_it_and_can_be_imported(built):
    brought = built / "spark_jobs" / "install" / "brought"
    for name in wheel.BROUGHT:
        assert (brought / name).read_text() == (REPO / name).read_text()
    path = f"{built}:{brought}"
    words = [sys.executable, "-c", "import local.archive, local.files_jar; print(local.__file__)"]
    done = ran(*words, cwd=built, env={"PYTHONPATH": path}, check=True)
    assert done.stdout.strip() == str(brought / "local" / "__init__.py")


def test_what_sluice_install_makes_needs_no_setting(built):
    """It takes the variables of Sluice away: they are of the runs."""
    code = "from spark_jobs.settings.installation import Settings; Settings.of_the_build()"
    subprocess.run(
        [sys.executable, "-c", code], cwd=built, env={"PYTHONPATH": str(built)}, check=True
    )


@pytest.mark.parametrize(
    "error",
    [
        "TimeoutExpired(['java', *['/a/path/of/a.jar'] * 300], 600.0)",
        "CalledProcessError(7, ['/a/path/of/a.jar'] * 300, b'a line\\n' * 900)",
    ],
)
def test_what_cannot_be_made_is_told_in_a_line_with_a_command_that_a_wheel_has(built, error):
    brought = built / "spark_jobs" / "install" / "brought"
    code = f"""
from subprocess import CalledProcessError, TimeoutExpired
from local.files_jar import tell_what_is_missing
tell_what_is_missing("class-data archive", "start more slowly", {error}, "local.archive")
"""
    done = python(code, cwd=built, env={"PYTHONPATH": f"{built}:{brought}"})
    [line] = done.stderr.splitlines()
    assert line.endswith(f"To make it: sluice install {sys.prefix}")
    assert (len(line) < 400, "a.jar" in line) == (True, False)


def test_airflows_side_asks_for_nothing_of_spark(built):
    [dist] = built.glob("*.dist-info")
    needs = message_from_string((dist / "METADATA").read_text()).get_all("Requires-Dist")
    plain = [need for need in needs if "extra ==" not in need]
    heavy = ("pyspark", "delta-spark", "pandas", "great-expectations", "apache-airflow")
    assert plain
    assert [need for need in plain if need.startswith(heavy)] == []
    told = (dist / "entry_points.txt").read_text()
    assert "sluice = sluice_airflow.plugin:SluicePlugin" in told
