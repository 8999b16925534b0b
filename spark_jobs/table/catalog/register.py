"""Register: the published table in the catalog that the installation names."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from spark_jobs.settings.installation import catalog
from spark_jobs.table.catalog.entry import entry
from spark_jobs.table.catalog.metastore import Metastore

if TYPE_CHECKING:
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.root.paths import Paths

LOG = logging.getLogger(__name__)


def register(paths: Paths, spec: Pipeline) -> str | None:
    """Make the catalog's entry what it should be; a line that says it. None where no catalog is
    named, or nothing is published yet. Raises SettingInvalid or CatalogRefused.
    """
    at = catalog()
    wanted = entry(paths, spec) if at.url else None
    if wanted is None:
        return None
    done = "registered" if Metastore(at).put(wanted) else "is registered"
    return f"{wanted.location} {done} as {at.database}.{wanted.name}"


def try_to_register(paths: Paths, spec: Pipeline) -> None:
    """Likewise behind a publish, which a catalog does not stop: the next one tries again."""
    try:
        if line := register(paths, spec):
            LOG.info("%s", line)
    except Exception as error:  # noqa: BLE001 - whatever another's server answers
        LOG.warning("%s is published, and in no catalog: %s", spec.name, error)
