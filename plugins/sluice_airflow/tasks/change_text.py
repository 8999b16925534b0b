"""The change that a repair would make, in Markdown, for the person who approves it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from spark_jobs.messages.withheld import SETTING

if TYPE_CHECKING:
    from spark_jobs.repair.manifest import Manifest

SHOWN_SPANS = 10
LONGEST = 60
"""Characters of a value."""


def body(manifest: Manifest, rows: Sequence[dict[str, Any]] | None) -> str:
    """Counts, ranges and sample rows. `rows` have op, before, after and explained, as the
    staged changes; None where values of records are withheld.
    """
    spans = manifest.parts
    ranges = [f"- {span}" for span in spans[:SHOWN_SPANS]]
    if len(spans) > SHOWN_SPANS:
        ranges.append(f"- and {len(spans) - SHOWN_SPANS} more")
    return "\n".join(
        (
            f"Repair `{manifest.repair_id}` ({manifest.kind}) of `{manifest.pipeline}` would "
            f"change version {manifest.table_version} of the table:",
            "",
            "| added | removed | changed | unexplained |",
            "| ---: | ---: | ---: | ---: |",
            f"| {manifest.added:,} | {manifest.removed:,} | {manifest.changed:,} "
            f"| {manifest.unexplained:,} |",
            "",
            "Unexplained: no late or replayed record has led to the change.",
            "",
            "**Ranges** (UTC, by the position of rows)",
            "",
            *(ranges or ["- none"]),
            "",
            *_table(rows),
            "",
            "Approve: the rows go into the table in one commit. Reject: the table stays as it is.",
        )
    )


def _table(rows: Sequence[dict[str, Any]] | None) -> list[str]:
    if rows is None:
        return [f"No rows are shown. {SETTING}"]
    if not rows:
        return ["No sample of the rows."]
    columns = list(next(filter(None, (rows[0]["after"], rows[0]["before"]))))
    return [
        f"**{len(rows)} of the rows**",
        "",
        f"| | {' | '.join(map(_cell, columns))} |",
        f"| --- |{' --- |' * len(columns)}",
        *(f"| {_what(row)} | {' | '.join(_cells(row, columns))} |" for row in rows),
    ]


def _what(row: dict[str, Any]) -> str:
    """What happens to it, and whether no record has led to it.

    >>> _what({"op": "added", "explained": False}), _what({"op": "changed", "explained": True})
    ('added, unexplained', 'changed')
    """
    op: str = row["op"]
    return op if row["explained"] else f"{op}, unexplained"


def _cells(row: dict[str, Any], columns: list[str]) -> list[str]:
    before, after = row["before"], row["after"]
    if not before or not after:
        return [_cell((after or before)[name]) for name in columns]
    return [
        _cell(after[name])
        if before[name] == after[name]
        else f"{_cell(before[name])} → **{_cell(after[name])}**"
        for name in columns
    ]


def _cell(value: object) -> str:
    """A value as plain text: nothing in it is Markdown, HTML or a cell's end.

    >>> _cell("a|b<c>*d*")
    'a\\\\|b&lt;c&gt;\\\\*d\\\\*'
    """
    text = " ".join(str(value).split())
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "".join(f"\\{each}" if each in "\\|*_`[]!#~" else each for each in text)
