"""How a path is written for each that is handed it, and that no other place writes one."""

import ast
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import deltalake
import pyarrow as pa
import pytest
from upath import UPath

from spark_jobs.errors import SettingInvalid
from spark_jobs.launch import submit
from spark_jobs.settings.installation import REPO, Settings
from spark_jobs.settings.roots import given_root
from spark_jobs.storage.root.path_forms import (
    delta_path,
    from_uri,
    refuse_for_cluster,
    spark_pattern,
    spark_url,
    sql_table,
    state_url,
)
from spark_jobs.table import history
from spark_jobs.table.delta import door
from spark_jobs.table.delta.table import Delta
from tests.harness.refused import fails
from tests.harness.roots import ROOT

ODD = (
    "ü 5% #1",
    "what?",
    "a*b",
    "{1,2}",
    "`a`",
    "it's",
    'say "a"',
    "a:b",
    "x;y&z=$1 + 1, ~",
    "日本",
)
UNREADABLE = ("50%25 off", "a%2Fb", "a[2]", "a]", "a\\b", "a|b", "a^b", "a\tb", "a\nb", "a\udce4")
FORMS = {"spark_url", "spark_pattern", "state_url", "delta_path", "disk_path"}
TYPES = {"SparkPath", "DeltaPath", "DeltaTable"}
HANDED = {
    # what is called -> which of its arguments is a path
    "DeltaTable": 0,
    "is_deltatable": 0,
    "write_deltalake": 0,
    "create": 0,
    "create_table_with_add_actions": 0,
    "forPath": 1,
    "forTable": 1,
    "parquet": 0,
    "save": 0,
    "load": 0,
    "Path": 0,
    "repartition": 0,
    "LocalStore": 0,
}
CONCERNED = re.compile(
    rf"\b(?:{'|'.join((*HANDED, 'option', 'open_table'))})\(|{'|'.join(FORMS | TYPES)}|file://|delta\.`"
)
"""What a file has in which a path can be written, or a name of one is declared."""
OTHERS = (
    "registry.load(",
    "json.load(",
    "yaml.load(",
    "rows.repartition(",
    "load(",
    "repartition(",
    "parquet(",
    "Path(",
)
"""Calls of the same names that hand no path to another program."""


@pytest.mark.parametrize("name", ODD)
def test_a_table_in_such_a_folder_is_written_read_and_has_its_history(tmp_path, monkeypatch, name):
    monkeypatch.setenv("SLUICE_ROOT", str(tmp_path / name))
    table = UPath(given_root()) / "tables" / "sales"
    said = deltalake.CommitProperties(
        custom_metadata={"userMetadata": '{"sluice": "sales/g1", "batch": 7}'}
    )
    for _ in range(2):
        deltalake.write_deltalake(
            delta_path(table), pa.table({"n": [1]}), mode="append", commit_properties=said
        )
    assert door.is_table(table)
    opened = door.open_table(table)
    assert (opened.count(), from_uri(opened.table_uri)) == (2, str(table))
    assert [batch for batch, _ in history.commits(Delta(table), ["sales/g1"])] == [7, 7]
    assert door.version_is_whole(table, 0)
    assert [each.name for each in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_root_that_spark_and_delta_rs_would_not_read_alike_is_refused_before_anything_is_there(
    tmp_path, monkeypatch, name
):
    monkeypatch.setattr(os, "environ", {**os.environ, "SLUICE_ROOT": f"{tmp_path}/{name}/root"})
    told = f"{tmp_path}/{name}/root".encode(errors="backslashreplace").decode()
    with fails(SettingInvalid, "root_read_twofold", root=told):
        given_root()
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("name", ["ü", "a b", "5%", "a#b", "what?"])
def test_on_a_cluster_a_root_is_refused_whose_state_its_executors_could_not_read(tmp_path, name):
    (tmp_path / "delta-spark.jar").touch()
    odd = Settings(f"/data/{name}", "a:1", tmp_path, "local[2]", "3g")
    assert submit.configuration(odd)
    with fails(SettingInvalid, "root_state_unreadable"):
        submit.configuration(odd._replace(master="spark://here:7077"))
    refuse_for_cluster("/data/a_b-c/d=e.f+g@h:1,2;3~$(4)!*'&")
    refuse_for_cluster("s3://bucket/root")


def test_for_spark_a_url_of_s3_has_hadoops_scheme_and_a_pattern_is_a_name():
    assert spark_url("s3://b/p") == "s3a://b/p"
    assert spark_url(UPath(f"/data/{ROOT}")) == f"/data/{ROOT}"
    assert spark_pattern(UPath("/data/a{1,2}*?")) == r"/data/a\{1,2\}\*\?"
    assert sql_table("/data/what`s up") == "delta.`/data/what``s up`"


def test_a_reader_of_state_is_given_the_path_itself_where_nothing_in_it_is_escaped():
    assert state_url(UPath("/data/root/v1/spark")) == "/data/root/v1/spark"
    assert state_url("s3://bucket/root/v1/spark") == "s3a://bucket/root/v1/spark"


def test_elsewhere_it_is_given_a_link_that_its_own_user_alone_can_change(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    checkpoint = tmp_path / ROOT / "spark"
    link = Path(state_url(UPath(checkpoint)))
    assert link.readlink() == checkpoint
    assert link.as_uri() == f"file://{link}"
    assert link.parent.stat().st_mode & 0o777 == 0o700
    assert state_url(checkpoint) == str(link)
    link.unlink()  # whoever cleans up temporary files
    assert Path(state_url(checkpoint)).readlink() == checkpoint
    assert state_url(tmp_path / "another #" / "spark") != str(link)


def test_a_link_in_a_folder_that_java_escapes_would_not_help_and_is_refused(tmp_path, monkeypatch):
    (tmp_path / "for files").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "for files"))
    with fails(SettingInvalid, "temporary_state_unreadable"):
        state_url(tmp_path / ROOT)


