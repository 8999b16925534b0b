"""`python -m local.stack.secrets`: make the stack's secrets, each once.

What is there stays as it is.

Compose mounts a secret's file as it lies on the host, with its owner and its mode. So that files
which their owner alone may read can be read in the containers, the containers run as that owner:
.env says who that is, and `passwd` gives him a name, without which Hadoop and PostgreSQL do not
start. Made by root, they belong to NOBODY_SPECIAL: no container runs as root.
"""

from __future__ import annotations

import base64
import os
import secrets
import sys
from collections.abc import Callable
from pathlib import Path

from local.stack import certificates
from spark_jobs.storage.root.files import replacing

NOBODY_SPECIAL = 1000
"""The user of the image, for whom root makes the secrets."""
BROKER_HOSTS = ("kafka", "localhost")
KAFKA = "kafka:9092"
CA = "/run/secrets/kafka_ca"
"""Where the containers find the certificate that vouches for the broker."""
USER = "admin"


class Unfit(Exception):
    """Secrets that are of no use together; which, why, and what to do."""


class Store:
    """A folder of secrets, a file each."""

    def __init__(self, folder: Path, owner: int, group: int) -> None:
        self._folder = folder
        self._owner = owner
        self._group = group
        self.made: list[str] = []

    def __call__(self, name: str, make: Callable[[], str]) -> str:
        """The secret of that name; made where there is none."""
        file = self._folder / name
        # One without a byte is what a power cut leaves of a file that was just made.
        if not (file.exists() and file.stat().st_size):
            # Whole or not at all, and never readable by another in between.
            with replacing(file) as unfinished:
                unfinished.unlink(missing_ok=True)
                unfinished.touch(mode=0o600)
                unfinished.write_text(make())
                if os.geteuid() == 0:
                    os.chown(unfinished, self._owner, self._group)
            self.made.append(name)
        return file.read_text()


def make(home: Path, owner: int, group: int) -> list[str]:
    """Make what is missing in `home`/secrets, for the user `owner`; the names of what was made."""
    for folder in (home, home / "secrets"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.geteuid() == 0:
            os.chown(folder, owner, group)
    store = Store(home / "secrets", owner, group)
    password = store("postgres_password", _token)
    # In a URL: _token has only characters that mean nothing there.
    store(
        "airflow_database",
        lambda: f"postgresql+psycopg2://airflow:{password}@postgres:5432/airflow",
    )
    store("airflow_fernet_key", lambda: base64.urlsafe_b64encode(secrets.token_bytes(32)).decode())
    store("airflow_jwt_secret", lambda: secrets.token_urlsafe(64))
    store("airflow_api_secret", lambda: secrets.token_urlsafe(32))
    store("airflow_passwords", lambda: f'{{"{USER}": "{_token()}"}}\n')
    _kafka(store)
    store("store_root", lambda: _keys("root"))
    for user in ("sluice", "views"):
        store(f"store_{user}", lambda user=user: _keys(user))  # type: ignore[misc]
    store("spark_secret", _token)
    return store.made


def _kafka(store: Store) -> None:
    """The authority, the broker's and the administrator's certificates, and users with
    passwords. Raises Unfit.
    """
    # By the key that is there: where the first start ended between the two, the certificate fits it
    # none the less.
    key = store("kafka_ca_key", certificates.private_key)
    certificate = store("kafka_ca", lambda: certificates.authority(key, "Sluice's stack"))
    pairs = {
        "kafka_broker": store(
            "kafka_broker", lambda: certificates.pair(key, certificate, "broker", BROKER_HOSTS)
        ),
        "kafka_admin": store("kafka_admin", lambda: certificates.pair(key, certificate, "admin")),
    }
    strange = [name for name, text in pairs.items() if not certificates.vouches(certificate, text)]
    if strange:
        message = (
            f".stack/secrets/kafka_ca does not vouch for {' and '.join(strange)}: the authority "
            "was made anew and they "
            "were not, or the other way round. Remove kafka_ca_key, kafka_ca, kafka_broker and "
            "kafka_admin, all four, "
            "and make them again: docs/deploy.md, Rotating secrets"
        )
        raise Unfit(message)
    for user in ("sluice", "views", "producer"):
        store(f"kafka_{user}", lambda user=user: _client(user))  # type: ignore[misc]


def _client(user: str) -> str:
    """What SLUICE_KAFKA_CONFIG names (docs/deploy.md)."""
    return "\n".join(
        (
            f"bootstrap.servers={KAFKA}",
            "security.protocol=SASL_SSL",
            f"ssl.ca.location={CA}",
            "sasl.mechanism=SCRAM-SHA-512",
            f"sasl.username={user}",
            f"sasl.password={_token()}",
            "",
        )
    )


def _token() -> str:
    return secrets.token_urlsafe(32)


def _keys(user: str) -> str:
    """A user of the store, in the format of AWS's shared credentials."""
    return (
        f"[default]\naws_access_key_id = {user}-{secrets.token_hex(8)}\naws_secret_access_key "
        f"= {_token()}\n"
    )


def _say_who(home: Path, owner: int, group: int) -> None:
    """For Compose: whom the containers run as, and what his name is there."""
    names = home / "passwd"
    names.write_text(
        f"root:x:0:0:root:/root:/usr/sbin/nologin\nsluice:x:{owner}:{group}:Sluice:/tmp:/usr/sbin/nologin\n"
    )
    names.chmod(0o644)
    environment = home.parent / ".env"
    text = environment.read_text() if environment.exists() else ""
    lines = [
        line for line in text.splitlines() if not line.startswith(("SLUICE_UID=", "SLUICE_GID="))
    ]
    wanted = [*lines, f"SLUICE_UID={owner}", f"SLUICE_GID={group}"]
    if wanted != text.splitlines():
        environment.write_text("\n".join(wanted) + "\n")


def main() -> None:
    """Into .stack of the folder that is given, which is the project's; what fails is one line and
    exit status 1.
    """
    project = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    home = project / ".stack"
    try:
        owner, group = _owner(home)
        made = make(home, owner, group)
        _say_who(home, owner, group)
    except Unfit as error:
        sys.exit(f"error: {error}")
    except OSError as error:
        sys.exit(
            f"error: {error.filename}: {error.strerror}, for user {os.geteuid()}. Secrets belong "
            "to whoever made them: "
            "only he or root makes more; under rootless docker only root may write the project's "
            "folder."
        )
    sys.stdout.write(
        "secrets in .stack/secrets: "
        f"{', '.join(made) + ' made' if made else 'all there, none touched'}\n"
    )


def _owner(home: Path) -> tuple[int, int]:
    """For whom secrets are made, user and group: who asks.

    Where root does: who has those that are there, or NOBODY_SPECIAL.
    """
    if os.geteuid() != 0:
        return os.geteuid(), os.getegid()
    folder = home / "secrets"
    there = folder.stat() if folder.exists() else None
    return (
        (there.st_uid, there.st_gid) if there and there.st_uid else (NOBODY_SPECIAL, NOBODY_SPECIAL)
    )


if __name__ == "__main__":
    main()
