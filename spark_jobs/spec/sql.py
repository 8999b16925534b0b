"""The types of what becomes Spark SQL in a spec, and what of it is refused when the spec is loaded,
without a JVM: what the tokens alone show.

Spark's parser decides the rest, in `sluice validate --deep` and before a run reads a record
(steps/sql.py). So a rule here never refuses what the parser would accept: it may miss.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from types import UnionType
from typing import Annotated, Any, Final, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel

from spark_jobs.spec.model import refuse

_JAVA = "calls into the JVM, with the rights of the whole job"
_PLACE = "tells where Spark ran a task, which another try of the batch may run elsewhere"
_CHANCE = "gives another value each time, so another try of the batch would give other rows"
_SESSION = "tells of the session that runs the query, and not of the record"
_FILES = "may read files, and is not part of Sluice's image"
REFUSED: Final = {
    "reflect": _JAVA,
    "try_reflect": _JAVA,
    "java_method": _JAVA,
    "input_file_name": _PLACE,
    "input_file_block_start": _PLACE,
    "input_file_block_length": _PLACE,
    "spark_partition_id": _PLACE,
    "monotonically_increasing_id": _PLACE,
    "rand": _CHANCE,
    "random": _CHANCE,
    "randn": _CHANCE,
    "randstr": _CHANCE,
    "uniform": _CHANCE,
    "shuffle": _CHANCE,
    "uuid": _CHANCE,
    "aes_encrypt": _CHANCE,
    "current_user": _SESSION,
    "user": _SESSION,
    "session_user": _SESSION,
    "current_catalog": _SESSION,
    "current_database": _SESSION,
    "current_schema": _SESSION,
    "current_path": _SESSION,
    "version": _SESSION,
    "python_worker_logs": _SESSION,
    "from_avro": _FILES,
    "to_avro": _FILES,
    "schema_of_avro": _FILES,
    "from_protobuf": _FILES,
    "to_protobuf": _FILES,
}
"""Function that is looked at and refused -> why."""


Kind = Literal["name", "text", "other"]


class Token(NamedTuple):
    """One token. Comments and spaces are none."""

    kind: Kind
    text: str
    """Of a name without its back-quotes, in lower case; of a text nothing."""


_TOKEN: Final = re.compile(
    r"""
      (?P<space>  \s+ | --(?:\\\n|[^\n])* )
    | (?P<text>   [rR](?:'[^']*'|"[^"]*") | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" )
    | (?P<quoted> `(?:[^`]|``)*` )
    | (?P<name>   \w+ )
    | (?P<open>   ['"`] | \*/ | \$\w*\$ )
    | (?P<other>  . )
    """,
    re.VERBOSE | re.DOTALL,
)
"""open: a quote that does not end, or what else only the parser can say."""
_BRACKET: Final = re.compile(r"/\*|\*/")


def tokens(sql: str) -> tuple[Token, ...] | None:
    """The tokens of a text; None if a quote or a comment in it does not end, or ends twice.

    >>> [each.text for each in tokens("/* a /* b */ */ max(`c d`) > 1 -- e") or ()]
    ['max', '(', 'c d', ')', '>', '1']
    """
    found, at = list[Token](), 0
    while at < len(sql):
        if sql.startswith("/*", at):
            end = _comment_end(sql, at)
            if end is None:
                return None
            at = end
            continue
        match = _TOKEN.match(sql, at)
        assert match is not None, "any character is a token"
        if match["open"]:
            return None
        at = match.end()
        if token := _token(match):
            found.append(token)
    return tuple(found)


def _token(match: re.Match[str]) -> Token | None:
    if match["space"]:
        return None
    if match["text"]:
        return Token("text", "")
    if quoted := match["quoted"]:
        return Token("name", quoted[1:-1].replace("``", "`").lower())
    if name := match["name"]:
        return Token("other" if name.isdigit() else "name", name.lower())
    return Token("other", match["other"])


def _comment_end(sql: str, start: int) -> int | None:
    """Where the comment ends that begins there: comments nest."""
    depth = 0
    for bracket in _BRACKET.finditer(sql, start):
        depth += 1 if bracket[0] == "/*" else -1
        if depth == 0:
            return bracket.end()
    return None


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


class SqlText(NamedTuple):
    """Spark SQL in a spec."""

    field: str
    """Its dotted name, counted from the model that was asked."""
    text: str
    query: bool
    """Whether it is a whole query, and not an expression over the input's columns."""


def sql_texts(model: BaseModel) -> tuple[SqlText, ...]:
    """All SQL in a declaration, and in those within it."""
    return tuple(_of_model(model, ""))


def _of_model(model: BaseModel, before: str) -> Iterator[SqlText]:
    for name, field in type(model).model_fields.items():
        where, value = f"{before}{name}", getattr(model, name)
        yield from _marked(field.metadata, value, where)
        yield from _within(field.annotation, value, where)


def _of_type(kind: Any, value: Any, where: str) -> Iterator[SqlText]:
    if get_origin(kind) is Annotated:
        kind, *marks = get_args(kind)
        yield from _marked(marks, value, where)
    yield from _within(kind, value, where)


def _marked(marks: list[Any], value: Any, where: str) -> Iterator[SqlText]:
    """The value itself, if a mark says that it is SQL."""
    for mark in marks:
        if isinstance(mark, Sql) and isinstance(value, str):
            yield SqlText(where, value, mark.query)
        if isinstance(mark, SqlKeys):
            for key in mark.keys:
                if isinstance(given := value.get(key), str):
                    yield SqlText(f"{where}[{key!r}]", given, query=False)


def _within(kind: Any, value: Any, where: str) -> Iterator[SqlText]:
    if isinstance(value, BaseModel):
        yield from _of_model(value, f"{where}.")
    elif get_origin(kind) in (Union, UnionType):
        yield from _of_any(get_args(kind), value, where)
    elif get_origin(kind) is dict and isinstance(value, Mapping):
        for key, each in value.items():
            yield from _of_any(get_args(kind)[1:], each, f"{where}[{key!r}]")
    elif get_origin(kind) is tuple and isinstance(value, tuple):
        for number, each in enumerate(value):
            yield from _of_any(get_args(kind), each, f"{where}[{number}]")


def _of_any(kinds: tuple[Any, ...], value: Any, where: str) -> Iterator[SqlText]:
    found = (text for kind in kinds for text in _of_type(kind, value, where))
    yield from dict.fromkeys(found)
