"""Reads and writes JAAS: the property sasl.jaas.config, in which Java's Kafka client has users,
passwords and client secrets.

The rules are from kafka-clients' org.apache.kafka.common.security.JaasConfig, which uses
java.io.StreamTokenizer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_SECURITY = "org.apache.kafka.common.security"
MODULES = {
    "PLAIN": f"{_SECURITY}.plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{_SECURITY}.scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{_SECURITY}.scram.ScramLoginModule",
    "OAUTHBEARER": f"{_SECURITY}.oauthbearer.OAuthBearerLoginModule",
}
"""SASL mechanism -> Kafka's login module for it."""

_VALUE = r""""(?:[^"\\\r\n]|\\.)*"|'(?:[^'\\\r\n]|\\.)*'|[^\s;="']+"""
_OPTION = re.compile(rf"\s+([\w.$-]+)\s*=\s*({_VALUE})", re.DOTALL)
_ENTRY = re.compile(
    rf"\s*([\w.$]+)\s+(?i:required)((?:\s+[\w.$-]+\s*=\s*(?:{_VALUE}))*)\s*;\s*", re.DOTALL
)
_ESCAPE = re.compile(r"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)
_LETTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class Entry(NamedTuple):
    """One login module with its options, name -> value."""

    module: str
    options: dict[str, str]


def render(mechanism: str, options: Mapping[str, str]) -> str:
    """The property's value for one mechanism. It escapes the options' values."""
    words = [f'{name}="{_escaped(value)}"' for name, value in options.items()]
    return f"{' '.join([MODULES[mechanism], 'required', *words])};"


def parse(text: str) -> Entry | None:
    """The entry; None unless there is exactly one, and it is `required`.

    It does not say why: the text is secret.
    """
    entry = _ENTRY.fullmatch(text)
    if entry is None:
        return None
    return Entry(
        entry[1], {option[1]: _unquoted(option[2]) for option in _OPTION.finditer(entry[2])}
    )


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")


def _unquoted(value: str) -> str:
    if value[0] not in "\"'":
        return value

    def unescaped(escape: re.Match[str]) -> str:
        code = escape[1]
        return chr(int(code, 8)) if code[0] in "01234567" else _LETTERS.get(code, code)

    return _ESCAPE.sub(unescaped, value[1:-1])
