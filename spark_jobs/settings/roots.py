"""Roots: where each pipeline's tables, checkpoints and ops tables are. A spec may name its root;
without a name it is the installation's.

Who has a pipeline asks `root_of`, and gets no other's. The names that an installation declares for
a topic's cluster or a root are made here too; and so is its catalog, in which tables are registered
(SLUICE_CATALOG).
"""

from __future__ import annotations

import os
import re
from typing import Final, NamedTuple

from spark_jobs.errors import SettingInvalid
from spark_jobs.settings.project_file import told
from spark_jobs.settings.variables import ABOUT, DEFAULT_ROOT, ROOT
from spark_jobs.spec import Pipeline
from spark_jobs.storage.root.path_forms import plain_folder
from spark_jobs.storage.root.store import is_remote, is_s3, sluice_url


def variable(name: str, of: str) -> str:
    """The environment variable; without a name the installation's own.

    >>> variable("SLUICE_KAFKA", "eu"), variable("SLUICE_ROOT", "")
    ('SLUICE_KAFKA__EU', 'SLUICE_ROOT')
    """
    return f"{name}__{of.upper()}" if of else name


def connection(name: str, of: str) -> str:
    """Airflow's connection.

    >>> connection("sluice_kafka", "eu"), connection("sluice_root", "")
    ('sluice_kafka_eu', 'sluice_root')
    """
    return f"{name}_{of}" if of else name


CONNECTION: Final = "sluice_root"
_NAMED: Final = re.compile(rf"{ROOT}__([A-Z0-9_]+)")
_PART: Final = re.compile(r"[A-Za-z0-9._=-]+")
"""The allowed parts between the slashes of a root's prefix on S3."""


def root_of(spec: Pipeline) -> str:
    """The pipeline's, as a path or URL without a trailing slash. Raises as root_named."""
    return root_named(spec.root)


@told()
def root_named(name: str) -> str:
    """Root of this name; of an empty one the installation's.

    It works where brokers or Kafka declaration are wrong. Raises SettingInvalid if nothing declares
    it, for keys in it, or if the store's clients would read it differently.
    """
    of = variable(ROOT, name)
    given = os.environ.get(of) or (None if name else DEFAULT_ROOT)
    if given:
        return _checked(given, of)
    if name:
        keys = connection(CONNECTION, name)
        raise SettingInvalid.root_unknown(root=name, variable=of, connection=keys)
    raise SettingInvalid.absent(name=ROOT, about=ABOUT)


def root_names() -> list[str]:
    """The names of all that this process's environment declares; an empty one, of the
    installation's, comes first.
    """
    given = (of for of, value in os.environ.items() if value)
    named = sorted(found[1].lower() for of in given if (found := _NAMED.fullmatch(of)))
    own = os.environ.get(ROOT) or DEFAULT_ROOT
    return ["", *named] if own else named


def only_root() -> str:
    """The name of the one that is declared, where no other is; else the installation's own."""
    [name, *others] = root_names() or [""]
    return "" if others else name


def every_root() -> list[str]:
    """All of them, each once. Raises as root_named: where one is wrong, or there is none."""
    return [*dict.fromkeys(map(root_named, root_names() or [""]))]


def given_root() -> str:
    """The root of the run that this process was started for: it was given no other. Raises as
    root_named.
    """
    return root_named("")


def _checked(given: str, of: str) -> str:
    """s3fs uses a prefix as it is, Hadoop drops empty parts, object_store decodes percent signs:
    they would write to different places.
    """
    if not is_remote(given):
        return plain_folder(given)
    address = given.partition("://")[2]
    if "@" in address.partition("/")[0] or (
        is_s3(given) and ("@" in address or ":" in address)
    ):  # a secret may have slashes
        raise SettingInvalid.keys_in_root(name=of)
    bucket, *parts = address.rstrip("/").split("/")
    if is_s3(given) and not bucket:
        raise SettingInvalid.no_bucket(name=of, given=given)
    if odd := [part for part in parts if part in {".", ".."} or not _PART.fullmatch(part)]:
        raise SettingInvalid.part_odd(name=of, given=given, part=odd[0])
    return sluice_url(given.rstrip("/"))


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
