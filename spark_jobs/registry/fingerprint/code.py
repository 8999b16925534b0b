"""Code: the digest of a pipeline's logic.py, and of the project's modules that it imports.

Loaded for a pipeline that has a logic.py.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from spark_jobs.errors import SluiceError
from spark_jobs.registry import find as registry
from spark_jobs.registry.fingerprint.environment import FORM, combined


def digest(path: Path) -> str | None:
    """Digest of a logic.py or of a module that it imports, by its bytes; None without a file."""
    if not path.exists():
        return None
    return FORM + hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def of_pipeline(name: str) -> str | None:
    """The digest of a pipeline's logic.py alone; None without a file."""
    return digest(registry.logic_path(name))


def code_digest(name: str) -> str | None:
    """The digest of a pipeline's logic.py and imports, as `compatible_logic` takes it.

    None if it has no logic.py.
    """
    own = of_pipeline(name)
    return own and combined(own, imports(name))


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


def imports(name: str) -> dict[str, str]:
    """Module -> digest. In the pipelines' package the names begin with `pipelines`, whatever the
    package is called.
    """
    package = registry.package()
    found = {}
    for module, path in registry.imported_modules(name).items():
        inside = module == package or module.startswith(f"{package}.")
        short = f"pipelines{module.removeprefix(package)}" if inside else module
        found[short] = digest(path) or ""
    return found
