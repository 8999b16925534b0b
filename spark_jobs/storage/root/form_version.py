"""Format: the version of a file's form, and the refusal of a newer one."""

from __future__ import annotations

from spark_jobs.errors import FormatNewer


def refuse_newer(found: object, known: int, path: str) -> None:
    """Raise FormatNewer if a newer Sluice wrote the file."""
    if isinstance(found, int) and found > known:
        raise FormatNewer.form_unknown(
            path=path,
            found=found,
            known=known,
        )
