"""Spark SQL in a spec: what it may not do. It computes on a record's columns; it calls no Java and reads no files."""

from __future__ import annotations

import re

from spark_jobs.contract.model import refuse

_LITERAL = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"")
_JAVA = re.compile(r"\b(reflect|try_reflect|java_method)\s*\(", re.IGNORECASE)
_FILES = re.compile(r"\b(\w+)\s*\.\s*`[^`]*[/.:\\][^`]*`")
_SUBQUERY = re.compile(r"\b(select|from|table)\b(?!\s*\))", re.IGNORECASE)

_EXTRACT = re.compile(r"\b(extract|substring|trim|overlay)\s*\([^()]*\bfrom\b", re.IGNORECASE)
"""Where SQL's own syntax has a FROM that is no query."""


def refuse_unsafe(field: str, sql: str, *, query: bool = False) -> None:
    """Refuse SQL that calls into the JVM or reads files, from within a validator. An expression has no subquery either."""
    text = _LITERAL.sub("''", sql)
    if java := _JAVA.search(text):
        refuse(field, sql, f"{java[1]} calls into the JVM, with the rights of the whole job", "Say it in SQL, or in logic.py")
    if files := _FILES.search(text):
        refuse(field, sql, f"{files[0]} reads files that no account knows of", "Use the record's own columns")
    if ";" in text:
        refuse(field, sql, "it is more than one statement", "Write one")
    if not query and _SUBQUERY.search(_EXTRACT.sub("", text)):
        refuse(field, sql, "it is an expression over a record's columns, and not a query", "Leave the subquery out")
