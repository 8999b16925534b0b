"""Names: what a column is called whose key another system has named."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from spark_jobs.values.path import Path

MOST: Final = 63


def snake(path: Path) -> str:
    """A field's name for what is at a path, in snake_case; empty if nothing of it can stand there.

    >>> snake(("data", "userId", 0)), snake(("@HTTPStatus",)), snake(("2fa-code",)), snake(("日",))
    ('data_user_id_0', 'http_status', 'f_2fa_code', '')
    """
    text = unicodedata.normalize("NFKD", "_".join(map(str, path)))
    text = text.encode("ascii", "ignore").decode()
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", text).lower()
    text = re.sub(r"[^a-z0-9]+", "_", text).strip("_")
    return (f"f_{text}" if text[:1].isdigit() else text)[:MOST]
