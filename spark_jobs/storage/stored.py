"""Stored: what Sluice keeps as JSON beside a checkpoint, with the version of its form.

The number is raised only if an older Sluice would read the file wrongly. A field that is added
without that is ignored by an older Sluice, so that one can go back a release.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, ClassVar, Self

from pydantic import BaseModel, ConfigDict, PrivateAttr

from spark_jobs.errors import LeaseLost
from spark_jobs.storage.lease_view import Held
from spark_jobs.storage.root.files import refuse_newer, write_whole
from spark_jobs.storage.seen import ABSENT, Seen, look, put_over

if TYPE_CHECKING:
    from upath import UPath


class Stored(BaseModel):  # noqa: PLW1641 - pydantic gives a frozen model its hash
    """A file beside the checkpoint."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    known: ClassVar[int] = 1
    """The newest form that this Sluice knows. Files from before there was a number have form 1."""
    format_version: int = 1
    _seen: Seen = PrivateAttr(ABSENT)
    """The file as it was when this was read: copies of this have it too."""

    def __eq__(self, other: object) -> bool:
        """By content, wherever it was read."""
        return isinstance(other, type(self)) and self.__dict__ == other.__dict__

    def write(self, path: UPath) -> None:
        """Write the file atomically, whatever is there: for what no lease protects."""
        write_whole(path, self._text())

    def put(self, path: UPath, held: Held | None) -> None:
        """Write the file over what this was read from and nothing else; where it was not read, if
        there is none. `held` is the lease that protects it, if one does.

        Raises LeaseLost: also if another has written it between the look at the lease and the
        write.
        """
        if held is not None:
            held.confirm()
        try:
            self._seen = put_over(path, self._seen, self._text(), alone=held is not None)
        except FileExistsError:
            raise LeaseLost.note_elsewhere(path=path) from None

    def over(self, path: UPath) -> Self:
        """This, to `put` over whatever is there now."""
        made = self.model_copy()
        made._seen = look(path)  # noqa: SLF001 - its own class
        return made

    def behind(self, before: Self | None) -> Self:
        """This, to `put` over what that was read from; over no file without one."""
        made = self.model_copy()
        made._seen = before._seen if before else ABSENT  # noqa: SLF001 - its own class
        return made

    @property
    def form(self) -> int:
        """The oldest form that says what this does."""
        return 1

    def _text(self) -> str:
        return self.model_copy(update={"format_version": self.form}).model_dump_json(indent=2)

    @classmethod
    def read(cls, path: UPath) -> Self:
        """The file's content.

        Raises FileNotFoundError, FormatNewer, or ValueError if it does not parse.
        """
        try:
            seen = look(path)
            content = json.loads(seen.text.encode()) if seen.text is not None else None
        except (IsADirectoryError, RecursionError) as error:
            raise ValueError(str(error)) from None
        if seen.text is None:
            raise FileNotFoundError(path)
        if isinstance(content, dict):
            refuse_newer(content.get("format_version", 1), cls.known, str(path))
        made = cls.model_validate(content)
        made._seen = seen  # noqa: SLF001 - its own class
        return made
