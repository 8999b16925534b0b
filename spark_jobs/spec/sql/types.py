"""The types of what becomes Spark SQL in a spec, and what of it is refused when the spec is loaded,
without a JVM: what the tokens alone show.

Spark's parser decides the rest, in `sluice validate --deep` and before a run reads a record
(steps/sql/tree.py). So a rule here never refuses what the parser would accept: it may miss.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, Final, NamedTuple

from pydantic import AfterValidator

from spark_jobs.spec.model import refuse
from spark_jobs.spec.sql.refused import REFUSED
from spark_jobs.spec.sql.tokens import Token, tokens


class Sql(NamedTuple):
    """The mark of a type whose values become Spark SQL."""

    query: bool
    """Whether they are whole queries, and not expressions over the input's columns."""


class SqlKeys(NamedTuple):
    """The mark of a type whose values are dicts in which these keys have SQL expressions."""

    keys: tuple[str, ...]


def refuse_unsafe(field: str, sql: str, *, query: bool = False) -> None:
    """Refuse SQL that calls a function that is refused, and more than one statement. A query may
    end with `;`.

    For use in validators.
    """
    found = tokens(sql)
    if found is None:
        return  # Spark's parser says what is wrong with it, if anything is
    for at, name in _calls(found):
        if name in REFUSED and not _only_names(found, at + 1):
            refuse(field, sql, f"{name} {REFUSED[name]}", "Write it in SQL, or in logic.py")
    ends = [at for at, token in enumerate(found) if token.text == ";"]
    behind = found[ends[0] :] if ends else ()
    if ends and (not query or any(token.text != ";" for token in behind)):
        refuse(field, sql, "it is more than one statement", "Write one statement without ';'")


def _expression(given: str) -> str:
    refuse_unsafe("", given)
    return given


def _query(given: str) -> str:
    refuse_unsafe("", given, query=True)
    return given


Expression = Annotated[str, Sql(query=False), AfterValidator(_expression)]
Query = Annotated[str, Sql(query=True), AfterValidator(_query)]


def names_in(sql: str) -> set[str]:
    """The names that stand in an expression, in lower case: of columns, and words of SQL. None of
    one that no token can be told of.

    >>> sorted(names_in("sum(delay) + max(`odd name`.x) - length('carrier')"))
    ['delay', 'odd name']
    """
    found = tokens(sql) or ()
    called = {at for at, _ in _calls(found)}
    return {
        token.text
        for at, token in enumerate(found)
        if token.kind == "name" and at not in called and not (at and found[at - 1].text == ".")
    }


def raw_bytes_in(sql: str) -> bool:
    """Whether an expression or a query names kafka.raw, and no alias can be meant."""
    found = tokens(sql) or ()
    places = [at for at, token in enumerate(found) if token == ("name", "kafka")]
    if any(found[at - 1].text in _BEFORE_ALIAS for at in places if at):
        return False
    return any([token.text for token in found[at + 1 : at + 3]] == [".", "raw"] for at in places)


_BEFORE_ALIAS: Final = {"as", "rows", ")"}


def _calls(found: tuple[Token, ...]) -> Iterator[tuple[int, str]]:
    """The place and the name of each name that has a parenthesis behind it."""
    for at, (token, behind) in enumerate(pairwise(found)):
        if token.kind == "name" and behind.text == "(":
            yield at, token.text


def _only_names(found: tuple[Token, ...], opened: int) -> bool:
    """Whether the parenthesis has names alone: it may be an alias with its columns."""
    within = []
    for token in found[opened + 1 :]:
        if token.text == ")" and token.kind == "other":
            break
        within.append(token)
    return bool(within) and all(token.kind == "name" or token.text == "," for token in within)
