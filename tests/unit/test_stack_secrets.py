"""The stack's secrets: made once, for their owner alone, and of use."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path

import yaml
from cryptography import x509
from cryptography.fernet import Fernet

from local.stack.secrets import CA, make
from spark_jobs.contract.kafka_config import KafkaConfig
from spark_jobs.contract.settings import REPO

ME = Path("/proc/self").stat()


def _made(home: Path) -> Path:
    make(home, ME.st_uid, ME.st_gid)
    return home / "secrets"


def test_what_is_there_is_never_made_again(tmp_path: Path) -> None:
    folder = _made(tmp_path)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert make(tmp_path, ME.st_uid, ME.st_gid) == []
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    (folder / "spark_secret").unlink()
    assert make(tmp_path, ME.st_uid, ME.st_gid) == ["spark_secret"]
    after = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert {name for name in before if before[name] != after[name]} == {"spark_secret"}


def test_only_the_owner_may_read_them_and_none_is_blank(tmp_path: Path) -> None:
    folder = _made(tmp_path)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for file in folder.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name
        assert len(file.read_text().strip()) >= 32, file.name


def test_two_installations_share_none(tmp_path: Path) -> None:
    one, other = _made(tmp_path / "one"), _made(tmp_path / "other")
    for file in one.iterdir():
        assert file.read_bytes() != (other / file.name).read_bytes()


def test_compose_mounts_all_of_them_but_the_authoritys_key(tmp_path: Path) -> None:
    made = {file.name for file in _made(tmp_path).iterdir()}
    assert made - set(yaml.safe_load((REPO / "docker-compose.yml").read_text())["secrets"]) == {"kafka_ca_key"}


def test_each_is_what_its_reader_takes(tmp_path: Path) -> None:
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
    assert (config.brokers, config.mechanism, config.user) == ("kafka:9092", "SCRAM-SHA-512", "sluice")


def test_the_command_prints_names_and_no_secret(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "local.stack.secrets", str(tmp_path)]
    said = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=True)
    for file in (tmp_path / ".stack" / "secrets").iterdir():
        assert file.read_text().strip()[-20:] not in said.stdout + said.stderr
    assert "SLUICE_UID=" in (tmp_path / ".env").read_text()
    again = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=True)
    assert again.stdout == "secrets in .stack/secrets: all there, none touched\n"


def test_other_lines_of_an_env_file_stay(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("SLUICE_UI_PORT=9090\nSLUICE_UID=7\n")
    subprocess.run([sys.executable, "-m", "local.stack.secrets", str(tmp_path)], cwd=REPO, check=True, capture_output=True)
    lines = (tmp_path / ".env").read_text().splitlines()
    assert lines[0] == "SLUICE_UI_PORT=9090"
    assert "SLUICE_UID=7" not in lines