def test_no_other_place_writes_a_path_for_spark_delta_or_a_url():
    modules = {
        file: ast.parse(file.read_text())
        for folder in ("spark_jobs", "plugins")
        for file in sorted((REPO / folder).rglob("*.py"))
        if file.name not in {"path_forms.py", "store.py"} and CONCERNED.search(file.read_text())
    }
    fields = {owner: [*_known(node)] for each in modules.values() for owner, node in _classes(each)}
    found = [
        f"{file.relative_to(REPO)}:{node.lineno}: {ast.unparse(node)}"
        for file, module in modules.items()
        for node in _written_here(module, fields)
    ]
    assert found == []


def test_a_place_that_writes_one_itself_is_found():
    for text in (
        "spark.read.parquet(str(path))",
        "deltalake.DeltaTable(f'{root}/t')",
        "jvm.org.apache.hadoop.fs.Path(path)",
        "rows.writeStream.option('checkpointLocation', str(folder))",
        "given.removeprefix('file://')",
        "f'RESTORE TABLE delta.`{path}`'",
    ):
        assert [*_written_here(ast.parse(text))], text
    ours = "def read(at: SparkPath):\n    spark.read.load(at)\nspark.read.parquet(spark_url(at))"
    assert [*_written_here(ast.parse(ours))] == []


def _classes(module: ast.Module) -> Iterator[tuple[str, ast.ClassDef]]:
    yield from ((node.name, node) for node in module.body if isinstance(node, ast.ClassDef))


def _written_here(
    module: ast.Module, fields: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> Iterator[ast.expr]:
    """What is handed a path that is in none of the forms; and texts that begin one. `fields`: a
    class -> those of its fields that are in one.
    """
    known = {*_known(module)}
    for node in ast.walk(module):
        if isinstance(node, ast.arg) and node.annotation:
            of_class = fields.get(ast.unparse(node.annotation), ())
            known |= {f"{node.arg}.{field}" for field in of_class}
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if "file://" in node.value or "delta.`" in node.value:
                yield node
        elif isinstance(node, ast.Call) and (path := _path(node)) is not None:
            named = _name(path.func) if isinstance(path, ast.Call) else _name(path)
            of_class = ast.unparse(path)
            if of_class not in known and named not in (
                FORMS | {"open_table", "confirmed"} if isinstance(path, ast.Call) else known
            ):
                yield node


def _path(call: ast.Call) -> ast.expr | None:
    """The argument that is a path, if the call hands one to another program."""
    if ast.unparse(call).startswith(OTHERS):
        return None
    options = [each.value for each in call.args[:1] if isinstance(each, ast.Constant)]
    if _name(call.func) == "option":
        return call.args[1] if options in (["checkpointLocation"], ["path"]) else None
    place = HANDED.get(_name(call.func), len(call.args))
    found = call.args[place] if place < len(call.args) else None
    if any(isinstance(each, ast.Starred) for each in call.args):  # columns
        return None
    return found.value if isinstance(found, ast.NamedExpr) else found


def _known(module: ast.AST) -> Iterator[str]:
    """Names that the module declares as one of the forms, or gives one of them."""
    for node in ast.walk(module):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
            if TYPES & {*re.findall(r"\w+", ast.unparse(node.annotation))}:
                yield node.arg if isinstance(node, ast.arg) else _name(node.target)
        elif (
            isinstance(node, ast.Assign | ast.NamedExpr)
            and isinstance(node.value, ast.Call)
            and _name(node.value.func) in FORMS | {"open_table"}
        ):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from map(_name, targets)


def _name(node: ast.expr) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))
