"""Path forms: how a path under the root is written for each of those that are handed one. No other
module writes such a path (tests/unit/test_path_forms.py).

| who takes it | form |
| --- | --- |
| Spark, Delta in Spark, Hadoop | `spark_url` |
| a file that Hadoop wrote | `qualified` |
| Spark's stream over a folder of files | `spark_pattern` |
| Spark's readers of state | `state_url` |
| delta-rs, obstore | `delta_path` |
| Python's own files | `disk_path` |
| a statement of SQL that a person reads | `sql_table` |

Beside the root is a user's own folder, in the machine's temporary folder. Its name is known, and
everybody may write there. So the folder's first maker could read what is put there, or put a link
in the place of a file.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tempfile
import unicodedata
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NewType
from urllib.parse import unquote

from spark_jobs.errors import SettingInvalid
from spark_jobs.storage.root.store import SCHEME, is_remote

if TYPE_CHECKING:
    from upath import UPath


def folder_name(name: str) -> str:
    """What the folder of this user and of that name is called."""
    return f"sluice-{name}-{os.getuid()}"


def own_folder(name: str, risk: str, within: str = "") -> Path:
    """The folder of this user and of that name in the temporary folder, or in `within`. It is made
    if it is not there.

    `risk`: what another user could do, to end the sentence "it is not this user's alone, and ...".
    Raises SettingInvalid if another user owns it or may enter it, or if it is a link.
    """
    folder = Path(within or tempfile.gettempdir()) / folder_name(name)
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    status = folder.lstat()
    alone = status.st_uid == os.getuid() and not status.st_mode & 0o077
    if not stat.S_ISDIR(status.st_mode) or not alone:
        raise SettingInvalid.folder_shared(folder=folder, risk=risk)
    return folder


SparkPath = NewType("SparkPath", str)
DeltaPath = NewType("DeltaPath", str)

_REFUSED = re.compile(r"%[0-9A-Fa-f]{2}|[\[\]\\|^]")
"""What delta-rs reads as something else: it decodes the first, takes a backslash for a slash, and
ends with a panic at the others.
"""
_AS_IT_IS = re.compile(r"[A-Za-z0-9\-_.!~*'():@&=+$,;/]*")
"""Characters that stay as they are when java.net.URI escapes a path."""
_PATTERN = re.compile(r"[?*{}]")


def spark_url(path: UPath | Path | str) -> SparkPath:
    """For Spark, Delta in Spark and Hadoop's Path: their S3 client has the scheme s3a."""
    text = str(path)
    return SparkPath(f"s3a://{text.removeprefix(SCHEME)}" if text.startswith(SCHEME) else text)


def qualified(path: UPath | Path | str) -> SparkPath:
    """As Hadoop writes a path into a file, with its scheme.

    >>> qualified("/data/a b"), qualified("s3://bucket/root")
    ('file:/data/a b', 's3a://bucket/root')
    """
    url = spark_url(path)
    return url if is_remote(url) else SparkPath(f"file:{disk_path(path).absolute()}")


def spark_pattern(path: UPath | Path | str) -> SparkPath:
    """For a stream of Spark over the files of a folder: it takes the path for a pattern, and no
    option says otherwise (FileStreamSource).
    """
    return SparkPath(_PATTERN.sub(r"\\\g<0>", spark_url(path)))


def state_url(checkpoint: UPath | Path | str) -> SparkPath:
    """For Spark's readers of state: they escape a path once too often (StateSourceOptions hands on
    Path.toUri.toString). Where that would change it, a link to it whose own path has nothing to
    escape.

    Executors on other machines have no such link: `refuse_for_cluster`.
    """
    url = spark_url(checkpoint)
    return url if _AS_IT_IS.fullmatch(url) else _linked(disk_path(checkpoint))


def delta_path(path: UPath | Path | str) -> DeltaPath:
    """For delta-rs and obstore: they escape what they must themselves."""
    return DeltaPath(str(path))


def disk_path(path: UPath | Path | str) -> Path:
    """For Python's own functions on files: a path on a disk that is no UPath."""
    return Path(str(path).removeprefix("file://"))


def sql_table(path: UPath | Path | str) -> str:
    """A Delta table in SQL text.

    >>> sql_table("/data/what`s up")
    'delta.`/data/what``s up`'
    """
    return "delta.`" + spark_url(path).replace("`", "``") + "`"


def from_uri(table_uri: str) -> str:
    """The folder or URL of a table, from delta-rs's name of it, which is escaped on a disk.

    >>> from_uri("file:///data/a%20b/tables/sales/"), from_uri("s3://bucket/tables/sales")
    ('/data/a b/tables/sales', 's3://bucket/tables/sales')
    """
    plain = table_uri.rstrip("/")
    return plain if is_remote(plain) else unquote(unprefixed(plain))


def unprefixed(uri: str) -> str:
    """The same letters, without what a URL of a disk begins with.

    >>> unprefixed("file:///data/a%20b"), unprefixed("/data/a b")
    ('/data/a%20b', '/data/a b')
    """
    return uri.removeprefix("file://")


def plain_folder(root: str) -> str:
    """A root on a disk in its one form: locks, delta-rs and Spark read file:///path each in its own
    way.

    Raises SettingInvalid for a folder that not all of Spark, Hadoop and delta-rs can read.
    """
    root = root.removeprefix("file://").rstrip("/")
    control = (char for char in root if unicodedata.category(char) in {"Cc", "Cs"})
    odd = [match.group() for match in _REFUSED.finditer(root)] or [*control]
    if odd:
        raise SettingInvalid.root_read_twofold(root=root, part=odd[0])
    return root


def refuse_for_cluster(root: str) -> None:
    """Raise SettingInvalid for a root whose state executors on other machines could not read."""
    if not is_remote(root) and not _AS_IT_IS.fullmatch(root):
        odd = _AS_IT_IS.sub("", root)[0]
        raise SettingInvalid.root_state_unreadable(root=root, part=odd)


def _linked(folder: Path) -> SparkPath:
    home, target = own_folder("state", "it could lead to other state"), str(folder.absolute())
    if not _AS_IT_IS.fullmatch(str(home)):
        raise SettingInvalid.temporary_state_unreadable(home=home)
    link = home / hashlib.sha256(target.encode()).hexdigest()[:16]
    with suppress(FileExistsError):
        link.symlink_to(target, target_is_directory=True)
    return SparkPath(str(link))
