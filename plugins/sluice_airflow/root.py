"""Airflow's connection to the object store that the root lies on, read without its provider: optional, of type aws."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowNotFoundException
from airflow.sdk.log import mask_secret

from sluice_airflow.secret_folder import secret_folder, sweep
from spark_jobs.contract.errors import SettingInvalid

CONNECTION = "sluice_root"
PREFIX = "sluice-root-"
"""Of the folders in which keys are handed over."""
EXTRA = {"region_name": "AWS_REGION", "endpoint_url": "AWS_ENDPOINT_URL"}
"""What the connection says beside the keys -> the variable that all clients of the store know."""
TOKEN = "aws_session_token"
KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE",
        "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN")
"""What would win over the profile that the keys are handed over in, with one client of the four at least."""


@contextmanager
def declared_root() -> Iterator[Path | None]:
    """Within the block this process, and those that it starts, reach the store as the connection says, where there is one.

    The keys are in a profile in a file of the owner's alone, which is yielded: all clients read it, and neither an environment
    nor a command line has them. Raises SettingInvalid.
    """
    sweep(PREFIX)
    try:
        connection = BaseHook.get_connection(CONNECTION)
    except AirflowNotFoundException:
        yield None
        return
    variables, lines = _declared(connection)
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


def _declared(connection: Any) -> tuple[dict[str, str | None], list[str]]:
    """The variables, and the lines of the profile; none where the connection has no keys."""
    source = f"connection {CONNECTION!r}"
    if connection.conn_type != "aws":
        raise SettingInvalid(f"{source} has type {connection.conn_type!r}: it is not one to an object store.",
                             "Give it type 'aws'.")
    extra = dict(connection.extra_dejson)
    token = extra.pop(TOKEN, None)
    if unknown := sorted(extra.keys() - EXTRA.keys()):
        raise SettingInvalid(f"{source} has {unknown[0]} in extra, which would be without effect here.",
                             f"It can have {', '.join((*EXTRA, TOKEN))}; roles and profiles are the machine's (AWS_PROFILE).")
    if bool(connection.login) != bool(connection.password):
        raise SettingInvalid(f"{source} has {'no secret key' if connection.login else 'no access key'}.",
                             "Give it both, as login and password; or neither, and the machine's own are used.")
    for secret in filter(None, (connection.password, token)):
        mask_secret(secret)
    told: dict[str, str | None] = {EXTRA[name]: str(value) for name, value in extra.items()}
    if EXTRA["endpoint_url"] in told:
        told["AWS_ENDPOINT_URL_S3"] = None  # the worker's would win
    keys = {"aws_access_key_id": connection.login, "aws_secret_access_key": connection.password, TOKEN: token}
    return told, [f"{name} = {value}" for name, value in keys.items() if value]


@contextmanager
def _environment(changes: dict[str, str | None]) -> Iterator[None]:
    """With these variables, or without those that are None; after it, as before."""
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
