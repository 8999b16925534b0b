"""Which file systems a lease may stand on, from lines as Linux writes them."""

from pathlib import Path

import pytest
from upath import UPath

from spark_jobs.checkpoint import file_system
from spark_jobs.checkpoint.lease import lease
from spark_jobs.errors import RootRefused
from spark_jobs.settings.installation import Settings
from tests.harness.refused import fails

DISK = "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda rw"


def mounted(folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str, options: str = "rw"):
    """As if the folder were the place of such a mount."""
    place = str(folder).replace(" ", r"\040")
    line = f"90 22 0:50 / {place} rw,relatime shared:2 - {kind} server:/export {options}"
    (table := folder / "mountinfo").write_text(f"{DISK}\n{line}\n")
    monkeypatch.setattr(file_system, "MOUNTS", table)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("ext4", "rw"),
        ("overlay", "rw"),
        ("tmpfs", "rw"),
        ("nfs4", "rw,vers=4.2,local_lock=none"),
        ("nfs", "rw,vers=3,local_lock=none"),
        ("lustre", "rw,flock"),
        ("ceph", "rw"),
        ("gfs2", "rw"),
        ("ocfs2", "rw"),
        ("btrfs", "rw"),
        ("zfs", "rw"),
        ("fuseblk", "rw"),
        ("fuse.fuse-overlayfs", "rw"),
    ],
)
def test_a_lease_is_taken_where_a_lock_holds_for_all(tmp_path, monkeypatch, kind, options):
    mounted(tmp_path, monkeypatch, kind, options)
    with lease(UPath(tmp_path / "lease"), "a run"):
        pass


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("nfs", "rw,vers=3,local_lock=all"),
        ("nfs", "rw,vers=3,nolock,local_lock=flock"),
        ("cifs", "rw,nobrl"),
        ("lustre", "rw,localflock"),
        ("fuse.sshfs", "rw"),
        ("fuse.rclone", "rw"),
        ("9p", "rw"),
        ("virtiofs", "rw"),
        ("vboxsf", "rw"),
        ("pvfs2", "rw"),
        ("gfs2", "rw,localflocks"),
        ("ocfs2", "rw,localflocks"),
        ("a-type-of-tomorrow", "rw"),
    ],
)
def test_where_a_lock_may_hold_on_one_machine_alone_the_root_is_refused_by_its_file_system(
    tmp_path, monkeypatch, kind, options
):
    mounted(tmp_path, monkeypatch, kind, options)
    told = {"kind": kind, "place": tmp_path}
    with fails(RootRefused, "locks_unsure", **told), lease(UPath(tmp_path / "lease"), "a run"):
        pass
    monkeypatch.setenv("SLUICE_LOCKS", "one-host")
    with lease(UPath(tmp_path / "lease"), "a run"):
        pass


def test_a_folder_with_a_space_below_a_mount_is_found(tmp_path, monkeypatch):
    (folder := tmp_path / "ä b").mkdir()
    mounted(folder, monkeypatch, "cifs")
    found = file_system.mount_of(folder / "checkpoints" / "p")
    assert (found.place, found.kind) == (str(folder), "cifs")
    assert file_system.mount_of(tmp_path / "a c").kind == "ext4"


def test_where_nobody_knows_the_mounts_nothing_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(file_system, "MOUNTS", tmp_path / "none")
    with lease(UPath(tmp_path / "lease"), "a run"):
        pass


def test_a_root_as_a_file_url_is_the_folder(monkeypatch):
    monkeypatch.setenv("SLUICE_ROOT", "file:///data/sluice/")
    monkeypatch.setenv("SLUICE_KAFKA", "127.0.0.1:1")
    assert Settings.from_environment().root == "/data/sluice"
