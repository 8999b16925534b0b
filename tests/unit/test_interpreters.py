"""Interpreters: none that Sluice starts looks for modules where others choose the names of files."""

import ast
from pathlib import Path

import pytest

from spark_jobs.decode.schemas.protoc import OWN, NotProtobuf, descriptor_set
from spark_jobs.settings.installation import REPO

SCHEMA = 'syntax = "proto3"; import "{name}"; message Sale {{ string id = 1; }}'
COMMANDS = "spark_jobs/values/pinned.py"
EXECUTABLES = {"executable", "_base_executable", "base_exec_prefix"}


def sources(*words: str) -> list[Path]:
    """Those that have one of these words."""
    files = (*REPO.glob("spark_jobs/**/*.py"), *REPO.glob("plugins/**/*.py"))
    return [path for path in files if any(word in path.read_text() for word in words)]


def named(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def starts_python(node: ast.AST) -> bool:
    """Whether a list of words is a module's or a program's, and not git's."""
    if not isinstance(node, ast.List | ast.Tuple):
        return False
    words = [each.value for each in node.elts if isinstance(each, ast.Constant)]
    return bool({"-m", "-c"} & {*words}) and "git" not in words


def test_one_file_names_the_interpreter():
    found = {
        str(path.relative_to(REPO))
        for path in sources(*EXECUTABLES)
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Attribute) and node.attr in EXECUTABLES)
        or (isinstance(node, ast.Constant) and node.value in EXECUTABLES)
    }
    assert found == {COMMANDS}


def test_one_file_makes_the_command_line_of_a_program_or_a_module():
    found = [
        f"{path.relative_to(REPO)}:{node.lineno}"
        for path in sources('"-m"', '"-c"')
        for node in ast.walk(ast.parse(path.read_text()))
        if starts_python(node)
    ]
    assert found == []


@pytest.mark.parametrize("module", ["grpc_tools/__init__.py", "sitecustomize.py", "importlib.py"])
def test_a_reference_named_as_a_module_is_refused_and_never_runs(tmp_path, module):
    ran = tmp_path / "ran"
    code = f"open({str(ran)!r}, 'w')"
    with pytest.raises(NotProtobuf, match=r"\.proto"):
        descriptor_set('syntax = "proto3"; message Sale { string id = 1; }', [(module, code)])
    assert not ran.exists()


@pytest.mark.parametrize(
    "name",
    ["../a.proto", "/a.proto", "a.proto/../../b.proto", "", ".proto", "a.py", f"{'a' * 300}.proto"],
)
def test_a_reference_that_is_no_file_of_protobuf_below_the_folder_is_refused(name):
    with pytest.raises(NotProtobuf):
        descriptor_set(SCHEMA.format(name="b.proto"), [(name, 'syntax = "proto3";')])


def test_a_file_that_is_also_a_folder_is_refused():
    both = [(name, 'syntax = "proto3";') for name in ("a.proto", "a.proto/b.proto")]
    with pytest.raises(NotProtobuf):
        descriptor_set(SCHEMA.format(name="a.proto"), both)


def test_a_reference_does_not_stand_in_for_the_schema():
    found = descriptor_set(
        'syntax = "proto3"; message Sale { string id = 1; }',
        [(OWN, 'syntax = "proto3"; message Other { string id = 1; }')],
    )
    assert b"Sale" in found
    assert b"Other" not in found
