"""Checked: the value of a variable as a run takes it, or why it is refused."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from spark_jobs.errors import SettingInvalid
from spark_jobs.settings.roots import parsed
from spark_jobs.settings.variables import BY_SCHEDULE, VARIABLES
from spark_jobs.spec import spark_options
from spark_jobs.spec.cron import invalid_because

LAG_GROUP: Final = re.compile(r"off|on|(?!(?i:off|on|true|false|yes|no|[01])$)[A-Za-z0-9._-]{1,60}")
"""What looks like a switch is no prefix."""
SHARE: Final = re.compile(r"(100|[1-9]?[0-9](?:\.[0-9]+)?) ?%")
PREFIX: Final = re.compile(r"[A-Za-z0-9_-]{0,60}")
FOREVER: Final = "forever"
NEVER: Final = "never"
CHOICES: Final = {
    "SLUICE_LOCAL_FILES": (
        ("sluice", "hadoop"), "with hadoop, each mode and each link costs a process",
    ),
    "SLUICE_LOG": (("text", "json"), "json is for log collectors"),
    "SLUICE_LOCKS": (
        ("safe", "one-host"),
        "with one-host, two machines that start runs would write one checkpoint",
    ),
    "SLUICE_RECORD_BYTES": (
        ("hidden", "shown"), "with shown, records that may be personal are on pages",
    ),
    "SLUICE_WARM": (("auto", "on", "off"), "with on, a worker stays"),
    "SLUICE_LAG_GROUP": (
        ("off", "on", "a prefix of letters, digits and ._-"), "with on, Kafka has it",
    ),
    "SLUICE_NEXT": (("off", "on"), "with on, it is about NEXT"),
}  # fmt: skip
"""Variable -> its values, the default first, and why no other one is guessed."""


def checked(name: str, value: str) -> str:
    """The value. Raises SettingInvalid."""
    return CHECKS[name](value) if name in CHECKS else value


def _one_of(name: str, value: str) -> str:
    choices, why = CHOICES[name]
    if value not in choices:
        raise SettingInvalid.choice_unknown(
            name=name, value=value, choices=" or ".join(choices), default=choices[0], why=why
        )
    return value


def _secret_file(path: str) -> str:
    if not path:
        return ""
    source = f"SLUICE_SPARK_SECRET_FILE={path}"
    try:
        exposed = exposure(Path(path))
        empty = not Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingInvalid.secret_unreadable(
            source=source, error=getattr(error, "strerror", None) or "it is not UTF-8"
        ) from None
    if exposed:
        raise SettingInvalid.secret_exposed(source=source, exposed=exposed, path=path)
    if empty:
        raise SettingInvalid.secret_empty(source=source)
    return path


def _days(name: str, value: str) -> str:
    if value != FOREVER and not (value.isascii() and value.isdigit() and int(value)):
        raise SettingInvalid.days_invalid(
            name=name, value=value, forever=FOREVER, default=VARIABLES[name][1]
        )
    return value


def _cron(value: str) -> str:
    if value != NEVER and (why := invalid_because(value)):
        raise SettingInvalid.cron_invalid(value=value, why=why, never=NEVER)
    return value


def _proof(value: str) -> str:
    if value != "off" and not SHARE.fullmatch(value):
        raise SettingInvalid.share_invalid(value=value)
    return value


def _prefix(value: str) -> str:
    if not PREFIX.fullmatch(value):
        raise SettingInvalid.prefix_invalid(value=value)
    return value


def _whole_number(name: str, value: str, *, or_else: str = "") -> str:
    if value != or_else and not (value.isascii() and value.isdigit() and int(value)):
        raise SettingInvalid.not_positive(name=name, value=value, default=VARIABLES[name][1])
    return value


def _seconds(value: str) -> str:
    if not (value.isascii() and value.isdigit() and int(value)):
        raise SettingInvalid.seconds_not_positive(name="SLUICE_EXECUTOR_WAIT", value=value)
    return value


CHECKS: Final[dict[str, Callable[[str], str]]] = {
    **{name: partial(_one_of, name) for name in CHOICES},
    **{
        name: partial(_whole_number, name)
        for name in ("SLUICE_QUARANTINE_MEGABYTES", "SLUICE_WARM_DRAINS", "SLUICE_WARM_MEMORY_MB")
    },
    **{name: partial(_days, name) for name in ("SLUICE_HISTORY_DAYS", "SLUICE_REJECTED_DAYS")},
    "SLUICE_WARM_IDLE_MINUTES": partial(
        _whole_number, "SLUICE_WARM_IDLE_MINUTES", or_else=BY_SCHEDULE
    ),
    "SLUICE_SPARK_CONF": lambda value: spark_options.render(
        spark_options.parse(value, "SLUICE_SPARK_CONF")
    ),
    "SLUICE_SPARK_SECRET_FILE": _secret_file,
    "SLUICE_EXECUTOR_JARS": lambda value: value.rstrip("/"),
    "SLUICE_EXECUTOR_WAIT": _seconds,
    "SLUICE_MAINTAIN_CRON": _cron,
    "SLUICE_DAG_PREFIX": _prefix,
    "SLUICE_CATALOG": lambda value: parsed(value).url,
    "SLUICE_LAG_GROUP": lambda value: (
        value if LAG_GROUP.fullmatch(value) else _one_of("SLUICE_LAG_GROUP", value)
    ),
    "SLUICE_PROOF": _proof,
}


def exposure(path: Path) -> str:
    """Who besides the owner may change the file, or besides owner and group may read it, as text;
    empty where nobody.

    The group may read it: Kubernetes' fsGroup and systemd give a file to a service account in this
    way.
    """
    mode = path.stat().st_mode
    if mode & (stat.S_IROTH | stat.S_IWOTH | stat.S_IWGRP):
        who = "everybody on this machine" if mode & (stat.S_IROTH | stat.S_IWOTH) else "its group"
        may = "change" if mode & (stat.S_IWOTH | stat.S_IWGRP) else "read"
        return f"{who} may {may} it (mode {stat.S_IMODE(mode):04o})"
    return ""
