"""The classes for files of a local disk: their jar, its use, held against Hadoop's."""

import shutil
import subprocess
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from local import files_jar, jvm
from spark_jobs.errors import SettingInvalid
from spark_jobs.launch import submit
from spark_jobs.settings.installation import REPO, Settings
from tests.harness.patience import patient
from tests.harness.ran import ran
from tests.harness.refused import fails
from tests.harness.turns import alike

PROGRAM = Path(__file__).parent / "java" / "Files.java"
OURS = [f"{key.removeprefix('spark.hadoop.')}={value}" for key, value in submit.FILES.items()]
HADOOPS_OWN: list[str] = []
BY_URL = ": by URL "
Done = subprocess.CompletedProcess[str]
pytestmark = alike("the jar of files")  # each drain on a disk uses it


def installation(jars: Path, **changes: str) -> Settings:
    return Settings("/root", "127.0.0.1:1", jars, "local[2]", "1g")._replace(**changes)


@pytest.fixture(scope="module")
def jar(tmp_path_factory) -> Path:
    """Compiled from the sources as they are now."""
    return files_jar.make(installation(tmp_path_factory.mktemp("jars")))


@pytest.fixture(scope="module")
def class_path(jar, tmp_path_factory) -> str:
    """The program, the jar, and Hadoop as Spark ships it."""
    spark, classes = files_jar._spark_jars(), tmp_path_factory.mktemp("classes")  # noqa: SLF001 - the one that drains use
    [compiler] = (REPO / "jars" / "build").glob("ecj-*.jar")
    path = ":".join(
        map(str, (classes, jar, *spark.glob("hadoop-client-*.jar"), *spark.glob("slf4j-api-*.jar")))
    )
    words = [
        jvm.java() or "java", *jvm.SMALL, "-jar", str(compiler), "-source", "17", "-target", "17",
        "-cp", path,
    ]  # fmt: skip
    subprocess.run([*words, "-d", str(classes), str(PROGRAM)], check=True, timeout=patient(120))
    return path


def run(
    class_path: str, folder: Path, what: str, classes: list[str], path: str = "/usr/bin:/bin"
) -> Done:
    """The program, in a JVM of its own, with these classes."""
    folder.mkdir(parents=True)
    java = shutil.which(jvm.java() or "java") or "java"
    command = [java, *jvm.SMALL, "-cp", class_path, "Files", str(folder), what, *classes]
    env = {"PATH": path, "LANG": "C.UTF-8"}
    return ran(*command, env=env, timeout=patient(120))


def at_once(*runs: Callable[[], Done]) -> list[Done]:
    with ThreadPoolExecutor() as pool:
        return [begun.result() for begun in [pool.submit(one) for one in runs]]


def lines(done: Done) -> list[str]:
    """What a program told that ended well; first whose classes did it."""
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def both(class_path, tmp_path_factory) -> list[list[str]]:
    """What the program tells by our classes, and what by Hadoop's own."""
    folder = tmp_path_factory.mktemp("both")
    return [
        lines(done)
        for done in at_once(
            lambda: run(class_path, folder / "ours", "everything", OURS),
            lambda: run(class_path, folder / "hadoop", "everything", HADOOPS_OWN),
        )
    ]


def test_files_modes_links_checksums_and_renames_are_as_hadoops_own_classes_make_them(both):
    ours, hadoop = both
    assert ours[0] == f"classes {' '.join(submit.FILES.values())}"
    assert "org.apache.hadoop" in hadoop[0]
    compared, wanted = ([line for line in told[1:] if BY_URL not in line] for told in both)
    assert compared == wanted
    assert len(compared) > 200
    for line in (
        "umask 022: made has mode 755",
        "umask 077: made has mode 700",
        "umask 077: later has mode 1755",
        "umask 022: inherits2000 has mode 2700",
        "umask 022: inherits6000 has mode 7770",
        "umask 022: up link mode rw-r--r--",
        "umask 022: relative leads to target",
        "umask 022: up leads to ../links/target",
        "umask 022: dangling: link true, folder false, at ~/links/dangling to ~/links/nowhere",
        "umask 022: reads a changed file: ChecksumException",
    ):
        assert line in compared, "the program asks for it"


def test_a_link_that_is_named_with_its_scheme_is_a_link_though_hadoops_own_takes_it_for_what_it_leads_to(
    both,
):
    """Hadoop gives `file:/a/link` to readlink as it stands, which finds nothing."""
    ours, hadoop = both
    named = [line.replace(BY_URL, ": ") for line in ours if BY_URL in line]
    assert len(named) > 20
    assert set(named) <= set(ours)
    assert any("link true" in line for line in named)
    assert not any("link true" in line for line in hadoop if BY_URL in line)


