"""The base of all errors: a code for the kind, a reason for the case, parameters for what differs.

A class has a text for each of its reasons. Their fields are the parameters:

    class TopicMissing(SluiceError):
        code, exit_status = "TOPIC_MISSING", 21
        usual_remedy = "Create the topic, or correct its name in the spec."

        absent = reason("The brokers at {brokers} have no topic {topic!r}.")

    raise TopicMissing.absent(brokers=settings.kafka, topic="sales")

The text is here alone; whoever raises gives values, and whoever tests asks for code, reason and
parameters. Text of others is made visible on one line. At the end: the catalogue of all kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from string import Formatter
from typing import ClassVar, Final, Self, TypeAlias, TypeVar

from spark_jobs.values.times import iso


def visible(text: str, most: int | None = None) -> str:
    r"""The text with its control and direction characters escaped, so that a record's bytes cannot
    break a line, turn its order or control a terminal. Beyond `most` characters it is cut, and says
    how many are left out.

    >>> visible("a\x1b[31m\u202eb")
    'a\\x1b[31m\\u202eb'
    >>> visible("abcdef", most=4)
    'abcd … (2 more characters)'
    """
    left_out = 0 if most is None else max(0, len(text) - most)
    shown = text[: len(text) - left_out]
    if not shown.isprintable():
        shown = "".join(
            c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown
        )
    return f"{shown} … ({left_out:,} more characters)" if left_out else shown


E = TypeVar("E", bound="SluiceError")
Value: TypeAlias = str | int | float | None
"""A parameter, as JSON can carry it."""
LONGEST: Final = 1000
"""Characters of one value in a text."""


class SluiceError(Exception):
    """The report of a newer Sluice has a code that this Sluice does not know.

    The base of all errors. A subclass is one kind of error. `what` says what went wrong and where;
    `remedy` says what to do. Both are made from the reason's templates and the parameters.

    `code` is stable: tests and dashboards match it. `exit_status` is the exit status of the
    process. `retry` says whether the same run can succeed if it is tried again without a change;
    Airflow's retries follow it. `usual_remedy` is what helps in most cases; the `remedy` of a
    reason is more exact.
    """

    code: ClassVar[str] = "SLUICE_ERROR"
    exit_status: ClassVar[int] = 70
    retry: ClassVar[bool] = False
    usual_remedy: ClassVar[str] = "Run Airflow and Spark with the same version of Sluice."

    def __init__(
        self,
        what: str,
        remedy: str = "",
        reason: str = "",
        parameters: Mapping[str, Value] | None = None,
    ) -> None:
        super().__init__(what, remedy, reason, parameters)
        self.what = what
        self.remedy = remedy
        self.reason = reason
        self.parameters = dict(parameters or {})

    def __str__(self) -> str:
        return f"{self.code}: {self.what}" + (f" {self.remedy}" if self.remedy else "")

    def adding(self, what: str = "", remedy: str = "") -> Self:
        """The same error with more to say."""
        texts = (f"{self.what} {what}".strip(), f"{self.remedy} {remedy}".strip())
        return type(self)(*texts, self.reason, self.parameters)

    @classmethod
    def reasons(cls) -> dict[str, Reason]:
        """Its reasons by their names."""
        return {name: each for name, each in vars(cls).items() if isinstance(each, Reason)}


@dataclass(eq=False)
class Reason:
    """Why an error of its class is raised: the templates of its texts, and what fills them.

    Of the class, it is what makes the error, of a value for each parameter.
    """

    what: str
    remedy: str
    parameters: tuple[str, ...]
    quoted: frozenset[str]
    name: str = ""

    def __set_name__(self, kind: type[SluiceError], name: str) -> None:
        self.name = name

    def __get__(self, error: E | None, kind: type[E]) -> Callable[..., E]:
        def make(**values: object) -> E:
            if values.keys() != {*self.parameters}:
                raise TypeError(f"{kind.__name__}.{self.name} takes {self.parameters}")
            parameters = {name: _plain(values[name]) for name in self.parameters}
            return kind(*self.texts(parameters, kind), self.name, parameters)

        return make

    def texts(self, parameters: Mapping[str, Value], kind: type[SluiceError]) -> tuple[str, str]:
        """What is said, and the remedy."""
        shown = {
            name: value if isinstance(value, int | float) else _Shown(value)
            for name, value in parameters.items()
        }
        return (
            self.what.format(**shown),
            self.remedy.format(**shown) if self.remedy else kind.usual_remedy,
        )


def reason(
    what: str, remedy: str = "", *, quoted: Collection[str] = (), unsaid: Collection[str] = ()
) -> Reason:
    """A reason with the fields of its templates as parameters.

    `what` and `remedy` are templates as of str.format. Without a remedy, the class's usual one
    helps. `quoted` are the parameters that quote an engine or the pipeline's code, and so perhaps a
    record's values: who shows an error to others may withhold these. `unsaid` are more parameters,
    which no text has: for whoever asks the error.
    """
    parsed = (*Formatter().parse(what), *Formatter().parse(remedy))
    said = dict.fromkeys(name for _, name, _, _ in parsed if name)
    return Reason(what, remedy, (*said, *unsaid), frozenset(quoted))


class _Shown:
    """A text, or none, within a text: on its line, harmless, and not too long. A form for numbers
    leaves it as it is, so that no error fails on what it says.
    """

    def __init__(self, text: str | None) -> None:
        self._text = text

    def __format__(self, form: str) -> str:
        return visible(" ".join(str(self._text).split("\n")), LONGEST)

    def __repr__(self) -> str:
        return visible(repr(self._text), LONGEST)


def _plain(value: object) -> Value:
    """As JSON can carry it: a time to the second, in UTC; half a character by its number.

    >>> from datetime import UTC
    >>> _plain(datetime(2026, 3, 1, 12, tzinfo=UTC)), _plain(["a", "b"]), _plain(7)
    ('2026-03-01 12:00:00 UTC', 'a, b', 7)
    >>> print(_plain(Path("a\\udce9.gz")))
    a\\udce9.gz
    """
    if isinstance(value, datetime):
        return f"{iso(value, ' ', 'seconds')} UTC"
    if isinstance(value, list) or (isinstance(value, tuple) and type(value) is tuple):
        value = ", ".join(map(str, value))
    if value is None or isinstance(value, int | float):
        return value
    text = value if isinstance(value, str) else str(value)
    return text.encode(errors="backslashreplace").decode()


def catalogue() -> tuple[type[SluiceError], ...]:
    """Every subclass of SluiceError in this package, by exit status and code."""
    _load_all()
    known = (
        error for error in SluiceError.__subclasses__() if error.__module__.startswith(_PACKAGE)
    )
    return tuple(sorted(known, key=lambda error: (error.exit_status, error.code)))


def by_code(code: str) -> type[SluiceError]:
    """The class with this `code`; SluiceError where no class has it (the report of a
    newer Sluice).
    """
    return next((error for error in catalogue() if error.code == code), SluiceError)


@cache
def _load_all() -> None:
    for module in iter_modules([str(Path(__file__).parent)]):
        import_module(f"{_PACKAGE}{module.name}")


_PACKAGE = f"{__package__}."
