"""Finds pipelines: every folder of the pipelines' package (SLUICE_PIPELINES) with a spec.py that
defines SPEC.
"""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from traceback import extract_tb
from types import ModuleType
from typing import TYPE_CHECKING, Final

from spark_jobs.errors import PipelineUnknown, SettingInvalid, SluiceError, SpecInvalid
from spark_jobs.registry.logic import refuse_unfit
from spark_jobs.registry.project import Modules, Project, imported_modules as modules_of, installed
from spark_jobs.settings.project_file import nearest
from spark_jobs.settings.variables import VARIABLES
from spark_jobs.spec import Pipeline, State, Topic
from spark_jobs.spec.archive import PREFIX, archive_name

if TYPE_CHECKING:
    from spark_jobs.registry.archive_spec import ArchiveSpec

SLUICE_FOLDER: Final = Path(__file__).parents[1]
RENAMED = ("spark_jobs.contract", "spark_jobs.spec")
"""What specs imported from once, and what has it now."""


def package() -> str:
    """The package that holds the pipelines."""
    return os.environ.get("SLUICE_PIPELINES") or str(VARIABLES["SLUICE_PIPELINES"][1])


def module(pipeline: str, part: str) -> str:
    """The full name of a pipeline's module `part`: spec or logic."""
    return f"{package()}.{pipeline}.{part}"


def names() -> list[str]:
    """The pipelines' names, sorted, without importing any."""
    return sorted(path.parent.name for path in folder().glob("*/spec.py"))


def logic_path(name: str) -> Path:
    """Where a pipeline's logic.py is, or would be."""
    return folder() / name / "logic.py"


def imported_modules(name: str) -> Modules:
    """The modules of the project that a pipeline's logic.py imports.

    Raises SpecInvalid if one is not valid Python.
    """
    return modules_of(module(name, "logic"), logic_path(name), Project(package(), folder()))


def files(name: str) -> set[Path]:
    """The files of the project's modules that its spec.py and logic.py import. Raises SpecInvalid
    if one is not valid Python.
    """
    project = Project(package(), folder())
    parts = ((part, folder() / name / f"{part}.py") for part in ("spec", "logic"))
    own = ((module(name, part), path) for part, path in parts)
    return {path for each in own for path in modules_of(*each, project).values()}


def own_path() -> Path | None:
    """The folder on the path that has the pipelines' top package; None where Sluice or a package
    manager has brought it.
    """
    top, *inner = package().split(".")
    above = folder().parents[len(inner)]
    return None if top == __name__.partition(".")[0] or installed(above) else above


def folder() -> Path:
    """Where the pipelines are: a package on the path, or in the working folder or one above it.
    Raises SettingInvalid.
    """
    top = package().partition(".")[0]
    try:
        if find_spec(top) is None:
            above = nearest(top, Path.cwd())
            sys.path += [str(above)] if above and str(above) not in sys.path else []
        return Path(importlib.import_module(package()).__path__[0])
    except (ModuleNotFoundError, AttributeError, ValueError, TypeError) as error:
        here = Path.cwd()
        raise SettingInvalid.package_absent(package=package(), error=error, here=here) from None


def load(name: str) -> Pipeline:
    """The spec of one pipeline, or of a topic's archive.

    Raises PipelineUnknown, or SpecInvalid where its spec.py does not load or its logic.py has not
    what the spec names.
    """
    if name.startswith(PREFIX):
        return _archive(name)
    # Not `in names()`: who loads all of them would look at each folder once for each.
    if Path(name).name != name or not (folder() / name / "spec.py").exists():
        close = difflib.get_close_matches(name, names(), n=1)
        hint = (
            f"Did you mean {close[0]}?"
            if close
            else f"The pipelines are: {', '.join(names()) or 'none'}."
        )
        raise PipelineUnknown.folder_absent(
            pipeline=name,
            package=package().replace(".", "/"),
            hint=hint,
        )
    loaded = _module(name)
    spec = getattr(loaded, "SPEC", None)
    if spec is None and getattr(loaded.__spec__, "_initializing", False):  # a Table asks for it
        raise SpecInvalid.reads_itself(pipeline=name)
    if not isinstance(spec, Pipeline):
        raise SpecInvalid.no_spec(pipeline=name)
    if spec.name != name:
        raise SpecInvalid.name_differs(pipeline=name, given=spec.name)
    refuse_unfit(spec, logic_path(name))
    if any(step.logic for step in spec.steps):
        imported_modules(name)
    return spec


