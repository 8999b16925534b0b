"""What a pipeline's logic.py imports of the project: found in its code, which does not run."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from spark_jobs import pipelines
from spark_jobs.errors import SpecInvalid
from spark_jobs.registry import find as registry
from spark_jobs.registry.fingerprint.code import code_digest
from spark_jobs.steps.logic import load
from tests.harness.refused import fails, has
from tests.unit.specs import group_state, pipeline

SHOPS = pipeline(steps=(group_state(),))
SHOP = """
class Shops(StatefulProcessor):
    def init(self, handle): pass
    def handleInputRows(self, key, rows, timerValues): yield
"""
NAME = SHOPS.name
FAILS = "raise SystemExit('it was run')\n"
"""Text that a module has which must never be imported."""


class Files:
    """A package of pipelines in the place of the shipped one, and a folder on Python's path."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.beside = folder / "beside"

    def write(self, name: str, text: str):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def imports(self, text: str) -> list[str]:
        """The names that are found for this logic.py."""
        self.write(f"{NAME}/logic.py", text)
        package = registry.package()
        found = registry.imported_modules(NAME)
        return [name.replace(package, "P") for name in found]


@pytest.fixture
def files(tmp_path, monkeypatch) -> Files:
    monkeypatch.setattr(pipelines, "__path__", [str(tmp_path)])
    made = Files(tmp_path)
    made.beside.mkdir()
    monkeypatch.syspath_prepend(made.beside)
    made.write(f"{NAME}/helper.py", FAILS)
    made.write("shared/rules.py", FAILS)
    made.write("other/logic.py", FAILS)
    made.write("beside/house_rules.py", FAILS)
    made.write("beside/house/deep/limits.py", FAILS)
    return made


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import json, ast, collections.abc\n", []),
        ("import pyspark.sql\nfrom msgspec import Struct\nimport no_such_package\n", []),
        ("from spark_jobs.spec import Field\n", []),
        ("from spark_jobs.topics.flights import FLIGHTS\n", ["spark_jobs.topics.flights"]),
        ("from . import helper\n", [f"P.{NAME}.helper"]),
        ("from .helper import bound\n", [f"P.{NAME}.helper"]),
        ("from ..shared import rules\n", ["P.shared.rules"]),
        ("from ..shared.rules import *\n", ["P.shared.rules"]),
        ("from ..other.logic import Other\n", ["P.other.logic"]),
        ("import spark_jobs.pipelines.shared.rules as rules\n", ["P.shared.rules"]),
        ("import house_rules\n", ["house_rules"]),
        ("from house.deep import limits\n", ["house.deep.limits"]),
        ("def f():\n    from ..shared import rules\n", ["P.shared.rules"]),
        ("class A:\n    from .helper import x\n", [f"P.{NAME}.helper"]),
        ("if TYPE_CHECKING:\n    from ..shared import rules\n", ["P.shared.rules"]),
        ("if not TYPE_CHECKING:\n    import house_rules\n", ["house_rules"]),
        ("try:\n    from .fast import f\nexcept ImportError:\n    from .helper import f\n", [f"P.{NAME}.helper"]),
        ("from . import nowhere\nfrom ...... import x\nimport house_rules\n", []),
        ("from .nowhere import x\nimport house_rules.deep\nfrom .helper import nowhere\n",
         ["house_rules", f"P.{NAME}.helper"]),
    ],
)  # fmt: skip
def test_it_is_the_projects_modules_wherever_they_are_imported(files, text, found):
    assert files.imports(text) == found


def test_what_a_module_imports_is_followed_and_a_circle_ends(files):
    files.write(f"{NAME}/helper.py", "from ..shared import rules\nfrom . import logic\n")
    files.write("shared/rules.py", "from house.deep.limits import most\n")
    files.write("beside/house/deep/limits.py", "import house.deep.limits, house_rules\n")
    files.write("beside/house_rules.py", f"import spark_jobs.pipelines.{NAME}.helper\n")
    assert files.imports("from .helper import x\n") == [
        "house.deep.limits", "house_rules", f"P.{NAME}.helper", "P.shared.rules",
    ]  # fmt: skip


def test_a_package_counts_by_its_init_if_that_has_code(files):
    files.write("shared/__init__.py", '"""Shared."""\n# Nothing else.\n')
    assert files.imports("from ..shared.rules import x\n") == ["P.shared.rules"]
    files.write("shared/__init__.py", "from .limits import most\n")
    files.write("shared/limits.py", "most = 5\n")
    for text in ("from ..shared.rules import x\n", "from ..shared import most, rules\n"):
        assert files.imports(text) == ["P.shared", "P.shared.limits", "P.shared.rules"]


def test_a_compiled_module_counts_by_its_bytes(files):
    (files.folder / "shared" / "fast.so").write_bytes(b"\x7fELF one")
    files.write(f"{NAME}/logic.py", SHOP + "from ..shared import fast\n")
    before = code_digest(NAME)
    (files.folder / "shared" / "fast.so").write_bytes(b"\x7fELF two")
    assert code_digest(NAME) != before


def test_a_module_that_is_no_python_is_refused_with_file_and_line(files):
    files.write("shared/broken.py", "\nclass :\n")
    with fails(SpecInvalid, "not_python", file=has("shared/broken.py line 2")):
        files.imports("from ..shared import broken\n")


def test_a_run_refuses_code_that_imports_what_is_not_there_by_its_name(files):
    files.write(f"{NAME}/logic.py", "from ..shared.rulez import x\n" + SHOP)
    with fails(SpecInvalid, "logic_absent", name="Shops", error=has("shared.rulez")):
        load(NAME, "Shops")


def test_the_digest_is_of_the_bytes_of_logic_and_of_all_that_it_reaches(files):
    files.write("shared/rules.py", "most = 5\n")
    files.write(f"{NAME}/logic.py", SHOP)
    alone = code_digest(NAME)
    assert alone == "4-" + hashlib.sha256(SHOP.encode()).hexdigest()[:12]
    files.write(f"{NAME}/logic.py", SHOP + "from ..shared import rules\n")
    digests = {alone, code_digest(NAME)}
    for text in ("most = 6\n", "most = 6  # at most\n"):
        files.write("shared/rules.py", text)
        digests.add(code_digest(NAME))
    assert len(digests) == 4


def test_a_module_is_another_than_one_of_its_name_that_cannot_be_followed(files):
    files.write(f"{NAME}/types.py", FAILS)
    assert files.imports("import types\nfrom .types import LIMIT\n") == [f"P.{NAME}.types"]


def test_a_module_is_another_than_one_of_its_name_that_another_folder_lacks(files):
    files.write("shared/near.py", "from .rules import LIMIT\n")
    optional = "try:\n    from .rules import LIMIT\nexcept ImportError:\n    LIMIT = 1\n"
    found = files.imports(f"{optional}from ..shared.near import LIMIT\n")
    assert found == ["P.shared.near", "P.shared.rules"]
