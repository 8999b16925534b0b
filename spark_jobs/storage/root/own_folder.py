"""Own folder: a folder in the machine's temporary folder that one user alone may enter.

Its name is known, and everybody may write to the temporary folder. So the folder's first maker
could read what is put there, or put a link in the place of a file.
"""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from spark_jobs.errors import SettingInvalid


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
