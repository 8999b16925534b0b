"""What the plugin takes of Airflow is there: also what a task alone imports, when it runs."""

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parents[2] / "plugins"


def asked():
    """Each module of Airflow, and each name of it, that a file of the plugin imports anywhere."""
    found = set()
    for file in PLUGIN.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "airflow":
                found |= {(node.module, alias.name) for alias in node.names}
            if isinstance(node, ast.Import):
                found |= {(each.name, "") for each in node.names if each.name.startswith("airflow")}
    return sorted(found)


@pytest.mark.parametrize(("module", "name"), asked())
def test_each_name_that_the_plugin_imports_of_airflow_is_there(module, name):
    there = import_module(module)
    assert not name or hasattr(there, name) or find_spec(f"{module}.{name}")
