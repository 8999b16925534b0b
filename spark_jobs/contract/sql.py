"""What Spark SQL in a spec must not do: it must call no Java and read no files, only compute on a
record's columns.
"""

from __future__ import annotations

import re

from spark_jobs.contract.model import refuse

_LITERAL = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"")
_JAVA = re.compile(r"\b(reflect|try_reflect|java_method)\s*\(", re.IGNORECASE)
_FILES = re.compile(r"\b(\w+)\s*\.\s*`[^`]*[/.:\\][^`]*`")
_SUBQUERY = re.compile(r"\b(select|from|table)\b(?!\s*\))", re.IGNORECASE)

_EXTRACT = re.compile(r"\b(extract|substring|trim|overlay)\s*\([^()]*\bfrom\b", re.IGNORECASE)
"""Calls whose SQL syntax has a FROM that is not a query's."""


def refuse_unsafe(field: str, sql: str, *, query: bool = False) -> None:
    """Refuse SQL that calls into the JVM or reads files; and a subquery, unless it is a query.

    For use in validators.
    """
    text = _LITERAL.sub("''", sql)
    if java := _JAVA.search(text):
        refuse(
            field,
            sql,
            f"{java[1]} calls into the JVM, with the rights of the whole job",
            "Write it in SQL, or in logic.py",
        )
    if files := _FILES.search(text):
        refuse(
            field,
            sql,
            f"{files[0]} reads files, and no account covers their rows",
            "Use the record's own columns",
        )
    if ";" in text:
        refuse(field, sql, "it is more than one statement", "Write one statement without ';'")
    if not query and _SUBQUERY.search(_EXTRACT.sub("", text)):
        refuse(
            field,
            sql,
            "the field takes an expression over a record's columns, not a query",
            "Remove the subquery",
        )
