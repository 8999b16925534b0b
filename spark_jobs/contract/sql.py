"""What is refused of the Spark SQL in a spec when the spec is loaded, without a JVM: a call into
Java and a second statement, where the text leaves no doubt.

Spark's parser decides the rest, in `sluice validate --deep` and before a run reads a record
(steps/sql_tree.py). So a rule here never refuses what the parser would accept: it may miss.
"""

from __future__ import annotations

import re

from spark_jobs.contract.model import refuse

_QUOTED = re.compile(
    r"""
      (?P<comment> --[^\n]* | /\*(?:[^*]|\*(?!/))*\*/ )
    | (?P<raw> \b[rR](?: '[^']*' | "[^"]*" ) )
    | (?P<text> '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" )
    | (?P<name> `(?:[^`]|``)*` )
    """,
    re.VERBOSE | re.DOTALL,
)
_OPEN = re.compile(r"['\"`]|/\*|\*/")
"""What is left of a quote or a comment that does not end, or of one within another."""
_JAVA = re.compile(r"\b(reflect|try_reflect|java_method)\s*\(\s*''", re.IGNORECASE)
"""A call with a text as its first argument: a column's name never has one."""
_SECOND = re.compile(r";\s*[^\s;]")
_NAME = re.compile(r"(?<![\w.`])(?:`((?:[^`]|``)+)`|([A-Za-z_]\w*+))(?!\s*\()")
"""A name that is no function's and no field's of a struct."""


def refuse_unsafe(field: str, sql: str, *, query: bool = False) -> None:
    """Refuse SQL that calls into the JVM, and more than one statement. A query may end with `;`.

    For use in validators.
    """
    text = _QUOTED.sub(_bare, sql)
    if _OPEN.search(text.replace("''", "").replace("``", "")):
        return  # Spark's parser says what is wrong with it, if anything is
    if java := _JAVA.search(text):
        refuse(
            field,
            sql,
            f"{java[1]} calls into the JVM, with the rights of the whole job",
            "Write it in SQL, or in logic.py",
        )
    if _SECOND.search(text) or (";" in text and not query):
        refuse(field, sql, "it is more than one statement", "Write one statement without ';'")


def names_in(sql: str) -> set[str]:
    """The names that stand in an expression, in lower case: of columns, and words of SQL.

    >>> sorted(names_in("sum(delay) + max(`odd name`.x) - length('carrier')"))
    ['delay', 'odd name']
    """
    text = _QUOTED.sub(lambda found: found["name"] or _bare(found), sql)
    return {(quoted.replace("``", "`") or plain).lower() for quoted, plain in _NAME.findall(text)}


def _bare(found: re.Match[str]) -> str:
    """A comment is a space; a text and a name are empty, and still there."""
    if found["comment"]:
        return " "
    return "``" if found["name"] else "''"
