"""The catalogue of all kinds of error."""

from __future__ import annotations

from spark_jobs.errors.base import SluiceError


def catalogue() -> tuple[type[SluiceError], ...]:
    """Every subclass of SluiceError in this package, by exit status."""
    known = (
        error for error in SluiceError.__subclasses__() if error.__module__.startswith(_PACKAGE)
    )
    return tuple(sorted(known, key=lambda error: error.exit_status))


def by_code(code: str) -> type[SluiceError]:
    """The class with this `code`; SluiceError where no class has it (the report of a
    newer Sluice).
    """
    return next((error for error in catalogue() if error.code == code), SluiceError)


_PACKAGE = f"{__package__}."
