"""Airflow's optional connection to the object store of the root, of type aws, read without the
Amazon provider.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowNotFoundException
from airflow.sdk.log import mask_secret

from sluice_airflow.connections.secret_folder import secret_folder, sweep
from spark_jobs.errors import SettingInvalid
from spark_jobs.registry.root_by_name import root_name
from spark_jobs.settings.roots import CONNECTION, connection as named

PREFIX = "sluice-root-"
"""The prefix of the folders with keys for a child process."""
EXTRA = {"region_name": "AWS_REGION", "endpoint_url": "AWS_ENDPOINT_URL"}
"""Field of the connection's extra -> the variable that all clients of the store read."""
TOKEN = "aws_session_token"
KEYS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_ROLE_ARN",
)
"""Variables that at least one of the four clients prefers to a profile.

They are unset while the profile has the keys.
"""


@contextmanager
def root_credentials(pipeline: str) -> Iterator[Path | None]:
    """Inside the block, this process and its children use the endpoint, region and keys of the
    connection sluice_root, or the connection of the root which the pipeline names.

    The keys are in a profile, in a file that only its owner can read: all clients read it, and no
    environment or command line shows the keys. Yields the file; None without a connection or
    without keys. Raises SettingInvalid.
    """
    sweep(PREFIX)
    name = named(CONNECTION, root_name(pipeline))
    try:
        connection = BaseHook.get_connection(name)
    except AirflowNotFoundException:
        yield None
        return
    variables, lines = _declared(connection, name)
    if not lines:
        with _environment(variables):
            yield None
        return
    with secret_folder(PREFIX) as folder:
        file = folder / "credentials"
        file.touch(mode=0o600)
        file.write_text("\n".join((f"[{CONNECTION}]", *lines, "")))
        profile = {"AWS_SHARED_CREDENTIALS_FILE": str(file), "AWS_PROFILE": CONNECTION}
        with _environment({**dict.fromkeys(KEYS), **variables, **profile}):
            yield file


def _declared(connection: Any, name: str) -> tuple[dict[str, str | None], list[str]]:
    source = f"connection {name!r}"
    if connection.conn_type != "aws":
        raise SettingInvalid.not_an_aws_connection(source=source, kind=connection.conn_type)
    extra = dict(connection.extra_dejson)
    token = extra.pop(TOKEN, None)
    if unknown := sorted(extra.keys() - EXTRA.keys()):
        raise SettingInvalid.extra_unknown(
            source=source,
            first=unknown[0],
            known=", ".join((*EXTRA, TOKEN)),
        )
    if bool(connection.login) != bool(connection.password):
        raise SettingInvalid.half_a_key(
            source=source, lacking="no secret key" if connection.login else "no access key"
        )
    for secret in filter(None, (connection.password, token)):
        mask_secret(secret)
    variables: dict[str, str | None] = {EXTRA[name]: str(value) for name, value in extra.items()}
    if EXTRA["endpoint_url"] in variables:
        variables["AWS_ENDPOINT_URL_S3"] = None  # a value of the worker would take precedence
    keys = {
        "aws_access_key_id": connection.login,
        "aws_secret_access_key": connection.password,
        TOKEN: token,
    }
    return variables, [f"{name} = {value}" for name, value in keys.items() if value]


@contextmanager
def _environment(changes: dict[str, str | None]) -> Iterator[None]:
    """None unsets a variable. All are restored after the block."""
    before = {name: os.environ.get(name) for name in changes}
    try:
        _set(changes)
        yield
    finally:
        _set(before)


def _set(variables: dict[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
