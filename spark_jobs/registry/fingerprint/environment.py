"""Environment: what results depend on beside the spec, saved beside the checkpoint.

These are the project's modules that logic.py imports, versions, and the settings that change
results: Spark's, and its processes'. A changed module is refused as a changed logic.py is. A
changed version is recorded and the run logs it. A changed setting can only come from another
Sluice, and is refused.
"""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import suppress

from pydantic import BaseModel, ConfigDict

import spark_jobs
from spark_jobs.errors import SettingInvalid, SluiceError
from spark_jobs.registry import find as registry, logic
from spark_jobs.registry.fingerprint.fields import (
    Declared,
    FieldChange,
    Fingerprint,
    changes,
)
from spark_jobs.registry.fingerprint.packages import version
from spark_jobs.settings.installation import jars
from spark_jobs.spec import Pipeline
from spark_jobs.values.pinned import language
from spark_jobs.values.pinned.sql_settings import PINNED


class Environment(BaseModel):
    """The content of `environment` in identity.json. An older Sluice ignores it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    imports: dict[str, str] = {}
    """Module of the project that logic.py imports -> the digest of its file."""
    versions: dict[str, str] = {}
    """Software -> the version that ran last."""
    settings: dict[str, str] = {}
    """Setting of Spark SQL (sql_settings.py), or of a process (language.py) -> its value."""

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
        imports=_imports(spec.name) if any(step.logic for step in spec.steps) else {},
        versions=_versions(),
        settings={**PINNED, **language.JAVA, **language.VARIABLES},
    )


def code_digest(name: str) -> str | None:
    """The digest of a pipeline's logic.py and imports, as `compatible_logic` takes it.

    None if it has no logic.py.
    """
    own = logic.digest(registry.logic_path(name))
    return own and _combined(own, _imports(name))


def resume_remedy(name: str) -> str:
    """How to resume a pipeline after its code failed: without the declaration the next run would
    refuse corrected code.
    """
    digest = None
    with suppress(SluiceError, OSError):
        digest = code_digest(name)
    keep = (
        f"To keep the state, add {digest!r} to compatible_logic in spec.py, beside what is there. "
        if digest
        else ""
    )
    return (
        f"Correct the code. {keep}Then run `sluice drain {name}`: nothing of the failed batch was "
        "committed."
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
    return fields | {"logic": _combined(str(own), imports)} if own else fields


def _combined(own: str, imports: dict[str, str]) -> str:
    if not imports:
        return own
    text = json.dumps([own, sorted(imports.items())])
    return logic.FORM + hashlib.sha256(text.encode()).hexdigest()[:12]


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


def _imports(name: str) -> dict[str, str]:
    """Module -> digest. In the pipelines' package the names begin with `pipelines`, whatever the
    package is called.
    """
    package = registry.package()
    found = {}
    for module, path in registry.imported_modules(name).items():
        inside = module == package or module.startswith(f"{package}.")
        short = f"pipelines{module.removeprefix(package)}" if inside else module
        found[short] = logic.digest(path) or ""
    return found


def _versions() -> dict[str, str]:
    """Delta's version is that of its jar: the jar writes the table."""
    delta = [
        match[1]
        for jar in sorted(jars().glob("delta-spark*.jar"))
        if (match := re.fullmatch(r"delta-spark_.+-(\d[\w.]*)\.jar", jar.name))
    ]
    found = {"Sluice": spark_jobs.__version__, "Delta": delta[-1] if delta else ""}
    with suppress(SettingInvalid):  # who compares contracts needs no Spark
        found["msgspec"] = version("msgspec")
    return {name: text for name, text in sorted(found.items()) if text}
