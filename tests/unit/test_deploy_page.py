"""docs/deploy.md is followed word by word when something is lost: held here, without docker."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from spark_jobs.settings.installation import REPO

PAGE = (REPO / "docs" / "deploy.md").read_text()
COMPOSE = (REPO / "docker-compose.yml").read_text()
SERVICES = yaml.safe_load(COMPOSE)["services"]
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


def test_a_backup_brings_back_what_the_store_knows_of_an_object(tmp_path: Path) -> None:
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


def test_the_service_that_packs_sees_what_is_packed() -> None:
    places = [mount.split(":")[1] for mount in SERVICES["volumes"]["volumes"]]
    packed = [f"/data/{word}" for word in _tar("c") if "/" in word and not word.startswith("/")]
    assert packed
    assert all(any(folder.startswith(f"{place}/") for place in places) for folder in packed)


@pytest.mark.parametrize(
    ("variable", "default"), sorted(set(re.findall(r"\$\{(SLUICE_[A-Z_]+):-([^}]*)\}", COMPOSE)))
)
def test_a_variable_of_the_compose_file_is_on_the_page_with_its_default(variable, default):
    [row] = [
        line
        for line in PAGE.splitlines()
        if line.startswith("|") and f"`{variable}`" in line.split("|")[1]
    ]
    assert f"`{default}`" in row


def test_the_number_of_workers_is_the_variables() -> None:
    assert SERVICES["spark-worker"]["scale"] == "${SLUICE_WORKERS:-1}"