def load_next(name: str) -> Pipeline | None:
    """NEXT: the spec that a rebuild computes beside SPEC; None if spec.py defines none.

    Raises SpecInvalid where it is invalid, or cannot follow SPEC.
    """
    spec = load(name)
    found = None if spec.is_archive else getattr(_module(name), "NEXT", None)
    if found is None:
        return None
    where = f"pipelines/{name}/spec.py: NEXT"
    if not isinstance(found, Pipeline):
        raise SpecInvalid.next_no_pipeline(where=where, kind=type(found).__name__)
    # model_copy checks nothing.
    following = Pipeline(**dict(found) | {"state": State(**dict(found.state))})
    for field, given, right in (
        ("name", following.name, spec.name),
        ("topic.name", following.inputs.name, spec.inputs.name),
        ("topic.cluster", following.inputs.cluster, spec.inputs.cluster),
        ("root", following.root, spec.root),
    ):
        if given != right:
            raise SpecInvalid.next_field_differs(
                where=where,
                field=field,
                given=given,
                right=right,
            )
    version = spec.state.version
    if following.state.version == version:
        raise SpecInvalid.next_same_version(
            where=where,
            version=version,
            free=version + 1,
        )
    if following.model_copy(update={"state": spec.state}) == spec:
        raise SpecInvalid.next_same(where=where)
    refuse_unfit(following, logic_path(name))
    return following


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(module(name, "spec"))
    except SluiceError as error:
        raise error.adding(_place(error, name)) from None
    except (Exception, SystemExit) as error:  # of sys.exit(0) every command would end well
        old, now = RENAMED
        if isinstance(error, ModuleNotFoundError) and error.name == old:
            failed = SpecInvalid.import_renamed(pipeline=name, module=old, now=now)
        else:
            failed = SpecInvalid.import_failed(
                pipeline=name, kind=type(error).__name__, error=error
            )
        raise failed.adding(_place(error, name)) from error


def _place(error: BaseException, name: str) -> str:
    """The line of the user's that raised: an error of a topic knows neither pipeline nor file."""
    frames = ((Path(each.filename), each.lineno) for each in extract_tb(error.__traceback__))
    inside = (folder(), *(SLUICE_FOLDER / each for each in ("topics", "pipelines")))
    own = [
        (path, line)
        for path, line in frames
        if path.is_file()
        and not installed(path.parent)
        and (SLUICE_FOLDER not in path.parents or any(each in path.parents for each in inside))
    ]
    path, line = own[-1] if own else (folder() / name / "spec.py", None)
    at = f", line {line}" if line else ""
    return f"(pipeline {name!r}, {'/'.join(path.parts[-3:])}{at})"


def topics() -> list[str]:
    """The names of the topics that pipelines read, sorted. Raises what `load_all` raises."""
    return sorted({topic.name for spec in load_all() for topic in spec.inputs})


def archives() -> list[str]:
    """The names of the archives that topics declare, sorted. Imports every spec; one that cannot be
    imported declares none, and says so where it is loaded.
    """
    return sorted({archive_name(topic.place) for _, topic in _archived_topics()})


def _archived_topics() -> list[tuple[Pipeline, Topic]]:
    found = []
    for name in names():
        with suppress(Exception):
            found.append(getattr(_module(name), "SPEC", None))
    specs = [spec for spec in found if isinstance(spec, Pipeline)]
    topics = ((spec, topic) for spec in specs for topic in spec.inputs)
    return [each for each in topics if each[1].archive is not None]


def _archive(name: str) -> ArchiveSpec:
    """Raises PipelineUnknown without such a topic; SpecInvalid for a folder of that name, or if
    specs declare different archives of one topic.
    """
    if name in names():
        raise SpecInvalid.name_reserved(pipeline=name, prefix=PREFIX)
    specs: list[ArchiveSpec] = [
        resolve_name(topic.archive.made_by)(topic, topic.archive, spec.root)
        for spec, topic in _archived_topics()
        if topic.archive is not None and archive_name(topic.place) == name
    ]
    if not specs:
        raise PipelineUnknown.archive_absent(
            pipeline=name, archives=", ".join(archives()) or "none"
        )
    if any(spec != specs[0] for spec in specs):
        raise SpecInvalid.topic_declared_twice(topic=specs[0].topic.place)
    return specs[0]


def load_all() -> list[Pipeline]:
    """Every pipeline's spec, sorted by name. Raises the error of the first bad spec."""
    return [load(name) for name in names()]
