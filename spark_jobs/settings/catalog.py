"""Where tables are registered: SLUICE_CATALOG."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from spark_jobs.errors import SettingInvalid

_FORM: Final = re.compile(r"thrift://(?P<host>[A-Za-z0-9._-]+):(?P<port>\d{1,5})/(?P<database>\w+)")


class Catalog(NamedTuple):
    """A database of a Hive metastore; all empty where none is named."""

    url: str = ""
    host: str = ""
    port: int = 0
    database: str = ""


def parsed(url: str) -> Catalog:
    """The catalog that the setting names. Raises SettingInvalid."""
    if not url:
        return Catalog()
    found = _FORM.fullmatch(url)
    if found is None:
        raise SettingInvalid.no_catalog(value=url)
    return Catalog(url, found["host"], int(found["port"]), found["database"])
