"""Imports: the modules of the project that a module imports, and those that these import, as the
standard library's modulefinder reaches them: by their code, of which nothing is run.

Imports within functions count, and those under TYPE_CHECKING. Not counted: the standard library,
installed packages, Sluice itself, and a file with a docstring at most. Not seen: modules that code
imports by a computed name.
"""

from __future__ import annotations

from contextlib import suppress
from modulefinder import Module, ModuleFinder
from pathlib import Path

from spark_jobs.registry.logic import compiled
from spark_jobs.registry.project import Project

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
