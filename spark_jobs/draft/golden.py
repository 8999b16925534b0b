"""Golden: a drafted pipeline's first case (proof/cases.py): a few records of the sample, and what
the decoder of every run makes of them. They are such that the step only takes a copy away:
one that the sample has, with its own time of arrival, if there is one.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any, Final

from spark_jobs.draft.drafted import Draft
from spark_jobs.draft.sample import Sampled, Tried, tried
from spark_jobs.source.kafka_time import is_time
from spark_jobs.values.times import at_milliseconds

GOOD: Final = 3
BAD: Final = 2
"""Records, each of another reason."""
TRIED: Final = 100
"""Of the good records: each of them alone."""
LARGEST: Final = 4_000
"""Bytes of a record that a person reads."""
_UNPRINTABLE: Final = re.compile(r"[^\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def golden(draft: Draft, root: str = "") -> str | None:
    """The text of tests.yaml; None where no record fits. `root` has the schemas of a registry."""
    spec = draft.spec
    good, copies = _good(draft, root), list[Sampled]()
    if good and any(each.balance.drops_duplicates for each in spec.steps):
        first, copy = _copy(draft, root) or (good[0], good[0])
        good = [first, *(each for each in good if each != first)][:GOOD]
        copies = [copy]
    bad = _bad(draft, root)
    if not good:
        return None
    given = [_as_written(each) for each in (*good, *copies, *bad)]
    found = tried(draft.topic, given, root)
    lines = [
        "# Records of the topic, and what comes of them. It has their values: look at them.",
        "cases:",
        "  - name: records of the sample",
        "    given:",
        "      -",
        *(f"        - {_record(each)}" for each in given),
        "    expect:",
        "      rows:",
        *(f"        - {_value(row)}" for row in found.rows[: len(good)]),
        *([f"      duplicates: {len(copies)}"] if copies else []),
        *([f"      malformed: {_value([*found.malformed.elements()])}"] if found.malformed else []),
    ]
    return "\n".join(lines) + "\n"


def _bad(draft: Draft, root: str) -> list[Sampled]:
    """Not those that are bad in a way that JSON written anew is not."""
    short = [each for each in draft.tried.examples.values() if _is_short(each)]
    written = (tried(draft.topic, [_as_written(each)], root) for each in short)
    return [each for each, found in zip(short, written, strict=True) if found.malformed][:BAD]


def _good(draft: Draft, root: str) -> list[Sampled]:
    keys = draft.keys
    found, known = list[Sampled](), list[Any]()
    for each in filter(_is_short, draft.tried.good[:TRIED]):
        alone = tried(draft.topic, [_as_written(each)], root)
        if not _is_plain(alone):
            continue
        [row] = alone.rows
        key = row if "*" in keys else [row[name] for name in keys]
        if key not in known:
            known.append(key)
            found.append(each)
        if len(found) == GOOD:
            break
    return found


def _copy(draft: Draft, root: str) -> tuple[Sampled, Sampled] | None:
    """A record of the sample, and its copy with a time of arrival of its own."""
    seen = dict[str, Sampled]()
    for each, row in zip(draft.tried.good, draft.tried.rows, strict=True):
        key = repr([row[name] for name in draft.keys] if "*" not in draft.keys else row)
        if key not in seen:
            seen[key] = each
        elif all(map(_is_short, pair := (seen[key], each))) and all(
            _is_plain(tried(draft.topic, [_as_written(one)], root)) for one in pair
        ):
            return pair
    return None


def _is_plain(alone: Tried) -> bool:
    floats = (value for row in alone.rows for value in row.values() if isinstance(value, float))
    finite = all(abs(value) < float("inf") for value in floats)
    return finite and len(alone.times_ms) == 1 and alone.rows[0].get("op") != "d"


def _is_short(record: Sampled) -> bool:
    return len(record.value or b"") + len(record.key or b"") <= LARGEST


def _as_written(record: Sampled) -> Sampled:
    parsed = _parsed(record.value)
    value = record.value if parsed is None else json.dumps(parsed).encode()
    return record._replace(partition=0, value=value, headers=[*_headers(record).items()])


def _parsed(value: bytes | None) -> Any:
    try:
        parsed = json.loads((value or b"").decode())
        json.dumps(parsed, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


def _headers(record: Sampled) -> dict[str, bytes | None]:
    """Those that a case can have: text, each once."""
    return {name: each for name, each in record.headers if not isinstance(_text(each), bytes)}


def _record(record: Sampled) -> str:
    given = dict[str, Any]()
    if record.timestamp is not None and is_time(record.timestamp):
        given["timestamp"] = at_milliseconds(record.timestamp)
    if record.key is not None:
        given["key"] = _text(record.key)
    if headers := _headers(record):
        given["headers"] = {name: _text(content) for name, content in headers.items()}
    parsed = _parsed(record.value)
    return _value(given | {"value": _text(record.value) if parsed is None else parsed})


def _text(content: bytes | None) -> str | bytes | None:
    try:
        return content if content is None else content.decode()
    except UnicodeDecodeError:
        return content


def _value(value: Any) -> str:
    """In YAML's flow form, which is JSON, but for bytes."""
    return _UNPRINTABLE.sub(lambda found: f"\\U{ord(found[0]):08x}", "".join(_parts(value)))


def _parts(value: Any) -> Iterator[str]:
    match value:
        case dict():
            inner = (
                f"{json.dumps(str(k), ensure_ascii=False)}: {''.join(_parts(v))}"
                for k, v in value.items()
            )
            yield f"{{{', '.join(inner)}}}"
        case list() | tuple():
            yield f"[{', '.join(''.join(_parts(each)) for each in value)}]"
        case bytes():
            yield f'!!binary "{b64encode(value).decode()}"'
        case datetime():
            yield json.dumps(value.isoformat().replace("+00:00", "Z"))
        case date():
            yield json.dumps(value.isoformat())
        case float():
            text = repr(value)
            # YAML takes 1e+22 for a text.
            yield text if "." in text else text.replace("e", ".0e")
        case None | bool() | int() | str():
            yield json.dumps(value, ensure_ascii=False)
        case _:
            yield json.dumps(str(value), ensure_ascii=False)
