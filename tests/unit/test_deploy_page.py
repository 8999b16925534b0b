"""docs/deploy.md is followed word by word when something is lost: held here, without docker."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from spark_jobs.settings.installation import REPO

PAGE = (REPO / "docs" / "deploy.md").read_text()
ETAG = "user.etag"


def _tar(flag: str) -> list[str]:
    """The page's command that packs (c) or unpacks (x), from `tar` on."""
    [command] = re.findall(
        rf"^docker compose run .* volumes (tar .* -{flag}f - ?[^<>]*)[<>] data\.tar$",
        PAGE,
        re.MULTILINE,
    )
    return str(command).split()


def _keeps_attributes(path: Path) -> bool:
    try:
        os.setxattr(path, ETAG, b"1")
    except (AttributeError, OSError):
        return False
    return b"GNU" in subprocess.run(["tar", "--version"], capture_output=True, check=False).stdout


def test_a_backup_brings_back_what_the_store_knows_of_an_object(tmp_path):
    data = tmp_path / "data"
    other = tmp_path / "other"
    for folder in (
        data / "store" / "buckets",
        data / "kafka" / "log",
        other / "store",
        other / "kafka",
    ):
        folder.mkdir(parents=True)
    kept = data / "store" / "buckets" / "object"
    kept.touch()
    if not (shutil.which("tar") and _keeps_attributes(kept)):
        pytest.skip(
            "no extended attributes here, or no GNU tar: not tested is that a backup keeps them"
        )
    packed = subprocess.run(
        [str(data) if word == "/data" else word for word in _tar("c")],
        capture_output=True,
        check=True,
    )
    words = [str(other) if word == "/data" else word for word in _tar("x")]
    subprocess.run(words, input=packed.stdout, check=True)
    assert os.getxattr(other / "store" / "buckets" / "object", ETAG) == b"1"
    assert (other / "kafka" / "log").is_dir()
