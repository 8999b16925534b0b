"""docker/store-start: what the store's server is started with.

The server is one that says what it was given.
"""

import subprocess
from pathlib import Path

from spark_jobs.settings.installation import REPO
from tests.harness.ran import ran

SERVER = """#!/bin/sh
echo "$ROOT_ACCESS_KEY $ROOT_SECRET_KEY"
echo "$@" >&2
"""


def _started(home: Path) -> subprocess.CompletedProcess[str]:
    """The script, with its folders in `home`."""
    (home / "store_root").write_text(
        "[default]\naws_access_key_id = root-1\naws_secret_access_key = a-secret\n"
    )
    (home / "versitygw").write_text(SERVER)
    (home / "versitygw").chmod(0o755)
    script = (
        (REPO / "docker" / "store-start")
        .read_text()
        .replace("/run/secrets", str(home))
        .replace("/data/store", str(home))
    )
    found = {"PATH": f"{home}:/usr/bin:/bin"}
    return ran("sh", "-c", script, check=True, env=found)


def test_the_servers_keys_are_in_its_environment_and_not_on_its_command_line(tmp_path):
    done = _started(tmp_path)
    assert done.stdout == "root-1 a-secret\n"
    assert "a-secret" not in done.stderr


def test_a_list_of_users_that_a_power_cut_left_empty_is_made_anew_and_any_other_stays(tmp_path):
    users = tmp_path / "iam" / "users.json"
    users.parent.mkdir()
    users.write_text("")
    _started(tmp_path)
    assert not users.exists()
    users.write_text("{}")
    _started(tmp_path)
    assert users.read_text() == "{}"
