"""Project: which modules are the users' own code, where their files are, and which a module
imports.

The project is the package of the pipelines with its top package, `spark_jobs.topics`, and every
other module on the path that is neither Python's, nor Sluice's, nor of an installed package.

Imports are found as the standard library's modulefinder reaches them: by their code, of which
nothing is run. Those within functions count, and those under TYPE_CHECKING. Not counted: a file
with a docstring at most. Not seen: modules that code imports by a computed name.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib.machinery import all_suffixes
from importlib.util import find_spec
from modulefinder import Module, ModuleFinder
from pathlib import Path
from typing import Final

from spark_jobs.registry.logic import compiled

SLUICE = __name__.partition(".")[0]
OWN = (f"{SLUICE}.topics",)
"""Users' code within Sluice's package, beside the pipelines."""
SPARK = {"pyspark", "py4j", "delta"}
"""They may lie on the path without being installed: spark-submit puts them there."""
_INSTALLED = {"site-packages", "dist-packages"}


class Project:
    """The modules of one package of pipelines and of the code beside it."""

    def __init__(self, package: str, folder: Path) -> None:
        """`folder` is where the modules of `package` are."""
        self._package = package
        self._folder = folder

    def holds(self, module: str) -> bool:
        """Whether the module is, or would be, the project's."""
        if any(_within(module, package) for package in (self._package, *OWN)):
            return True
        top = module.partition(".")[0]
        if top == SLUICE or top in SPARK or top in sys.stdlib_module_names:
            return False
        places = _places(top)
        ours = top == self._package.partition(".")[0]
        return bool(places) and (ours or not any(installed(place.parent) for place in places))

    def is_above(self, module: str) -> bool:
        """Whether it is a package of Sluice's that holds the project's own."""
        return any(_within(package, module) for package in (self._package, *OWN))

    def find(self, module: str) -> Path | None:
        """The module's file, or its folder if it is a package without `__init__.py`.

        None if there is neither.
        """
        if _within(module, self._package):
            folders, inside = [self._folder], module.removeprefix(self._package)
        else:
            folders, inside = _places(module.partition(".")[0]), module.partition(".")[2]
        file = _file_of(folders)
        for part in filter(None, inside.split(".")):
            files = [each for folder in folders if (each := _module_file(folder, part))]
            file = files[0] if files else None
            if file:  # a module that is no package holds no modules
                folders = [file.parent] if file.name == "__init__.py" else []
            else:
                folders = [folder / part for folder in folders if (folder / part).is_dir()]
            if not file and not folders:
                return None
        return file or next(iter(folders), None)


def _within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def _places(top: str) -> list[Path]:
    """Empty if there is no such module. Finds it as Python does, and does not import it."""
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return []
    if spec is None:
        return []
    places = spec.submodule_search_locations
    named = [spec.origin or ""] if places is None else list(places)
    return [path for path in map(Path, named) if path.exists()]


def _file_of(places: list[Path]) -> Path | None:
    for place in places:
        if place.is_file():
            return place
        if (place / "__init__.py").is_file():
            return place / "__init__.py"
    return None


def _module_file(folder: Path, name: str) -> Path | None:
    candidates = [folder / name / "__init__.py"]
    candidates += [folder / f"{name}{suffix}" for suffix in all_suffixes()]
    return next((path for path in candidates if path.is_file()), None)


def installed(folder: Path) -> bool:
    """Whether a package manager fills this folder of the path."""
    return bool(_INSTALLED & {*folder.parts}) or next(folder.glob("*.dist-info"), None) is not None


Modules = dict[str, Path]
"""Full name of a module -> its file."""


def imported_modules(module: str, path: Path, project: Project) -> Modules:
    """The modules of the project that `module` reaches, without itself, by name; none without its
    file. One that is not there is left out: the import of it says so.

    Raises SpecInvalid if one is not valid Python.
    """
    if not path.is_file():
        return {}
    finder = _Finder(project)
    with suppress(ImportError):  # a relative import that leads out of all packages
        finder.import_hook(module)
    return dict(sorted((name, file) for name, file in finder.files.items() if name != module))


class _Finder(ModuleFinder):
    def __init__(self, project: Project) -> None:
        super().__init__()
        self._project = project
        self.files: Modules = {}

    def _add_badmodule(self, name: str, caller: Module | None) -> None:
        """Nothing: by the name in the text, `types` and `.types` would be one."""

    def import_module(self, partname: str, fqname: str, parent: Module | None) -> Module | None:
        """In the place of its own, which knows no package without `__init__.py` and would follow
        Spark's modules too.
        """
        if fqname in self.modules:
            return self.modules[fqname]
        file = self._project.find(fqname) if self._project.holds(fqname) else None
        if file is None and not self._project.is_above(fqname):
            return None
        package = file is None or file.is_dir() or file.name == "__init__.py"
        found = Module(fqname, path=[str(file)] if package else None)  # type: ignore[arg-type]  # a list
        self.modules[fqname] = found
        code = compiled(file) if file and file.suffix == ".py" and file.is_file() else None
        if file and file.is_file() and (code is None or {*code.co_names} - {"__doc__"}):
            self.files[fqname] = file
        if code:
            self.scan_code(code, found)
        if parent:
            setattr(parent, partname, found)
        return found


OF_A_HOOK: Final = {"GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_PREFIX"}


def plain() -> dict[str, str]:
    """This process's variables without those by which a hook of git names its own repository."""
    return {name: value for name, value in os.environ.items() if name not in OF_A_HOOK}
