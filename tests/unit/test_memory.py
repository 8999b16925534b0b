"""What control groups let a process have: memory, the machine's if that is less, and processors."""

import math
from pathlib import Path

import psutil
import pytest

from spark_jobs.launch.warm.control_group import processors
from spark_jobs.launch.warm.fits import free_mb, needed_mb
from spark_jobs.settings.installation import Settings

MB = 2**20
NONE = "max"


def group(folder: Path, most: object, used: int, cached: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.max").write_text(f"{most}\n")
    (folder / "memory.current").write_text(f"{used * MB}\n")
    (folder / "memory.stat").write_text(f"anon 1\ninactive_file {cached * MB}\n")


def test_the_tightest_group_above_the_process_counts_without_its_cache(tmp_path):
    (proc := tmp_path / "cgroup").write_text("0::/a/b\n")
    group(tmp_path / "groups/a", 300 * MB, 280, 30)
    group(tmp_path / "groups/a/b", NONE, 100, 0)
    assert free_mb(proc, tmp_path / "groups") == 50
    group(tmp_path / "groups/a/b", 200 * MB, 190, 2)
    assert free_mb(proc, tmp_path / "groups") == 12


def test_a_containers_own_group_is_the_topmost_one_it_sees(tmp_path):
    (proc := tmp_path / "cgroup").write_text("0::/../system.slice/of-the-machine\n")
    group(tmp_path / "groups", 100 * MB, 90, 0)
    assert free_mb(proc, tmp_path / "groups") == 10


def test_a_group_of_the_first_version(tmp_path):
    (proc := tmp_path / "cgroup").write_text("5:cpu,cpuacct:/x\n4:memory:/x\n")
    (folder := tmp_path / "groups/memory/x").mkdir(parents=True)
    (folder / "memory.limit_in_bytes").write_text(f"{70 * MB}\n")
    (folder / "memory.usage_in_bytes").write_text(f"{60 * MB}\n")
    (folder / "memory.stat").write_text(f"total_inactive_file {5 * MB}\n")
    assert free_mb(proc, tmp_path / "groups") == 15


@pytest.mark.parametrize("text", ["", "0::/\n", "3:pids:/x\n"])
def test_without_a_limit_it_is_what_the_machine_has(tmp_path, text):
    (proc := tmp_path / "cgroup").write_text(text)
    before = psutil.virtual_memory()
    found = free_mb(proc, tmp_path / "no groups")
    assert 0 < found * MB <= before.total
    assert abs(found - before.available // MB) < 1024, "it is another machine's"


@pytest.mark.parametrize(
    ("given", "mb"), [("2g", 3072), ("512m", 1536), ("1048576k", 2048), ("1G", 2048), ("900", 1924)]
)
def test_a_run_needs_its_heap_and_a_gigabyte(given, mb):
    assert needed_mb(Settings("/r", "k:1", Path("/j"), "local[2]", given)) == mb


def test_what_is_no_size_is_said():
    with pytest.raises(ValueError, match="SLUICE_DRIVER_MEMORY=much"):
        needed_mb(Settings("/r", "k:1", Path("/j"), "local[2]", "much"))


def test_the_tightest_quota_above_the_process_says_how_many_processors_it_may_take(tmp_path):
    (proc := tmp_path / "cgroup").write_text("0::/a/b\n")
    (groups := tmp_path / "groups" / "a" / "b").mkdir(parents=True)
    assert processors(proc, tmp_path / "groups") == math.inf
    (groups / "cpu.max").write_text("max 100000\n")
    assert processors(proc, tmp_path / "groups") == math.inf
    (groups.parent / "cpu.max").write_text("150000 100000\n")
    assert processors(proc, tmp_path / "groups") == 1.5


@pytest.mark.parametrize(("most", "found"), [(-1, math.inf), (50_000, 0.5)])
def test_a_quota_of_the_first_version(tmp_path, most, found):
    (proc := tmp_path / "cgroup").write_text("5:cpu,cpuacct:/x\n4:memory:/x\n")
    (folder := tmp_path / "groups/cpu/x").mkdir(parents=True)
    (folder / "cpu.cfs_quota_us").write_text(f"{most}\n")
    (folder / "cpu.cfs_period_us").write_text("100000\n")
    assert processors(proc, tmp_path / "groups") == found
