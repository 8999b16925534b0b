"""Environment: what results depend on beside the spec, saved beside the checkpoint.

These are the project's modules that logic.py imports, versions, and the settings that change
results: Spark's, and its processes'. A changed module is refused as a changed logic.py is. A
changed version is recorded and the run logs it. A changed setting can only come from another
Sluice, and is refused.

Versions are of the packages where runs start. Airflow's may be others.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import distributions
from pathlib import Path
from pkgutil import resolve_name

from pydantic import BaseModel, ConfigDict

import spark_jobs
from spark_jobs.errors import SettingInvalid
from spark_jobs.registry.fingerprint.fields import Declared, FieldChange, Fingerprint, changes
from spark_jobs.settings.installation import MADE, jars, spark_env as here
from spark_jobs.spec import Pipeline
from spark_jobs.values import pinned as language
from spark_jobs.values.pinned import PINNED

FORM = "4-"
"""Before a digest of files' bytes. Older Sluices wrote 2-, 3- or nothing, before one of syntax."""
IMPORTS = "spark_jobs.registry.fingerprint.code:imports"
"""What reads the code of a pipeline that has some."""


def is_of_older_form(digest: object) -> bool:
    """Whether an older Sluice made it in another way, so that nobody can tell a change."""
    return not str(digest).startswith(FORM)


def code_version() -> str:
    """Of Sluice: its version, and a digest of its files' names and sizes: two wheels of one version
    may have other code.
    """
    folder = Path(spark_jobs.__file__).parent
    files = sorted(
        f"{path.relative_to(folder)} {path.stat().st_size}"
        for path in folder.rglob("*.py")
        if "brought" not in path.parts
    )
    digest = hashlib.sha256("\n".join(files).encode()).hexdigest()[:12]
    return f"{spark_jobs.__version__}+{digest}"


def version(package: str) -> str:
    """Raises SettingInvalid where Spark's environment has no such package, or is none."""
    site = require_spark(os.environ.get("SLUICE_SPARK_ENV", ""))
    return _found(package, sys.path if site is None else [str(site)])


def require_spark(spark_env: str) -> Path | None:
    """The folder of packages of SLUICE_SPARK_ENV; None for an empty one: runs start in this
    process's own environment. Raises SettingInvalid where no run can start there.
    """
    named = Path(spark_env)
    if not spark_env or named.resolve() == Path(sys.prefix).resolve():
        _found("pyspark", sys.path)
        return None
    if not named.is_absolute():
        raise SettingInvalid.spark_env_relative(folder=named)
    try:
        made = str(json.loads((named / MADE).read_text())["code"])
        [package] = named.glob("lib/python3*/site-packages/spark_jobs")
    except (OSError, ValueError, KeyError, TypeError):
        raise SettingInvalid.spark_env_unmade(folder=named) from None
    if made != code_version():
        raise SettingInvalid.spark_env_version(folder=named, there=made, here=code_version())
    return package.parent


def _found(package: str, places: Sequence[str]) -> str:
    for found in distributions(name=package, path=[*places]):
        return found.version
    raise SettingInvalid.spark_absent(folder=here(), package=package)


class Environment(BaseModel):
    """The content of `environment` in identity.json. An older Sluice ignores it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    imports: dict[str, str] = {}
    """Module of the project that logic.py imports -> the digest of its file."""
    versions: dict[str, str] = {}
    """Software -> the version that ran last."""
    settings: dict[str, str] = {}
    """Setting of Spark SQL (pinned.py), or of a process (pinned.py) -> its value."""

    def with_unrecorded(self, now: Environment) -> Environment:
        """This environment, with the versions and settings of now that it does not have: an older
        Sluice did not record them.
        """
        return self.model_copy(
            update={
                "versions": now.versions | self.versions,
                "settings": now.settings | self.settings,
            }
        )


def environment(spec: Pipeline) -> Environment:
    """The present environment. Raises SpecInvalid if an imported module is not valid Python."""
    return Environment(
        imports=resolve_name(IMPORTS)(spec.name) if any(step.logic for step in spec.steps) else {},
        versions=_versions(),
        settings={**PINNED, **language.JAVA, **language.VARIABLES},
    )


def all_changes(
    stored: tuple[Fingerprint, Environment],
    now: tuple[Fingerprint, Environment],
    declared: Declared,
) -> list[FieldChange]:
    """The fields of the spec and of the environment that differ."""
    (was, around), (wanted, current) = stored, now
    around = around.with_unrecorded(current)
    found = changes(
        _with_imports(was, around.imports), _with_imports(wanted, current.imports), declared
    )
    for place, change in enumerate(found):
        if change.field != "logic":
            continue
        same = was.get("logic") == wanted.get("logic")
        found[place] = change._replace(detail=_changed_files(around, current, same))
    return [*found, *_settings(around, current), *_version_changes(around, current)]


def _with_imports(fields: Fingerprint, imports: dict[str, str]) -> Fingerprint:
    own = fields.get("logic")
    return fields | {"logic": combined(str(own), imports)} if own else fields


def combined(own: str, imports: dict[str, str]) -> str:
    """One digest of a logic.py's and of its imports'."""
    if not imports:
        return own
    text = json.dumps([own, sorted(imports.items())])
    return FORM + hashlib.sha256(text.encode()).hexdigest()[:12]


def _changed_files(was: Environment, now: Environment, same_logic: bool) -> str:
    names = was.imports.keys() | now.imports.keys()
    changed = sorted(name for name in names if was.imports.get(name) != now.imports.get(name))
    if not changed:
        return ""
    return "changed: " + ", ".join(changed if same_logic else ["logic.py", *changed])


def _settings(was: Environment, now: Environment) -> list[FieldChange]:
    """A setting that is not pinned any more has no meaning for state."""
    both = sorted(was.settings.keys() & now.settings.keys())
    return [
        FieldChange(name, was.settings[name], now.settings[name], "refused")
        for name in both
        if was.settings[name] != now.settings[name]
    ]


def _version_changes(was: Environment, now: Environment) -> list[FieldChange]:
    both = sorted(was.versions.keys() & now.versions.keys())
    return [
        FieldChange(f"version of {name}", was.versions[name], now.versions[name], "warned")
        for name in both
        if was.versions[name] != now.versions[name]
    ]


def _versions() -> dict[str, str]:
    """Delta's version is its jar's: the jar writes the table."""
    delta = [
        match[1]
        for jar in sorted(jars().glob("delta-spark*.jar"))
        if (match := re.fullmatch(r"delta-spark_.+-(\d[\w.]*)\.jar", jar.name))
    ]
    found = {"Sluice": spark_jobs.__version__, "Delta": delta[-1] if delta else ""}
    with suppress(SettingInvalid):  # who compares contracts needs no Spark
        found["msgspec"] = version("msgspec")
    return {name: text for name, text in sorted(found.items()) if text}
