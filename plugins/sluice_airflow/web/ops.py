"""The ops tables of this installation, for a request; a store that does not answer, in words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spark_jobs.contract.settings import root
from spark_jobs.contract.store import opened
from spark_jobs.contract.store_errors import translate_store_error

if TYPE_CHECKING:
    from upath import UPath


@contextmanager
def installed() -> Iterator[UPath]:
    """The root. Raises SettingInvalid, RootRefused or RootUnreachable, of what the block asks."""
    where = root()
    try:
        yield opened(where)
    except Exception as error:
        known = translate_store_error(error, where)
        if known is None:
            raise
        raise known from None
