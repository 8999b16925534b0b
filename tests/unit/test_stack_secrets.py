"""The stack's secrets: made once, for their owner alone, and of use."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.fernet import Fernet

from local.stack import certificates
from local.stack.secrets import CA, Unfit, make
from spark_jobs.settings.installation import REPO
from spark_jobs.settings.kafka.config import KafkaConfig
from tests.harness.ran import ran

ME = Path("/proc/self").stat()


def _made(home: Path) -> Path:
    make(home, ME.st_uid, ME.st_gid)
    return home / "secrets"


def test_what_is_there_is_never_made_again(tmp_path):
    folder = _made(tmp_path)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert make(tmp_path, ME.st_uid, ME.st_gid) == []
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    (folder / "spark_secret").unlink()
    assert make(tmp_path, ME.st_uid, ME.st_gid) == ["spark_secret"]
    after = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert {name for name in before if before[name] != after[name]} == {"spark_secret"}


def test_one_without_a_byte_counts_as_not_made(tmp_path):
    folder = _made(tmp_path)
    (folder / "spark_secret").write_text("")
    assert make(tmp_path, ME.st_uid, ME.st_gid) == ["spark_secret"]
    assert (folder / "spark_secret").read_text()


def test_only_the_owner_may_read_them_and_none_is_blank(tmp_path):
    folder = _made(tmp_path)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for file in folder.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name
        assert len(file.read_text().strip()) >= 32, file.name


def test_two_installations_share_none(tmp_path):
    one, other = _made(tmp_path / "one"), _made(tmp_path / "other")
    for file in one.iterdir():
        assert file.read_bytes() != (other / file.name).read_bytes()


def test_compose_mounts_all_of_them_but_the_authoritys_key(tmp_path):
    made = {file.name for file in _made(tmp_path).iterdir()}
    assert made - set(yaml.safe_load((REPO / "docker-compose.yml").read_text())["secrets"]) == {
        "kafka_ca_key"
    }


def test_each_is_what_its_reader_takes(tmp_path):
    folder = _made(tmp_path)
    Fernet((folder / "airflow_fernet_key").read_text())
    assert list(json.loads((folder / "airflow_passwords").read_text())) == ["admin"]
    authority = x509.load_pem_x509_certificate((folder / "kafka_ca").read_bytes())
    broker = x509.load_pem_x509_certificate((folder / "kafka_broker").read_bytes())
    broker.verify_directly_issued_by(authority)
    names = broker.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["kafka", "localhost"]
    client = folder / "kafka_sluice"
    client.write_text(client.read_text().replace(CA, str(folder / "kafka_ca")))
    config = KafkaConfig.read(str(client))
    assert (config.brokers, config.mechanism, config.user) == (
        "kafka:9092",
        "SCRAM-SHA-512",
        "sluice",
    )


@pytest.mark.parametrize("left", [("kafka_ca_key",), ("kafka_ca_key", "kafka_ca")])
def test_a_first_start_cut_off_between_key_and_certificate_is_finished_by_the_next(tmp_path, left):
    folder = _made(tmp_path)
    for name in {"kafka_ca_key", "kafka_ca", "kafka_broker", "kafka_admin"} - set(left):
        (folder / name).unlink()
    _made(tmp_path)
    authority = (folder / "kafka_ca").read_text()
    assert all(
        certificates.vouches(authority, (folder / name).read_text())
        for name in ("kafka_broker", "kafka_admin")
    )


@pytest.mark.parametrize("gone", [("kafka_ca_key", "kafka_ca"), ("kafka_ca_key", "kafka_broker")])
def test_an_authority_that_vouches_for_half_of_its_certificates_is_told_of(tmp_path, gone):
    folder = _made(tmp_path)
    for name in gone:
        (folder / name).unlink()
    with pytest.raises(Unfit, match=r"kafka_ca does not vouch for kafka_broker.* all four"):
        _made(tmp_path)


def test_the_command_prints_names_and_no_secret(tmp_path):
    command = [sys.executable, "-m", "local.stack.secrets", str(tmp_path)]
    said = ran(*command, check=True)
    for file in (tmp_path / ".stack" / "secrets").iterdir():
        assert file.read_text().strip()[-20:] not in said.stdout + said.stderr
    assert "SLUICE_UID=" in (tmp_path / ".env").read_text()
    again = ran(*command, check=True)
    assert again.stdout == "secrets in .stack/secrets: all there, none touched\n"


def test_other_lines_of_an_env_file_stay(tmp_path):
    (tmp_path / ".env").write_text("SLUICE_UI_PORT=9090\nSLUICE_UID=7\n")
    subprocess.run(
        [sys.executable, "-m", "local.stack.secrets", str(tmp_path)],
        cwd=REPO,
        check=True,
        capture_output=True,
    )
    lines = (tmp_path / ".env").read_text().splitlines()
    assert lines[0] == "SLUICE_UI_PORT=9090"
    assert "SLUICE_UID=7" not in lines


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes secrets for another")
def test_secrets_that_belong_to_somebody_stay_his_where_root_makes_the_next(tmp_path):
    somebody = 4711
    make(tmp_path / ".stack", somebody, somebody)
    (tmp_path / ".stack" / "secrets" / "spark_secret").unlink()
    command = [sys.executable, "-m", "local.stack.secrets", str(tmp_path)]
    subprocess.run(command, cwd=REPO, capture_output=True, check=True)
    folder = tmp_path / ".stack" / "secrets"
    assert {file.stat().st_uid for file in (folder, *folder.iterdir())} == {somebody}
    assert f"SLUICE_UID={somebody}" in (tmp_path / ".env").read_text().splitlines()


def test_a_folder_that_cannot_be_written_is_one_line_that_names_it_and_the_user(tmp_path):
    (tmp_path / ".stack").touch()
    command = [sys.executable, "-m", "local.stack.secrets", str(tmp_path)]
    said = ran(*command)
    assert said.returncode == 1
    assert said.stderr.startswith(f"error: {tmp_path / '.stack'}")
    assert f"for user {os.geteuid()}" in said.stderr
    assert said.stderr.count("\n") == 1
