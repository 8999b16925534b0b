"""The ops tables of this installation, for a request; a store that does not answer, in words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spark_jobs.ops.results import Results, using
from spark_jobs.root.store import opened
from spark_jobs.root.store_errors import translate_store_error
from spark_jobs.settings.installation import root

if TYPE_CHECKING:
    from upath import UPath


RESULTS = Results(64 * 2**20)
"""Of this server process. 5,000 batches take some 2 MB."""


@contextmanager
def installed(*, kept: bool = True) -> Iterator[UPath]:
    """The root. `kept`: the server keeps what the block reads, for the next request.

    Raises SettingInvalid, RootRefused or RootUnreachable, of what the block asks.
    """
    where = root()
    try:
        with using(RESULTS if kept else None):
            yield opened(where)
    except Exception as error:
        known = translate_store_error(error, where)
        if known is None:
            raise
        raise known from None