def test_no_process_starts_for_them_where_hadoops_own_need_chmod(class_path, both, tmp_path):
    """The same without any program to be found, but for what takes Hadoop's processes."""
    (nothing := tmp_path / "bin").mkdir()
    without, hadoop = at_once(
        lambda: run(class_path, tmp_path / "ours", "usual", OURS, str(nothing)),
        lambda: run(class_path, tmp_path / "hadoop", "usual", HADOOPS_OWN, str(nothing)),
    )
    assert set(lines(without)) < set(both[0])
    assert len(lines(without)) > 230
    assert hadoop.returncode != 0
    assert "chmod" in hadoop.stderr


def test_the_jar_is_the_same_bytes_when_it_is_made_again(jar, tmp_path):
    assert files_jar.make(installation(tmp_path)).read_bytes() == jar.read_bytes()
    wanted = {
        f"{source.relative_to(files_jar.SOURCES).with_suffix('')}"
        for source in files_jar.SOURCES.rglob("*.java")
    }
    theirs = ("org/codehaus/", "org.codehaus.", "META-INF/licenses/")
    assert {
        name.removesuffix(".class").partition("$")[0]
        for name in zipfile.ZipFile(jar).namelist()
        if not name.startswith(theirs)
    } == wanted
    assert [path.name for path in tmp_path.iterdir()] == [submit.FILES_JAR]


def test_janinos_classes_are_pysparks_without_a_signature_and_with_the_licence(jar):
    ours = zipfile.ZipFile(jar)
    for pattern in ("janino-*.jar", "commons-compiler-*.jar"):
        [path] = files_jar._spark_jars().glob(pattern)  # noqa: SLF001 - as above
        theirs = zipfile.ZipFile(path)
        names = [name for name in theirs.namelist() if name.endswith(".class")]
        assert len(names) > 100
        assert all(ours.read(name) == theirs.read(name) for name in names)
    assert [name for name in ours.namelist() if name.startswith("META-INF/")] == [
        "META-INF/licenses/LICENSE-janino.txt"
    ]
    assert b"Redistribution" in ours.read("META-INF/licenses/LICENSE-janino.txt")


def test_sources_that_do_not_compile_leave_the_jar_as_it_was(tmp_path, monkeypatch):
    (tmp_path / "java").mkdir()
    (tmp_path / "java" / "Broken.java").write_text("class Broken { int answer() { return no; } }")
    (tmp_path / submit.FILES_JAR).write_text("the one before")
    monkeypatch.setattr(files_jar, "SOURCES", tmp_path / "java")
    with pytest.raises(subprocess.CalledProcessError) as failed:
        files_jar.make(installation(tmp_path))
    assert b"no cannot be resolved" in failed.value.output
    assert (tmp_path / submit.FILES_JAR).read_text() == "the one before"


@pytest.mark.parametrize(
    ("chosen", "there", "used"),
    [("sluice", True, True), ("sluice", False, False), ("hadoop", True, False)],
)
def test_a_drain_uses_them_where_they_are_and_nobody_wants_hadoops(tmp_path, chosen, there, used):
    (tmp_path / "delta-spark_0.jar").touch()
    if there:
        (tmp_path / submit.FILES_JAR).touch()
    options = submit.configuration(installation(tmp_path, local_files=chosen))
    assert {key: options.get(key) for key in submit.FILES} == (
        submit.FILES if used else dict.fromkeys(submit.FILES)
    )
    assert (submit.FILES_JAR in options["spark.driver.extraClassPath"]) == there


def test_whose_classes_is_said_by_a_variable_and_a_wrong_value_is_refused(monkeypatch):
    monkeypatch.setenv("SLUICE_KAFKA", "127.0.0.1:1")
    for value in ("sluice", "hadoop"):
        monkeypatch.setenv("SLUICE_LOCAL_FILES", value)
        assert Settings.from_environment().local_files == value
        assert Settings.from_environment().environment()["SLUICE_LOCAL_FILES"] == value
    monkeypatch.setenv("SLUICE_LOCAL_FILES", "windows")
    with fails(
        SettingInvalid,
        "choice_unknown",
        name="SLUICE_LOCAL_FILES",
        value="windows",
        choices="sluice or hadoop",
        default="sluice",
    ):
        Settings.from_environment()
