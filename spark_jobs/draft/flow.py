"""Flow: values in the form of YAML that is JSON, but for bytes and for numbers that YAML reads
otherwise.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any, Final

_UNPRINTABLE: Final = re.compile(r"[^\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def flow(value: Any) -> str:
    """On one line."""
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
