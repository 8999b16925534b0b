"""Git's variables: git asked about the pipelines' repository, also from a hook of another one."""

from __future__ import annotations

import os
from typing import Final

OF_A_HOOK: Final = {"GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_PREFIX"}


def plain() -> dict[str, str]:
    """This process's variables without those by which a hook of git names its own repository."""
    return {name: value for name, value in os.environ.items() if name not in OF_A_HOOK}
